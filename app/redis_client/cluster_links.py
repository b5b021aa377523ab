"""The decisions' client of a cluster: a pipelined connection to each master, for the commits of its slots."""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from redis import exceptions
from redis.asyncio.cluster import ClusterNode

from app.errors import StoreUnavailable
from app.redis_client.client import Value
from app.redis_client.cluster import FOLLOWED, HALF_MOVED_S, Cluster, key_of
from app.redis_client.packed_call import PackedCall, pack
from app.redis_client.pipelined import NoConnection, PipelinedClient, Redirected
from app.redis_client.replies import StoreAway, describe_fault, is_away
from app.redis_client.scripts import Script

_ASKING = pack(("ASKING",))


class ClusterLinks:
    """Sends each command to the master of its key, and follows slots that move.

    A master without a connection fails the calls of its own slots at once, and of no others.

    Invariant: a command that may have run is never sent again; only one that a node refused because the slot is
    elsewhere.

    cluster: where the slots are; it is closed with the links. link_to: a link to this node, not yet open.
    """

    def __init__(self, cluster: Cluster, link_to: Callable[[ClusterNode], PipelinedClient]) -> None:
        self._cluster, self._link_to = cluster, link_to
        self._by_slot: dict[int, tuple[ClusterNode, PipelinedClient]] = {}
        self._links: dict[str, PipelinedClient] = {}
        self._opening = asyncio.Lock()

    async def open(self, *, required: bool = True) -> None:
        """Connect to the masters. Raises StoreUnavailable if none says where the slots are.

        required: if False, it does not raise; calls find out where the slots are once there is a cluster.
        """
        try:
            masters = await self._masters()
        except StoreUnavailable:
            if required:
                raise
            return
        await asyncio.gather(*map(self._link, masters))

    async def close(self) -> None:
        """Close every connection for good; pending calls fail."""
        links, self._links = self._links, {}
        self._by_slot.clear()
        await asyncio.gather(*(link.close() for link in links.values()), self._cluster.aclose())

    async def call(self, *args: Value) -> Any:
        """The reply of one command. Error replies are raised as StoreUnavailable."""
        return await self._send(self._cluster.slot_of(key_of(args)), pack(args))

    def prepare(self, script: Script, keys: Sequence[str], per_call: int, fixed: Sequence[Value]) -> PackedCall:
        """A reusable call of a script; its last arguments are fixed, and its keys are in one slot."""
        return PackedCall(partial(self._send, self._cluster.slot_of(keys[0])), script, keys, per_call, fixed)

    async def reset_connections(self) -> None:
        """Open new connections: a reply did not match its command, so any reply on these may be wrong."""
        await asyncio.gather(*(link.reset_connections() for link in self._links.values()))

    async def _send(self, slot: int, command: bytes) -> Any:
        asked: PipelinedClient | None = None
        for _ in range(FOLLOWED):
            node, link = self._by_slot.get(slot) or await self._link_of(slot)
            if asked is not None:
                _forget(asked.send(_ASKING))
            try:
                return await (asked or link).send(command)
            except Redirected as error:
                asked = await self._follow(slot, error)
            except NoConnection:
                self._by_slot.clear()
                self._cluster.look(node)
                raise
        raise StoreUnavailable("The key's slot moves from master to master; nothing was decided")

    async def _follow(self, slot: int, error: Redirected) -> PipelinedClient | None:
        """Note where the slot is. The node that must be asked once, as its slot has half moved; None = the master."""
        if error.kind == "MOVED":
            await self._cluster.moved(error.to)
            self._by_slot.pop(slot, None)
        elif error.kind == "ASK":
            node = self._cluster.node_at(error.to)
            return None if node is None else await self._link(node)
        else:
            await asyncio.sleep(HALF_MOVED_S)
        return None

    async def _link_of(self, slot: int) -> tuple[ClusterNode, PipelinedClient]:
        masters = await self._masters()
        node = self._cluster.master_of(slot)
        link = await self._link(node)
        for name in self._links.keys() - {node.name for node in masters} - {node.name}:
            await self._links.pop(name).close()  # its node is no master any more
        self._by_slot[slot] = node, link
        return node, link

    async def _link(self, node: ClusterNode) -> PipelinedClient:
        link = self._links.get(node.name)
        if link is not None:
            return link
        async with self._opening:
            if node.name not in self._links:
                link = self._link_to(node)
                await link.open(required=False)
                self._links[node.name] = link
            return self._links[node.name]

    async def _masters(self) -> list[ClusterNode]:
        try:
            return await self._cluster.masters()
        except (exceptions.RedisError, exceptions.RedisClusterException, OSError, TimeoutError) as error:
            raise (StoreAway if is_away(error) else StoreUnavailable)(describe_fault(error)) from error


def _forget(reply: asyncio.Future[Any]) -> None:
    """Read the reply, which says nothing that the next one does not."""
    reply.add_done_callback(lambda done: done.cancelled() or done.exception())
