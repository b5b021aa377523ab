"""Reads the log, oldest entries first, in chunks of bounded size, for exports and followers."""

from collections.abc import AsyncIterator, Sequence
from typing import NamedTuple

from app.audit.log_state import Head, Span, head_of, read_head, read_newest, unreadable_is_damage
from app.audit.read.entry_filter import EntryFilter
from app.audit.read.sealed_reader import SealedFrames, SealedReader
from app.audit.unsealed import gone, line_of_unsealed, stream_entries
from app.errors import AuditLogDamaged, StoreUnavailable
from app.model.audit import AuditFilters
from app.redis_client.client import Client
from app.runtime.fairness.loop_turns import take_turn
from app.store.keyspace import Keyspace

_TAIL_CHUNK = 128


class EntryChunk(NamedTuple):
    """Some entries, oldest first: their sequences, and their JSON lines, each with its line feed.

    up_to: every entry up to this sequence has been examined.
    """

    sequences: Sequence[int]
    body: bytes
    up_to: int


class ForwardReader:
    """Reads every matching entry of a workspace once, in order, from one sequence to another."""

    def __init__(self, client: Client, workspace_id: str, query: AuditFilters) -> None:
        self._client = client
        self._keyspace = Keyspace(workspace_id)
        self._query = query
        self._matcher = EntryFilter(query)

    async def newest(self) -> int:
        """The sequence of the newest entry; 0 if there is none. Raises AuditLogDamaged."""
        with unreadable_is_damage():
            return await read_newest(self._client, self._keyspace)

    async def chunks(self, after: int, until: int) -> AsyncIterator[EntryChunk]:
        """Yield every matching entry with after < sequence <= until.

        Raises StoreUnavailable if retention dropped entries that might match before they were read, and AuditLogDamaged
        if entries are missing or differ from what was sealed.
        """
        with unreadable_is_damage():
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
        """The next unsealed entries; None without any."""
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
        entries = [entry for index, entry in enumerate(entries) if entry[0] == entries[0][0] + index]
        sequences, lines = [], []
        for sequence, fields in entries:
            if self._matcher.may_hold(fields):
                line = await line_of_unsealed(self._client, self._keyspace, sequence, fields)
                if self._matcher.matches(line):
                    sequences.append(sequence)
                    lines.append(line + b"\n")
        return _Tail(sequences, b"".join(lines), entries[-1][0], entries[0][0])

    async def _sealed(self, head: Head, spans: dict[int, Span], position: int, until: int) -> AsyncIterator[EntryChunk]:
        sealed = SealedReader(self._client, self._keyspace, self._query, head, spans, after=position, until=until)
        reached = position
        self._require_kept(head, position)
        for part in sealed.parts():
            segments = (await sealed.segments([part]))[::-1]
            # Dropped segments leave the index. A segment that is dropped after this look at the index is noticed when
            # it is read.
            now = head_of(await self._client.call("HGETALL", self._keyspace.audit_head))
            self._require_kept(now, max(position, spans[part].first_sequence - 1))
            async for frames in sealed.read(segments):
                if frames is None:
                    raise StoreUnavailable("A segment was dropped while it was being read")
                first = frames.segment.row.first_sequence
                if sealed.takes_all and first > reached + 1:
                    raise AuditLogDamaged(f"Entries {reached + 1} to {first - 1} are missing")
                reached = frames.segment.end - 1
                yield await self._search(sealed, frames, position, until)
                await take_turn()
        if sealed.takes_all and reached < min(head.sequence, until):
            raise AuditLogDamaged(f"Entries {reached + 1} to {head.sequence} are missing")

    def _require_kept(self, head: Head, position: int) -> None:
        """Raise StoreUnavailable if entries after the position that might match were dropped."""
        floor, from_ms = head.floor, self._query.from_ms
        if floor is None or floor.sequence <= position + 1 or (from_ms is not None and from_ms > floor.time_ms):
            return
        raise StoreUnavailable(
            f"Entries {position + 1} to {floor.sequence - 1} were dropped by retention before they were read"
        )

    async def _search(self, sealed: SealedReader, frames: SealedFrames, position: int, until: int) -> EntryChunk:
        """A segment's matches."""
        first, last = frames.segment.row.first_sequence, frames.segment.end - 1
        if sealed.takes_all and first > position and last <= until:
            return EntryChunk(range(first, last + 1), b"".join(body for _, body in frames.bodies()), last)
        sequences, lines = [], []
        async for matches in sealed.matches(frames, self._matcher, newest_first=False):
            for sequence, line in matches:
                sequences.append(sequence)
                lines.append(line + b"\n")
        return EntryChunk(sequences, b"".join(lines), min(last, until))


class _Tail(NamedTuple):
    sequences: Sequence[int]
    body: bytes
    up_to: int
    first: int
