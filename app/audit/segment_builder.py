"""A segment while it is being filled: its lines, and what the index will say of them."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from app.audit.entry_format import RESULTS, columns_of, line_from
from app.audit.index import ACTION, AGENT, CAPPED, RESULT, TOOL
from app.audit.segments import FRAME_BYTES, FRAME_ENTRIES

SEGMENT_BYTES = 1024 * 1024
"""A segment ends with the entry that reaches this many bytes of JSON, so that reading one stays short."""

Indexed = tuple[Any, ...]
"""What an entry is indexed by, in the order of DIMENSIONS: bytes of the stream, None where they cannot be read; of an
agent together with the result."""

DIMENSIONS = (AGENT, TOOL, ACTION, RESULT)
_UNKNOWN: Indexed = (None, None, None)
COUNT_BITS = 32
"""A tally is one number: how many entries in the low bits, above them a bit for each frame that has one."""
_COUNT = (1 << COUNT_BITS) - 1
Tallies = dict[str, dict[Any, int]]
"""By dimension and value: a tally. The value None is of entries that only scanning finds."""


class SegmentBuilder:
    """The oldest unsealed entries in their order, `most` at most. bytes: of their lines."""

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
        """The sequences that must come first, as far as there is room for them."""
        return range(self.next_sequence, min(sequence, self.first_sequence + self._most))

    def add(self, fields: Mapping[bytes, bytes] | list[bytes]) -> None:
        """Append the entry that the stream holds as these fields. Raises Unreadable and appends nothing."""
        columns = columns_of(fields)
        result = columns[7]
        indexed = ((columns[2], result), columns[5], columns[4], result or None)
        self._append(line_from(columns), int(columns[1]), indexed)

    def add_placeholder(self, line: bytes, fields: Mapping[bytes, bytes], time_ms: int) -> None:
        """Append the line that stands for an entry which cannot be read; queries find it by scanning."""
        result = fields.get(b"result")
        self._append(line, time_ms, (*_UNKNOWN, result if result in RESULTS else None))

    def frames(self) -> list[slice]:
        """Which lines share a frame: so many that one is quickly decompressed."""
        frames, start, size = [], 0, 0
        for position, line in enumerate(self.lines):
            if position - start == FRAME_ENTRIES or size >= FRAME_BYTES:
                frames.append(slice(start, position))
                start, size = position, 0
            size += len(line)
        return [*frames, slice(start, len(self.lines))]

    def tallies(self, frames: Sequence[slice]) -> Tallies:
        """How many entries of the segment have a value, and in which frames."""
        return tally(list(zip(*self._indexed, strict=True)), frames)

    def _append(self, line: bytes, time_ms: int, indexed: Indexed) -> None:
        line += b"\n"
        self.lines.append(line)
        self.times.append(time_ms)
        self._indexed.append(indexed)
        self.next_sequence += 1
        self.bytes += len(line)


def tally(columns: Sequence[Sequence[Any]], frames: Sequence[slice]) -> Tallies:
    """How many entries have a value, and in which frames; columns: the values of all entries, by dimension."""
    found: Tallies = {}
    for dimension, column in zip(DIMENSIONS, columns, strict=True):
        tallied = found[dimension] = {}
        for number, frame in enumerate(frames):
            # Counting a frame at a time takes C's loop; an entry at a time took a third of all sealing.
            bit = 1 << (COUNT_BITS + number)
            for value, count in Counter(column[frame]).items():
                tallied[value] = tallied.get(value, 0) + bit + count
        if dimension not in CAPPED:
            tallied.pop(None, None)
    return found


def merged(one: int, other: int) -> int:
    """The tally of both together."""
    masks = one >> COUNT_BITS | other >> COUNT_BITS
    return masks << COUNT_BITS | ((one & _COUNT) + (other & _COUNT))


def members(number: int, tallies: Iterable[int]) -> list[str]:
    """What the index says of the segment, for each tally."""
    return [f"{number}:{tally & _COUNT}:{tally >> COUNT_BITS:x}" for tally in tallies]
