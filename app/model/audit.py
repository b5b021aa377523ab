"""The audit log: one entry per decision, and the queries over it."""

from enum import StrEnum
from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, Raw, Struct, UnsetType, field

from app.model.api_keys import without_raw_keys
from app.model.approvals import Person
from app.model.checkpoints import Finding, Fork
from app.model.decisions import RecordRead, Result, RuleRef, ShadowOutcome
from app.model.fields import AgentId, Count, Id, Ordinal, Timestamp, Uuid
from app.model.query_fields import (
    AgentFilter,
    EndMs,
    IdFilter,
    Offset,
    PageLimit,
    QueryFields,
    Spelled,
    TimeMs,
    require_span,
    uuid_in,
)
from app.model.text import CONTAINS_A_KEY, Name

ANY_SHADOW = "any"


class Format(StrEnum):
    """The formats of an exported file."""

    NDJSON = "ndjson"
    CSV = "csv"


class AuditEntry(Struct, frozen=True, kw_only=True, rename="camel"):
    """One decision as the log keeps it. Entries never change.

    key_id: The API key that asked.
    action: The attempted action.
    tool_name: The tool that the agent wanted to call.
    parameters: The call's parameters; values under secret names are "[REDACTED]", and a string of more than 2 KiB,
    or that would take too long to search for secrets, is an object with its `beginning`, its `length` and its `hmac`.
    result: The result; null only if the entry is not a decision, or is unreadable because no commit wrote it.
    policy_id: The policy that gave the result; null if none did: a default deny, or an agent not active.
    rule: The rule that decided; null if none did.
    reason: A sentence for people.
    latency_ms: From the request's arrival to the commit, in milliseconds, by the store's clock.
    timestamp: When it was decided, by the store's clock.
    context: What the caller vouched for in `context`, secrets redacted; left out if nothing was given.
    policy_version: The version at which the policy decided; left out if no policy did.
    type: The type of an entry that is not a decision: `approval` or `outcome`.
    code: Why it was decided this way, for programs. The log's own lines, which an NDJSON export copies byte for byte,
    leave it out where it follows from the result and the type of the rule. In an entry that is not a decision it says
    what happened, such as `approval_approved` or `executed`.
    approval_id: The approval that the entry is about, or that the call requested or used.
    decision_id: The decision whose outcome an `outcome` entry reports.
    shadow: What would have been decided if the shadow policies had been enforced; only if that is another result.
    suspended_by: The policy whose denial breaker suspended the agent on this denial.
    tripped_by: The policy whose denial breaker this denial filled, without suspending the agent.
    decided_by: Who decided the approval; only of entries that say so.
    subject: Of a call made with a workload's token: its `sub`; `key_id` is then the UUIDv5 of issuer and subject.
    filling: Of a call with whose approval four fifths are open of those that may be: `rule`, `agent`, `key` or
    `workspace` says whose.
    records: What rules read of [records](records.md), only if one does.
    """

    id: Id
    agent_id: AgentId
    key_id: Uuid
    action: str
    tool_name: str
    parameters: Annotated[Raw, Meta(extra_json_schema={"type": "object"})]
    result: Result | None
    policy_id: Uuid | None
    rule: RuleRef | None
    reason: str
    latency_ms: Annotated[float, Meta(extra_json_schema={"minimum": 0})]
    timestamp: Timestamp
    context: Annotated[Raw, Meta(extra_json_schema={"type": "object"})] | UnsetType = UNSET
    policy_version: Ordinal | UnsetType = UNSET
    type: str | UnsetType = UNSET
    code: str | UnsetType = UNSET
    approval_id: Uuid | UnsetType = UNSET
    decision_id: Uuid | UnsetType = UNSET
    shadow: ShadowOutcome | UnsetType = UNSET
    suspended_by: Uuid | UnsetType = UNSET
    tripped_by: Uuid | UnsetType = UNSET
    decided_by: Person | UnsetType = UNSET
    subject: str | UnsetType = UNSET
    records: list[RecordRead] | UnsetType = UNSET
    filling: str | UnsetType = UNSET


def _shadow_in(text: str) -> str:
    if text == ANY_SHADOW:
        return text
    try:
        return uuid_in(text)
    except ValueError as error:
        raise ValueError(f"{error}, or `{ANY_SHADOW}`") from None


ShadowFilter = Annotated[
    str, Spelled(_shadow_in, {"type": "string", "anyOf": [{"format": "uuid"}, {"const": ANY_SHADOW}]})
]


TEXT_MAX = 255


def _text_in(text: str) -> str:
    if not 1 <= len(text) <= TEXT_MAX:
        raise ValueError(f"must have 1 to {TEXT_MAX} characters, not {len(text)}; leave it out to match all")
    if without_raw_keys(text) != text:
        raise ValueError(CONTAINS_A_KEY)
    return text


TextFilter = Annotated[str, Spelled(_text_in, {"type": "string", "minLength": 1, "maxLength": TEXT_MAX})]


class AuditFilters(QueryFields, frozen=True):
    """Filters on entries; all that are given must match.

    `id`, `session`, `user`, `subject` and `q` are not indexed: entries are scanned for them.

    agent_id: Only those of this agent, by its id or its alias.
    action: Only entries with this action.
    tool_name: Only entries for this tool.
    result: Only entries with this result.
    from_ms: Only entries at or after this time; without an offset it is UTC, and a date means its start.
    to_ms: Only entries at or before this time; a date means its end.
    id: Only the entry with this id.
    key_id: Only entries of calls made with this API key.
    policy_id: Only entries that this policy decided.
    rule_type: Only entries that a rule of this type decided.
    session: Only entries of calls with this `context.session`.
    user: Only entries of calls with this `context.user`.
    subject: Only entries of calls made with a workload's token whose `sub` is this.
    shadow: Only entries where the shadow policy with this id, or any, would have given another result.
    text: Only entries that contain this text in a value or in the name of a parameter, exactly as written; redacted
    values cannot be found.
    """

    agent_id: AgentFilter | None = None
    action: Name | None = None
    tool_name: Name | None = None
    result: Result | None = None
    id: IdFilter | None = None
    key_id: IdFilter | None = None
    policy_id: IdFilter | None = None
    rule_type: Name | None = None
    session: Name | None = None
    user: Name | None = None
    subject: Name | None = None
    shadow: ShadowFilter | None = None
    text: TextFilter | None = field(name="q", default=None)
    from_ms: TimeMs | None = field(name="from", default=None)
    to_ms: EndMs | None = field(name="to", default=None)

    def __post_init__(self) -> None:
        require_span(self.from_ms, self.to_ms)

    @property
    def scans(self) -> tuple[str, ...]:
        """The given filters that are not indexed, so that entries are read to find matches, and the index cannot count
        them.
        """
        names = {"id": self.id, "session": self.session, "user": self.user, "subject": self.subject, "q": self.text}
        return tuple(name for name, value in names.items() if value is not None)


class AuditQuery(AuditFilters, frozen=True):
    """One page of the entries, newest first.

    limit: The most entries to return.
    offset: How many entries to skip first.
    before: X-Next-Cursor of the page before: pages chained by it neither repeat nor skip an entry.
    """

    limit: PageLimit = 100
    offset: Offset = 0
    before: Annotated[int, Meta(ge=1, le=10**15)] | None = field(name="cursor", default=None)


class AuditPage(Struct, frozen=True):
    """A page of entries as the JSON lines of the log, newest first.

    next_before: the `before` of the next page; None on the last page.
    floor: the start of the log, if retention dropped older entries that might belong to this page; otherwise None.
    """

    lines: list[bytes]
    next_before: int | None
    floor: "Floor | None" = None

    @property
    def entries(self) -> list[AuditEntry]:
        """The entries, decoded."""
        return [decode_entry(line) for line in self.lines]


class Floor(Struct, frozen=True):
    """The oldest entry that the log still has; retention has dropped everything before it.

    segment, sequence: of that entry. time_ms: the newest time among dropped entries.
    sha256: of the last dropped segment, which the chain continues from.
    """

    segment: int
    sequence: int
    time_ms: int
    sha256: str


class LastVerification(Struct, frozen=True, kw_only=True, rename="camel"):
    """The last background verification of the whole log, with the trail of changes.

    began_at: When it began, by the store's clock.
    up_to: The newest entry that it found intact.
    finding: The first fault, which stays here until a later round finds none; null if everything was intact.
    """

    began_at: Timestamp
    up_to: Count
    finding: Finding | None


class Backlog(Struct, frozen=True, kw_only=True, rename="camel"):
    """The extent of the log, and how far sealing lags.

    unsealed: Entries that are not sealed and chained yet.
    lag_seconds: Age of the oldest unsealed entry; 0 if there is none.
    last_sequence: The newest entry's number; numbers have no gaps.
    sealed_sequence: The newest sealed entry's number.
    first_sequence: The number of the oldest entry that retention has not dropped.
    segments: Number of segments sealed so far, dropped ones included.
    poison: Entries that could not be sealed unchanged; each is replaced in the log by a placeholder.
    verification: The last round of the background verification; null before the first one.
    intact_at: When the last verification began that found the whole log intact, in the background or on request; null
    if none has yet.
    intact_up_to: The newest entry that this verification covered; 0 if none has yet.
    forks: What is signed no more until an admin accepts it; empty if checkpoints are signed, or no key signs any.
    """

    unsealed: Count
    lag_seconds: Annotated[float, Meta(extra_json_schema={"minimum": 0})]
    last_sequence: Count
    sealed_sequence: Count
    first_sequence: Ordinal
    segments: Count
    poison: Count
    verification: LastVerification | None
    intact_at: Timestamp | None
    intact_up_to: Count
    forks: list[Fork]


decode_entry = msgspec.json.Decoder(AuditEntry).decode
