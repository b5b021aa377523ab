"""The hours of a part: how many of its entries each hour has, by result and by value. They make counting cheap.

They are made of the columns of the part's segments when the last is sealed, and belong to the part as a whole: the
first of its segments that retention drops takes them along. Each table counts by result and by some of COUNTED. A table
with more than ROWS_MAX rows is left out, so a caller that invents names costs little; what is left out is counted by
the columns, as is a part that has no hours. Hours are derived: verification compares them with the columns.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec
import zstandard
from msgspec import Raw, Struct

from app.audit.columns import AGENT, CODE, COUNTED, POLICY, RESULT, TOOL, Columns
from app.audit.log_state import Head, Span
from app.audit.segments import segments_of
from app.errors import AuditLogDamaged
from app.redis_client.client import Client
from app.store.keyspace import Keyspace

HOUR_MS = 3_600_000
ROWS_MAX = 4_096
"""Rows of a table: values, or combinations of values, that the entries of a part (up to 65,536) have."""
TABLES = {CODE: (CODE,), TOOL: (TOOL,), POLICY: (POLICY,), AGENT: (AGENT,), "calls": (TOOL, POLICY, CODE)}
"""What each table counts by, besides the result. Those that are read fastest come first."""
_PARTS_PER_READ = 16

_compressor = zstandard.ZstdCompressor(level=3, write_checksum=True)
_decompressor = zstandard.ZstdDecompressor()


class OfResult(Struct):
    """The entries with one result: of each row, how many, and how many in which hours.

    by_hour: hours' places and numbers in turns, [0,3,2,1]: three in the first hour, one in the third.
    """

    total: list[int]
    by_hour: list[Raw]


class HourTable(Struct):
    """One table of a part. "" stands for no value, and for no result.

    hours: since the epoch. names: the values of each row, by what the table counts by. counts: by result.
    """

    hours: list[int]
    names: dict[str, list[str]]
    counts: dict[str, OfResult]

    def holds(self, entries: int) -> bool:
        """True if it counts so many entries, and each row of them."""
        rows = {len(each) for each in self.names.values()}
        for of in self.counts.values():
            rows |= {len(of.total), len(of.by_hour)}
        return len(rows) == 1 and sum(sum(of.total) for of in self.counts.values()) == entries


class _Named(Struct):
    names: dict[str, list[str]]


class WholePart(NamedTuple):
    """A part of which every segment is sealed and kept. until: the sequence of its last entry."""

    part: int
    entries: int
    until: int


_table = msgspec.json.Decoder(HourTable).decode
_named = msgspec.json.Decoder(_Named).decode
_numbers = msgspec.json.Decoder(list[int]).decode


def pairs_of(row: bytes) -> Iterable[tuple[int, int]]:
    """The hours' places and numbers in a row of `by_hour`. Raises AuditLogDamaged."""
    try:
        numbers = _numbers(row)
    except msgspec.DecodeError:
        raise AuditLogDamaged("The hours of a part of the audit log cannot be read") from None
    return zip(numbers[::2], numbers[1::2], strict=False)


def table_for(counted: Iterable[str]) -> str | None:
    """The table that counts by all of these; None if there is none."""
    wanted = set(counted) - {RESULT}
    return next((name for name, dimensions in TABLES.items() if wanted <= set(dimensions)), None)


def whole_parts(parts: Iterable[int], head: Head, spans: Mapping[int, Span]) -> list[WholePart]:
    """Those of the parts that may have hours, by the log's head."""
    whole = []
    for part in parts:
        numbers = segments_of(part)
        if head.first_segment <= numbers[0] and numbers[-1] <= head.segment:
            until = spans[part + 1].first_sequence - 1 if part + 1 in spans else head.sequence
            whole.append(WholePart(part, until - spans[part].first_sequence + 1, until))
    return whole


def hours_of(segments: Sequence[Columns]) -> dict[str, bytes]:
    """The tables of a part that has these segments, as they are stored. Raises AuditLogDamaged."""
    hours, columns = list[int](), {dimension: list[str]() for dimension in COUNTED}
    for segment in segments:
        times = segment.times()
        hours += [time_ms // HOUR_MS for time_ms in times]
        for dimension, column in columns.items():
            numbers = segment.numbers(dimension)
            called = {number: segment.value(number) or "" for number in set(numbers)}
            named = map(called.__getitem__, numbers)
            column.extend(named if len(numbers) == len(times) else list(named) * len(times))
    tables = {}
    for name, dimensions in TABLES.items():
        cells = Counter(zip(hours, columns[RESULT], *(columns[each] for each in dimensions), strict=True))
        table = _tabulated(cells, dimensions)
        if table is not None:
            tables[name] = _compressor.compress(table)
    return tables


def are_hours_of(stored: Mapping[bytes, bytes], segments: Sequence[Columns]) -> bool:
    """True if these are the tables of a part that has these segments."""
    try:
        expected = {name.encode(): _unpack(packed) for name, packed in hours_of(segments).items()}
        return {name: _unpack(packed) for name, packed in stored.items()} == expected
    except (AuditLogDamaged, zstandard.ZstdError):
        return False


def _tabulated(cells: Counter[tuple[int | str, ...]], dimensions: Sequence[str]) -> bytes | None:
    """cells: numbers of entries by hour, result and values."""
    rows = {values: row for row, values in enumerate(dict.fromkeys(cell[2:] for cell in cells))}
    if len(rows) > ROWS_MAX:
        return None
    hours = {hour: place for place, hour in enumerate(sorted({cell[0] for cell in cells}))}
    results = dict.fromkeys(str(cell[1]) for cell in cells)
    totals = {result: [0] * len(rows) for result in results}
    by_hour: dict[str, list[list[int]]] = {result: [[] for _ in rows] for result in results}
    for (hour, result, *values), number in cells.items():
        row = rows[tuple(values)]
        totals[str(result)][row] += number
        by_hour[str(result)][row] += (hours[hour], number)
    names = dict(zip(dimensions, zip(*rows, strict=True), strict=True))
    counts = {result: {"total": totals[result], "by_hour": by_hour[result]} for result in results}
    return msgspec.json.encode({"hours": list(hours), "names": names, "counts": counts})


async def read_hours(
    client: Client, keyspace: Keyspace, table: str, parts: Sequence[WholePart]
) -> dict[int, HourTable]:
    """One table of those of the parts that have it. Raises AuditLogDamaged."""
    read = {}
    for each, packed in await _read(client, keyspace, table, parts):
        try:
            read[each.part] = _table(_unpack(packed))
        except (ValueError, zstandard.ZstdError):
            raise _unreadable(each.part) from None
        if not read[each.part].holds(each.entries):
            raise _unreadable(each.part)
    return read


async def without(
    client: Client, keyspace: Keyspace, dimension: str, value: str, parts: Sequence[WholePart]
) -> set[int]:
    """Those of the parts in which, by their hours, no entry has the value. Raises AuditLogDamaged."""
    lacking = set()
    for each, packed in await _read(client, keyspace, dimension, parts):
        try:
            names = _named(_unpack(packed)).names[dimension]
        except (KeyError, ValueError, zstandard.ZstdError):
            raise _unreadable(each.part) from None
        if value not in names:
            lacking.add(each.part)
    return lacking


async def _read(
    client: Client, keyspace: Keyspace, table: str, parts: Sequence[WholePart]
) -> list[tuple[WholePart, bytes]]:
    commands = [("HGET", keyspace.audit_hours(each.part), table) for each in parts]
    replies = await client.read_pipelined(commands, as_bytes=True) if commands else []
    return [(each, packed) for each, packed in zip(parts, replies, strict=True) if packed is not None]


def _unpack(packed: bytes) -> bytes:
    return _decompressor.decompress(packed, allow_extra_data=False)


def _unreadable(part: int) -> AuditLogDamaged:
    return AuditLogDamaged(f"The hours of part {part} of the audit log cannot be read, or are not those of its entries")
