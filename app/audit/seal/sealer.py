"""Sealing: the oldest entries of a workspace's stream become a segment."""

import logging
import re
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, NamedTuple

from msgspec import Struct

from app.audit.columns import Columns, Names, Packed, PartNames
from app.audit.entry_format import RESULTS
from app.audit.hours import TABLES, hours_of
from app.audit.index import ANY, CAPPED, DIMENSIONS, NO_RESULT, OTHER, TOOL, name_of, shared_by
from app.audit.index_rows import Row, row_member
from app.audit.log_state import Head, Span, read_head, span_text
from app.audit.seal.oldest_entries import FEW, ChainPosition, OldestEntries, gather
from app.audit.seal.segment_builder import Indexed, SegmentBuilder, Tallies
from app.audit.segments import CODEC, chain, genesis, pack, part_of, segments_of
from app.errors import AuditLogDamaged, StoreUnavailable
from app.redis_client.client import Client, Value
from app.redis_client.scripts import SEAL_SEGMENT
from app.store.catalog import note_seen
from app.store.keyspace import Keyspace

log = logging.getLogger(__name__)
_is_count = re.compile("[0-9]{1,15}", re.ASCII).fullmatch

_REMEMBERED = 256
NAMES_MAX = 4_096
"""Agents, tools and actions that the index of one part of a log (128 segments) has each; more share what is left."""


class Sealed(NamedTuple):
    """A sealed segment. set_aside: stream ids of the entries that could not be sealed unchanged. lines: its entries."""

    number: int
    first_sequence: int
    last_sequence: int
    set_aside: list[str]
    lines: list[bytes]


class _Basis(Struct):
    """The basis of the next segment: the head, and the part that the segment will belong to.

    names: the number of values in the part's indexes, by dimension. keys: the index keys of some of these values, by
    dimension and stream value; knows_all: of all of them, because the part was begun here.
    called: the names of the part's columns.
    expected: the number of entries in the last segment. unnoted: tools still to be listed as seen, each
    with a key that asked.
    """

    upon: ChainPosition
    part: int
    span: Span | None
    names: dict[str, int]
    keys: dict[str, dict[Any, str]]
    knows_all: bool
    called: PartNames
    expected: int = FEW
    unnoted: dict[str, str] = {}


class Sealer:
    """Seals segments, each exactly once: the script refuses any segment not built on the current head.

    Any number of sealers may work on one workspace; all but the first to seal a segment discard their work.
    """

    def __init__(self, client: Client, segment_entries: int, names_max: int = NAMES_MAX) -> None:
        self._client = client
        self._entries = segment_entries
        self._names_max = names_max
        self._bases: OrderedDict[str, _Basis] = OrderedDict()

    async def seal_next(self, workspace_id: str) -> Sealed | None:
        """Seal the oldest unsealed entries as a segment; None if there are none or another sealer was faster.

        Raises AuditLogDamaged if a segment beyond the head exists, because sealing would overwrite it.
        """
        keyspace = Keyspace(workspace_id)
        basis = self._bases.pop(workspace_id, None)
        gathered = None if basis is None else await self._gather(keyspace, basis)
        if basis is None or gathered is None:
            # Another compactor has sealed, or the store lost a segment of ours and has its entries in the stream again.
            basis = await self._read_basis(workspace_id)
            gathered = await self._gather(keyspace, basis)
        if gathered is None or gathered.oldest_id is None:
            return None
        block, number = gathered.block, basis.upon.segment + 1
        status, sha256, span = await self._write(workspace_id, basis, block, gathered.oldest_id)
        if status == "occupied":
            raise _beyond_head(basis.upon.segment)
        if status != "sealed":
            log.info("segment %d of workspace %s was sealed by another compactor", number, workspace_id)
            return None
        basis.upon = ChainPosition(number, block.next_sequence - 1, sha256)
        basis.span, basis.expected = span, block.entries
        self._remember(workspace_id, basis)
        return Sealed(number, block.first_sequence, block.next_sequence - 1, gathered.set_aside, block.lines)

    async def _write(
        self, workspace_id: str, basis: _Basis, block: SegmentBuilder, oldest_id: str
    ) -> tuple[str, str, Span]:
        """Run the script; return its status, the segment's sha256, and the part's span with the segment."""
        keyspace, number = Keyspace(workspace_id), basis.upon.segment + 1
        frames = block.frames()
        sizes, data, digests = pack([block.lines[frame] for frame in frames])
        sha256 = chain(basis.upon.sha256, b"".join(block.lines))
        part = part_of(number)
        if part != basis.part:
            basis.part, basis.span, basis.names, basis.keys, basis.knows_all = part, None, {}, _no_keys(), True
            basis.called = PartNames()
        row = Row(number, block.entries, block.first_sequence, min(block.times), max(block.times))
        tallies, columns = block.index(frames, basis.called)
        # Before the segment is written: whether or not that succeeds, the entries are in the log.
        await self._note_tools(workspace_id, basis, block, tallies, row)
        index = await self._index(keyspace, basis, tallies)
        span = _widened(basis.span, row)
        hours = await self._hours(keyspace, part, columns) if number == segments_of(part)[-1] else {}
        keys = [keyspace.audit_stream, keyspace.audit_head, keyspace.audit_segment(number), keyspace.audit_data(number)]
        keys += [keyspace.audit_parts, keyspace.audit_columns(part), keyspace.audit_names(part)]
        keys += [keyspace.audit_hours(part), keyspace.audit_by_all(part), *index]
        args: list[Value] = [
            *(basis.upon.sha256, oldest_id, number, block.first_sequence, block.next_sequence - 1),
            *(row.first_ms, row.last_ms, row.entries, CODEC, sha256, sizes, data, part, span_text(span)),
            " ".join([str(part), *(str(basis.names.get(dimension, 0)) for dimension in CAPPED)]),
            *(digests, columns.columns, columns.names),
            *(hours.get(table, b"") for table in TABLES),
            row_member(row),
            *(indexed.member(number) for indexed in index.values()),
        ]
        status, _ = await self._client.run(SEAL_SEGMENT, keys, args)
        return status, sha256, span

    async def _hours(self, keyspace: Keyspace, part: int, last: Packed) -> dict[str, bytes]:
        """The hours of a part that ends with a segment of these columns; none if others cannot be read."""
        *before, number = segments_of(part)
        commands: list[tuple[Value, ...]] = [("HGETALL", keyspace.audit_names(part))]
        commands += [("HGET", keyspace.audit_columns(part), each) for each in before]
        stored, *columns = await self._client.read_pipelined(commands, as_bytes=True)
        try:
            names = Names(stored, number - 1)
            names.add(last.names)
            return hours_of([Columns(each, names) for each in [*columns, last.columns]])
        except (AuditLogDamaged, TypeError) as error:
            log.warning("part %d of %s will be counted without hours: %s", part, keyspace.audit_head, error)
            return {}

    async def _gather(self, keyspace: Keyspace, basis: _Basis) -> OldestEntries | None:
        return await gather(self._client, keyspace, basis.upon, self._entries, basis.expected)

    async def _note_tools(
        self, workspace_id: str, basis: _Basis, block: SegmentBuilder, tallies: Tallies, row: Row
    ) -> None:
        """Add tools first met in this part to the list of seen tools; most segments bring none."""
        new = {tool for tool in tallies[TOOL] if tool and tool not in basis.keys[TOOL]}
        unknown = basis.unnoted | (block.asked_by(new) if new else {})
        if not unknown:
            return
        try:
            await note_seen(self._client, workspace_id, unknown, row.last_ms)
        except StoreUnavailable as error:  # a full store accepts no writes, and sealing is what frees memory
            log.info("the new tools of workspace %s will be listed later: %s", workspace_id, error)
            basis.unnoted = unknown
        else:
            basis.unnoted = {}

    async def _index(self, keyspace: Keyspace, basis: _Basis, tallies: Tallies) -> dict[str, Indexed]:
        """What the segment adds to each index key. The basis then includes the names of its values."""
        added: dict[str, Indexed] = {}
        for dimension, tallied in tallies.items():
            keys = basis.keys[dimension]
            unknown = [value for value in tallied if value not in keys]
            others = await self._name(keyspace, basis, dimension, unknown) if unknown else ()
            for value in others:
                shared, label = (OTHER, "") if value is None else shared_by(_name(value))
                indexed = added.setdefault(keyspace.audit_by(dimension, shared, basis.part), Indexed())
                indexed.add(tallied.pop(value), label)
            for value, tally in tallied.items():
                added[keys[value]] = Indexed(tally)
        return added

    async def _name(self, keyspace: Keyspace, basis: _Basis, dimension: str, values: Sequence[Any]) -> list[Any]:
        """Give each value an index key, up to `names_max` in the part; return the values left without one."""
        keys = {value: keyspace.audit_by(dimension, _name(value), basis.part) for value in values if value is not None}
        if dimension not in CAPPED:
            basis.keys[dimension].update(keys)
            return []
        exist: Sequence[int] = [0] * len(keys)
        if keys and not basis.knows_all:
            exist = await self._client.read_pipelined(("EXISTS", key) for key in keys.values())
        names = basis.names.get(dimension, 0)
        for (value, key), exists in zip(keys.items(), exist, strict=True):
            if exists or names < self._names_max:
                basis.keys[dimension][value] = key
                names += not exists
        basis.names[dimension] = names
        return [value for value in values if value not in basis.keys[dimension]]

    async def _read_basis(self, workspace_id: str) -> _Basis:
        keyspace = Keyspace(workspace_id)
        head, spans = await read_head(self._client, keyspace)
        while await self._has_sealed_after(keyspace, head):
            newest = head.segment
            head, spans = await read_head(self._client, keyspace)
            if head.segment == newest:  # else another sealer wrote that segment, and the head with it
                raise _beyond_head(newest)
        part = part_of(head.segment)
        names = _counted_names(head.names, part)
        span = spans.get(part)
        sha256 = head.sha256 or genesis(workspace_id)
        upon = ChainPosition(head.segment, head.sequence, sha256)
        called = await self._read_names(keyspace, part, head.segment)
        return _Basis(
            upon=upon, part=part, span=span, names=names, keys=_no_keys(), knows_all=span is None, called=called
        )

    async def _read_names(self, keyspace: Keyspace, part: int, segment: int) -> PartNames:
        """The names of a part up to this segment. If they cannot be read, none is added: sealing must not stop."""
        stored = await self._client.call_bytes("HGETALL", keyspace.audit_names(part))
        try:
            return PartNames(Names(stored, segment).texts)
        except AuditLogDamaged as error:
            log.warning("part %d of %s: %s", part, keyspace.audit_head, error)
            return PartNames(most=0)

    async def _has_sealed_after(self, keyspace: Keyspace, head: Head) -> bool:
        """True if there is a segment after the head's whose entries have left the stream."""
        first_id = f"{head.sequence + 1}-0"
        if not await self._client.call("EXISTS", keyspace.audit_segment(head.segment + 1)):
            return False
        return not await self._client.call("XRANGE", keyspace.audit_stream, first_id, first_id)

    def _remember(self, workspace_id: str, basis: _Basis) -> None:
        self._bases[workspace_id] = basis
        while len(self._bases) > _REMEMBERED:
            self._bases.popitem(last=False)


def _beyond_head(segment: int) -> AuditLogDamaged:
    return AuditLogDamaged(
        f"The head of the audit log says that segment {segment} is the newest, but there is a segment {segment + 1}: "
        "nothing is sealed over it"
    )


def _name(value: bytes | str | tuple[bytes, bytes]) -> str:
    """A value as it appears in its index key; for an agent, together with the result."""
    if isinstance(value, tuple):
        return f"{name_of(value[0].decode())}:{value[1].decode() or NO_RESULT}"
    if isinstance(value, str):  # no entry's own value
        return ANY
    text = value.decode()
    return text if value in RESULTS else name_of(text)


def _no_keys() -> dict[str, dict[Any, str]]:
    return {dimension: {} for dimension in DIMENSIONS}


def _widened(span: Span | None, row: Row) -> Span:
    if span is None:
        return Span(row.first_sequence, row.first_ms, row.last_ms)
    return Span(span.first_sequence, min(span.first_ms, row.first_ms), max(span.last_ms, row.last_ms))


def _counted_names(text: str, part: int) -> dict[str, int]:
    """The head's count of names in this part's indexes; empty if it is about another part, or cannot be read.
    Counting anew admits more names to the indexes, which is harmless; sealing must not stop for it.
    """
    words = text.split(" ")
    if len(words) != 1 + len(CAPPED) or not all(map(_is_count, words)) or int(words[0]) != part:
        return {}
    return dict(zip(CAPPED, map(int, words[1:]), strict=True))
