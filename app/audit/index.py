"""The index of segments: for each value, a sorted set of the segments that contain it.

Each key covers one part of the log (128 segments). `by:all` lists every segment of the part:
`<segment>:<entries>:<first sequence>:<first ms>:<last ms>`; `by:<dimension>:<value>` lists `<segment>:<matching
entries>:<frames>`, frames being a bit mask in hex, bit i for the segment's frame i.

The dimensions are agent (with `<agent>:<result>` as value, so that a query for both reads one set), tool, action,
result, the type of rule that decided, API key, and shadow policy; the policy that decided is looked up in the columns
(`columns`). Once a part has `names_max` agents,
tools or actions, new ones share sets, `other.<bucket>` by a hash of the value; there, a member ends with the labels of
the values it stands for: a caller that invents names costs little memory. `other` has what cannot be read:
its segments are scanned for any value. So are segments that have lost their columns for what only segments with columns
are indexed by.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from app.audit.hours import whole_parts
from app.audit.index_keys import IndexKeys
from app.audit.index_rows import Posting, Row, missing_from_index, rows_of
from app.audit.log_state import Head, Span, head_of
from app.audit.segments import segments_of
from app.audit.stored_columns import UNKNOWN, decided_by
from app.errors import AuditLogDamaged
from app.model.audit import AuditFilters
from app.model.decisions import Result
from app.model.ids import uuid_of
from app.redis_client.client import Client, Value
from app.runtime.fairness.loop_turns import take_turn
from app.store.keyspace import Keyspace

AGENT, TOOL, ACTION, RESULT = "agent", "tool", "action", "result"
RULE, KEY, SHADOW = "rule", "key", "shadow"
DIMENSIONS = (AGENT, TOOL, ACTION, RESULT, RULE, KEY, SHADOW)
WITH_COLUMNS = (RULE, KEY, SHADOW)
"""The dimensions by which only segments that have columns are indexed."""
ANY = "any"
"""The value under which entries of all shadow policies are indexed."""
OTHER = "other"
_BUCKETS = 512
_LABEL_DIGITS = 6
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
    if uuid_of(text) == text:
        return text
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def values_of(entry: IndexKeys) -> tuple[str | None, ...]:
    """The value by which an entry is indexed in each of DIMENSIONS; None if it is not indexed by it."""
    shadow, rule_type = entry.shadow_policy, entry.rule_type
    return (
        f"{name_of(entry.agent_id)}:{entry.result or NO_RESULT}",
        name_of(entry.tool_name),
        name_of(entry.action),
        entry.result,
        name_of(rule_type) if rule_type else None,
        name_of(entry.key_id) if entry.key_id else None,
        name_of(shadow) if shadow else None,
    )


@lru_cache(maxsize=_CACHED)
def shared_by(value: str) -> tuple[str, str]:
    """The value under which this one is indexed once there are too many, and its label there."""
    name, _, result = value.partition(":")
    digest = hashlib.sha256(name.encode()).hexdigest()
    return f"{OTHER}.{int(digest[:8], 16) % _BUCKETS:x}", digest[8 : 8 + _LABEL_DIGITS] + result[:1]


class Lookup:
    """Answers a query from the index: reads the sorted sets of its values and intersects them."""

    def __init__(self, keyspace: Keyspace, query: AuditFilters) -> None:
        self._keyspace = keyspace
        self._dimensions: list[tuple[str, list[str]]] = []
        self._policy_id = query.policy_id
        self._counts = not query.scans
        if query.agent_id is not None:
            results = [*Result, NO_RESULT] if query.result is None else [query.result]
            agent = name_of(query.agent_id)
            self._dimensions.append((AGENT, [f"{agent}:{result}" for result in results]))
        elif query.result is not None:
            self._dimensions.append((RESULT, [query.result.value]))
        named = [(TOOL, query.tool_name), (ACTION, query.action), (RULE, query.rule_type), (KEY, query.key_id)]
        named += [(SHADOW, query.shadow)]
        self._dimensions += [(dimension, [_value(name)]) for dimension, name in named if name is not None]

    @property
    def unfiltered(self) -> bool:
        """True if the query filters by no dimension, so every segment may match."""
        return self._counts and not self._dimensions and self._policy_id is None

    async def read(
        self, client: Client, head: Head, spans: Mapping[int, Span], parts: Sequence[int]
    ) -> list[list[IndexedSegment]]:
        """For each part, the segments in which every dimension has a match, newest first.

        The sets of the dimensions are read first. The segments' rows are read only for parts with candidates, because
        most parts have nothing about a rare agent. head, spans: as read at the start of the query.
        Raises AuditLogDamaged if the index cannot be read, or does not name every segment of these parts exactly once.
        """
        kept = [_kept(part, head) for part in parts]
        postings: list[dict[int, Posting] | None] = [None] * len(parts)
        if self._dimensions:
            commands = [command for part in parts for command in self._commands(part)]
            replies = iter(await client.read_pipelined(commands))
            for index, numbers in enumerate(kept):
                postings[index] = self._intersected(replies, numbers)
                await take_turn()
        if self._policy_id is not None:
            whole = whole_parts(parts, head, spans)
            decided = await decided_by(client, self._keyspace, self._policy_id, parts, kept, whole)
            postings = [
                one if other is None else _both(one, other) for one, other in zip(decided, postings, strict=True)
            ]
        read = [part for part, posted in zip(parts, postings, strict=True) if posted is None or posted]
        all_rows = [("ZRANGE", self._keyspace.audit_by_all(part), 0, -1) for part in read]
        rows = dict(zip(read, await client.read_pipelined(all_rows) if read else [], strict=True))
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

    def _commands(self, part: int) -> Iterator[tuple[Value, ...]]:
        """What is read of the index of a part."""
        for dimension, values in self._dimensions:
            names = list(values)
            if dimension in CAPPED:
                names += [OTHER, shared_by(values[0])[0]]
            for name in names:
                yield "ZRANGE", self._keyspace.audit_by(dimension, name, part), 0, -1
            if dimension in WITH_COLUMNS:
                yield "HKEYS", self._keyspace.audit_columns(part)

    def _intersected(self, replies: Iterator[Iterable[str]], kept: range) -> dict[int, Posting]:
        """Each segment's matches in all dimensions together. replies: to `_commands`. kept: the part's segments."""
        common: dict[int, Posting] | None = None
        for dimension, values in self._dimensions:
            postings: dict[int, Posting] = {}
            for _ in values:
                _add(postings, next(replies), exact=True)
            if dimension in CAPPED:
                _add(postings, next(replies), exact=False)
                labels = {shared_by(value)[1] for value in values}
                shared = (text for text in next(replies) if not labels.isdisjoint(_labels(text)))
                _add(postings, shared, exact=False, labelled=True)
            if dimension in WITH_COLUMNS:
                indexed = set(next(replies))
                postings |= {number: UNKNOWN for number in kept if str(number) not in indexed}
            common = postings if common is None else _both(common, postings)
        return common or {}

    def _all(self, rows: Mapping[int, Row]) -> list[IndexedSegment]:
        return [IndexedSegment(row, None, row.entries, exact=self._counts) for row in rows.values()]

    def _posted(self, rows: Mapping[int, Row], postings: Mapping[int, Posting]) -> list[IndexedSegment]:
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


def _both(one: Mapping[int, Posting], other: Mapping[int, Posting]) -> dict[int, Posting]:
    """The segments in which both may match."""
    both: dict[int, Posting] = {}
    for number, (entries, mask, _) in one.items():
        posting = other.get(number)
        if posting is not None and posting.mask & mask:
            both[number] = Posting(min(posting.entries, entries), posting.mask & mask, exact=False)
    return both


def _kept(part: int, head: Head) -> range:
    """The part's segments that retention has not dropped."""
    segments = segments_of(part)
    return range(max(segments.start, head.first_segment), min(segments.stop - 1, head.segment) + 1)


def _add(postings: dict[int, Posting], members: Iterable[str], *, exact: bool, labelled: bool = False) -> None:
    for text in members:
        number, entries, mask = posting_of(text, labelled=labelled)
        other = postings.get(number)
        if other is None:
            postings[number] = Posting(entries, mask, exact)
        else:
            postings[number] = Posting(other.entries + entries, other.mask | mask, exact and other.exact)


def _value(name: str) -> str:
    return name if name == ANY else name_of(name)


def _labels(text: str) -> list[str]:
    """The labels at the end of a member."""
    return text.rpartition(":")[2].split(",")


def posting_of(text: str, *, labelled: bool) -> tuple[int, int, int]:
    """Segment, matches and frames of a member, and no more than labels after them. Raises AuditLogDamaged."""
    number, _, counts = text.partition(":")
    entries, _, mask = counts.partition(":")
    mask = mask.partition(":")[0] if labelled else mask
    try:
        posted = int(number), int(entries), int(mask, 16)
        if min(posted) > 0:
            return posted
    except ValueError:
        pass
    raise AuditLogDamaged(f"A member of the index of the audit log cannot be read: {text[:80]}")
