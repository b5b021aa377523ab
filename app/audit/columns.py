"""The columns of segments: the times of their entries, and the values that entries are counted by, as numbers.

Counting reads them in place of the entries, which takes a twentieth of the time. A value's number is its place among
the names of the segment's part, `audit:names`; each segment adds those that are first met in it. Once a part has
NAMES_MAX, a segment keeps the names of its further values itself. Columns are derived: a segment that has lost them
is counted by its entries; verification compares them with the entries.
"""

import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import accumulate, islice
from operator import sub
from typing import Any

import msgspec
import zstandard
from msgspec import Raw, Struct

from app.audit.index_keys import IndexKeys
from app.errors import AuditLogDamaged
from app.model.decisions import Result
from app.model.rules import usual_code
from app.model.times import parse_time_ms

RESULT, AGENT, TOOL, POLICY, CODE = "result", "agent", "tool", "policy", "code"
COUNTED = (RESULT, AGENT, TOOL, POLICY, CODE)
"""What entries can be counted by, in the order of the columns."""
NAMES_MAX = 8_192

_compressor = zstandard.ZstdCompressor(level=1, write_checksum=True)
_decompressor = zstandard.ZstdDecompressor()
_encode = msgspec.msgpack.encode
_parts = msgspec.msgpack.Decoder(tuple[Raw, Raw, Raw, Raw, Raw, Raw, Raw]).decode
_numbers = msgspec.msgpack.Decoder(list[int]).decode
_texts = msgspec.msgpack.Decoder(list[str]).decode


class Packed(Struct, frozen=True):
    """What sealing stores of a segment. names: those that are new in its part; b"" without any."""

    columns: bytes
    names: bytes


class PartNames:
    """The names of a part, as sealing numbers them. most: how many it may have."""

    def __init__(self, names: Iterable[str | None] = (None,), most: int = NAMES_MAX) -> None:
        texts = [b"" if name is None else name.encode() for name in names]
        self._numbers: dict[bytes, int] = {text: number for number, text in enumerate(texts)}
        self._most = most

    def pack(self, times: Sequence[int], columns: Sequence[Sequence[bytes]]) -> Packed:
        """A segment's columns. columns: each entry's value in the order of COUNTED; b"" = it has none."""
        before, steps = len(self._numbers), [times[0], *map(sub, times[1:], times)]
        local: dict[bytes, int] = {}
        try:
            packed = [_squeezed(list(map(self._numbers.__getitem__, column))) for column in columns]
        except KeyError:  # most segments bring no new name
            local = self._add(columns)
            numbers = self._numbers | local
            packed = [_squeezed(list(map(numbers.__getitem__, column))) for column in columns]
        new = [name.decode() for name in islice(self._numbers, before, None)] if len(self._numbers) > before else []
        return Packed(_pack((steps, [name.decode() for name in local], *packed)), _pack(new) if new else b"")

    def _add(self, columns: Sequence[Sequence[bytes]]) -> dict[bytes, int]:
        """Number the values that have none; return those for which there is no room."""
        local: dict[bytes, int] = {}
        for column in columns:
            for value in set(column).difference(self._numbers).difference(local):
                if len(self._numbers) < self._most:
                    self._numbers[value] = len(self._numbers)
                else:
                    local[value] = NAMES_MAX + len(local)
        return local


class Names:
    """The names of a part by number. stored: as `audit:names` has them. Raises AuditLogDamaged.

    up_to: the last segment whose names are taken.
    """

    def __init__(self, stored: Mapping[bytes, bytes] | Sequence[bytes], up_to: int = sys.maxsize) -> None:
        self.texts: list[str | None] = [None]
        if not isinstance(stored, Mapping):
            stored = dict(zip(stored[::2], stored[1::2], strict=True))
        try:
            for segment in sorted(map(int, stored)):
                if segment <= up_to:
                    self.add(stored[b"%d" % segment])
        except (KeyError, ValueError):
            raise _unreadable_names() from None
        self._looked_up: dict[str, int | None] = {}

    def add(self, packed: bytes) -> None:
        """Take in what one more segment adds. Raises AuditLogDamaged."""
        try:
            self.texts += _texts(_unpack(packed)) if packed else []
        except (zstandard.ZstdError, msgspec.DecodeError):
            raise _unreadable_names() from None

    def may_have(self, value: str) -> bool:
        """False if no entry of the part has the value: it is not named, and no segment keeps names itself."""
        return len(self.texts) >= NAMES_MAX or self.number_of(value) is not None

    def number_of(self, value: str) -> int | None:
        """The value's number; None if it has none in the part."""
        if value not in self._looked_up:
            # A list is searched faster than a dict of all names is made.
            self._looked_up[value] = self.texts.index(value) if value in self.texts else None
        return self._looked_up[value]


class Columns:
    """The columns of one segment; each is decoded when it is used. Raises AuditLogDamaged if one cannot be read.

    names: of its part. entries: how many it has, if that is known.
    """

    def __init__(self, packed: bytes, names: Names, entries: int | None = None) -> None:
        self._names = names
        self._entries = entries
        try:
            self._raw = _parts(_unpack(packed))
        except (msgspec.DecodeError, zstandard.ZstdError):
            raise _unreadable() from None

    def times(self) -> list[int]:
        """The time of each entry, ms."""
        return list(accumulate(self._decoded(0)))

    def numbers(self, dimension: str) -> list[int]:
        """The number of each entry's value of one of COUNTED; a single one if all have the same."""
        return self._decoded(2 + COUNTED.index(dimension))

    @cached_property
    def _local(self) -> list[str]:
        """The names that the segment keeps itself."""
        try:
            return _texts(self._raw[1])
        except msgspec.DecodeError:
            raise _unreadable() from None

    def value(self, number: int) -> str | None:
        """The value that has this number; None is none."""
        try:
            return self._names.texts[number] if number < NAMES_MAX else self._local[number - NAMES_MAX]
        except IndexError:
            raise _unreadable() from None

    def number_of(self, value: str) -> int | None:
        """The value's number; None if no entry can have it."""
        number = self._names.number_of(value)
        if number is not None or value.encode() not in bytes(self._raw[1]):
            return number
        return NAMES_MAX + self._local.index(value) if value in self._local else None

    def is_of(self, entries: Sequence[IndexKeys]) -> bool:
        """True if these are the columns of the entries."""
        if self.times() != [parse_time_ms(entry.timestamp) for entry in entries]:
            return False
        for dimension, expected in zip(COUNTED, zip(*map(counted_by, entries), strict=True), strict=True):
            numbers = self.numbers(dimension)
            values = [self.value(number) for number in (numbers if len(numbers) > 1 else numbers * len(entries))]
            if values != list(expected):
                return False
        return True

    def _decoded(self, place: int) -> list[int]:
        try:
            numbers = _numbers(self._raw[place])
        except msgspec.DecodeError:
            raise _unreadable() from None
        if self._entries not in (None, len(numbers)) and (len(numbers) != 1 or place == 0):
            raise _unreadable()
        return numbers


def counted_by(entry: IndexKeys) -> tuple[str | None, ...]:
    """What an entry is counted by, in the order of COUNTED."""
    code = code_of(entry.result, entry.rule_type, entry.code)
    return entry.result, entry.agent_id or None, entry.tool_name or None, entry.policy_id or None, code


def code_of(result: str | None, rule_type: str | None, code: str | None) -> str | None:
    """The code that readers of the entry are shown; None if it is not a decision and has none.

    code: what the entry itself says, if anything.
    """
    return code or (None if result is None else usual_code(Result(result), rule_type).value)


def _squeezed(numbers: list[int]) -> list[int]:
    return numbers[:1] if numbers.count(numbers[0]) == len(numbers) else numbers


def _pack(value: Any) -> bytes:
    return _compressor.compress(_encode(value))


def _unpack(packed: bytes) -> bytes:
    return _decompressor.decompress(packed, allow_extra_data=False)


def _unreadable_names() -> AuditLogDamaged:
    return AuditLogDamaged("The names of a part of the audit log cannot be read")


def _unreadable() -> AuditLogDamaged:
    return AuditLogDamaged("The columns of a segment of the audit log cannot be read")
