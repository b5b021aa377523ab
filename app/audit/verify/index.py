"""Verification of the index: rebuilds a part's index from its segments' bodies and compares the two."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from app.audit.columns import Columns, Names
from app.audit.entry_format import placeholder_reason
from app.audit.hours import are_hours_of
from app.audit.index import CAPPED, DIMENSIONS, OTHER, WITH_COLUMNS, shared_by, values_of
from app.audit.index_keys import IndexKeys
from app.audit.index_rows import Row, members_with_scores, row_member
from app.audit.log_state import Head, Span, head_of, read_head, spans_of
from app.audit.seal.segment_builder import Indexed, Tallies, tally
from app.audit.segments import Frame, part_of, segments_of
from app.errors import AuditLogDamaged
from app.redis_client.client import Client, Value
from app.redis_client.replies import as_record
from app.runtime.fairness.loop_turns import take_turn
from app.store.keyspace import Keyspace

_DIGITS = 15
_KEYS_AT_ONCE = 16
"""Sorted sets read and compared in one step, which takes a millisecond."""
_Key = tuple[str, str]
"""A dimension and a value."""


class IndexFault(NamedTuple):
    """The first segment whose index differs from its entries. is_unknown: the index names it, but it does not exist."""

    segment: int
    message: str
    is_unknown: bool = False


class _Stored(NamedTuple):
    """The content of a sorted set: the members that name each segment, and each member's score."""

    members: dict[int, list[str]]
    scores: dict[str, float]


class IndexCheck:
    """Collects what the index must contain about the segments of one part, then compares.

    The index of a value that none of those segments' entries has is not read: it cannot hide an entry.
    unknown: the first member found that names a segment beyond the last, which may follow from another fault.
    """

    def __init__(self, client: Client, keyspace: Keyspace) -> None:
        self._client = client
        self._keyspace = keyspace
        self._rows: dict[int, Row] = {}
        self._wanted: dict[_Key, dict[int, int]] = {}
        self._unread: dict[str, dict[int, int]] = {}
        self._entries: dict[int, Sequence[IndexKeys]] = {}
        self._with_columns: set[int] = set()
        self._head: Head = head_of({})
        self.unknown: IndexFault | None = None

    def add(self, row: Row, entries: Sequence[IndexKeys], frames: Sequence[Frame]) -> None:
        """Expect the index to cover this segment; it belongs to the same part as those before it."""
        self._rows[row.number] = row
        self._entries[row.number] = entries
        for dimension, tallied in _tallies(row, entries, frames).items():
            for value, count in tallied.items():
                if value is None:
                    self._unread.setdefault(dimension, {})[row.number] = count
                else:
                    self._wanted.setdefault((dimension, value), {})[row.number] = count

    async def compare(self) -> IndexFault | None:
        """The first fault in the index of the segments added; the collection is then empty."""
        faults: list[IndexFault] = []
        if self._rows:
            part = part_of(min(self._rows))
            self._head, _ = await read_head(self._client, self._keyspace)
            faults += await self._compare_rows(part)
            faults += await self._compare_columns(part)
            faults += await self._compare_hours(part)
            for dimension in DIMENSIONS:
                faults += await self._compare_dimension(dimension, part)
        if faults:
            now, _ = await read_head(self._client, self._keyspace)
            # Segments that retention has dropped meanwhile are no longer indexed, and those sealed meanwhile are.
            unknown = [fault for fault in faults if fault.is_unknown and fault.segment > now.segment]
            self.unknown = min([*unknown, *filter(None, [self.unknown])], default=None)
            faults = [fault for fault in faults if not fault.is_unknown and fault.segment >= now.first_segment]
        self._rows, self._wanted, self._unread, self._entries = {}, {}, {}, {}
        return min(faults, default=None)

    async def _compare_rows(self, part: int) -> list[IndexFault]:
        stored = (await self._read([self._keyspace.audit_by_all(part)]))[0]
        faults = self._strangers("The index of all segments", stored, part)
        faults += [
            IndexFault(
                number, f"The index of all segments says {_shown(stored, number)}, its entries {row_member(row)}"
            )
            for number, row in self._rows.items()
            if stored.members.get(number) != [row_member(row)]
        ]
        spans = spans_of(as_record(await self._client.call("HGETALL", self._keyspace.audit_parts)))
        return faults + [
            IndexFault(number, f"Part {part} of the index says {spans.get(part)}, and the segment's row is {row}")
            for number, row in self._rows.items()
            if not _spans(spans.get(part), row)
        ]

    async def _compare_columns(self, part: int) -> list[IndexFault]:
        """Check the columns of the segments that have some."""
        key, numbers = self._keyspace.audit_columns(part), list(self._rows)
        commands: list[tuple[Value, ...]] = [("HKEYS", key), ("HMGET", key, *numbers)]
        commands.append(("HGETALL", self._keyspace.audit_names(part)))
        fields, stored, called = await self._client.read_pipelined(commands, as_bytes=True)
        faults = []
        for number, columns in zip(numbers, stored, strict=True):
            if columns is not None and not _are_of(columns, called, self._entries[number]):
                faults.append(IndexFault(number, "Its columns are not those of its entries"))
            await take_turn()
        named = {int(name) if name.isdigit() and len(name) <= _DIGITS else -1 for name in fields}
        self._with_columns = named & set(numbers)
        known = range(self._head.first_segment, self._head.segment + 1)
        for number in sorted(named):
            if part_of(number) != part:
                faults.append(IndexFault(max(self._rows), f"Part {part} has columns of {number}, which is another's"))
            elif number not in known:
                faults.append(IndexFault(number, "There are columns, and there is no such segment", is_unknown=True))
        return faults

    async def _compare_hours(self, part: int) -> list[IndexFault]:
        """Check the hours of a part whose last segment was added, by its columns, which were compared with entries."""
        numbers, last = segments_of(part), max(self._rows)
        if last != numbers[-1] or self._head.first_segment > numbers[0]:
            return []
        commands: list[tuple[Value, ...]] = [
            ("HGETALL", self._keyspace.audit_hours(part)),
            ("HGETALL", self._keyspace.audit_names(part)),
        ]
        commands += [("HGET", self._keyspace.audit_columns(part), number) for number in numbers]
        hours, called, *columns = await self._client.read_pipelined(commands, as_bytes=True)
        await take_turn()
        if _hours_are_of(hours, columns, called):
            return []
        head, _ = await read_head(self._client, self._keyspace)
        if head.first_segment > numbers[0]:  # retention has begun to drop the part, and dropped its hours
            return []
        return [IndexFault(last, f"The hours of part {part} are not those of its entries")]

    async def _compare_dimension(self, dimension: str, part: int) -> list[IndexFault]:
        """Check that every tally is in the index of its value, or in one shared by values without an index."""
        faults: list[IndexFault] = []
        without: list[tuple[int, str, int]] = []
        values = [value for named, value in self._wanted if named == dimension]
        for start in range(0, len(values), _KEYS_AT_ONCE):
            some = values[start : start + _KEYS_AT_ONCE]
            replies = await self._read([self._keyspace.audit_by(dimension, value, part) for value in some])
            for value, stored in zip(some, replies, strict=True):
                expected = {number: Indexed(tally) for number, tally in self._wanted[dimension, value].items()}
                if dimension in WITH_COLUMNS:
                    expected = {number: expected[number] for number in expected if number in self._with_columns}
                faults += self._strangers(f"The index by {dimension} {value}", stored, part)
                for number in self._differing(stored, expected):
                    if number in expected and number not in stored.members and dimension in CAPPED:
                        without.append((number, value, self._wanted[dimension, value][number]))
                        continue
                    faults.append(_fault(dimension, value, number, stored, expected))
            await take_turn()
        return faults + (await self._compare_shared(dimension, part, without) if dimension in CAPPED else [])

    async def _compare_shared(
        self, dimension: str, part: int, without: Sequence[tuple[int, str, int]]
    ) -> list[IndexFault]:
        """Check the indexes that values share. without: segments, values without an index of their own, and tallies."""
        faults: list[IndexFault] = []
        others = {number: Indexed(tally) for number, tally in self._unread.get(dimension, {}).items()}
        buckets: dict[str, dict[int, Indexed]] = {}
        for number, value, tallied in without:
            bucket, label = shared_by(value)
            buckets.setdefault(bucket, {}).setdefault(number, Indexed()).add(tallied, label)
        names = sorted(buckets)
        for start in range(0, len(names), _KEYS_AT_ONCE):
            some = names[start : start + _KEYS_AT_ONCE]
            replies = await self._read([self._keyspace.audit_by(dimension, name, part) for name in some])
            for name, stored in zip(some, replies, strict=True):
                expected = buckets[name]
                faults += self._strangers(f"The index by {dimension} {name}", stored, part)
                faults += [
                    _fault(dimension, name, number, stored, expected) for number in self._differing(stored, expected)
                ]
            await take_turn()
        stored = (await self._read([self._keyspace.audit_by(dimension, OTHER, part)]))[0]
        faults += self._strangers(f"The index by {dimension} {OTHER}", stored, part)
        return faults + [_fault(dimension, OTHER, number, stored, others) for number in self._differing(stored, others)]

    def _differing(self, stored: _Stored, expected: dict[int, Indexed]) -> list[int]:
        """The segments whose members in an index are not those expected."""
        expected_members = {number: [indexed.member(number)] for number, indexed in expected.items()}
        indexed = {number: some for number, some in stored.members.items() if number in self._rows}
        if indexed == expected_members:
            return []
        return [number for number in self._rows if indexed.get(number) != expected_members.get(number)]

    def _strangers(self, where: str, stored: _Stored, part: int) -> list[IndexFault]:
        """Members that name none of the part's segments, reported for the last one added, and members' false scores."""
        faults, last = [], max(self._rows)
        for number, texts in stored.members.items():
            row = self._rows.get(number)
            for text in texts:
                if part_of(number) != part:
                    faults.append(IndexFault(last, f"{where} says {text} in part {part}, which is another's"))
                elif row is None and not self._head.first_segment <= number <= self._head.segment:
                    faults.append(
                        IndexFault(number, f"{where} says {text}, and there is no such segment", is_unknown=True)
                    )
                elif row is not None and stored.scores[text] != row.last_ms:
                    score = f"{stored.scores[text]:.17g}"
                    faults.append(
                        IndexFault(number, f"{where} has {text} at {score}, and its latest entry is of {row.last_ms}")
                    )
        return faults

    async def _read(self, keys: Sequence[str]) -> list[_Stored]:
        """The members and scores of the sorted sets, by segment."""
        # The command is named in bytes, so that redis-py leaves the reply flat.
        commands = [(b"ZRANGE", key, 0, -1, b"WITHSCORES") for key in keys]
        return [_by_segment(reply) for reply in await self._client.read_pipelined(commands)]


def _tallies(row: Row, entries: Sequence[IndexKeys], frames: Sequence[Frame]) -> Tallies:
    """Tallies by dimension and value as in the key name; the value None counts entries that only a scan can find."""
    indexed: list[tuple[str | None, ...]] = []
    for sequence, entry in enumerate(entries, row.first_sequence):
        values = values_of(entry)
        if entry.reason.startswith(placeholder_reason(sequence)):
            values = (None, None, None, *values[3:])
        indexed.append(values)
    slices = [slice(frame.first, frame.first + frame.entries) for frame in frames]
    return tally(list(zip(*indexed, strict=True)), slices)


def _by_segment(reply: Sequence[Any]) -> _Stored:
    members_of: dict[int, list[str]] = {}
    scores = dict(members_with_scores(reply))
    for member in scores:
        number = member.partition(":")[0]
        members_of.setdefault(int(number) if number.isdecimal() and len(number) <= _DIGITS else -1, []).append(member)
    return _Stored(members_of, scores)


def _spans(span: Span | None, row: Row) -> bool:
    """True if the part's stored span includes the segment."""
    if span is None or span.first_ms > row.first_ms or span.last_ms < row.last_ms:
        return False
    begins = row.number == 1 or part_of(row.number - 1) != part_of(row.number)
    return span.first_sequence == row.first_sequence if begins else span.first_sequence < row.first_sequence


def _are_of(columns: bytes, names: Mapping[bytes, bytes], entries: Sequence[IndexKeys]) -> bool:
    try:
        return Columns(columns, Names(names), len(entries)).is_of(entries)
    except AuditLogDamaged:
        return False


def _hours_are_of(
    hours: Mapping[bytes, bytes] | Sequence[bytes], columns: Sequence[bytes | None], names: Mapping[bytes, bytes]
) -> bool:
    stored = hours if isinstance(hours, Mapping) else dict(zip(hours[::2], hours[1::2], strict=True))
    if None in columns:
        return not stored
    try:
        return are_hours_of(stored, [Columns(each, Names(names)) for each in columns if each is not None])
    except AuditLogDamaged:
        return False


def _fault(dimension: str, value: str, number: int, stored: _Stored, expected: dict[int, Indexed]) -> IndexFault:
    entries = expected[number].member(number) if number in expected else "nothing"
    return IndexFault(number, f"The index by {dimension} {value} says {_shown(stored, number)}, its entries {entries}")


def _shown(stored: _Stored, number: int) -> str:
    return " and ".join(stored.members.get(number, [])) or "nothing"
