"""Sealing: the oldest entries of a workspace's stream become a segment."""

import logging
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from app.store.audit_block import DIMENSIONS, Block, Tallies, members, merged
from app.store.audit_head import Span, head_of, span_text, spans_of
from app.store.audit_index import CAPPED, OTHER, Row, name_of, row_member
from app.store.audit_lines import RESULTS, Unreadable, placeholder
from app.store.audit_segments import CODEC, chain, genesis, pack, part_of
from app.store.audit_stream import fields_of, sequence_of
from app.store.client import Client, Value
from app.store.keyspace import Keyspace
from app.store.records import as_record
from app.store.scripts import SEAL_SEGMENT

log = logging.getLogger(__name__)

_REMEMBERED = 256
_GONE = "it was gone from the stream"


class Sealed(Struct, frozen=True):
    """A segment that was sealed. set_aside: ids of the stream that could not be sealed as they were."""

    number: int
    first_sequence: int
    last_sequence: int
    set_aside: list[str]


class _Basis(Struct):
    """What the next segment is built upon: the head, and the part that the segment will belong to.

    names: how many values the part's indexes hold, by dimension; keys: of some that they surely hold, by dimension and
    value as the stream has it, the index's key. knows_all: there are no others, since the part was begun here.
    """

    segment: int
    sequence: int
    sha256: str
    part: int
    span: Span | None
    names: dict[str, int]
    keys: dict[str, dict[Any, str]]
    knows_all: bool


class Sealer:
    """Seals segments, exactly once by construction: the script refuses what is built upon anything but the head.

    Any number of sealers may work on one workspace; those that come second have worked for nothing.
    """

    def __init__(self, client: Client, segment_entries: int, names_max: int) -> None:
        self._client = client
        self._entries = segment_entries
        self._names_max = names_max
        self._bases: OrderedDict[str, _Basis] = OrderedDict()

    async def seal_next(self, workspace_id: str) -> Sealed | None:
        """One more segment of the oldest unsealed entries; None if there are none, or another was faster."""
        keyspace = Keyspace(workspace_id)
        basis = self._bases.pop(workspace_id, None) or await self._read_basis(workspace_id)
        block = Block(basis.sequence + 1, self._entries)
        chunk = await self._client.call_bytes("XRANGE", keyspace.audit_stream, "-", "+", "COUNT", self._entries)
        oldest_id, set_aside = await self._fill(keyspace, block, chunk)
        if oldest_id is None:
            return None
        number = basis.segment + 1
        frames = block.frames()
        sizes, data = pack([block.lines[frame] for frame in frames])
        sha256 = chain(basis.sha256, b"".join(block.lines))
        part = part_of(number)
        if part != basis.part:
            basis.part, basis.span, basis.names, basis.keys, basis.knows_all = part, None, {}, _no_keys(), True
        row = Row(number, block.entries, block.first_sequence, min(block.times), max(block.times))
        index = await self._index(keyspace, basis, block.tallies(frames))
        span = _widened(basis.span, row)
        keys = [keyspace.audit_stream, keyspace.audit_head, keyspace.audit_segment(number), keyspace.audit_data(number)]
        keys += [keyspace.audit_parts, keyspace.audit_by_all(part), *index]
        args: list[Value] = [
            basis.sha256,
            oldest_id,
            number,
            block.first_sequence,
            block.next_sequence - 1,
            row.first_ms,
            row.last_ms,
            row.entries,
            CODEC,
            sha256,
            sizes,
            data,
            part,
            span_text(span),
            " ".join([str(part), *(str(basis.names.get(dimension, 0)) for dimension in CAPPED)]),
            row_member(row),
            *members(number, index.values()),
        ]
        status, _ = await self._client.run(SEAL_SEGMENT, keys, args)
        if status != "sealed":
            log.info("segment %d of workspace %s was sealed by another compactor", number, workspace_id)
            return None
        basis.segment, basis.sequence, basis.sha256, basis.span = number, block.next_sequence - 1, sha256, span
        self._remember(workspace_id, basis)
        return Sealed(number, block.first_sequence, block.next_sequence - 1, set_aside)

    async def _fill(self, keyspace: Keyspace, block: Block, chunk: Sequence[Any]) -> tuple[str | None, list[str]]:
        """Put the stream's oldest entries into the block; the id of the first of them, and what was set aside.

        An entry that cannot be read, or is gone, is replaced by a line that says so, because its sequence number
        was given out; an entry that no commit made has none, and only leaves the stream.
        """
        oldest_id: bytes | None = None
        poison: list[tuple[str, str, Mapping[bytes, bytes]]] = []
        foreign: list[str] = []
        for raw_id, fields in chunk:
            if block.is_full:
                break
            sequence = sequence_of(raw_id)
            if sequence is None or sequence < block.next_sequence:
                why = "no commit made its id" if sequence is None else "its sequence number is sealed already"
                poison.append((raw_id.decode(), why, fields_of(fields)))
                foreign.append(raw_id.decode())
                continue
            oldest_id = oldest_id or raw_id
            if block.next_sequence != sequence:
                for gone in block.missing_before(sequence):
                    poison.append((f"{gone}-0", _GONE, {}))
                    block.add_placeholder(placeholder(gone, None, _GONE), {})
                if block.next_sequence != sequence:
                    break
            try:
                block.add(fields)
            except Unreadable as error:
                record = fields_of(fields)
                poison.append((raw_id.decode(), str(error), record))
                block.add_placeholder(placeholder(sequence, record, str(error)), record)
        if poison:
            await self._set_aside(keyspace, poison, foreign)
        return None if oldest_id is None else oldest_id.decode(), [entry_id for entry_id, _, _ in poison]

    async def _set_aside(
        self, keyspace: Keyspace, poison: list[tuple[str, str, Mapping[bytes, bytes]]], foreign: list[str]
    ) -> None:
        """Keep what could not be read where a person can look at it, before anything of it leaves the stream."""
        kept: list[Value] = []
        for entry_id, why, fields in poison:
            log.error("entry %s of %s is set aside: %s", entry_id, keyspace.audit_stream, why)
            shown = {_shown(name): _shown(value) for name, value in fields.items()}
            kept += (entry_id, msgspec.json.encode({"why": why, "fields": shown}))
        await self._client.call("HSET", keyspace.audit_poison, *kept)
        if foreign:
            await self._client.call("XDEL", keyspace.audit_stream, *foreign)

    async def _index(self, keyspace: Keyspace, basis: _Basis, tallies: Tallies) -> dict[str, int]:
        """What the segment's index will hold: by key, a tally. The basis then counts and knows the names."""
        found: dict[str, int] = {}
        for dimension, tallied in tallies.items():
            keys = basis.keys[dimension]
            unknown = [value for value in tallied if value not in keys]
            others = await self._name(keyspace, basis, dimension, unknown) if unknown else ()
            for value in others:
                key, tally = keyspace.audit_by(dimension, OTHER, basis.part), tallied.pop(value)
                found[key] = merged(found[key], tally) if key in found else tally
            for value, tally in tallied.items():
                found[keys[value]] = tally
        return found

    async def _name(self, keyspace: Keyspace, basis: _Basis, dimension: str, values: Sequence[Any]) -> list[Any]:
        """Give values keys of their own, as long as the part has no more than `names_max`; those that have none."""
        keys = {value: keyspace.audit_by(dimension, _name(value), basis.part) for value in values if value is not None}
        if dimension not in CAPPED:
            basis.keys[dimension].update(keys)
            return []
        exist: Sequence[int] = [0] * len(keys)
        if keys and not basis.knows_all:
            exist = await self._client.read_together(("EXISTS", key) for key in keys.values())
        names = basis.names.get(dimension, 0)
        for (value, key), exists in zip(keys.items(), exist, strict=True):
            if exists or names < self._names_max:
                basis.keys[dimension][value] = key
                names += not exists
        basis.names[dimension] = names
        return [value for value in values if value not in basis.keys[dimension]]

    async def _read_basis(self, workspace_id: str) -> _Basis:
        keyspace = Keyspace(workspace_id)
        record, parts = await self._client.transact(("HGETALL", keyspace.audit_head), ("HGETALL", keyspace.audit_parts))
        head = head_of(record)
        part = part_of(head.segment)
        counted_part, *counts = map(int, head.names.split(" ")) if head.names else (part, 0, 0, 0)
        names = dict(zip(CAPPED, counts, strict=True)) if counted_part == part else {}
        span = spans_of(as_record(parts)).get(part)
        sha256 = head.sha256 or genesis(workspace_id)
        return _Basis(head.segment, head.sequence, sha256, part, span, names, _no_keys(), knows_all=span is None)

    def _remember(self, workspace_id: str, basis: _Basis) -> None:
        self._bases[workspace_id] = basis
        while len(self._bases) > _REMEMBERED:
            self._bases.popitem(last=False)


def _name(value: bytes | tuple[bytes, bytes]) -> str:
    """What stands for a value in the name of its index; for an agent together with the result."""
    if isinstance(value, tuple):
        return f"{name_of(value[0].decode())}:{value[1].decode()}"
    text = value.decode()
    return text if value in RESULTS else name_of(text)


def _no_keys() -> dict[str, dict[Any, str]]:
    return {dimension: {} for dimension in DIMENSIONS}


def _widened(span: Span | None, row: Row) -> Span:
    if span is None:
        return Span(row.first_sequence, row.first_ms, row.last_ms)
    return Span(span.first_sequence, min(span.first_ms, row.first_ms), max(span.last_ms, row.last_ms))


def _shown(raw: bytes) -> str:
    return raw.decode("utf-8", "backslashreplace")
