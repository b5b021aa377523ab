"""The trail of changes: who changed which key, agent, policy or tool, when, and its values before and after."""

import re
from enum import StrEnum
from typing import Annotated

from msgspec import UNSET, Meta, Raw, Struct, UnsetType, field

from app.model.actors import BREAKER, COMMAND_LINE, MAX_REASON, UNRECORDED, Via
from app.model.agents import Trip
from app.model.approvals import Person
from app.model.fields import Count, Timestamp, Uuid
from app.model.query_fields import (
    EndMs,
    IdFilter,
    PageLimit,
    QueryFields,
    Spelled,
    TimeMs,
    require_span,
    several,
    uuid_in,
)
from app.model.text import MAX_NAME, VisibleLines, require_text

_UUID = "[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
_ACTOR = {"type": "string", "pattern": f"^({BREAKER.id}|{COMMAND_LINE.id}|{_UUID})$"}
_CURSOR = {"type": "string", "pattern": "^[1-9][0-9]{0,14}-[0-9]{1,15}$"}
_id = re.compile(r"([1-9][0-9]{0,19})-([0-9]{1,20})", re.ASCII).fullmatch
_ID_END = 1 << 64
Reason = Annotated[VisibleLines, Meta(max_length=MAX_REASON)]


class ChangeKind(StrEnum):
    """What was done. A key that was revoked has been deleted."""

    CREATED = "created"
    UPDATED = "updated"
    DELETED = "deleted"


class ResourceType(StrEnum):
    """What kind of thing was changed."""

    AGENT = "agent"
    POLICY = "policy"
    API_KEY = "api_key"
    WEBHOOK = "webhook"
    CATALOG = "catalog"
    SESSION = "session"
    ISSUER = "issuer"
    WORKLOAD = "workload"
    REQUEST = "request"
    POLICY_REVIEW = "policy_review"
    CHECKPOINT = "checkpoint"


class Change(Struct, frozen=True, kw_only=True, rename="camel"):
    """One change as the trail keeps it. Entries never change.

    id: Its place in the trail: it sorts by time.
    timestamp: When it was made, by the store's clock.
    actor_id: The API key or session that made it, or, of a sign-in with the identity provider, the person; `console`:
    made with `remit` or by a setting, without a key; `breaker`: a denial breaker suspended an agent.
    actor_name: The name of the key or of who had signed in, at that time, or `console` or `breaker`.
    kind: What was done; revoking a key is deleting it.
    resource_type: The type of thing that changed.
    resource_id: Its id; for the catalogue and for signed checkpoints, the workspace's.
    before: The changed fields with their old values; for a deletion all fields, for a creation null. For the catalogue,
    the changed tools by name.
    after: The same fields with their new values; for a creation all fields, for a deletion null.
    sequence: For agents and policies: the number of the newest audit entry then. Every later entry was decided with the
    change in effect.
    reason: The reason given for it; left out if none was given.
    via: Of a change made in a session: `console` = in a browser; `cli` = with a program; otherwise left out.
    person: Who had signed in with the identity provider and made it, the same at every sign-in; otherwise left out.
    approved_by: Of a change that waited for a second person: who approved it; otherwise left out.
    tripped: The breaker that made the change, and the decision that filled it; left out if it was not a breaker.
    """

    id: Annotated[str, Meta(extra_json_schema={"pattern": "^[0-9]+-[0-9]+$"})]
    timestamp: Timestamp
    actor_id: str
    actor_name: str
    kind: ChangeKind
    resource_type: ResourceType
    resource_id: Uuid
    before: Annotated[Raw, Meta(extra_json_schema={"type": ["object", "null"]})]
    after: Annotated[Raw, Meta(extra_json_schema={"type": ["object", "null"]})]
    sequence: Count | UnsetType = UNSET
    reason: Reason | UnsetType = UNSET
    via: Via | UnsetType = UNSET
    person: Uuid | UnsetType = UNSET
    approved_by: Person | UnsetType = UNSET
    tripped: Trip | UnsetType = UNSET


def _actor_in(text: str) -> str:
    require_text(text, MAX_NAME)
    return text if text in UNRECORDED else uuid_in(text)


def _cursor_in(text: str) -> str:
    require_text(text, MAX_NAME)
    if not is_change_id(text):
        raise ValueError("must be the cursor of the next page, as another page says it")
    return text


def is_change_id(text: str) -> bool:
    """True if a change can have this id."""
    match = _id(text)
    return match is not None and max(int(match[1]), int(match[2])) < _ID_END


class ChangeFilters(QueryFields, frozen=True):
    """Filters on changes; all that are given must match.

    actor_id: Only changes made with this API key, without one (`console`), or by denial breakers (`breaker`).
    person: Only changes made by the person with this id, in any of their sessions.
    resource_type: Only changes to this type of thing; several, separated by commas, mean any of them.
    resource_id: Only changes to the thing with this id.
    from_ms: Only changes at or after this time; without an offset it is UTC, and a date means its start.
    to_ms: Only changes at or before this time; a date means its end.
    """

    actor_id: Annotated[str, Spelled(_actor_in, _ACTOR)] | None = None
    person: IdFilter | None = None
    resource_type: Annotated[tuple[ResourceType, ...], several(ResourceType)] | None = None
    resource_id: IdFilter | None = None
    from_ms: TimeMs | None = field(name="from", default=None)
    to_ms: EndMs | None = field(name="to", default=None)

    def __post_init__(self) -> None:
        require_span(self.from_ms, self.to_ms)


class ChangeQuery(ChangeFilters, frozen=True):
    """One page of the changes, newest first.

    limit: The most changes to return.
    older_than: X-Next-Cursor of the page before: pages chained by it neither repeat nor skip a change.
    """

    limit: PageLimit = 100
    older_than: Annotated[str, Spelled(_cursor_in, _CURSOR)] | None = field(name="cursor", default=None)


class HistorySpan(QueryFields, frozen=True):
    """The span of time of an agent's history.

    from_ms: Only what was at or after this time; without an offset it is UTC, and a date means its start.
    to_ms: Only what was at or before this time; a date means its end.
    """

    from_ms: TimeMs | None = field(name="from", default=None)
    to_ms: EndMs | None = field(name="to", default=None)

    def __post_init__(self) -> None:
        require_span(self.from_ms, self.to_ms)


class HistoryQuery(HistorySpan, frozen=True):
    """The span of an agent's history, and which of its changes to return.

    limit: The most changes to return.
    older_than: The `nextCursor` of the page before: pages chained by it neither repeat nor skip a change.
    """

    limit: PageLimit = 100
    older_than: Annotated[str, Spelled(_cursor_in, _CURSOR)] | None = field(name="cursor", default=None)

    def takes(self, change_id: str) -> bool:
        """True if a change with this id is in the span and on this page or a later one."""
        place = _place(change_id)
        return (
            (self.from_ms is None or place[0] >= self.from_ms)
            and (self.to_ms is None or place[0] <= self.to_ms)
            and (self.older_than is None or place < _place(self.older_than))
        )


def _place(change_id: str) -> tuple[int, int]:
    time_ms, _, number = change_id.partition("-")
    return int(time_ms), int(number)


class ChangePage(Struct, frozen=True):
    """Changes, newest first. older_than: the `older_than` of the next page; None on the last page."""

    changes: list[Change]
    older_than: str | None
