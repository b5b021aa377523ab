"""`pin_request`: the first writer decides, whichever secret's MAC says that it is the same request."""

import pytest

from app.redis_client.scripts import PIN_REQUEST

KEYS = ["key", "changes", "pinned"]


async def pin(client, *macs, record="now", expires_ms=1 << 52):
    return await client.run(PIN_REQUEST, KEYS, ["a", "id", "{}", record, expires_ms, "why", *macs])


@pytest.fixture
async def client(path):
    client, _ = path
    await client.call("HSET", "key", "name", "chat")
    return client


async def test_the_first_request_stays(client):
    """Under the newest secret's MAC, until its time is over; the trail has it once."""
    assert await pin(client, "new", "old") == ["done", "now"]
    assert await pin(client, "other") == ["other", ""]
    assert await client.call("HGETALL", "pinned") in (["new", "now"], {"new": "now"})
    assert await pin(client, "newer", "new", record="later") == ["repeated", "now"]
    assert await client.call("XLEN", "changes") == 1
    assert await client.call("PEXPIRETIME", "pinned") == 1 << 52


async def test_the_command_line_on_the_store_has_no_key(client):
    """It pins all the same; the trail says that it was not a key."""
    await client.call("DEL", "key")
    pinned = await client.run(PIN_REQUEST, KEYS, ["console", "id", "{}", "now", 1 << 52, "why", "new"])
    [[_, change]] = await client.call("XRANGE", "changes", "-", "+")
    fields = change if isinstance(change, dict) else dict(zip(change[::2], change[1::2], strict=True))
    assert (pinned, fields["actorId"], fields["actorName"]) == (["done", "now"], "console", "console")


async def test_a_key_that_is_gone_pins_nothing(client):
    """Nothing is written."""
    await client.call("DEL", "key")
    assert await pin(client, "new") == ["revoked", ""]
    assert await client.call("EXISTS", "changes", "pinned") == 0
