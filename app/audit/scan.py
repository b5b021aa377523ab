"""Reads the log, oldest entries first, in chunks of bounded size, for exports and followers."""

from collections.abc import AsyncIterator, Sequence
from typing import NamedTuple

from app.audit.entry_filter import EntryFilter
from app.audit.head import Head, Span, foreign_is_damage, head_of, read_head, read_newest
from app.audit.index import Candidate, Lookup, miscounted
from app.audit.sealed_range import SealedRange
from app.audit.segments import Stored, checked_bodies, frames_of, missing
from app.audit.stream import gone, line_of_unsealed, stream_entries
from app.errors import AppError, AuditLogDamaged, StoreUnavailable
from app.fairness.loop_turns import take_turn
from app.model.audit import AuditQuery
from app.redis_client.client import Client
from app.store.keyspace import Keyspace

_TAIL_CHUNK = 128
_SEGMENTS_AT_ONCE = 4


class EntryChunk(NamedTuple):
    """Some entries, oldest first: their sequences, and their JSON lines, each with its line feed.

    up_to: every entry up to this sequence has been examined.
    """

    sequences: Sequence[int]
    body: bytes
    up_to: int


class Scan:
    """Reads every matching entry of a workspace once, in order, from one sequence to another."""

    def __init__(self, client: Client, workspace_id: str, query: AuditQuery) -> None:
        self._client = client
        self._keyspace = Keyspace(workspace_id)
        self._query = query
        self._matcher = EntryFilter(query)
        self._lookup = Lookup(self._keyspace, query)
        self._is_timeless = query.from_ms is None and query.to_ms is None
        self._whole = self._lookup.unfiltered and self._is_timeless

    async def newest(self) -> int:
        """The sequence of the newest entry; 0 if there is none. Raises AuditLogDamaged."""
        with foreign_is_damage():
            return await read_newest(self._client, self._keyspace)

    async def chunks(self, after: int, until: int) -> AsyncIterator[EntryChunk]:
        """Yield every matching entry with after < sequence <= until.

        Raises StoreUnavailable if retention dropped entries that might match before they were read, and AuditLogDamaged
        if entries are missing or differ from what was sealed.
        """
        with foreign_is_damage():
            async for chunk in self._chunks(after, until):
                yield chunk

    async def _chunks(self, after: int, until: int) -> AsyncIterator[EntryChunk]:
        position = after
        while position < until:
            head, spans = await read_head(self._client, self._keyspace)
            if position < head.sequence:
                async for stretch in self._sealed(head, spans, position, until):
                    yield stretch
                position = min(head.sequence, until)
                continue
            tail = await self._tail(position, until)
            if tail is None or (tail.up_to > position and not self._joins(tail, position)):
                # Either the entry was sealed between the two reads, or it does not exist.
                now, _ = await read_head(self._client, self._keyspace)
                if now.sequence > position:
                    continue
                raise gone(position + 1, position + 1)
            yield EntryChunk(tail.sequences, tail.body, tail.up_to)
            position = tail.up_to

    @staticmethod
    def _joins(tail: "_Tail", position: int) -> bool:
        return tail.first == position + 1

    async def _tail(self, position: int, until: int) -> "_Tail | None":
        """The next unsealed entries; None if there are none."""
        first, last = f"{position + 1}-0", f"{until}-0"
        stream = self._keyspace.audit_stream
        entries: list[tuple[int, dict[bytes, bytes]]] = []
        while not entries:
            chunk = await self._client.call_bytes("XRANGE", stream, first, last, "COUNT", _TAIL_CHUNK)
            entries = [(sequence, fields) for sequence, fields in stream_entries(chunk) if sequence is not None]
            if not entries and len(chunk) < _TAIL_CHUNK:
                return None
            first = f"({chunk[-1][0].decode()}"
        # If an entry is missing further on, the next read reports it.
        entries = [each for place, each in enumerate(entries) if each[0] == entries[0][0] + place]
        sequences, lines = [], []
        for sequence, fields in entries:
            if self._matcher.may_hold(fields):
                line = await line_of_unsealed(self._client, self._keyspace, sequence, fields)
                if self._matcher.matches(line):
                    sequences.append(sequence)
                    lines.append(line + b"\n")
        return _Tail(sequences, b"".join(lines), entries[-1][0], entries[0][0])

    async def _sealed(self, head: Head, spans: dict[int, Span], position: int, until: int) -> AsyncIterator[EntryChunk]:
        sealed, reached = SealedRange(self._query, head, spans, position, until), position
        self._require_kept(head, position)
        for part in sealed.parts():
            (found,) = await self._lookup.read(self._client, head, spans, [part])
            # Dropped segments leave the index. A segment that is dropped after this look at the index is noticed when
            # it is read.
            now = head_of(await self._client.call("HGETALL", self._keyspace.audit_head))
            self._require_kept(now, max(position, spans[part].first_sequence - 1))
            wanted = sealed.segments(reversed(found))
            for start in range(0, len(wanted), _SEGMENTS_AT_ONCE):
                some = wanted[start : start + _SEGMENTS_AT_ONCE]
                for candidate, (record, data) in zip(some, await self._read(some), strict=True):
                    if record[0] is None or not data:
                        raise await self._lost(candidate.row.number)
                    if self._whole and candidate.row.first_sequence > reached + 1:
                        raise AuditLogDamaged(
                            f"Entries {reached + 1} to {candidate.row.first_sequence - 1} are missing"
                        )
                    chunk = self._search(candidate, record, data, position, until)
                    reached = candidate.row.first_sequence + candidate.row.entries - 1
                    yield chunk
                    await take_turn()
        if self._whole and reached < min(head.sequence, until):
            raise AuditLogDamaged(f"Entries {reached + 1} to {head.sequence} are missing")

    def _require_kept(self, head: Head, position: int) -> None:
        """Raise StoreUnavailable if entries after the position that might match were dropped."""
        floor, from_ms = head.floor, self._query.from_ms
        if floor is None or floor.sequence <= position + 1 or (from_ms is not None and from_ms > floor.time_ms):
            return
        raise StoreUnavailable(
            f"Entries {position + 1} to {floor.sequence - 1} were dropped by retention before they were read"
        )

    async def _lost(self, number: int) -> AppError:
        """The error for a segment that does not exist: dropped by retention just now, or missing."""
        now = head_of(await self._client.call("HGETALL", self._keyspace.audit_head))
        if number < now.first_segment:
            return StoreUnavailable(f"Segment {number} was dropped while it was being read")
        return missing(number)

    async def _read(self, candidates: Sequence[Candidate]) -> list[tuple[list[bytes | None], bytes | None]]:
        keyspace, numbers = self._keyspace, [each.row.number for each in candidates]
        commands: list[tuple[str, ...]] = [
            ("HMGET", keyspace.audit_segment(number), "frames", "digests", "previous", "sha256") for number in numbers
        ]
        commands += [("GET", keyspace.audit_data(number)) for number in numbers]
        replies = await self._client.read_pipelined(commands, as_bytes=True)
        return list(zip(replies[: len(numbers)], replies[len(numbers) :], strict=True))

    def _search(
        self, candidate: Candidate, record: Sequence[bytes | None], data: bytes, position: int, until: int
    ) -> EntryChunk:
        """A segment's matches; its data is checked before anything in it is used."""
        row = candidate.row
        last = row.first_sequence + row.entries - 1
        stored = Stored(*((each or b"").decode(errors="replace") for each in record))
        try:
            frames = list(enumerate(frames_of(stored.frames)))
        except AuditLogDamaged:
            raise missing(row.number) from None
        if stored.digests and candidate.mask is not None:
            frames = [each for each in frames if candidate.mask >> each[0] & 1]
        blocks = [(place, data[frame.start : frame.end]) for place, frame in frames]
        bodies = checked_bodies(row.number, row.entries, stored, blocks)
        if self._whole and row.first_sequence > position and last <= until:
            return EntryChunk(range(row.first_sequence, last + 1), b"".join(body for _, _, body in bodies), last)
        sequences, lines, found = [], [], 0
        for _, before, body in bodies:
            matches = self._matcher.select(body)
            found += len(matches)
            for place, line in matches:
                sequence = row.first_sequence + before + place
                if position < sequence <= until:
                    sequences.append(sequence)
                    lines.append(line + b"\n")
        if candidate.exact and self._is_timeless and found != candidate.bound:
            raise miscounted(candidate, found)
        return EntryChunk(sequences, b"".join(lines), min(last, until))


class _Tail(NamedTuple):
    sequences: Sequence[int]
    body: bytes
    up_to: int
    first: int
