"""Counts entries by value and interval: exactly, and without reading the entries of segments that have columns.

The stream is counted first, then the segments below what it had, so that an entry sealed in between is counted once.
"""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import compress, repeat

from app.audit.columns import COUNTED, Columns, counted_by
from app.audit.index import RESULT, IndexedSegment, posting_of
from app.audit.index_keys import index_keys_of
from app.audit.index_rows import Row
from app.audit.log_state import read_head
from app.audit.read.backward_search import work_in
from app.audit.read.entry_filter import EntryFilter
from app.audit.read.sealed_reader import SealedReader
from app.audit.segments import part_of
from app.audit.stored_columns import read_columns
from app.audit.unsealed import UnsealedWalk, gone, line_of_unsealed
from app.model.counts import CountBy, Counted, CountQuery, Counts, ValueCount
from app.model.decisions import Result
from app.model.text import FieldError
from app.model.times import parse_time_ms, rfc3339
from app.redis_client.client import Client
from app.redis_client.clients import store_time_ms
from app.runtime.fairness.loop_turns import take_turn
from app.store.keyspace import Keyspace

SCANNED_MAX = 4 * 1024 * 1024
"""Entries that one count looks through if a filter is not indexed: some 4 s of a core."""
_SEGMENTS_PER_TURN = 8
"""Segments counted before other tasks run: about half a millisecond."""
_LINES_TOGETHER = 512
_ALWAYS = 1 << 62
Filters = Sequence[tuple[CountBy, str]]


async def counts(client: Client, workspace_id: str, query: CountQuery) -> Counted:
    """Count the entries that match. Raises AuditLogDamaged.

    Raises FieldError if the query has too many intervals, or a filter that is not indexed and too many entries.
    """
    keyspace = Keyspace(workspace_id)
    tallies = _Tallies(query, query.intervals(await store_time_ms(client)))
    matcher, lines = EntryFilter(query), list[bytes]()
    tail = UnsealedWalk(client, keyspace)
    async for sequence, fields in tail.entries():
        if matcher.may_hold(fields):
            line = await line_of_unsealed(client, keyspace, sequence, fields)
            if matcher.matches(line):
                lines.append(line)
        if len(lines) == _LINES_TOGETHER:
            tallies.add_lines(lines)
            lines = []
            await take_turn()
    tallies.add_lines(lines)
    head, spans = await read_head(client, keyspace)
    if head.sequence < tail.below - 1:
        raise gone(head.sequence + 1, tail.below - 1)
    sealed = SealedReader(client, keyspace, query, head, spans, after=head.first_sequence - 1, until=tail.below - 1)
    work = 0
    for part in sealed.parts():
        segments = await sealed.segments([part])
        work += sum(map(work_in, segments)) if query.scans else 0
        if work > SCANNED_MAX:
            names = ", ".join(query.scans)
            message = f"must be given, or a later one: {names} would be searched for in more than {SCANNED_MAX} entries"
            raise FieldError("from", message)
        await _count_sealed(client, keyspace, query, sealed, segments, tallies)
    head, _ = await read_head(client, keyspace)
    floor = head.floor
    if floor is not None and query.from_ms is not None and query.from_ms > floor.time_ms:
        floor = None
    return Counted(tallies.counts(), floor)


async def _count_sealed(
    client: Client,
    keyspace: Keyspace,
    query: CountQuery,
    sealed: SealedReader,
    segments: Sequence[IndexedSegment],
    tallies: "_Tallies",
) -> None:
    """Count the matches in these segments of one part: by their columns, or by the entries of those without."""
    filters, unread = _by_columns(query), list(segments)
    if filters == [] and query.by is CountBy.RESULT and segments:
        unread = segments = await _count_by_index(client, keyspace, segments, tallies)
    if filters is not None and segments:
        entries = {segment.row.number: segment.row.entries for segment in segments}
        stored = await read_columns(client, keyspace, part_of(segments[0].row.number), entries)
        unread = [segment for segment in segments if stored[segment.row.number] is None]
        for position, segment in enumerate(segments):
            row = segment.row
            columns = stored[row.number]
            if columns is not None:
                tallies.add(columns, row, filters)
            if position % _SEGMENTS_PER_TURN == 0:
                await take_turn()
    matcher = EntryFilter(query)
    async for frames in sealed.read(unread):
        if frames is not None:
            async for matches in sealed.matches(frames, matcher, newest_first=True):
                tallies.add_lines([line for _, line in matches])


def _by_columns(query: CountQuery) -> Filters | None:
    """The query's filters as values of columns; None if it has another, for which entries must be read."""
    if query.scans or any((query.action, query.key_id, query.rule_type, query.shadow)):
        return None
    given = (
        (CountBy.RESULT, None if query.result is None else query.result.value),
        (CountBy.AGENT, query.agent_id),
        (CountBy.TOOL, query.tool_name),
        (CountBy.POLICY, query.policy_id),
    )
    return [(by, value) for by, value in given if value is not None]


async def _count_by_index(
    client: Client, keyspace: Keyspace, segments: Sequence[IndexedSegment], tallies: "_Tallies"
) -> list[IndexedSegment]:
    """Count by result, from the index, those of a part's segments that are in one interval; return the others.

    A segment is also left to its columns, which have a checksum, if the index does not count all of its entries.
    """
    part = part_of(segments[0].row.number)
    commands = [("ZRANGE", keyspace.audit_by(RESULT, result.value, part), 0, -1) for result in Result]
    counted: dict[int, dict[str | None, int]] = {each.row.number: {} for each in segments}
    for result, members in zip(Result, await client.read_pipelined(commands), strict=True):
        for text in members:
            number, entries, _ = posting_of(text, labelled=False)
            if number in counted:
                counted[number][result.value] = entries
    left = []
    for segment in segments:
        row = segment.row
        if tallies.is_in_one(row) and sum(counted[row.number].values()) == row.entries:
            tallies.add_counted(row, counted[row.number])
        else:
            left.append(segment)
    await take_turn()
    return left


def _passing(columns: Columns, filters: Filters) -> list[bool] | None:
    """Which of a segment's entries pass the filters; None if all do, an empty list if none does."""
    wanted: list[list[bool]] = []
    for dimension, value in filters:
        number, numbers = columns.number_of(value), columns.numbers(dimension)
        if number not in numbers:
            return []
        if len(numbers) > 1:
            wanted.append(list(map(number.__eq__, numbers)))
    return list(map(all, zip(*wanted, strict=True))) if len(wanted) > 1 else wanted[0] if wanted else None


class _Tallies:
    """The numbers so far: by value and interval."""

    def __init__(self, query: CountQuery, intervals: int) -> None:
        self._query = query
        self._intervals = intervals
        self._from = 0 if query.from_ms is None else query.from_ms
        self._to = _ALWAYS if query.to_ms is None else query.to_ms
        self._step = _ALWAYS if query.step_seconds is None else query.step_seconds * 1000
        self._counted: Counter[tuple[str | None, int]] = Counter()

    def add_lines(self, lines: Sequence[bytes]) -> None:
        """Count these entries, which match."""
        place = COUNTED.index(self._query.by)
        for line in lines:
            entry = index_keys_of(line)
            self._counted[counted_by(entry)[place], self._slot(parse_time_ms(entry.timestamp))] += 1

    def is_in_one(self, row: Row) -> bool:
        """True if all entries of the segment are in the span of the query, and in one interval."""
        first_ms, last_ms = row.first_ms, row.last_ms
        return self._from <= first_ms and last_ms <= self._to and self._slot(first_ms) == self._slot(last_ms)

    def add_counted(self, row: Row, counted: Mapping[str | None, int]) -> None:
        """Add the entries of a segment that is in one interval, counted by value."""
        for value, count in counted.items():
            self._counted[value, self._slot(row.first_ms)] += count

    def add(self, columns: Columns, row: Row, filters: Filters) -> None:
        """Count a segment's entries that pass the filters."""
        by, passing = columns.numbers(self._query.by), _passing(columns, filters)
        if passing == []:
            return
        for slot, some in self._runs(columns, row):
            if passing is None and len(by) == 1:
                self._counted[columns.value(by[0]), slot] += some.stop - some.start
                continue
            numbers: Iterable[int] = by[some] if len(by) > 1 else repeat(by[0], some.stop - some.start)
            if passing is not None:
                numbers = compress(numbers, passing[some])
            for number, count in Counter(numbers).items():
                self._counted[columns.value(number), slot] += count

    def _runs(self, columns: Columns, row: Row) -> Iterator[tuple[int, slice]]:
        """The intervals of a segment's entries, each with neighbouring entries that are in it."""
        if self.is_in_one(row):
            yield self._slot(row.first_ms), slice(0, row.entries)
            return
        times = columns.times()
        if times != sorted(times):  # a clock was set back
            for place, time_ms in enumerate(times):
                if self._from <= time_ms <= self._to:
                    yield self._slot(time_ms), slice(place, place + 1)
            return
        place, end = bisect_left(times, self._from), bisect_right(times, self._to)
        while place < end:
            slot = self._slot(times[place])
            following = bisect_left(times, self._from + (slot + 1) * self._step, place, end)
            yield slot, slice(place, following)
            place = following

    def counts(self) -> Counts:
        """The answer."""
        query, totals = self._query, Counter[str | None]()
        for (value, slot), count in self._counted.items():
            if slot < self._intervals:
                totals[value] += count
        values = sorted(totals, key=lambda value: (-totals[value], value or ""))
        return Counts(
            by=query.by,
            total=totals.total(),
            values=[self._value(value, totals[value]) for value in values[: query.limit]],
            others=sum(totals[value] for value in values[query.limit :]),
            from_ms=None if query.from_ms is None else rfc3339(query.from_ms),
            step_seconds=query.step_seconds,
        )

    def _value(self, value: str | None, count: int) -> ValueCount:
        if self._query.step_seconds is None:
            return ValueCount(value=value, count=count)
        return ValueCount(
            value=value, count=count, counts=[self._counted[value, slot] for slot in range(self._intervals)]
        )

    def _slot(self, time_ms: int) -> int:
        return (time_ms - self._from) // self._step
