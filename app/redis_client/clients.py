"""The clients of a replica, which all follow the store's current master."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import NamedTuple

from app.redis_client.client import Client, open_client
from app.redis_client.handover import Handover
from app.redis_client.pipelined import PipelinedClient
from app.redis_client.scripts import Script
from app.redis_client.urls import MasterLocator, StoreUrl


class Clients(NamedTuple):
    """The clients of a replica.

    cold: for what no decision waits for. prompt: for what a decision waits for, besides its commit. commits: for
    commits; over a cluster, that is `prompt`.
    """

    cold: Client
    prompt: Client
    commits: Client | PipelinedClient


@asynccontextmanager
async def open_clients(
    url: str, timeout_ms: int, scripts: Sequence[Script], wait_replicas: int, written: Callable[[int], None]
) -> AsyncIterator[Clients]:
    """The clients for the store at the URL. Raises StoreUnavailable.

    scripts: what runs as a commit. wait_replicas: how many replicas must confirm each change. written: called with the
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
        await pipelined.open()
        if isinstance(server, MasterLocator):
            handover = Handover(where, server, (pipelined, cold, prompt))
            stack.push_async_callback(handover.close)
            handover.open()
        yield Clients(cold, prompt, pipelined)
