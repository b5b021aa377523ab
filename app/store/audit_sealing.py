"""Sealing: the oldest entries of a workspace's stream become a segment."""

import logging
from collections import Counter, OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from app.store.audit_head import Span, head_of, span_text, spans_of
from app.store.audit_index import (
    ACTION,
    AGENT,
    CAPPED,
    OTHER,
    RESULT,
    TOOL,
    Row,
    member,
    name_of,
    row_member,
)
from app.store.audit_lines import RESULTS, Unreadable, line_of, placeholder, time_ms_of
from app.store.audit_segments import CODEC, FRAME_BYTES, FRAME_ENTRIES, chain, genesis, pack, part_of
from app.store.audit_stream import stream_entries
from app.store.client import Client, Value
from app.store.keyspace import Keyspace
from app.store.records import as_record
from app.store.scripts import SEAL_SEGMENT

log = logging.getLogger(__name__)

SEGMENT_BYTES = 1024 * 1024
"""A segment ends with the entry that reaches this many bytes of JSON, so that reading one stays short."""

_REMEMBERED = 256
Tallies = dict[tuple[str, str], tuple[int, int]]
"""By dimension and value: how many entries, and a bit for each frame that has one."""

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
    """A segment being filled: lines, and for each what the index will say of it; None where it cannot be read."""

    def __init__(self, first_sequence: int, most: int) -> None:
        self.first_sequence = first_sequence
        self.next_sequence = first_sequence
        self.lines: list[bytes] = []
        self.times: list[int] = []
        self._agents: list[tuple[bytes, bytes] | None] = []
        self._tools: list[bytes | None] = []
        self._actions: list[bytes | None] = []
        self._results: list[bytes | None] = []
        self._most = most
        self._bytes = 0

    @property
    def is_full(self) -> bool:
        return len(self.lines) >= self._most or self._bytes >= SEGMENT_BYTES

    @property
    def entries(self) -> int:
        return len(self.lines)

    def missing_before(self, sequence: int) -> range:
        """The sequences that must come first, as far as there is room for them."""
        return range(self.next_sequence, min(sequence, self.first_sequence + self._most))

    def add(self, line: bytes, fields: Mapping[bytes, bytes]) -> None:
        """Append the line of an entry with these stream fields."""
        result = fields[b"result"]
        self._append(line, int(fields[b"timeMs"]))
        self._agents.append((fields[b"agentId"], result))
        self._tools.append(fields[b"toolName"])
        self._actions.append(fields[b"action"])
        self._results.append(result)

    def add_placeholder(self, line: bytes, fields: Mapping[bytes, bytes]) -> None:
        """Append the line that stands for an entry which cannot be read; queries find it by scanning."""
        self._append(line, time_ms_of(fields))
        self._agents.append(None)
        self._tools.append(None)
        self._actions.append(None)
        result = fields.get(b"result", b"")
        self._results.append(result if result in RESULTS else None)

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
        """How many entries of the segment have a value, and in which frames, by dimension and value."""
        found: Tallies = {}
        columns: tuple[tuple[str, Sequence[Any]], ...] = (
            (AGENT, self._agents),
            (TOOL, self._tools),
            (ACTION, self._actions),
            (RESULT, self._results),
        )
        for dimension, column in columns:
            # Counting a frame at a time takes C's loop; an entry at a time took a third of all sealing.
            counted: dict[Any, list[int]] = {}
            for number, frame in enumerate(frames):
                for value, count in Counter(column[frame]).items():
                    held = counted.setdefault(value, [0, 0])
                    held[0] += count
                    held[1] |= 1 << number
            for value, (count, mask) in counted.items():
                if value is not None:
                    found[dimension, _name(value)] = (count, mask)
                elif dimension in CAPPED:
                    found[dimension, OTHER] = (count, mask)
        return found

    def _append(self, line: bytes, time_ms: int) -> None:
        self.lines.append(line + b"\n")
        self.times.append(time_ms)
        self.next_sequence += 1
        self._bytes += len(line)


def _name(value: bytes | tuple[bytes, bytes]) -> str:
    """What stands for a value in the name of its index; for an agent together with the result."""
    if isinstance(value, tuple):
        return f"{name_of(value[0].decode())}:{value[1].decode()}"
    text = value.decode()
    return text if value in RESULTS else name_of(text)


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
        frames = block.frames()
        sizes, data = pack([block.lines[frame] for frame in frames])
        sha256 = chain(basis.sha256, b"".join(block.lines))
        part = part_of(number)
        if part != basis.part:
            basis.part, basis.span, basis.names, basis.known = part, None, {}, set()
        row = Row(number, block.entries, block.first_sequence, min(block.times), max(block.times))
        index, names = await self._index(keyspace, basis, number, block.tallies(frames))
        span = _widened(basis.span, row)
        keys = [keyspace.audit_stream, keyspace.audit_head, keyspace.audit_segment(number), keyspace.audit_data(number)]
        keys.append(keyspace.audit_parts)
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
            if block.next_sequence != sequence:
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
        self, keyspace: Keyspace, basis: _Basis, number: int, tallies: Tallies
    ) -> tuple[Tallies, dict[str, int]]:
        """What the segment's index will hold, and how many names its part then has: no more than `names_max` each."""
        part = part_of(number)
        capped = [value for value in tallies if value[0] in CAPPED and value[1] != OTHER]
        unknown = [value for value in capped if value not in basis.known]
        exist: dict[tuple[str, str], bool] = {}
        if unknown:
            replies = await self._client.read_together(("EXISTS", keyspace.audit_by(*value, part)) for value in unknown)
            exist = dict(zip(unknown, map(bool, replies), strict=True))
        names = dict(basis.names)
        index: Tallies = {}
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
