"""Writes a sealed log of millions of entries as the product would: its sealer and its trees do the work.

Several processes seal, each some parts of the log, since a part has its own index; this process links the segments and
sends what they have made. Only the stream is missing: the sealers take the entries from memory, because on a busy
machine most of the time would be spent waiting for the store.
"""

import multiprocessing
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from multiprocessing.connection import Connection
from typing import Any, NamedTuple, cast

from app.audit.seal.sealer import Sealed, Sealer
from app.audit.seal.tree_growth import TreeGrower
from app.audit.segments import PART_SEGMENTS, chain, genesis, segments_of
from app.redis_client.client import Client, Value
from app.redis_client.scripts import GROW_TREE, SEAL_SEGMENT, Script
from app.store.keyspace import Keyspace
from bench.harness.audit_data import Fields

_SEGMENT, _NAMES_MAX = 512, 4096
_SEGMENTS_TOGETHER = 16
_PROCESSES = 6
_BUILT_UPON, _SHA256, _COLUMNS, _NAMES = 0, 9, 16, 17
_DONE = ("sealed", "grown")
MakeEntries = Callable[[int, int], Iterable[Fields]]
"""The entries after a sequence, so many."""


class _Made(NamedTuple):
    """A segment as a process has made it. others: commands to send before the script."""

    others: list[Sequence[Value]]
    keys: Sequence[str]
    args: list[Value]
    sealed: Sealed


async def write_sealed(client: Client, workspace_id: str, count: int, make: MakeEntries) -> None:
    """Write the entries to the log of the workspace, which is empty, in segments of 512, with index and tree."""
    for script in (SEAL_SEGMENT, GROW_TREE):
        await client.call("SCRIPT", "LOAD", script.text)
    sending = _Sending(client)
    trees, upon = TreeGrower(cast("Client", sending)), genesis(workspace_id)
    for made in _made_elsewhere(workspace_id, count, make):
        # The processes do not know the segment before theirs.
        made.args[_BUILT_UPON], made.args[_SHA256] = upon, (upon := chain(upon, b"".join(made.sealed.lines)))
        sending.commands += made.others
        await sending.run(SEAL_SEGMENT, made.keys, made.args)
        await trees.take(workspace_id, made.sealed)
        if made.sealed.number % _SEGMENTS_TOGETHER == 0:
            await sending.send()
    sending.commands.append(("HSET", Keyspace(workspace_id).commits, "sequence", count))
    await sending.send()


class _Sending:
    """A client that sends scripts later, many together, and takes it for granted that they do what they should."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self.commands: list[Sequence[Value]] = []

    async def call(self, *args: Value) -> Any:
        return await self._client.call(*args)

    async def run(self, script: Script, keys: Sequence[str], args: Sequence[Value]) -> list[Any]:
        self.commands.append(("EVALSHA", script.sha, len(keys), *keys, *args))
        return ["grown", 0]

    async def send(self) -> None:
        """Send what has come together. Raises RuntimeError if a script has refused it."""
        replies = await self._client.read_pipelined(self.commands)
        if refused := [each for each in replies if isinstance(each, list) and each[0] not in _DONE]:
            raise RuntimeError(f"the store has refused a segment: {refused[0]}")
        self.commands = []


def _made_elsewhere(workspace_id: str, count: int, make: MakeEntries) -> Iterator[_Made]:
    context, links = multiprocessing.get_context("fork"), []
    parts = range((-(-count // _SEGMENT)) // PART_SEGMENTS + 1)
    for place in range(min(_PROCESSES, len(parts))):
        receiving, sending = context.Pipe(duplex=False)
        mine = parts[place::_PROCESSES]
        context.Process(target=_seal_parts, args=(sending, workspace_id, count, make, mine), daemon=True).start()
        sending.close()
        links.append(receiving)
    for part in parts:
        link = links[part % _PROCESSES]
        while (made := link.recv()) is not None:
            yield made


def _seal_parts(sending: Connection, workspace_id: str, count: int, make: MakeEntries, parts: Iterable[int]) -> None:
    for part in parts:
        numbers = segments_of(part)
        before = (numbers.start - 1) * _SEGMENT
        entries = make(before, min(count - before, len(numbers) * _SEGMENT))
        # All of a part is made before the first segment is sent, since the others' turns come first.
        for made in [*_sealed(workspace_id, numbers.start - 1, before, entries), None]:
            sending.send(made)


def _sealed(workspace_id: str, segment: int, sequence: int, entries: Iterable[Fields]) -> Iterator[_Made]:
    memory = _Memory(segment, sequence, entries)
    sealer = Sealer(cast("Client", memory), _SEGMENT, _NAMES_MAX)
    while (sealed := _result_of(sealer.seal_next(workspace_id))) is not None:
        yield memory.made(sealed)


def _result_of(work: Any) -> Any:
    """The result of a coroutine that waits for nothing."""
    try:
        work.send(None)
    except StopIteration as end:
        return end.value
    raise RuntimeError("it waits")


class _Memory:
    """What a sealer asks the store for, answered from memory: the stream, and the head before its first segment."""

    def __init__(self, segment: int, sequence: int, entries: Iterable[Fields]) -> None:
        self._head = [str(each).encode() for each in (segment, sequence, "0" * 64, 0)] if segment else [None] * 4
        self._first = segment + 1
        self._source = _as_stored(sequence, entries)
        self._stream: list[tuple[bytes, list[bytes]]] = []
        self._others: list[Sequence[Value]] = []
        self._columns: list[tuple[Value, Value]] = []
        self._script: tuple[Sequence[str], list[Value]] = ([], [])

    def made(self, sealed: Sealed) -> _Made:
        """The segment, and what has come together for it."""
        others, self._others = self._others, []
        return _Made(others, *self._script, sealed)

    async def call(self, *args: Value) -> Any:
        if args[0] == "ZADD":  # new tools are noted
            self._others.append(args)
        return [] if args[0] != "EXISTS" else 0

    async def call_bytes(self, *_args: Value) -> Any:
        return []

    async def read_snapshot(self, *_commands: Sequence[Value]) -> list[Any]:
        names = ("segment", "sequence", "sha256", "last_ms")
        if self._head[0] is None:
            return [{}, {}]
        return [dict(zip(names, [each.decode() for each in self._head if each is not None], strict=True)), {}]

    async def read_pipelined(self, commands: Iterable[Sequence[Value]], **_options: bool) -> list[Any]:
        commands = list(commands)
        if commands[0][0] == "HGETALL":  # the columns of a part that ends, and before them their names
            names = {b"%d" % number: new for number, (_, new) in enumerate(self._columns, self._first) if new}
            return [names, *(columns for columns, _ in self._columns)]
        (_, _, start, _, _, step), *_ = commands
        ids = [b"(" + each for each, _ in self._stream]
        first = 0 if start == b"-" else 1 + ids.index(cast("bytes", start))
        self._stream += islice(self._source, max(0, first + int(step) - len(self._stream)))
        newest = self._stream[-1][0].partition(b"-")[0] if self._stream else b"0"
        return [self._stream[first : first + int(step)], self._head, newest]

    async def run(self, _script: Script, keys: Sequence[str], args: list[Value]) -> list[Any]:
        _, _, number, _, last, _, last_ms, count, _, sha256, *_ = args
        # The script looks only at the oldest entry of the stream, and trims it up to the last.
        ids = [self._stream[0][0], self._stream[int(count) - 1][0]]
        self._others += [("XADD", keys[0], each, "is", "sealed") for each in dict.fromkeys(ids)]
        del self._stream[: int(count)]
        self._columns.append((args[_COLUMNS], args[_NAMES]))
        self._head = [str(each).encode() for each in (number, last, sha256, last_ms)]
        self._script = (keys, args)
        return ["sealed", number]


def _as_stored(sequence: int, entries: Iterable[Fields]) -> Iterator[tuple[bytes, list[bytes]]]:
    for number, fields in enumerate(entries, sequence + 1):
        yield b"%d-0" % number, [part.encode() for pair in fields.items() for part in pair]
