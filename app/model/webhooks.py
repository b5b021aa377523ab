"""Webhooks: the events a workspace wants to receive, and their destinations."""

import hashlib
import re
from collections.abc import Collection, Sequence
from enum import StrEnum
from typing import Annotated, Self, TypedDict

from msgspec import UNSET, Meta, Struct, UnsetType

from app.model.agents import REFERENCE_RULES, AgentRef, GroupName, agent_reference, require_groups
from app.model.decision_codes import DecisionCode
from app.model.fields import Uuid
from app.model.sequences import ToolPattern, require_patterns
from app.model.text import FieldError

URL_MAX = 2048
_is_given_secret = re.compile(r"whsec_[A-Za-z0-9+/]{32,88}={0,2}").fullmatch


class WebhookEvent(StrEnum):
    """The events a webhook can receive.

    source: where they come from, which is also the name of the outbox's cursor: the audit log, the trail of changes, or
    the notices. heading: for people.
    """

    source: str
    heading: str

    def __new__(cls, value: str, source: str = "", heading: str = "") -> Self:
        event = str.__new__(cls, value)
        event._value_, event.source, event.heading = value, source, heading
        return event

    APPROVAL_REQUESTED = "approval.requested", "log", "A call waits for a person"
    APPROVALS_FILLING = "approvals.filling", "log", "Four fifths of the open approvals that may be are taken"
    APPROVAL_DECIDED = "approval.decided", "log", "An approval was decided"
    APPROVAL_EXPIRED = "approval.expired", "log", "An approval has expired"
    AGENT_SUSPENDED = "agent.suspended", "trail", "An agent was suspended"
    POLICY_CHANGED = "policy.changed", "trail", "A policy was changed"
    POLICY_REVIEW_REQUESTED = "policy_review.requested", "trail", "A change of policies waits for a second person"
    DECISION_DENIED = "decision.denied", "log", "A call was denied"
    AUDIT_VERIFICATION_FAILED = "audit.verification_failed", "notices", "The audit log is not what was sealed"
    ACCESS_REQUEST_COMPLETED = "access_request.completed", "log", "An access request has ended"


class WebhookFormat(StrEnum):
    """How an event is written: as Remit's own JSON, as a message for Slack, or as a card for Teams."""

    STANDARD = "standard"
    SLACK = "slack"
    TEAMS = "teams"


ENTRY_CODES = (
    *(each.value for each in DecisionCode),
    *(f"approval_{each}" for each in ("approved", "denied", "cancelled", "expired")),
)
"""Codes of entries that cause events."""
EntryCode = Annotated[str, Meta(extra_json_schema={"enum": list(ENTRY_CODES)})]


class EventFilter(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Which events are sent; each field that is given narrows those that say such a thing, and leaves the others.

    agents: Only those about these agents, by id or alias, or about reviews of their policies; an alias is resolved now.
    groups: Only those about agents that are in one of these groups when the event is sent, or about reviews of their
    policies or of those of the group.
    tools: Only those about calls of these tools: names, `prefix*`, or `*`.
    policies: Only those about these policies or reviews of them, or about calls that a rule of theirs decided or asked
    about; by id.
    codes: Only those about entries of the log with one of these codes, such as `approval_denied` or `quota_full`.
    rule_types: Only denials decided by rules of these types, and with `denial_breaker` also those that filled one.
    sample: The share of denials to send, above 0 and up to 1, chosen by the entry's id; all if left out.
    """

    agents: Annotated[list[AgentRef], Meta(min_length=1, max_length=100)] | UnsetType = UNSET
    groups: Annotated[list[GroupName], Meta(min_length=1, max_length=100)] | UnsetType = UNSET
    tools: Annotated[list[ToolPattern], Meta(min_length=1, max_length=100)] | UnsetType = UNSET
    policies: Annotated[list[Uuid], Meta(min_length=1, max_length=100)] | UnsetType = UNSET
    codes: Annotated[list[EntryCode], Meta(min_length=1, max_length=20)] | UnsetType = UNSET
    rule_types: Annotated[
        list[Annotated[str, Meta(min_length=1, max_length=64)]], Meta(min_length=1, max_length=20)
    ] | (UnsetType) = UNSET
    sample: Annotated[float, Meta(gt=0, le=1)] | UnsetType = UNSET

    def __post_init__(self) -> None:
        for index, given in enumerate(self.agents or ()):
            if agent_reference(given) is None:
                raise FieldError(f"agents[{index}]", REFERENCE_RULES)
        require_groups("groups", self.groups or ())
        require_patterns("tools", self.tools or ())
        for index, code in enumerate(self.codes or ()):
            if code not in ENTRY_CODES:
                raise FieldError(f"codes[{index}]", f"must be one of {', '.join(ENTRY_CODES)}")


class WebhookSecret(Struct, frozen=True, rename="camel"):
    """One of the secrets that sign.

    number: from 1. given: the secret itself; None if it is derived from REMIT_SECRET and not stored.
    until_ms: when it stops signing; None if it does not.
    """

    number: int
    given: str | None = None
    until_ms: int | None = None


class Webhook(Struct, frozen=True, kw_only=True):
    """A destination of a workspace's events. `secrets` are those that sign, the newest last."""

    id: str
    url: str
    events: tuple[WebhookEvent, ...]
    format: WebhookFormat = WebhookFormat.STANDARD
    only: EventFilter | None = None
    enabled: bool = True
    secrets: tuple[WebhookSecret, ...] = ()
    created_ms: int = 0
    updated_ms: int = 0
    version: int = 0

    @property
    def shown_url(self) -> str:
        """The URL as shown to readers who may not post to it: what follows the host is often secret."""
        origin = "/".join(self.url.split("/", 3)[:3])
        return f"{origin}/… (sha256 {hashlib.sha256(self.url.encode()).hexdigest()[:8]})"


class WebhookFields(TypedDict, total=False):
    """Fields of a webhook that an administrator changes."""

    url: str
    events: Sequence[WebhookEvent]
    format: WebhookFormat
    only: EventFilter | None
    enabled: bool


class WebhookState(Struct, frozen=True, kw_only=True):
    """The progress of sending.

    waiting, parked: numbers of failed events that will be retried, and of those given up. delivered, lost: counts since
    the webhook was created. last_error: of the last failed attempt.
    """

    waiting: int = 0
    parked: int = 0
    delivered: int = 0
    lost: int = 0
    last_error: str | None = None


def require_separate(events: Collection[WebhookEvent]) -> None:
    """Raise FieldError if callbacks would be mixed with other events: their bodies differ, and so do their senders."""
    if WebhookEvent.ACCESS_REQUEST_COMPLETED in events and len({*events}) > 1:
        raise FieldError("events", f"`{WebhookEvent.ACCESS_REQUEST_COMPLETED}` needs a webhook of its own")


def require_secret(secret: str) -> None:
    """Raise FieldError unless it is a secret of Standard Webhooks: whsec_ and 24 to 64 bytes in base64."""
    if not _is_given_secret(secret):
        raise FieldError("secret", "must be whsec_ and 24 to 64 bytes in base64; leave it out to have one generated")
