"""What an administrator can ask for: new resources and changes to them, within the limits of the API.

The body of a request is one of these, and so are the options of a command.
"""

from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct, UnsetType, field
from msgspec.structs import asdict

from app.model.agents import (
    DEFAULT_TYPE,
    REFERENCE_RULES,
    AgentRef,
    AgentStatus,
    AgentType,
    Alias,
    Groups,
    agent_reference,
)
from app.model.api_keys import Scope, SessionFrom, can_be_bound
from app.model.field_checks import require_valid_fields
from app.model.fields import AgentDescription, DisplayName, Timestamp
from app.model.text import FieldError
from app.model.times import parse_time_ms
from app.model.webhooks import URL_MAX, EventFilter, WebhookEvent, WebhookFormat, require_secret, require_separate

OVERLAP_S = 24 * 3600
_LONGEST_OVERLAP_S = 30 * 24 * 3600
Url = Annotated[str, Meta(min_length=1, max_length=URL_MAX, extra_json_schema={"pattern": "^https?://[!-~]+$"})]
Events = Annotated[list[WebhookEvent], Meta(min_length=1, max_length=20)]
GivenSecret = Annotated[str, Meta(extra_json_schema={"pattern": "^whsec_[A-Za-z0-9+/]{32,88}={0,2}$"})]


class NewAgent(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A new agent. It is active at once."""

    name: DisplayName
    description: AgentDescription | None = None
    groups: Groups | UnsetType = UNSET
    alias: Alias | None = None
    type: AgentType = DEFAULT_TYPE

    def __post_init__(self) -> None:
        require_valid_fields(self)


class AgentChanges(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What to change; fields that are left out stay.

    status: `revoked` is final.
    """

    name: DisplayName | UnsetType = UNSET
    description: AgentDescription | None | UnsetType = UNSET
    status: AgentStatus | UnsetType = UNSET
    groups: Groups | UnsetType = UNSET
    alias: Alias | None | UnsetType = UNSET
    type: AgentType | UnsetType = UNSET

    def __post_init__(self) -> None:
        require_valid_fields(self)


class NewKey(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A new key. Without expiresAt it never expires.

    scopes: What the key may do.
    agents: The only agents for which it may request decisions, by id or alias; an alias is resolved now. Null or left
    out = all. Only with `authorize`, and without `read` and `admin`, whose keys may ask for every agent.
    session_from: `key` = all calls of the key belong to one separate session, whatever `context.session` says: for a
    runtime that cannot be trusted to name its sessions. Only with `authorize`, and without `read` and `admin`.
    expires_at: When the key stops being valid; null or left out = never. A key with a past time is never valid.
    """

    name: DisplayName
    scopes: Annotated[list[Scope], Meta(min_length=1, max_length=10)]
    agents: Annotated[list[AgentRef], Meta(min_length=1, max_length=100)] | None = None
    session_from: SessionFrom | None = field(default=None, name="sessionFrom")
    expires_at: Timestamp | None = field(default=None, name="expiresAt")

    def __post_init__(self) -> None:
        require_valid_fields(self)
        if self.agents is not None:
            _require_binding(self.agents, self.scopes)
        if self.session_from is not None and not can_be_bound(self.scopes):
            raise FieldError(
                "sessionFrom",
                "requires the scope `authorize` without `read` or `admin`, since those may name any session",
            )
        _require_time(self.expires_at)


class Rotation(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A successor for a key, with the same name, scopes and bindings.

    overlap_seconds: How long the old key stays valid; a day if left out. Its sessions end with it.
    expires_at: When the new key stops being valid; null or left out = after the old key's original lifetime.
    """

    overlap_seconds: Annotated[int, Meta(ge=0, le=_LONGEST_OVERLAP_S)] = field(default=OVERLAP_S, name="overlapSeconds")
    expires_at: Timestamp | None = field(default=None, name="expiresAt")

    def __post_init__(self) -> None:
        _require_time(self.expires_at)


class NewWebhook(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A new webhook. It receives events from now on.

    url: Where events go: https, and not an address of a private network unless a setting allows it.
    events: The types of events to send.
    format: `standard` = JSON with type, timestamp and data; `slack` = a message for a channel of Slack; `teams` = a
    card for one of Teams.
    only: Which of these events to send; null or left out = all.
    secret: The signing secret: whsec_ and 24 to 64 bytes in base64. Generated if left out.
    """

    url: Url
    events: Events
    format: WebhookFormat = WebhookFormat.STANDARD
    only: EventFilter | None = None
    secret: GivenSecret | UnsetType = UNSET

    def __post_init__(self) -> None:
        require_separate(self.events)
        if self.secret is not UNSET:
            require_secret(self.secret)


class WebhookChanges(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What to change; fields that are left out stay.

    url: Where events go, including those already waiting.
    events: The types of events to send.
    format: How an event is written.
    only: Which of these events to send, instead of what narrowed them before; null = all.
    enabled: Whether it receives events. When enabled again, it receives events from then on.
    """

    url: Url | UnsetType = UNSET
    events: Events | UnsetType = UNSET
    format: WebhookFormat | UnsetType = UNSET
    only: EventFilter | None | UnsetType = UNSET
    enabled: bool | UnsetType = UNSET

    def __post_init__(self) -> None:
        if self.events is not UNSET:
            require_separate(self.events)


class NewSecret(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Another secret for a webhook.

    overlap_seconds: How long the previous secrets also sign; a day if left out.
    secret: The new one; generated if left out.
    """

    overlap_seconds: Annotated[int, Meta(ge=0, le=_LONGEST_OVERLAP_S)] = field(default=OVERLAP_S, name="overlapSeconds")
    secret: GivenSecret | UnsetType = UNSET

    def __post_init__(self) -> None:
        if self.secret is not UNSET:
            require_secret(self.secret)


def given(changes: Struct) -> dict[str, Any]:
    """The fields that are to change, with their new values."""
    return {name: value for name, value in asdict(changes).items() if value is not UNSET}


def _require_time(expires_at: str | None) -> None:
    if expires_at is None:
        return
    try:
        parse_time_ms(expires_at)
    except ValueError as error:
        raise FieldError("expiresAt", str(error)) from None


def _require_binding(agents: list[str], scopes: list[Scope]) -> None:
    """Raise FieldError unless the agents are ids or aliases and the scopes allow binding the key to them."""
    if not can_be_bound(scopes):
        raise FieldError(
            "agents", "requires the scope `authorize` without `read` or `admin`, since those cover every agent"
        )
    for index, given in enumerate(agents):
        if agent_reference(given) is None:
            raise FieldError(f"agents[{index}]", REFERENCE_RULES)
