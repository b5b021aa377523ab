"""`python -m bench.harness.floor_server PORT [STORE_PORT COMMIT]`: the least that answers a call.

It reads the head as a whole and the body as JSON; with a store it runs the captured commit (a file of words in hex,
one a line), and answers a decision's bytes. It checks nothing, authenticates nobody and compiles nothing.
"""

import asyncio
import sys
from collections import deque
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import hiredis
import msgspec
import uvloop

from bench.harness.captured_commits import packed

_ANSWER = (
    b'{"id":"01a2252b-700b-711f-8369-f3d033cadf63","allowed":true,"result":"allowed","policyId":'
    b'"01a2252f-de57-7242-883e-df23f1eaf131","rule":{"index":0,"type":"parameter_constraint"},"reason":"Policy '
    b'\\"policy 0\\" allows \\"payments.refund\\"","code":"allowed","nextAction":"none","retryAfterSeconds":null,'
    b'"latencyMs":0.217,"timestamp":"2026-11-29T02:44:18.592Z"}'
)
_ANSWERED = (
    b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nx-request-id: 01a2252b-700b-711f-8369-f3d033cadf63\r\n"
    b"content-length: %d\r\n\r\n%b" % (len(_ANSWER), _ANSWER)
)
_ID = 2
"""The argument of a commit that differs in each: the decision's id."""


class Body(msgspec.Struct):
    """A call."""

    agent_id: str
    tool_name: str
    action: str = ""
    parameters: dict[str, Any] = {}


class Link(asyncio.Protocol):
    """A connection to the store; commands of one pass of the loop leave together."""

    def __init__(self) -> None:
        self._written: list[bytes] = []
        self._waiting: deque[Callable[[Any], object]] = deque()
        self._replies = hiredis.Reader()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: Any = transport
        self._loop = asyncio.get_running_loop()

    def send(self, command: bytes, receive: Callable[[Any], object]) -> None:
        if not self._written:
            self._loop.call_soon(self._flush)
        self._written.append(command)
        self._waiting.append(receive)

    def _flush(self) -> None:
        self._transport.write(b"".join(self._written))
        self._written = []

    def data_received(self, data: bytes) -> None:
        self._replies.feed(data)
        while (reply := self._replies.gets()) is not False:
            self._waiting.popleft()(reply)


class Client(asyncio.Protocol):
    """A connection of a caller, who sends one whole request at a time. commit: None = answer without a store."""

    decode = msgspec.json.Decoder(Body).decode

    def __init__(self, commit: Callable[[Callable[[Any], object]], None] | None) -> None:
        self._commit = commit

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: Any = transport

    def data_received(self, data: bytes) -> None:
        body = data[data.index(b"\r\n\r\n") + 4 :]
        if not body:  # the harness asks whether it is ready
            self._transport.write(_ANSWERED)
            return
        self.decode(body)
        if self._commit is None:
            self._transport.write(_ANSWERED)
        else:
            self._commit(self._answer)

    def _answer(self, reply: Any) -> None:
        if reply[0] != b"committed":
            raise RuntimeError(f"the store said {reply!r}")
        self._transport.write(_ANSWERED)


async def serve(port: int, store_port: int | None, words: list[bytes]) -> None:
    """Serve until the process ends."""
    loop = asyncio.get_running_loop()
    commit = None
    if store_port is not None:
        _, link = await loop.create_connection(Link, "127.0.0.1", store_port)
        at = 3 + int(words[2]) + _ID
        before, after = packed(words[:at]), packed(words[at + 1 :]).partition(b"\r\n")[2]
        head = b"*%d\r\n" % len(words) + before.partition(b"\r\n")[2]
        ids = map(b"$36\r\n01a2252b-700b-711f-8369-%012x\r\n".__mod__, count())

        def commit(receive: Callable[[Any], object]) -> None:
            link.send(head + next(ids) + after, receive)

    await loop.create_server(lambda: Client(commit), "127.0.0.1", port)
    await asyncio.Event().wait()


if __name__ == "__main__":
    captured = [bytes.fromhex(line) for line in Path(sys.argv[3]).read_text().split("\n")] if len(sys.argv) > 2 else []
    uvloop.run(serve(int(sys.argv[1]), int(sys.argv[2]) if captured else None, captured))
