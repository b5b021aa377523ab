"""Sealing: the oldest entries of a workspace's stream become a segment."""

import logging
from collections import OrderedDict
from collections.abc import Mapping

import msgspec
from msgspec import Struct

from app.store.audit import stream_entries
from app.store.audit_index import CAPPED, OTHER, RESULT, Row, Span, member, row_member, span_text, spans_of, values_of
from app.store.audit_lines import Unreadable, line_of, placeholder, time_ms_of
from app.store.audit_segments import CODEC, FRAME_BYTES, FRAME_ENTRIES, chain, genesis, head_of, pack, part_of
from app.store.client import Client, Value
from app.store.keyspace import Keyspace
from app.store.records import as_record
from app.store.scripts import SEAL_SEGMENT

log = logging.getLogger(__name__)

SEGMENT_BYTES = 1024 * 1024
"""A segment ends with the entry that reaches this many bytes of JSON, so that reading one stays short."""

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

    names: how many values the part's indexes hold, by dimension; known: some that they surely hold.
    """

    segment: int
    sequence: int
    sha256: str
    part: int
    span: Span | None
    names: dict[str, int]
    known: set[tuple[str, str]]


class _Block:
    """A segment being filled: lines in frames, and what its index will say."""

    def __init__(self, first_sequence: int, most: int) -> None:
        self.first_sequence = first_sequence
        self.count = 0
        self.frames: list[list[bytes]] = [[]]
        self.first_ms = self.last_ms = 0
        self.tallies: dict[tuple[str, str], tuple[int, int]] = {}
        self._entries: dict[tuple[bytes, bytes, bytes, bytes], tuple[int, int]] = {}
        self._most = most
        self._bytes = self._frame_bytes = 0

    @property
    def is_full(self) -> bool:
        return self.count >= self._most or self._bytes >= SEGMENT_BYTES

    @property
    def next_sequence(self) -> int:
        return self.first_sequence + self.count

    def missing_before(self, sequence: int) -> range:
        """The sequences that must come first, as far as there is room for them."""
        return range(self.next_sequence, min(sequence, self.first_sequence + self._most))

    def add(self, line: bytes, fields: Mapping[bytes, bytes]) -> None:
        """Append the line of an entry with these stream fields."""
        bit = self._append(line, int(fields[b"timeMs"]))
        names = (fields[b"agentId"], fields[b"toolName"], fields[b"action"], fields[b"result"])
        count, mask = self._entries.get(names, (0, 0))
        self._entries[names] = (count + 1, mask | bit)

    def add_placeholder(self, line: bytes, fields: Mapping[bytes, bytes]) -> None:
        """Append the line that stands for an entry which cannot be read; queries find it by scanning."""
        bit = self._append(line, time_ms_of(fields))
        for dimension in CAPPED:
            self._tally((dimension, OTHER), 1, bit)
        result = msgspec.json.decode(line)["result"]
        if result is not None:
            self._tally((RESULT, result), 1, bit)

    def close(self) -> tuple[str, bytes, bytes]:
        """The segment's frames, its compressed and its uncompressed data; the tallies are complete."""
        for (agent, tool, action, result), (count, mask) in self._entries.items():
            for value in values_of(agent.decode(), tool.decode(), action.decode(), result.decode()):
                self._tally(value, count, mask)
        frames, data = pack(self.frames)
        return frames, data, b"".join(line for frame in self.frames for line in frame)

    def _append(self, line: bytes, time_ms: int) -> int:
        if len(self.frames[-1]) == FRAME_ENTRIES or self._frame_bytes >= FRAME_BYTES:
            self.frames.append([])
            self._frame_bytes = 0
        self.frames[-1].append(line + b"\n")
        self.count += 1
        self._bytes += len(line)
        self._frame_bytes += len(line)
        self.first_ms = time_ms if self.count == 1 else min(self.first_ms, time_ms)
        self.last_ms = time_ms if self.count == 1 else max(self.last_ms, time_ms)
        return 1 << (len(self.frames) - 1)

    def _tally(self, value: tuple[str, str], count: int, mask: int) -> None:
        counted, masked = self.tallies.get(value, (0, 0))
        self.tallies[value] = (counted + count, masked | mask)


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
        block = _Block(basis.sequence + 1, self._entries)
        chunk = await self._client.call_bytes("XRANGE", keyspace.audit_stream, "-", "+", "COUNT", self._entries)
        oldest_id, set_aside = await self._fill(keyspace, block, chunk)
        if oldest_id is None:
            return None
        number = basis.segment + 1
        frames, data, body = block.close()
        sha256 = chain(basis.sha256, body)
        part = part_of(number)
        if part != basis.part:
            basis.part, basis.span, basis.names, basis.known = part, None, {}, set()
        row = Row(number, block.count, block.first_sequence, block.first_ms, block.last_ms)
        index, names = await self._index(keyspace, basis, number, block.tallies)
        span = _widened(basis.span, row)
        keys = [keyspace.audit_stream, keyspace.audit_head, keyspace.audit_segment(number), keyspace.audit_parts]
        args: list[Value] = [
            basis.sha256,
            oldest_id,
            number,
            block.first_sequence,
            block.next_sequence - 1,
            block.first_ms,
            block.last_ms,
            block.count,
            CODEC,
            sha256,
            frames,
            data,
            part,
            span_text(span),
            " ".join([str(part), *(str(names.get(dimension, 0)) for dimension in CAPPED)]),
        ]
        members = [keyspace.audit_by(*value, part) for value in index]
        keys += [keyspace.audit_by_all(part), *members]
        args += [row_member(row), *(member(number, count, mask) for count, mask in index.values())]
        status, _ = await self._client.run(SEAL_SEGMENT, keys, args)
        if status != "sealed":
            log.info("segment %d of workspace %s was sealed by another compactor", number, workspace_id)
            return None
        known = basis.known | index.keys()
        self._remember(workspace_id, _Basis(number, block.next_sequence - 1, sha256, part, span, names, known))
        return Sealed(number, block.first_sequence, block.next_sequence - 1, set_aside)

    async def _fill(
        self, keyspace: Keyspace, block: _Block, chunk: list[tuple[bytes, dict[bytes, bytes]]]
    ) -> tuple[str | None, list[str]]:
        """Put the stream's oldest entries into the block; the id of the first of them, and what was set aside.

        An entry that cannot be read, or is gone, is replaced by a line that says so, because its sequence number
        was given out; an entry that no commit made has none, and only leaves the stream.
        """
        oldest_id: str | None = None
        poison: list[tuple[str, str, dict[bytes, bytes]]] = []
        foreign: list[str] = []
        for (raw_id, _), (sequence, fields) in zip(chunk, stream_entries(chunk), strict=True):
            if block.is_full:
                break
            entry_id = raw_id.decode()
            if sequence is None or sequence < block.next_sequence:
                why = "no commit made its id" if sequence is None else "its sequence number is sealed already"
                poison.append((entry_id, why, fields))
                foreign.append(entry_id)
                continue
            oldest_id = oldest_id or entry_id
            for gone in block.missing_before(sequence):
                poison.append((f"{gone}-0", _GONE, {}))
                block.add_placeholder(placeholder(gone, None, _GONE), {})
            if block.next_sequence != sequence:
                break
            try:
                block.add(line_of(fields), fields)
            except Unreadable as error:
                poison.append((entry_id, str(error), fields))
                block.add_placeholder(placeholder(sequence, fields, str(error)), fields)
        if poison:
            await self._set_aside(keyspace, poison, foreign)
        return oldest_id, [entry_id for entry_id, _, _ in poison]

    async def _set_aside(
        self, keyspace: Keyspace, poison: list[tuple[str, str, dict[bytes, bytes]]], foreign: list[str]
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

    async def _index(
        self, keyspace: Keyspace, basis: _Basis, number: int, tallies: dict[tuple[str, str], tuple[int, int]]
    ) -> tuple[dict[tuple[str, str], tuple[int, int]], dict[str, int]]:
        """What the segment's index will hold, and how many names its part then has: no more than `names_max` each."""
        part = part_of(number)
        capped = [value for value in tallies if value[0] in CAPPED and value[1] != OTHER]
        unknown = [value for value in capped if value not in basis.known]
        exist: dict[tuple[str, str], bool] = {}
        if unknown:
            replies = await self._client.read_together(("EXISTS", keyspace.audit_by(*value, part)) for value in unknown)
            exist = dict(zip(unknown, map(bool, replies), strict=True))
        names = dict(basis.names)
        index: dict[tuple[str, str], tuple[int, int]] = {}
        for value, (count, mask) in tallies.items():
            kept = value
            if not exist.get(value, True):
                if names.get(value[0], 0) < self._names_max:
                    names[value[0]] = names.get(value[0], 0) + 1
                else:
                    kept = (value[0], OTHER)
            counted, masked = index.get(kept, (0, 0))
            index[kept] = (counted + count, masked | mask)
        return index, names

    async def _read_basis(self, workspace_id: str) -> _Basis:
        keyspace = Keyspace(workspace_id)
        record, parts = await self._client.transact(("HGETALL", keyspace.audit_head), ("HGETALL", keyspace.audit_parts))
        head = head_of(record)
        part = part_of(head.segment)
        counted_part, *counts = map(int, head.names.split(" ")) if head.names else (part, 0, 0, 0)
        names = dict(zip(CAPPED, counts, strict=True)) if counted_part == part else {}
        span = spans_of(as_record(parts)).get(part)
        return _Basis(head.segment, head.sequence, head.sha256 or genesis(workspace_id), part, span, names, set())

    def _remember(self, workspace_id: str, basis: _Basis) -> None:
        self._bases[workspace_id] = basis
        while len(self._bases) > _REMEMBERED:
            self._bases.popitem(last=False)


def _widened(span: Span | None, row: Row) -> Span:
    if span is None:
        return Span(row.first_sequence, row.first_ms, row.last_ms)
    return Span(span.first_sequence, min(span.first_ms, row.first_ms), max(span.last_ms, row.last_ms))


def _shown(raw: bytes) -> str:
    return raw.decode("utf-8", "backslashreplace")
