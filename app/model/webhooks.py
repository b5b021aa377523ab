"""Webhooks: the events a workspace wants to receive, and their destinations."""

import hashlib
import re
from collections.abc import Collection, Sequence
from enum import StrEnum
from typing import Annotated, Self, TypedDict

from msgspec import UNSET, Meta, Struct, UnsetType

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
    APPROVAL_DECIDED = "approval.decided", "log", "An approval was decided"
    APPROVAL_EXPIRED = "approval.expired", "log", "An approval has expired"
    AGENT_SUSPENDED = "agent.suspended", "trail", "An agent was suspended"
    POLICY_CHANGED = "policy.changed", "trail", "A policy was changed"
    DECISION_DENIED = "decision.denied", "log", "A call was denied"
    AUDIT_VERIFICATION_FAILED = "audit.verification_failed", "notices", "The audit log is not what was sealed"
    ACCESS_REQUEST_COMPLETED = "access_request.completed", "log", "An access request has ended"


class WebhookFormat(StrEnum):
    """How an event is written: as Remit's own JSON, or as a message for Slack."""

    STANDARD = "standard"
    SLACK = "slack"


class DeniedFilter(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Which denials are sent.

    rule_types: Only those decided by rules of these types, and with `denial_breaker` also those that filled one; all if
    left out.
    sample: The share of them to send, above 0 and up to 1, chosen by the entry's id; all if left out.
    """

    rule_types: Annotated[
        list[Annotated[str, Meta(min_length=1, max_length=64)]], Meta(min_length=1, max_length=20)
    ] | (UnsetType) = UNSET
    sample: Annotated[float, Meta(gt=0, le=1)] = 1.0


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
    denied: DeniedFilter | None = None
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
    denied: DeniedFilter | None
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
