"""The channel of the proxy to a server at a URL."""

import asyncio
import contextlib
import json

import anyio
import pytest

from remit_client.mcp.over_http import HttpServer, connect

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


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_takes_no_header_and_no_call_elsewhere(status):
    """Of a server that may be hostile, to another origin: the headers may be keys."""
    asked = []

    async def elsewhere(reader, writer):
        asked.append(await reader.readline())
        writer.close()

    async def server(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        head = f"HTTP/1.1 {status} X\r\nLocation: http://127.0.0.1:{other}/mcp\r\nContent-Length: 0\r\n\r\n"
        writer.write(head.encode())
        answered.set()

    answered = asyncio.Event()
    async with (
        await asyncio.start_server(elsewhere, "127.0.0.1", 0) as there,
        await asyncio.start_server(server, "127.0.0.1", 0) as here,
    ):
        other, port = (each.sockets[0].getsockname()[1] for each in (there, here))
        with contextlib.suppress(Exception):  # what the SDK makes of the answer is not the point
            async with connect(f"http://127.0.0.1:{port}/mcp", {"X-Api-Key": "secret"}) as to_server:
                refused = asyncio.Event()
                to_server.listen(lambda _: refused.set())
                to_server.send(b'{"jsonrpc":"2.0","id":3,"method":"ping"}\n')
                await asyncio.wait_for(refused.wait(), 20)
        assert answered.is_set()
    assert asked == []


async def test_a_server_that_cannot_be_reached_any_more_ends_and_says_so():
    """In one sentence, and without ending the task that waits for the client."""
    async with await asyncio.start_server(lambda *_: None, "127.0.0.1", 0) as gone:
        port = gone.sockets[0].getsockname()[1]
    ended = asyncio.Event()
    async with connect(f"http://127.0.0.1:{port}/mcp", {}) as server:
        server.listen(lambda line: ended.set() if line is None else None)
        server.send(b'{"jsonrpc":"2.0","id":3,"method":"ping"}\n')
        await asyncio.wait_for(ended.wait(), 20)
        assert server.ended.startswith(f"at http://127.0.0.1:{port}/mcp can no longer be reached (ConnectError")
