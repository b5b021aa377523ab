"""Counts entries by value and interval: exactly, and without reading the entries of segments that have columns.

The stream is counted first, then the segments below what it had, so that an entry sealed in between is counted once.
Of a part that has hours, those that are wholly in one interval are counted by them, the rest by the columns.
"""

from collections.abc import Mapping, Sequence

from app.audit.hours import HOUR_MS, WholePart, read_hours, table_for, whole_parts
from app.audit.index import IndexedSegment
from app.audit.log_state import read_head
from app.audit.read.backward_search import work_in
from app.audit.read.entry_filter import EntryFilter
from app.audit.read.sealed_reader import SealedReader
from app.audit.read.tallies import Filters, ResultTallies, Tallies, TimeSpan
from app.audit.segments import part_of
from app.audit.stored_columns import read_columns
from app.audit.unsealed import UnsealedWalk, gone, line_of_unsealed
from app.model.counts import CountBy, Counted, CountQuery, ValueCount
from app.model.decisions import Result
from app.model.text import FieldError
from app.redis_client.client import Client
from app.redis_client.clients import store_time_ms
from app.runtime.fairness.loop_turns import take_turn
from app.store.keyspace import Keyspace

SCANNED_MAX = 4 * 1024 * 1024
"""Entries that one count looks through if a filter is not indexed: some 4 s of a core."""
_SEGMENTS_PER_TURN = 8
"""Segments counted before other tasks run: about half a millisecond."""
_LINES_TOGETHER = 512
_PARTS_TOGETHER = 16


async def counts(client: Client, workspace_id: str, query: CountQuery) -> Counted:
    """Count the entries that match. Raises AuditLogDamaged.

    Raises FieldError if the query has too many intervals, or a filter that is not indexed and too many entries.
    """
    keyspace, table = Keyspace(workspace_id), None
    filters = _by_columns(query)
    if filters is not None and (query.step_seconds is None or query.step_seconds * 1000 >= HOUR_MS):
        table = table_for([query.by, *(by for by, _ in filters)])
    tallies = Tallies(query, query.intervals(await store_time_ms(client)))
    await _count(client, keyspace, query, tallies, table)
    head, _ = await read_head(client, keyspace)
    floor = head.floor
    if floor is not None and query.from_ms is not None and query.from_ms > floor.time_ms:
        floor = None
    return Counted(tallies.counts(), floor)


async def counts_by_result(client: Client, workspace_id: str, query: CountQuery) -> dict[Result, list[ValueCount]]:
    """Count the decisions that match by result and value, in one pass: the most frequent values of each result first.

    query: without steps; its limit does not count. Raises as `counts` does.
    """
    tallies = ResultTallies(query, intervals=1)
    await _count(client, Keyspace(workspace_id), query, tallies, table=None)
    return tallies.by_result()


async def _count(client: Client, keyspace: Keyspace, query: CountQuery, tallies: Tallies, table: str | None) -> None:
    """Count the entries that match. table: the hours that can be read in place of entries."""
    matcher, lines = EntryFilter(query), list[bytes]()
    tail = UnsealedWalk(client, keyspace)
    async for sequence, fields in tail.entries():
        if matcher.may_hold(fields):
            line = await line_of_unsealed(client, keyspace, sequence, fields)
            if matcher.matches(line):
                lines.append(line)
        if len(lines) == _LINES_TOGETHER:
            tallies.add_lines(lines, [tallies.span])
            lines = []
            await take_turn()
    tallies.add_lines(lines, [tallies.span])
    head, spans = await read_head(client, keyspace)
    if head.sequence < tail.below - 1:
        raise gone(head.sequence + 1, tail.below - 1)
    sealed = SealedReader(client, keyspace, query, head, spans, after=head.first_sequence - 1, until=tail.below - 1)
    counting = _Sealed(client, keyspace, query, sealed, tallies, table)
    parts = sealed.parts()
    whole = {each.part: each for each in whole_parts(parts, head, spans) if each.until < tail.below}
    while parts:
        some, parts = parts[:_PARTS_TOGETHER], parts[_PARTS_TOGETHER:]
        await counting.count(some, [whole[part] for part in some if part in whole])


class _Sealed:
    """Counts the matches in sealed parts."""

    def __init__(
        self,
        client: Client,
        keyspace: Keyspace,
        query: CountQuery,
        sealed: SealedReader,
        tallies: Tallies,
        table: str | None,
    ) -> None:
        self._client = client
        self._keyspace = keyspace
        self._query = query
        self._sealed = sealed
        self._tallies = tallies
        self._matcher = EntryFilter(query)
        self._filters = _by_columns(query)
        self._table = table
        self._work = 0

    async def count(self, parts: Sequence[int], whole: Sequence[WholePart]) -> None:
        """Count in these parts. whole: those that may have hours. Raises FieldError, AuditLogDamaged."""
        hours = {} if self._table is None else await read_hours(self._client, self._keyspace, self._table, whole)
        for part in parts:
            spans = [self._tallies.span]
            if part in hours:
                spans = self._tallies.add_hours(hours[part], self._filters or [])
                await take_turn()
            if spans:
                await self._count_segments(part, spans)

    async def _count_segments(self, part: int, spans: Sequence[TimeSpan]) -> None:
        """Count at these times, by columns, or by the entries of segments without."""
        segments = [
            segment
            for segment in await self._sealed.segments([part])
            if any(span.meets(segment.row.first_ms, segment.row.last_ms) for span in spans)
        ]
        if self._query.scans:
            self._work += sum(map(work_in, segments))
            if self._work > SCANNED_MAX:
                names = ", ".join(self._query.scans)
                message = f"must be given, or a later one: {names} would be searched for in more than {SCANNED_MAX}"
                raise FieldError("from", f"{message} entries")
        async for frames in self._sealed.read(await self._without_columns(segments, spans)):
            if frames is not None:
                async for matches in self._sealed.matches(frames, self._matcher, newest_first=True):
                    self._tallies.add_lines([line for _, line in matches], spans)

    async def _without_columns(
        self, segments: Sequence[IndexedSegment], spans: Sequence[TimeSpan]
    ) -> Sequence[IndexedSegment]:
        """Count in the segments of one part that have columns; return the others, or all if entries must be read."""
        if self._filters is None or not segments:
            return segments
        entries: Mapping[int, int] = {segment.row.number: segment.row.entries for segment in segments}
        part = part_of(segments[0].row.number)
        stored = await read_columns(self._client, self._keyspace, part, dict(entries))
        for position, segment in enumerate(segments):
            columns = stored[segment.row.number]
            if columns is not None:
                self._tallies.add(columns, segment.row, self._filters, spans)
            if position % _SEGMENTS_PER_TURN == 0:
                await take_turn()
        return [segment for segment in segments if stored[segment.row.number] is None]


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
