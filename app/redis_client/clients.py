"""Opens clients of the store: one by itself, or those of a replica, which all follow the current master."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import NamedTuple

from app.redis_client.client import AT_ONCE, MIN_TIMEOUT_S, Client, DeadlineClient
from app.redis_client.cluster import Cluster
from app.redis_client.pipelined import PipelinedClient
from app.redis_client.scripts import Script
from app.redis_client.sentinel_failover import SentinelFailover
from app.redis_client.urls import MasterLocator, StoreUrl, open_cluster, open_redis

_DECISIONS_AT_ONCE = 1024
"""Used if decisions go through a client instead of the pipelined connection: a call that hangs must not block
others."""


class Clients(NamedTuple):
    """The clients of a replica.

    cold: for calls that no decision waits for. prompt: for calls that a decision waits for, besides its commit.
    commits: for commits; over a cluster, the same as `prompt`.
    """

    cold: Client
    prompt: Client
    commits: Client | PipelinedClient


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
            yield Clients(cold, prompt, prompt)
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
