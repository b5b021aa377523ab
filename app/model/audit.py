"""The audit log: one entry per decision, and what can be asked of it."""

import msgspec
from msgspec import Raw, Struct

from app.model.decisions import Result, RuleRef


class AuditEntry(Struct, frozen=True, kw_only=True, rename="camel"):
    """One decision as the log keeps it. Entries never change.

    key_id: the API key that asked.
    parameters: JSON as it was recorded, secrets redacted.
    latency_ms: from the request's arrival to the commit. timestamp: RFC 3339. Both by the store's clock.
    result: None only where somebody else wrote what cannot be read into the stream; `reason` then says so.
    """

    id: str
    agent_id: str
    key_id: str
    action: str
    tool_name: str
    parameters: Raw
    result: Result | None
    policy_id: str | None
    rule: RuleRef | None
    reason: str
    latency_ms: float
    timestamp: str


class AuditQuery(Struct, frozen=True, kw_only=True):
    """Which entries: all filters that are given must match; newest first.

    from_ms, to_ms: both inclusive, ms since the epoch.
    before: only entries with a smaller sequence number (the cursor of the page before).
    """

    agent_id: str | None = None
    action: str | None = None
    tool_name: str | None = None
    result: Result | None = None
    from_ms: int | None = None
    to_ms: int | None = None
    limit: int = 100
    offset: int = 0
    before: int | None = None


class AuditPage(Struct, frozen=True):
    """Entries as the JSON lines that the log keeps, newest first.

    next_before asks for the page after this one, None if this is the last.
    floor: where the log begins, if retention dropped older entries that this page might have had; else None.
    """

    lines: list[bytes]
    next_before: int | None
    floor: "Floor | None" = None

    @property
    def entries(self) -> list[AuditEntry]:
        """The same, decoded."""
        return [decode_entry(line) for line in self.lines]


class Floor(Struct, frozen=True):
    """The oldest entry that the log still has. What was before it has been dropped by retention.

    segment, sequence: the first that is kept. time_ms: no entry that was dropped is newer.
    sha256: of the last segment that was dropped, on which the chain goes on.
    """

    segment: int
    sequence: int
    time_ms: int
    sha256: str


class Backlog(Struct, frozen=True, kw_only=True, rename="camel"):
    """How far sealing is behind, and what the log holds.

    unsealed: entries in the stream. lag_seconds: age of the oldest of them, by the store's clock; 0 if none.
    last_sequence, sealed_sequence: of the newest entry, and of the newest sealed one. first_sequence: of the oldest
    that retention has not dropped. segments: sealed so far. poison: entries that could not be sealed as they were.
    """

    unsealed: int
    lag_seconds: float
    last_sequence: int
    sealed_sequence: int
    first_sequence: int
    segments: int
    poison: int


decode_entry = msgspec.json.Decoder(AuditEntry).decode
