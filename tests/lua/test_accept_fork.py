"""`accept_fork`: the tree is signed again, once, by a key that exists, and the trail says so."""

import pytest

from app.redis_client.scripts import ACCEPT_FORK

KEYS = ["key", "changes", "checkpoint"]


async def accept(client, fork):
    return await client.run(ACCEPT_FORK, KEYS, ["a", "workspace", fork, "{}", "{}", "why"])


@pytest.fixture
async def client(path):
    client, _ = path
    await client.call("HSET", "key", "name", "admin")
    await client.call("HSET", "checkpoint", "fork", "7 at 2 leaves")
    return client


async def test_the_fork_that_was_read_is_accepted_once(client):
    """Another one that was found meanwhile is not: nobody has seen it."""
    assert await accept(client, "6 at 1 leaves") == ["over"]
    assert await client.call("EXISTS", "changes") == 0
    assert [await accept(client, "7 at 2 leaves") for _ in range(2)] == [["done"], ["over"]]
    assert await client.call("HGET", "checkpoint", "fork") == "accepted"
    assert await client.call("XLEN", "changes") == 1


async def test_a_key_that_is_gone_accepts_nothing(client):
    """Nothing is written."""
    await client.call("DEL", "key")
    assert await accept(client, "7 at 2 leaves") == ["revoked"]
    assert await client.call("HGET", "checkpoint", "fork") == "7 at 2 leaves"
    assert await client.call("EXISTS", "changes") == 0
