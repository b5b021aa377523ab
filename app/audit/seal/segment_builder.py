"""A segment under construction: its lines, its index entries and its columns."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache, reduce
from typing import Any

from app.audit.columns import Packed, PartNames, code_of
from app.audit.entry_format import FIELDS, columns_of, line_from
from app.audit.index import ANY, CAPPED, DIMENSIONS, SHADOW
from app.audit.index_keys import index_keys_of, shadow_policy_of
from app.audit.segments import FRAME_BYTES, FRAME_ENTRIES

SEGMENT_BYTES = 1024 * 1024
"""A segment ends with the entry that reaches this many bytes of JSON, which bounds the time to read one."""

COUNT_BITS = 32
"""A tally is one number: the count of entries in the low bits, above them a bit for each frame that has one."""
_COUNT = (1 << COUNT_BITS) - 1
_KEY, _TOOL = FIELDS.index(b"keyId"), FIELDS.index(b"toolName")
Tallies = dict[str, dict[Any, int]]
"""Tallies by dimension and value. The value None counts entries that only a scan can find."""


class SegmentBuilder:
    """The oldest unsealed entries in order, at most `most`. bytes: the size of their lines."""

    def __init__(self, first_sequence: int, most: int) -> None:
        self.first_sequence = first_sequence
        self.next_sequence = first_sequence
        self.lines: list[bytes] = []
        self.times: list[int] = []
        self._rows: list[Sequence[bytes]] = []
        self._unreadable: list[int] = []
        self._most = most
        self.bytes = 0

    @property
    def is_full(self) -> bool:
        return len(self.lines) >= self._most or self.bytes >= SEGMENT_BYTES

    @property
    def entries(self) -> int:
        return len(self.lines)

    def missing_before(self, sequence: int) -> range:
        """Sequence numbers missing before this one, up to the segment's remaining capacity."""
        return range(self.next_sequence, min(sequence, self.first_sequence + self._most))

    def add(self, fields: Mapping[bytes, bytes] | list[bytes]) -> None:
        """Append the entry with these stream fields. Raises Unreadable and then appends nothing."""
        columns = columns_of(fields)
        self._append(line_from(columns), int(columns[1]), columns)

    def add_placeholder(self, line: bytes, time_ms: int) -> None:
        """Append the placeholder of an unreadable entry; queries find it by scanning."""
        self._unreadable.append(len(self.lines))
        self._append(line, time_ms, _row_of(line))

    def frames(self) -> list[slice]:
        """The lines grouped into frames, small enough to decompress quickly."""
        frames, start, size = [], 0, 0
        for position, line in enumerate(self.lines):
            if position - start == FRAME_ENTRIES or size >= FRAME_BYTES:
                frames.append(slice(start, position))
                start, size = position, 0
            size += len(line)
        return [*frames, slice(start, len(self.lines))]

    def index(self, frames: Sequence[slice], names: PartNames) -> tuple[Tallies, Packed]:
        """The segment's entries counted by value, with the frames that contain them; and its packed columns."""
        # Rows have further columns if an entry has optional fields, so they differ in length.
        columns = [*zip(*self._rows, strict=False)][: len(FIELDS)]
        _, _, agents, keys, actions, tools, _, results, policies, rules, _, _ = columns
        types = {rule: rule.partition(b" ")[2] for rule in set(rules)}
        rule_types = [types[rule] for rule in rules]
        codes = list(map(_code_without_field, results, rule_types))
        called: list[Sequence[Any]] = [list(zip(agents, results, strict=True)), list(tools), list(actions)]
        for column in called:
            for position in self._unreadable:
                column[position] = None  # type: ignore[index]
        shadows: list[bytes | None] = [None] * len(self._rows)
        for position, row in enumerate(self._rows):
            others = row[len(FIELDS) :: 2]
            if b"shadow" in others:
                shadows[position] = _shadow(_further(row, others, b"shadow"))
            if b"code" in others:
                codes[position] = _further(row, others, b"code") or codes[position]
        tallies = tally([*called, results, rule_types, keys, shadows], frames)
        return tallies, names.pack(self.times, (results, agents, tools, policies, codes))

    def asked_by(self, tools: Collection[bytes]) -> dict[str, str]:
        """The id of a key that asked for each of these tools."""
        return {
            row[_TOOL].decode(errors="replace"): row[_KEY].decode(errors="replace")
            for row in self._rows
            if row[_TOOL] in tools
        }

    def _append(self, line: bytes, time_ms: int, row: Sequence[bytes]) -> None:
        line += b"\n"
        self.lines.append(line)
        self.times.append(time_ms)
        self._rows.append(row)
        self.next_sequence += 1
        self.bytes += len(line)


def tally(columns: Sequence[Sequence[Any]], frames: Sequence[slice]) -> Tallies:
    """Count the entries by value, and note the frames that contain them. columns: all entries' values, by dimension."""
    tallies: Tallies = {}
    for dimension, column in zip(DIMENSIONS, columns, strict=True):
        tallied = tallies[dimension] = {}
        if column.count(column[0]) == len(column):
            tallied[column[0]] = ((1 << len(frames)) - 1 << COUNT_BITS) + len(column)
        else:
            for number, frame in enumerate(frames):
                # Counting per frame runs in C; counting per entry took a third of all sealing time.
                bit = 1 << (COUNT_BITS + number)
                for value, count in Counter(column[frame]).items():
                    tallied[value] = tallied.get(value, 0) + bit + count
        if dimension not in CAPPED:
            tallied.pop(None, None)
            tallied.pop(b"", None)
        if dimension == SHADOW and tallied:
            tallied[ANY] = reduce(merged, tallied.values())
    return tallies


def merged(one: int, other: int) -> int:
    """The sum of both tallies."""
    masks = one >> COUNT_BITS | other >> COUNT_BITS
    return masks << COUNT_BITS | ((one & _COUNT) + (other & _COUNT))


class Indexed:
    """What one index says about a segment: a tally and, if values share the index, the labels of those that occur."""

    def __init__(self, tally: int = 0) -> None:
        self.tally = tally
        self._labels: set[str] = set()

    def add(self, tally: int, label: str = "") -> None:
        """Add the tally of one more value, and its label if it has one."""
        self.tally = merged(self.tally, tally)
        self._labels |= {label} - {""}

    def member(self, number: int) -> str:
        """The member of the index for segment `number`."""
        labels = ":" + ",".join(sorted(self._labels)) if self._labels else ""
        return f"{number}:{self.tally & _COUNT}:{self.tally >> COUNT_BITS:x}{labels}"


@lru_cache(maxsize=64)
def _code_without_field(result: bytes, rule_type: bytes) -> bytes:
    """The code of an entry that does not say it; b"" if it has none."""
    return (code_of(result.decode() or None, rule_type.decode() or None, None) or "").encode()


def _shadow(shadow: bytes) -> bytes | None:
    policy_id = shadow_policy_of(shadow)
    return None if policy_id is None else policy_id.encode()


def _further(row: Sequence[bytes], others: Sequence[bytes], name: bytes) -> bytes:
    """The value of an optional field. others: the names of those that the row has."""
    return row[len(FIELDS) + 2 * others.index(name) + 1]


def _row_of(line: bytes) -> Sequence[bytes]:
    """The columns of a placeholder, as its line says."""
    entry = index_keys_of(line)
    return (
        *(b"", b"", entry.agent_id.encode(), entry.key_id.encode(), entry.action.encode(), entry.tool_name.encode()),
        *(b"", (entry.result or "").encode(), (entry.policy_id or "").encode(), b"", entry.reason.encode(), b""),
    )
