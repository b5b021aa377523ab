"""Walks through the sealed part of the log: which segments may contain a query's matches, and the matches in them."""

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence

from app.audit.index import IndexedSegment, Lookup, miscounted
from app.audit.log_state import Head, Span, head_of, read_head, read_newest
from app.audit.read.entry_filter import EntryFilter
from app.audit.segments import Stored, checked_body, damaged, missing, part_of
from app.errors import AuditLogDamaged
from app.model.audit import AuditFilters
from app.redis_client.client import Client, Value
from app.redis_client.scripts import READ_FRAMES
from app.runtime.fairness.loop_turns import take_turn
from app.store.keyspace import Keyspace

SEGMENTS_PER_READ = 64
_BYTES_PER_READ = 512 * 1024
"""Compressed bytes of frames read by one call: about a millisecond of the store's time."""
_BYTES_PER_TURN = 512 * 1024
"""Bytes of lines searched before other tasks run: about half a millisecond."""


class SealedReader:
    """The sealed entries of a query with after < sequence <= until, given the log's `head` and `spans`.

    Times do not follow sequences, because clocks step back: every part and segment is compared by its own times.
    """

    def __init__(
        self,
        client: Client,
        keyspace: Keyspace,
        query: AuditFilters,
        head: Head,
        spans: Mapping[int, Span],
        *,
        after: int,
        until: int,
    ) -> None:
        self._client = client
        self._keyspace = keyspace
        self._query = query
        self._head = head
        self._spans = spans
        self._after = after
        self._until = until
        self._lookup = Lookup(keyspace, query)
        self._searched_bytes = 0

    @property
    def takes_all(self) -> bool:
        """True if every entry in the range matches, so none may be missing."""
        return self._lookup.unfiltered and self._query.from_ms is None and self._query.to_ms is None

    def parts(self) -> list[int]:
        """The parts that may have a match, oldest first. Raises AuditLogDamaged as `kept_parts` does."""
        spans = self._spans
        return [
            part
            for part in kept_parts(self._head, spans)
            if self._overlaps(spans[part].first_sequence, self._end(part), spans[part].first_ms, spans[part].last_ms)
        ]

    async def segments(self, parts: Sequence[int]) -> list[IndexedSegment]:
        """The segments of these parts that may have a match, newest first within each part."""
        head = self._head
        return [
            segment
            for indexed in await self._lookup.read(self._client, head, self._spans, parts)
            for segment in indexed
            if head.first_segment <= segment.row.number <= head.segment
            and self._overlaps(segment.row.first_sequence, segment.end, segment.row.first_ms, segment.row.last_ms)
        ]

    async def read(self, segments: Sequence[IndexedSegment]) -> AsyncIterator["SealedFrames | None"]:
        """Yield the frames of each segment that may have matches; None for one that retention has just dropped.

        Raises AuditLogDamaged if a segment is missing.
        """
        while segments:
            keys: list[str] = []
            some = segments[:SEGMENTS_PER_READ]
            for segment in some:
                number = segment.row.number
                keys += (self._keyspace.audit_segment(number), self._keyspace.audit_data(number))
            masks: list[Value] = ["" if segment.mask is None else segment.mask for segment in some]
            _, replies = await self._client.run(READ_FRAMES, keys, [_BYTES_PER_READ, *masks], as_bytes=True)
            for segment, reply in zip(some, replies, strict=False):
                if not reply:
                    await self._require_dropped(segment.row.number)
                yield SealedFrames(segment, reply) if reply else None
            segments = segments[len(replies) :]

    async def matches(
        self, frames: "SealedFrames", matcher: EntryFilter, *, newest_first: bool
    ) -> AsyncIterator[list[tuple[int, bytes]]]:
        """Yield the matching lines of each frame with their sequences, oldest first within a frame.

        Raises AuditLogDamaged if a frame is not as it was sealed, or if the index counts other matches.
        """
        count, has_all = 0, True
        for first_sequence, body in frames.bodies(newest_first=newest_first):
            if first_sequence > self._until:
                has_all = False
                continue
            lines = matcher.select(body)
            count += len(lines)
            yield [
                (first_sequence + index, line)
                for index, line in lines
                if self._after < first_sequence + index <= self._until
            ]
            self._searched_bytes += len(body)
            if self._searched_bytes >= _BYTES_PER_TURN:
                self._searched_bytes = 0
                await take_turn()
        if has_all and count != frames.segment.max_matches and self._counts(frames.segment):
            raise miscounted(frames.segment, count)

    def matches_exactly(self, segment: IndexedSegment) -> bool:
        """True if exactly `max_matches` of the segment's entries match, according to the index."""
        return self._counts(segment) and segment.row.first_sequence > self._after and segment.end <= self._until + 1

    def _counts(self, segment: IndexedSegment) -> bool:
        """True if the index counts the segment's matches exactly and the query's times exclude none of them."""
        row, query = segment.row, self._query
        return (
            segment.exact
            and (query.from_ms is None or row.first_ms >= query.from_ms)
            and (query.to_ms is None or row.last_ms <= query.to_ms)
        )

    async def _require_dropped(self, number: int) -> None:
        """Raise AuditLogDamaged unless retention has just dropped the segment and everything older."""
        if head_of(await self._client.call("HGETALL", self._keyspace.audit_head)).first_segment <= number:
            raise missing(number)

    def _end(self, part: int) -> int | None:
        """The first sequence after the part; None for the newest part."""
        following = self._spans.get(part + 1)
        return None if following is None else following.first_sequence

    def _overlaps(self, first: int, end: int | None, first_ms: int, last_ms: int) -> bool:
        """True if entries from `first` up to but not including `end`, with these times, may match."""
        query = self._query
        return (
            first <= self._until
            and (end is None or end > self._after + 1)
            and (query.from_ms is None or last_ms >= query.from_ms)
            and (query.to_ms is None or first_ms <= query.to_ms)
        )


class SealedFrames:
    """Frames of one segment as read from the store; each is checked before anything in it is used."""

    def __init__(self, segment: IndexedSegment, reply: Sequence[int | bytes]) -> None:
        self.segment = segment
        fields = [bytes(field).decode(errors="replace") for field in reply[:2] if not isinstance(field, int)]
        self._stored = Stored(*fields)
        indexes, blocks = reply[2::2], reply[3::2]
        self._blocks = [(int(index), bytes(block)) for index, block in zip(indexes, blocks, strict=True)]
        if not self._blocks:
            raise damaged(segment.row.number)

    def bodies(self, *, newest_first: bool = False) -> Iterable[tuple[int, bytes]]:
        """Yield the first sequence and the lines of each frame that may have matches.

        Raises AuditLogDamaged at a frame that is not as it was sealed.
        """
        row, mask = self.segment.row, self.segment.mask
        for index, block in self._blocks[:: -1 if newest_first else 1]:
            before, body = checked_body(row.number, row.entries, self._stored, index, block)
            if mask is None or mask >> index & 1:
                yield row.first_sequence + before, body


def kept_parts(head: Head, spans: Mapping[int, Span]) -> range:
    """The parts from the oldest kept segment's to the newest's.

    Raises AuditLogDamaged if the span of one is missing, or does not follow the one before.
    """
    parts = range(part_of(head.first_segment), part_of(head.segment) + 1) if head.segment else range(0)
    before = 0
    for part in parts:
        if part not in spans or not before < spans[part].first_sequence <= head.sequence:
            raise AuditLogDamaged(f"Part {part} of the index of the audit log is missing, or not in its place")
        before = spans[part].first_sequence
    return parts


async def sequences_between(client: Client, keyspace: Keyspace, from_ms: int, to_ms: int) -> tuple[int, int]:
    """(after, until): every current entry with a time in the span has after < sequence <= until.

    The range may include others: segments are taken whole, and times do not follow sequences where clocks step back.
    """
    newest = await read_newest(client, keyspace)
    head, spans = await read_head(client, keyspace)
    parts = kept_parts(head, spans)
    late = [part for part in parts if spans[part].last_ms >= from_ms]
    after = head.sequence
    if late:
        (segments,) = await Lookup(keyspace, AuditFilters()).read(client, head, spans, late[:1])
        firsts = [segment.row.first_sequence for segment in segments if segment.row.last_ms >= from_ms]
        after = min(firsts, default=spans[late[0]].first_sequence) - 1
    early = max((part for part in parts if spans[part].first_ms <= to_ms), default=None)
    until = newest
    if early is not None and early + 1 in parts:
        until = spans[early + 1].first_sequence - 1
    return max(after, head.first_sequence - 1), until
