"""The commit is tested on every store, and on real ones also over the pipelined client."""

from contextlib import AsyncExitStack

import pytest
from commit_scene import Scene
from fake_store import FakeClient

from app.redis_client.clients import open_client
from app.redis_client.pipelined import PipelinedClient

PATHS = ("fakeredis", "redis", "redis over the link", "valkey", "valkey over the link")


@pytest.fixture(params=PATHS)
async def path(request):
    """A client, and what runs the commit: the client itself or the pipelined client."""
    store, _, over_link = request.param.partition(" over ")
    async with AsyncExitStack() as stack:
        if store == "fakeredis":
            client = FakeClient()
            stack.push_async_callback(client.close)
            yield client, client
            return
        # A database of their own, emptied after each test: many look through all keys that there are.
        url = request.getfixturevalue(f"{store}_store").url.removesuffix("0") + "1"
        client = open_client(url, 5_000)
        stack.push_async_callback(client.close)
        stack.push_async_callback(client.call, "FLUSHDB")
        if not over_link:
            yield client, client
            return
        # Scripts are not loaded beforehand, so that EVALSHA's miss is on the way too.
        link = PipelinedClient(url, 2_000)
        await link.open()
        stack.push_async_callback(link.close)
        yield client, link


@pytest.fixture
async def scene(path, workspace_id):
    """A workspace with a caller and an agent."""
    return await Scene(*path, workspace_id).enter()
