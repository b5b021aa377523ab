"""A Redis Cluster with the few methods of redis-py's client that Remit uses.

Nodes, connections and the slot map are redis-py's; routing is done here. redis-py's routing delays every command,
whatever its master, while it reloads the cluster after a failure; it leaves pipelines waiting for a master that is
gone; and it does not send ASKING on the connection of the command it belongs to.
"""

import asyncio
import contextlib
import random
from collections.abc import Iterable
from typing import Any

from redis import exceptions
from redis.asyncio import RedisCluster
from redis.asyncio.cluster import ClusterNode, PipelineCommand

FOLLOWED = 8
"""The most redirections that a command follows; one moving slot causes two."""
HALF_MOVED_S = 0.01
_LOOK_PAUSE_S = 0.1
_SLOTS = 16_384
_NAMES_TRIED = 1_024
_WITHOUT_KEY = frozenset({"TIME", "INFO", "SCRIPT", "CONFIG", "PING", "WAIT", "ASKING"})
_ELSEWHERE = (exceptions.AskError, exceptions.TryAgainError)


class Cluster:
    """Sends commands to the masters of their keys, and follows slots that move.

    Invariant: a command that may have run is never sent again; only one that a node refused because the slot is
    elsewhere.
    """

    def __init__(self, redis: RedisCluster) -> None:
        self._redis = redis
        self._away: set[str] = set()
        self._looking: asyncio.Task[None] | None = None
        self._is_known, self._knowing = False, asyncio.Lock()

    async def execute_command(self, *args: Any, **options: Any) -> Any:
        """The reply of one command; without a key, from any master."""
        await self._know()
        command, key = PipelineCommand(0, *args, **options), key_of(args)
        await self._ask(self._node_of(key), [command])
        await self._follow([command], key)
        return _first_error_or([command.result])[0]

    async def each(self, *args: Any) -> list[Any]:
        """The reply of every master that answers; one that was away a moment ago is not waited for.

        Raises the error of one if none answers.
        """
        masters = await self.masters()
        masters = [each for each in masters if each.name not in self._away] or masters
        commands = [(node, PipelineCommand(0, *args)) for node in masters]
        await asyncio.gather(*(self._ask(node, [command]) for node, command in commands))
        replies = [command.result for _, command in commands if not _is_lost(command)]
        return _first_error_or(replies or [command.result for _, command in commands])

    async def keys_on_each(self, name: str) -> list[str]:
        """Names that begin with this one, a key on each master that has slots."""
        masters, found = await self.masters(), dict[str, str]()
        for key in map(f"{name}:{{}}".format, range(_NAMES_TRIED)):
            found.setdefault(self.master_of(self.slot_of(key)).name, key)
            if len(found) == len(masters):
                break
        return list(found.values())

    async def masters(self) -> list[ClusterNode]:
        """Every master, as the cluster is now."""
        await self._know()
        return self._redis.get_primaries()

    async def master_names(self, keys: Iterable[str]) -> tuple[list[str], list[str]]:
        """The masters that have slots and were not away a moment ago, and the master of each key, by name."""
        masters = {each.name for each in await self.masters()} - self._away
        with_slots = {self.master_of(slot).name for slot in range(0, _SLOTS, _SLOTS // _NAMES_TRIED)}
        return sorted(masters & with_slots), [self.master_of(self.slot_of(key)).name for key in keys]

    def slot_of(self, key: str | bytes | None) -> int:
        """The slot of a key; any, if there is none."""
        return random.randrange(_SLOTS) if key is None else self._redis.keyslot(key)  # noqa: S311 - any

    def master_of(self, slot: int) -> ClusterNode:
        """The master that had the slot when it was last heard of."""
        return self._redis.nodes_manager.get_node_from_slot(slot)

    def node_at(self, to: str) -> ClusterNode | None:
        """The node that a redirection names; None if it is not known yet."""
        error = exceptions.AskError(to)
        return self._redis.get_node(error.host, error.port)

    async def moved(self, to: str) -> None:
        """Note that a slot has moved. to: slot and node as a redirection names them."""
        await self._redis.nodes_manager.move_slot(exceptions.MovedError(to))

    def pipeline(self, *, transaction: bool) -> "_Pipeline":  # noqa: ARG002 - redis-py's signature; there is none
        """Commands to be sent together."""
        return _Pipeline(self)

    async def aclose(self) -> None:
        """Close every connection; the next command opens new ones."""
        if self._looking is not None:
            self._looking.cancel()
            await asyncio.gather(self._looking, return_exceptions=True)
            self._looking = None
        self._is_known = False
        for which in ("nodes_cache", "startup_nodes"):
            await self._redis.nodes_manager.aclose(which)

    async def together(self, commands: list[PipelineCommand]) -> list[Any]:
        """The replies of commands, sent in one write to each master; a command that failed has its error for a reply.

        A command without a key goes with the one before it, on the same connection: WAIT covers what was written there.
        """
        await self._know()
        bound: list[list[PipelineCommand]] = []
        for command in commands:
            if bound and key_of(command.args) is None:
                bound[-1].append(command)
            else:
                bound.append([command])
        by_node: dict[str, tuple[ClusterNode, list[PipelineCommand]]] = {}
        for group in bound:
            node = self._node_of(key_of(group[0].args))
            by_node.setdefault(node.name, (node, []))[1].extend(group)
        await asyncio.gather(*(self._ask(node, sent) for node, sent in by_node.values()))
        for group in bound:
            await self._follow(group, key_of(group[0].args))
        return [command.result for command in commands]

    async def _know(self) -> None:
        """Read where the slots are, once. Not by redis-py's own method: it also asks one master, who may be away."""
        if self._is_known:
            return
        async with self._knowing:
            if not self._is_known:
                await self._redis.nodes_manager.initialize()
                self._is_known = True

    def _node_of(self, key: str | bytes | None) -> ClusterNode:
        if key is not None:
            return self._redis.nodes_manager.get_node_from_slot(self._redis.keyslot(key))
        masters = self._redis.get_primaries()
        return random.choice([each for each in masters if each.name not in self._away] or masters)  # noqa: S311 - any

    async def _ask(self, node: ClusterNode, commands: list[PipelineCommand]) -> None:
        """Send the commands; each gets its reply, or its error, as its result."""
        try:
            await node.execute_pipeline(commands)
        except Exception as error:  # noqa: BLE001 - whatever it is, they have it
            for command in commands:
                command.result = error
        if not any(map(_is_lost, commands)):
            self._away.discard(node.name)
            return
        self._away.add(node.name)
        # Not by the node's own method, which closes connections that others have just taken.
        for connection in node._free:  # noqa: SLF001
            connection.mark_for_reconnect()  # type: ignore[no-untyped-call]
        self.look(node)

    async def _follow(self, commands: list[PipelineCommand], key: str | bytes | None) -> None:
        """Send commands of one slot again where their node redirects them."""
        for _ in range(FOLLOWED):
            error = next((each.result for each in commands if isinstance(each.result, _ELSEWHERE)), None)
            if error is None:
                return
            node, sent = None, commands
            if isinstance(error, exceptions.MovedError):
                await self._redis.nodes_manager.move_slot(error)
            elif isinstance(error, exceptions.AskError):
                node = self._redis.get_node(error.host, error.port)
                if node is None:
                    return
                sent = [PipelineCommand(0, "ASKING"), *commands]
            else:
                await asyncio.sleep(HALF_MOVED_S)
            await self._ask(node or self._node_of(key), sent)

    def look(self, lost: ClusterNode) -> None:
        """Reload the cluster's layout in the background, at most once in a minimum interval."""
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._look_anew(lost))

    async def _look_anew(self, lost: ClusterNode) -> None:
        with contextlib.suppress(exceptions.RedisError, exceptions.RedisClusterException, OSError, TimeoutError):
            await self._redis.nodes_manager.initialize(last_failed_node_name=lost.name)
        await asyncio.sleep(_LOOK_PAUSE_S)


class _Pipeline:
    """Commands waiting to be sent together."""

    def __init__(self, cluster: Cluster) -> None:
        self._send = cluster.together
        self._commands: list[PipelineCommand] = []

    def execute_command(self, *args: Any, **options: Any) -> None:
        """Add a command."""
        self._commands.append(PipelineCommand(len(self._commands), *args, **options))

    async def execute(self, *, raise_on_error: bool = True) -> list[Any]:
        """Send them; return the replies in order. Raises the first error, unless errors count as replies."""
        replies = await self._send(self._commands) if self._commands else []
        return _first_error_or(replies) if raise_on_error else replies


def key_of(args: Iterable[Any]) -> str | bytes | None:
    """The key that determines a command's master; all its other keys are in the same slot."""
    name, *rest = args
    if isinstance(name, bytes):
        name = name.decode()
    if name in {"EVAL", "EVALSHA"}:
        key: str | bytes = rest[2]
        return key
    if name == "XINFO":
        return str(rest[1])
    return None if name.partition(" ")[0] in _WITHOUT_KEY else rest[0]


def _is_lost(command: PipelineCommand) -> bool:
    """True if the node did not answer, or answered that the cluster is down."""
    error = command.result
    return isinstance(error, exceptions.ClusterDownError) or (
        isinstance(error, Exception) and not isinstance(error, exceptions.ResponseError)
    )


def _first_error_or(replies: list[Any]) -> list[Any]:
    """The replies, or raise the first error among them."""
    for reply in replies:
        if isinstance(reply, Exception):
            raise reply
    return replies
