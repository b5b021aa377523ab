"""The channel of remit-mcp to a server at a URL."""

import asyncio
import json

import anyio

from remit_client.mcp.over_http import HttpServer

REFUSED = [
    rb'{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":"\ud800"}}',
    rb'{"jsonrpc":"2.0","method":"x","params":{"a":"\ud800"}}',
    b'{"id":2,"method":"x"}',
]


async def test_what_the_sdk_does_not_accept_stops_nothing_after_it():
    """A request is answered with an error, and the messages after it pass."""
    _, reading = anyio.create_memory_object_stream(1)
    writing, written = anyio.create_memory_object_stream(1)
    server, heard = HttpServer(reading, writing), []
    server.listen(heard.append)
    pump = asyncio.create_task(server.pump())
    for line in (*REFUSED, b'{"jsonrpc":"2.0","id":3,"method":"ping"}'):
        server.send(line + b"\n")
    passed = await asyncio.wait_for(written.receive(), 20)
    pump.cancel()
    assert passed.message.id == 3
    assert [json.loads(line)["id"] for line in heard] == [1, 2]
