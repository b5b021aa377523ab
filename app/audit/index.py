"""The index of segments: for each value, a sorted set of the segments that contain it.

Each key covers one part of the log (128 segments). `by:all` lists every segment of the part:
`<segment>:<entries>:<first sequence>:<first ms>:<last ms>`; `by:<dimension>:<value>` lists `<segment>:<matching
entries>:<frames>`, frames being a bit mask in hex, bit i for the segment's frame i.

The dimensions are agent (with `<agent>:<result>` as value, so that a query for both reads one set), tool, action and
result. Once a part has `names_max` values of a dimension, new ones share the value `other`, whose segments are scanned:
a caller that invents names costs time but no memory.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from app.audit.head import Head, Span, head_of
from app.audit.index_rows import Row, missing_from_index, rows_of
from app.errors import AuditLogDamaged
from app.fairness.loop_turns import take_turn
from app.model.audit import AuditFilters
from app.model.decisions import Result
from app.model.ids import canonical_uuid
from app.redis_client.client import Client
from app.store.keyspace import Keyspace

AGENT, TOOL, ACTION, RESULT = "agent", "tool", "action", "result"
OTHER = "other"
NO_RESULT = "none"
"""The result under which an entry that is not a decision is indexed."""
CAPPED = (AGENT, TOOL, ACTION)
_CACHED = 1 << 12


class IndexedSegment(NamedTuple):
    """A segment that may have matches, as the index describes it.

    mask: the frames that may have some; None = all.
    exact: exactly `max_matches` entries match, unless the query's times or cursor exclude part of the segment.
    """

    row: Row
    mask: int | None
    max_matches: int
    exact: bool

    @property
    def end(self) -> int:
        """The first sequence after the segment."""
        return self.row.first_sequence + self.row.entries


@lru_cache(maxsize=_CACHED)
def name_of(text: str) -> str:
    """A value as it appears in a key name: a UUID unchanged, anything else hashed."""
    if canonical_uuid(text) == text:
        return text
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def values_of(agent_id: str, tool_name: str, action: str, result: str | None) -> tuple[tuple[str, str | None], ...]:
    """Each dimension an entry is indexed by, with its value; None if it is not indexed."""
    return (
        (AGENT, f"{name_of(agent_id)}:{result or NO_RESULT}"),
        (TOOL, name_of(tool_name)),
        (ACTION, name_of(action)),
        (RESULT, result),
    )


class Lookup:
    """Answers a query from the index: reads the sorted sets of its values and intersects them."""

    def __init__(self, keyspace: Keyspace, query: AuditFilters) -> None:
        self._keyspace = keyspace
        self._dimensions: list[tuple[str, list[str]]] = []
        self._counts = not query.scans
        if query.agent_id is not None:
            results = [*Result, NO_RESULT] if query.result is None else [query.result]
            agent = name_of(query.agent_id)
            self._dimensions.append((AGENT, [f"{agent}:{result}" for result in results]))
        elif query.result is not None:
            self._dimensions.append((RESULT, [query.result.value]))
        if query.tool_name is not None:
            self._dimensions.append((TOOL, [name_of(query.tool_name)]))
        if query.action is not None:
            self._dimensions.append((ACTION, [name_of(query.action)]))

    @property
    def unfiltered(self) -> bool:
        """True if the query filters by no dimension, so every segment may match."""
        return self._counts and not self._dimensions

    async def read(
        self, client: Client, head: Head, spans: Mapping[int, Span], parts: Sequence[int]
    ) -> list[list[IndexedSegment]]:
        """For each part, the segments in which every dimension has a match, newest first.

        The sets of the dimensions are read first. The segments' rows are read only for parts with candidates, because
        most parts have nothing about a rare agent. head, spans: as read at the start of the query.
        Raises AuditLogDamaged if the index cannot be read, or does not name every segment of these parts exactly once.
        """
        postings: list[dict[int, Posting] | None] = [None] * len(parts)
        if self._dimensions:
            keys = [self._keys(part) for part in parts]
            commands = (("ZRANGE", key, 0, -1) for group in keys for key in group)
            replies = iter(await client.read_pipelined(commands))
            for index, group in enumerate(keys):
                postings[index] = self._intersected([next(replies) for _ in group])
                await take_turn()
        read = [part for part, posted in zip(parts, postings, strict=True) if posted is None or posted]
        commands = (("ZRANGE", self._keyspace.audit_by_all(part), 0, -1) for part in read)
        rows = dict(zip(read, await client.read_pipelined(commands) if read else [], strict=True))
        indexed = []
        for part, posted in zip(parts, postings, strict=True):
            segments: list[IndexedSegment] = []
            if part in rows:
                checked = rows_of(rows[part], part, head, spans)
                if checked.missing:
                    await self._require_dropped(client, checked.missing[-1])
                segments = self._all(checked.rows) if posted is None else self._posted(checked.rows, posted)
            indexed.append(sorted(segments, key=lambda segment: -segment.row.number))
            await take_turn()
        return indexed

    async def _require_dropped(self, client: Client, number: int) -> None:
        """Raise AuditLogDamaged unless retention has dropped the segment since the head was read."""
        if number >= head_of(await client.call("HGETALL", self._keyspace.audit_head)).first_segment:
            raise missing_from_index(number)

    def _keys(self, part: int) -> list[str]:
        keys = []
        for dimension, values in self._dimensions:
            keys += [self._keyspace.audit_by(dimension, value, part) for value in values]
            if dimension in CAPPED:
                keys.append(self._keyspace.audit_by(dimension, OTHER, part))
        return keys

    def _intersected(self, replies: Sequence[Iterable[str]]) -> dict[int, "Posting"]:
        """Each segment's matches in all dimensions together; `replies` are the members of `_keys`."""
        members = iter(replies)
        common: dict[int, Posting] | None = None
        for dimension, values in self._dimensions:
            postings: dict[int, Posting] = {}
            for _ in values:
                _add(postings, next(members), exact=True)
            if dimension in CAPPED:
                _add(postings, next(members), exact=False)
            if common is None:
                common = postings
                continue
            both: dict[int, Posting] = {}
            for number, (entries, mask, _) in postings.items():
                other = common.get(number)
                if other is not None and other.mask & mask:
                    both[number] = Posting(min(other.entries, entries), other.mask & mask, exact=False)
            common = both
        return common or {}

    def _all(self, rows: Mapping[int, Row]) -> list[IndexedSegment]:
        return [IndexedSegment(row, None, row.entries, exact=self._counts) for row in rows.values()]

    def _posted(self, rows: Mapping[int, Row], postings: Mapping[int, "Posting"]) -> list[IndexedSegment]:
        return [
            IndexedSegment(row, posting.mask, min(posting.entries, row.entries), exact=posting.exact and self._counts)
            for number, posting in postings.items()
            if (row := rows.get(number)) is not None
        ]


def miscounted(segment: IndexedSegment, matches: int) -> AuditLogDamaged:
    """The error for an index whose number of matches in a segment is not that of the entries."""
    return AuditLogDamaged(
        f"The index of the audit log says that {segment.max_matches} entries of segment {segment.row.number} match, "
        f"and {matches} do"
    )


class Posting(NamedTuple):
    """The index's record of a segment: its matching entries, their frames, and whether the count is exact."""

    entries: int
    mask: int
    exact: bool


def _add(postings: dict[int, Posting], members: Iterable[str], *, exact: bool) -> None:
    for text in members:
        number, entries, mask = _posting_of(text)
        other = postings.get(number)
        if other is None:
            postings[number] = Posting(entries, mask, exact)
        else:
            postings[number] = Posting(other.entries + entries, other.mask | mask, exact and other.exact)


def _posting_of(text: str) -> tuple[int, int, int]:
    """Segment, matches and frames of a member. Raises AuditLogDamaged."""
    number, _, counts = text.partition(":")
    entries, _, mask = counts.partition(":")
    try:
        posted = int(number), int(entries), int(mask, 16)
        if min(posted) > 0:
            return posted
    except ValueError:
        pass
    raise AuditLogDamaged(f"A member of the index of the audit log cannot be read: {text[:80]}")
