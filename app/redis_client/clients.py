"""Opens clients of the store: one by itself, or those of a replica, which all follow the master that Sentinels name."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, NamedTuple, Protocol

from redis import exceptions
from redis.asyncio import Redis
from redis.asyncio.cluster import ClusterNode

from app.errors import StoreUnavailable
from app.redis_client.client import AT_ONCE, MIN_TIMEOUT_S, Client, DeadlineClient
from app.redis_client.cluster import Cluster
from app.redis_client.cluster_links import ClusterLinks
from app.redis_client.pipelined import PipelinedClient
from app.redis_client.scripts import Script
from app.redis_client.urls import MasterLocator, StoreUrl, connection_options, open_cluster, open_redis

log = logging.getLogger(__name__)
_BEGINS = "+failover-state-select-slave"
_ENDS = ("+promoted-slave", "+switch-master", "-failover-abort*")
_LOOK_S = 1.0
_AGAIN_S = 0.5
_LONGEST_S = 10.0
"""The longest that calls wait for a Sentinel that announced a failover and then fell silent."""


class MasterClient(Protocol):
    """Sends commands to the master, until it is told to pause."""

    def pause(self) -> None: ...

    def resume_on_new_master(self) -> None: ...


class SentinelFailover:
    """Tells the clients when the master changes, so that nothing is sent to one that is about to be replaced.

    It listens to every Sentinel, and polls once a second. A Sentinel announces that it will promote a replica at least
    a tenth of a second before it does. From then on, nothing more is sent to the old master, so that its latest writes
    can reach the replicas. Calls continue once there is a new master, or the Sentinel has given up. Otherwise the old
    master would answer for ten more seconds, and lose those writes when it becomes a replica.
    """

    def __init__(self, url: StoreUrl, locate: Callable[[], Awaitable[str]], clients: Sequence[MasterClient]) -> None:
        self._url = url
        self._locate = locate
        self._clients = clients
        self._master: str | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._patience: asyncio.TimerHandle | None = None

    def open(self) -> None:
        """Start listening to the Sentinels."""
        self._tasks = [asyncio.create_task(self._listen(host, port)) for host, port in self._url.nodes]
        self._tasks.append(asyncio.create_task(self._keep_looking()))

    async def close(self) -> None:
        """Stop listening."""
        if self._patience is not None:
            self._patience.cancel()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def hear(self, event: str, text: str) -> None:
        """Process one message of a Sentinel."""
        if self._url.service not in text.split():
            return
        if event == _BEGINS:
            if self._patience is None:
                log.warning("the store's master hands over; calls wait for the new one")
                self._patience = asyncio.get_running_loop().call_later(_LONGEST_S, self._go_on)
                for client in self._clients:
                    client.pause()
        elif self._patience is not None:
            self._go_on()

    def _go_on(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None
        self._master = None
        for client in self._clients:
            client.resume_on_new_master()

    async def _listen(self, host: str, port: int) -> None:
        options = connection_options(_AGAIN_S) | {"socket_timeout": None, "socket_keepalive": True}
        while True:
            sentinel: Any = Redis(host=host, port=port, **options)
            try:
                subscription = sentinel.pubsub(ignore_subscribe_messages=True)
                await subscription.psubscribe(_BEGINS, *_ENDS)
                async for message in subscription.listen():
                    self.hear(message["channel"], message["data"])
            except (exceptions.RedisError, OSError, TimeoutError, RuntimeError):
                pass
            finally:
                with contextlib.suppress(Exception):
                    await sentinel.aclose()
            await asyncio.sleep(_AGAIN_S)

    async def _keep_looking(self) -> None:
        """Poll, to notice changes that were not announced."""
        while True:
            await asyncio.sleep(_LOOK_S)
            with contextlib.suppress(StoreUnavailable):
                master = await self._locate()
                if self._patience is None and self._master not in {None, master}:
                    log.warning("the store has a new master")
                    self._go_on()
                self._master = master


_DECISIONS_AT_ONCE = 1024
"""Used if decisions go through a client instead of the pipelined connection: a call that hangs must not block
others."""


class Clients(NamedTuple):
    """The clients of a replica.

    cold: for calls that no decision waits for. prompt: for calls that a decision waits for, besides its commit.
    commits: for commits.
    """

    cold: Client
    prompt: Client
    commits: PipelinedClient | ClusterLinks


@asynccontextmanager
async def open_clients(
    url: str,
    timeout_ms: int,
    scripts: Sequence[Script],
    wait_replicas: int,
    written: Callable[[int], None],
    *,
    required: bool,
) -> AsyncIterator[Clients]:
    """The clients for the store at the URL. Raises StoreUnavailable if it cannot be reached and is `required`.

    scripts: those that commit. wait_replicas: how many replicas must confirm each change. written: called with the
    number of commands that commits have sent together.
    """
    where = StoreUrl.parse(url)
    cold = open_client(url, timeout_ms, wait_replicas=wait_replicas)
    prompt = open_client(url, timeout_ms, prompt=True)
    async with AsyncExitStack() as stack:
        stack.push_async_callback(cold.close)
        stack.push_async_callback(prompt.close)
        if where.topology == "cluster":
            links = _links(where, timeout_ms, scripts, written)
            stack.push_async_callback(links.close)
            await links.open(required=required)
            yield Clients(cold, prompt, links)
            return
        server = MasterLocator(where) if where.topology == "sentinel" else url
        pipelined = PipelinedClient(server, timeout_ms, scripts, written=written)
        stack.push_async_callback(pipelined.close)
        await pipelined.open(required=required)
        if isinstance(server, MasterLocator):
            failover = SentinelFailover(where, server, (pipelined, cold, prompt))
            stack.push_async_callback(failover.close)
            failover.open()
        yield Clients(cold, prompt, pipelined)


def _links(where: StoreUrl, timeout_ms: int, scripts: Sequence[Script], written: Callable[[int], None]) -> ClusterLinks:
    def link_to(node: ClusterNode) -> PipelinedClient:
        return PipelinedClient(where.server(node.host, int(node.port)), timeout_ms, scripts, written=written)

    return ClusterLinks(Cluster(open_cluster(where, timeout_ms / 1000, AT_ONCE)), link_to)


def open_client(url: str, timeout_ms: int, *, prompt: bool = False, wait_replicas: int = 0) -> Client:
    """A client for the URL; nothing is sent yet.

    timeout_ms: a call without a reply for this long fails; at least two seconds, except for a `prompt` client, for
    calls that a decision waits for. wait_replicas: how many replicas must confirm each change.
    redis://, rediss://, unix:// as redis-py has them; redis+sentinel://host:port,host:port/SERVICE[/DB];
    redis+cluster://host:port (rediss+… for TLS).
    """
    where = StoreUrl.parse(url)
    timeout_s = timeout_ms / 1000 if prompt else max(MIN_TIMEOUT_S, timeout_ms / 1000)
    kind = DeadlineClient if prompt else Client
    if where.topology == "cluster":
        at_once = _DECISIONS_AT_ONCE if prompt else AT_ONCE
        return kind(Cluster(open_cluster(where, timeout_s, at_once)), timeout_s, at_once, wait_replicas)
    return kind(open_redis(where, timeout_s, AT_ONCE), timeout_s, wait_replicas=wait_replicas)


async def store_time_ms(client: Client) -> int:
    """The store's clock, ms since the epoch."""
    seconds, microseconds = await client.call("TIME")
    return int(seconds) * 1000 + int(microseconds) // 1000
