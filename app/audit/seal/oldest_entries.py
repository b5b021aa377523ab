"""Collects the stream's oldest entries for a segment; what cannot be sealed unchanged is kept in `audit:poison`."""

import logging
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

from app.audit.entry_format import Unreadable, placeholder, time_ms_of
from app.audit.seal.segment_builder import SEGMENT_BYTES, SegmentBuilder
from app.audit.unsealed import fields_of, sequence_of
from app.errors import AuditLogDamaged
from app.redis_client.client import Client, Value
from app.redis_client.scripts import QUARANTINE_ENTRIES
from app.store.keyspace import Keyspace


class Quarantined(Struct, frozen=True):
    """An entry in quarantine. foreign: no commit made it, so it is removed from the stream."""

    entry_id: str
    why: str
    fields: Mapping[bytes, bytes]
    foreign: bool = True

    @property
    def found(self) -> bytes:
        """The reason why it was set aside and its content, as JSON."""
        shown = {_shown(name): _shown(value) for name, value in self.fields.items()}
        return msgspec.json.encode({"why": self.why, "fields": shown})


def _shown(raw: bytes) -> str:
    return raw.decode("utf-8", "backslashreplace")


log = logging.getLogger(__name__)

FEW = 16
"""The number of entries read first, while their size is unknown: 512 of the largest would take 32 MB."""
_POISON_MAX = 512
"""Entries set aside in one call."""
_GONE = "it was gone from the stream"
_GONE_MAX = 10_000_000
"""Entries in a row that can be gone from a stream: five times as many as a workspace may have there by default."""


class ChainPosition(Struct, frozen=True):
    """The chain's newest link, reduced to what sealing compares. sha256: of the last segment, or the genesis."""

    segment: int
    sequence: int
    sha256: str


class OldestEntries:
    """A block of the oldest unsealed entries, the stream id of the first, and the entries that must be set aside.

    before_ms: time of the newest sealed entry.
    An unreadable or missing entry is replaced by a placeholder line, because its sequence number was given out; an
    entry that no commit made has no number, and is only removed from the stream.
    """

    def __init__(self, upon: ChainPosition, most: int) -> None:
        self.upon = upon
        self.block = SegmentBuilder(upon.sequence + 1, most)
        self.oldest_id: str | None = None
        self.before_ms = 0
        self.poison: list[Quarantined] = []

    @property
    def set_aside(self) -> list[str]:
        return [each.entry_id for each in self.poison]

    @property
    def latest_ms(self) -> int:
        """The time of the latest entry taken; a missing entry, or one without a readable time, is given this time."""
        return self.block.times[-1] if self.block.times else self.before_ms

    def take(self, raw_id: bytes, fields: Any, newest: int) -> bool:
        """Add the entry to the block or set it aside; False if there is no room for it.

        newest: the last commit's sequence. No commit made anything above it, and `stream_repair` deals with that. If
        such an entry were trusted, placeholders would fill the log up to whatever sequence it claims.
        Raises AuditLogDamaged if more entries are gone before it than there can have been.
        """
        block, sequence = self.block, sequence_of(raw_id)
        if block.is_full or len(self.poison) >= _POISON_MAX or (sequence is not None and sequence > newest):
            return False
        if sequence is None or sequence < block.next_sequence:
            why = "no commit made its id" if sequence is None else "its sequence number is sealed already"
            self.poison.append(Quarantined(raw_id.decode(), why, fields_of(fields)))
            return True
        if sequence - block.next_sequence > _GONE_MAX:
            if block.entries:
                return False  # what comes before is sealed first
            raise _impossible(block.next_sequence, sequence)
        self.oldest_id = self.oldest_id or raw_id.decode()
        if block.next_sequence != sequence:
            time_ms = self.latest_ms or time_ms_of(fields_of(fields))
            for gone in block.missing_before(sequence):
                self.poison.append(Quarantined(f"{gone}-0", _GONE, {}, foreign=False))
                block.add_placeholder(placeholder(gone, None, _GONE, time_ms), time_ms)
            if block.next_sequence != sequence or block.is_full:
                return False
        try:
            block.add(fields)
        except Unreadable as error:
            record = fields_of(fields)
            self.poison.append(Quarantined(raw_id.decode(), str(error), record, foreign=False))
            time_ms = time_ms_of(record) or self.latest_ms
            block.add_placeholder(placeholder(sequence, record, str(error), time_ms), time_ms)
        return True


def _impossible(first: int, following: int) -> AuditLogDamaged:
    return AuditLogDamaged(
        f"Entry {first} should be next in the stream, and entry {following} is: the number of the last commit was "
        "changed by something else, or the log's head or its stream was lost. Nothing is sealed until that is mended "
        "(docs/audit.md#sealing)"
    )


async def gather(
    client: Client, keyspace: Keyspace, upon: ChainPosition, most: int, expected: int
) -> OldestEntries | None:
    """The content of the segment after `upon`; None if `upon` is no longer the head: then other entries are next.

    expected: how many entries are likely to fill the segment; no more are read at once.
    An entry that cannot be sealed unchanged is saved for inspection before it leaves the stream.
    """
    gathered = OldestEntries(upon, most)
    start, step = b"-", max(FEW, min(expected, most))
    while True:
        # The head is read second, so anything sealed or committed while the entries were read is noticed.
        chunk, head, newest = await client.read_pipelined(
            (
                (b"XRANGE", keyspace.audit_stream, start, "+", "COUNT", step),
                (b"HMGET", keyspace.audit_head, "segment", "sequence", "sha256", "last_ms"),
                (b"HGET", keyspace.commits, "sequence"),
            ),
            as_bytes=True,
        )
        if _position(head[:3], upon) != upon:
            return None
        gathered.before_ms, committed = int(head[3] or 0), int(newest or 0)
        has_room = all(gathered.take(raw_id, fields, committed) for raw_id, fields in chunk)
        if len(chunk) < step or not has_room or gathered.block.is_full:
            break
        start = b"(" + chunk[-1][0]
        step = _further(gathered.block, most)
    if gathered.poison and not await _keep(client, keyspace, gathered):
        return None
    return gathered


def _position(head: list[bytes | None], upon: ChainPosition) -> ChainPosition:
    segment, sequence, sha256 = head
    return ChainPosition(int(segment or 0), int(sequence or 0), upon.sha256 if sha256 is None else sha256.decode())


def _further(block: SegmentBuilder, most: int) -> int:
    """The number of further entries that are likely to fit, judging by the size of those so far."""
    fit = (SEGMENT_BYTES - block.bytes) * max(1, block.entries) // max(1, block.bytes) + 1
    return max(1, min(most - block.entries, fit))


async def _keep(client: Client, keyspace: Keyspace, gathered: OldestEntries) -> bool:
    """Save the entries set aside; False if the head has moved, because then other entries must be saved."""
    poison = sorted(gathered.poison, key=lambda entry: not entry.foreign)
    saved: list[Value] = []
    for entry in poison:
        saved += (entry.entry_id, entry.found)
    args = [gathered.upon.sha256, gathered.upon.sequence, sum(entry.foreign for entry in poison), *saved]
    keys = [keyspace.audit_stream, keyspace.audit_head, keyspace.audit_poison]
    [status] = await client.run(QUARANTINE_ENTRIES, keys, args)
    if status != "kept":
        return False
    by_reason: dict[str, list[str]] = {}
    for entry in poison:
        by_reason.setdefault(entry.why, []).append(entry.entry_id)
    for why, alike in by_reason.items():
        which = f"entry {alike[0]}" if len(alike) == 1 else f"{len(alike)} entries, {alike[0]} to {alike[-1]},"
        log.error("quarantined %s of %s: %s", which, keyspace.audit_stream, why)
    return True
