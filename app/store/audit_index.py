"""The index of segments: sorted sets that name, for a value, the segments that hold it.

Their keys cover one part of the log each (128 segments). `by:all` holds every segment of the part:
`<segment>:<entries>:<first sequence>:<first ms>:<last ms>`; `by:<dimension>:<value>` holds
`<segment>:<matching entries>:<frames>`, frames being a bit mask in hex, bit i for the segment's frame i.

The dimensions are agent (value `<agent>:<result>`, so agent, and agent with result, are one step each), tool,
action and result. Past `names_max` values of a dimension in a part, new ones share the value `other`: their
segments are scanned, so a caller who invents names costs time and no memory.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from app.model.audit import AuditQuery
from app.model.decisions import Result
from app.model.ids import canonical_uuid
from app.store.keyspace import Keyspace

AGENT, TOOL, ACTION, RESULT = "agent", "tool", "action", "result"
OTHER = "other"
CAPPED = (AGENT, TOOL, ACTION)
_CACHED = 1 << 12


class Row(NamedTuple):
    """A segment as `by:all` describes it."""

    number: int
    entries: int
    first_sequence: int
    first_ms: int
    last_ms: int


class Span(NamedTuple):
    """What the store keeps of a part: the sequence it begins with and the times its entries lie between."""

    first_sequence: int
    first_ms: int
    last_ms: int


class Candidate(NamedTuple):
    """A segment that may hold what a query asks for.

    mask: the frames that may; None = all. bound: at most so many entries match.
    exact: exactly `bound` entries match if the query's times and cursor do not cut the segment.
    """

    row: Row
    mask: int | None
    bound: int
    exact: bool


@lru_cache(maxsize=_CACHED)
def name_of(text: str) -> str:
    """The part of a key's name that stands for a value: a UUID as it is, everything else hashed."""
    if canonical_uuid(text) == text:
        return text
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def values_of(agent_id: str, tool_name: str, action: str, result: str) -> tuple[tuple[str, str], ...]:
    """Dimension and value of everything that an entry is indexed by."""
    return (
        (AGENT, f"{name_of(agent_id)}:{result}"),
        (TOOL, name_of(tool_name)),
        (ACTION, name_of(action)),
        (RESULT, result),
    )


def row_member(row: Row) -> str:
    return ":".join(map(str, row))


def member(number: int, count: int, mask: int) -> str:
    return f"{number}:{count}:{mask:x}"


def span_text(span: Span) -> str:
    return " ".join(map(str, span))


def spans_of(record: Mapping[str, str]) -> dict[int, Span]:
    """The parts that the store gave."""
    return {int(part): Span(*map(int, text.split(" "))) for part, text in record.items()}


class Lookup:
    """How a query is answered from the index: which sorted sets to read, and what follows from them."""

    def __init__(self, keyspace: Keyspace, query: AuditQuery) -> None:
        self._keyspace = keyspace
        self._dimensions: list[tuple[str, list[str]]] = []
        if query.agent_id is not None:
            results = list(Result) if query.result is None else [query.result]
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
        """Every segment is asked for."""
        return not self._dimensions

    def keys(self, part: int) -> list[str]:
        """The sorted sets to read for one part, `by:all` first."""
        keys = [self._keyspace.audit_by_all(part)]
        for dimension, values in self._dimensions:
            keys += [self._keyspace.audit_by(dimension, value, part) for value in values]
            if dimension in CAPPED:
                keys.append(self._keyspace.audit_by(dimension, OTHER, part))
        return keys

    def candidates(self, replies: Sequence[Iterable[str]]) -> list[Candidate]:
        """Segments in which every dimension has a match, newest first; `replies` are the members of `keys`."""
        rest = iter(replies)
        rows = {row.number: row for row in (Row(*map(int, each.split(":"))) for each in next(rest))}
        found = {row.number: Candidate(row, None, row.entries, exact=True) for row in rows.values()}
        for position, (dimension, values) in enumerate(self._dimensions):
            holding: dict[int, tuple[int, int, bool]] = {}
            for _ in values:
                for number, count, mask in map(_parsed, next(rest)):
                    counted, masked, _ = holding.get(number, (0, 0, True))
                    holding[number] = (counted + count, masked | mask, True)
            if dimension in CAPPED:
                for number, count, mask in map(_parsed, next(rest)):
                    counted, masked, _ = holding.get(number, (0, 0, True))
                    holding[number] = (counted + count, masked | mask, False)
            kept = {}
            for number, (count, mask, exact) in holding.items():
                before = found.get(number)
                if before is None:
                    continue
                both = mask if before.mask is None else mask & before.mask
                if both:
                    kept[number] = Candidate(before.row, both, min(before.bound, count), exact and position == 0)
            found = kept
        return sorted(found.values(), key=lambda each: -each.row.number)


def _parsed(text: str) -> tuple[int, int, int]:
    number, count, mask = text.split(":")
    return int(number), int(count), int(mask, 16)
