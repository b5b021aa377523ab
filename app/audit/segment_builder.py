"""A segment under construction: its lines and its index entries."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from app.audit.entry_format import RESULTS, columns_of, line_from
from app.audit.index import ACTION, AGENT, CAPPED, RESULT, TOOL
from app.audit.segments import FRAME_BYTES, FRAME_ENTRIES

SEGMENT_BYTES = 1024 * 1024
"""A segment ends with the entry that reaches this many bytes of JSON, which bounds the time to read one."""

Indexed = tuple[Any, ...]
"""An entry's indexed values in the order of DIMENSIONS: bytes of the stream, None if unreadable; for an agent, together
with the result.
"""

DIMENSIONS = (AGENT, TOOL, ACTION, RESULT)
_UNKNOWN: Indexed = (None, None, None)
COUNT_BITS = 32
"""A tally is one number: the count of entries in the low bits, above them a bit for each frame that has one."""
_COUNT = (1 << COUNT_BITS) - 1
Tallies = dict[str, dict[Any, int]]
"""Tallies by dimension and value. The value None counts entries that only a scan can find."""


class SegmentBuilder:
    """The oldest unsealed entries in order, at most `most`. bytes: the size of their lines."""

    def __init__(self, first_sequence: int, most: int) -> None:
        self.first_sequence = first_sequence
        self.next_sequence = first_sequence
        self.lines: list[bytes] = []
        self.times: list[int] = []
        self._indexed: list[Indexed] = []
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
        result = columns[7]
        indexed = ((columns[2], result), columns[5], columns[4], result or None)
        self._append(line_from(columns), int(columns[1]), indexed)

    def add_placeholder(self, line: bytes, fields: Mapping[bytes, bytes], time_ms: int) -> None:
        """Append the placeholder of an unreadable entry; queries find it by scanning."""
        result = fields.get(b"result")
        self._append(line, time_ms, (*_UNKNOWN, result if result in RESULTS else None))

    def frames(self) -> list[slice]:
        """The lines grouped into frames, small enough to decompress quickly."""
        frames, start, size = [], 0, 0
        for position, line in enumerate(self.lines):
            if position - start == FRAME_ENTRIES or size >= FRAME_BYTES:
                frames.append(slice(start, position))
                start, size = position, 0
            size += len(line)
        return [*frames, slice(start, len(self.lines))]

    def tallies(self, frames: Sequence[slice]) -> Tallies:
        """Count the segment's entries by value, and note the frames that contain them."""
        return tally(list(zip(*self._indexed, strict=True)), frames)

    def _append(self, line: bytes, time_ms: int, indexed: Indexed) -> None:
        line += b"\n"
        self.lines.append(line)
        self.times.append(time_ms)
        self._indexed.append(indexed)
        self.next_sequence += 1
        self.bytes += len(line)


def tally(columns: Sequence[Sequence[Any]], frames: Sequence[slice]) -> Tallies:
    """Count the entries by value, and note the frames that contain them. columns: all entries' values, by dimension."""
    tallies: Tallies = {}
    for dimension, column in zip(DIMENSIONS, columns, strict=True):
        tallied = tallies[dimension] = {}
        for number, frame in enumerate(frames):
            # Counting per frame runs in C; counting per entry took a third of all sealing time.
            bit = 1 << (COUNT_BITS + number)
            for value, count in Counter(column[frame]).items():
                tallied[value] = tallied.get(value, 0) + bit + count
        if dimension not in CAPPED:
            tallied.pop(None, None)
    return tallies


def merged(one: int, other: int) -> int:
    """The sum of both tallies."""
    masks = one >> COUNT_BITS | other >> COUNT_BITS
    return masks << COUNT_BITS | ((one & _COUNT) + (other & _COUNT))


def members(number: int, tallies: Iterable[int]) -> list[str]:
    """The segment's index members, one for each tally."""
    return [f"{number}:{tally & _COUNT}:{tally >> COUNT_BITS:x}" for tally in tallies]
