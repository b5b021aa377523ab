"""The channel to an MCP server at a URL, over the MCP SDK's streamable HTTP transport."""

from __future__ import annotations

import asyncio
import inspect
import json
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.shared.inbound import MCP_METHOD_HEADER, MCP_NAME_HEADER, MCP_PROTOCOL_VERSION_HEADER, encode_header_value
from mcp.shared.message import ClientMessageMetadata, SessionMessage
from mcp_types import jsonrpc_message_adapter

from remit_client.mcp.channels import Heard
from remit_client.mcp.messages import INVALID_REQUEST, VERSION, Message, error, is_request, write

logger = logging.getLogger("remit_client")

REFUSED = "Not passed on: the MCP SDK does not accept this message"
NAMED_BY = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}


class HttpServer:
    """Lines to and from a server at a URL.

    The SDK passes `params` and `result` on unchanged, but drops fields of a message that it does not know.
    """

    def __init__(self, reading: Any, writing: Any) -> None:
        self._reading = reading
        self._writing = writing
        self._version: str | None = None
        self._initialize: Any = None
        self._going: asyncio.Queue[bytes] = asyncio.Queue()
        self._hearing: asyncio.Task[None] | None = None
        self._heard: Heard = lambda _: None
        self.closed = asyncio.Event()
        self.ended = "closed the connection"
        """How it ended, as the end of a sentence for a person."""

    def listen(self, heard: Heard) -> None:
        """Receive the server's messages; what is not a message of the protocol is dropped."""
        self._heard = heard
        self._hearing = asyncio.create_task(self._hear(heard))

    async def _hear(self, heard: Heard) -> None:
        try:
            async for item in self._reading:
                if isinstance(item, SessionMessage):
                    line = item.message.model_dump_json(by_alias=True, exclude_unset=True).encode()
                    self._note_version(line)
                    heard(line)
        finally:
            self.closed.set()

    def end(self) -> None:
        """Tell the listener that nothing will come any more."""
        self._heard(None)

    def send(self, line: bytes) -> None:
        """Send a message to the server."""
        self._going.put_nowait(line)

    async def pump(self) -> None:
        """Deliver what `send` has queued, until cancelled. A message that the SDK refuses is answered here."""
        while True:
            line = await self._going.get()
            message = json.loads(line)
            try:
                checked = jsonrpc_message_adapter.validate_json(line)
                metadata = ClientMessageMetadata(headers=self._headers(message))
            except ValueError:
                logger.warning(REFUSED)
                if is_request(message):
                    self._heard(write(error(message["id"], INVALID_REQUEST, REFUSED)).rstrip())
            else:
                await self._writing.send(SessionMessage(checked, metadata))

    def _headers(self, message: Message) -> dict[str, str]:
        """The headers the transport requires: the protocol version and, since 2026, the method and the name."""
        method, params = message.get("method"), message.get("params")
        params = params if isinstance(params, dict) else {}
        if method == "initialize":
            self._initialize = message.get("id")
            return {}
        meta = params.get("_meta")
        modern = meta.get(VERSION) if isinstance(meta, dict) else None
        if not isinstance(modern, str):
            return {MCP_PROTOCOL_VERSION_HEADER: self._version} if self._version else {}
        headers = {MCP_PROTOCOL_VERSION_HEADER: modern, MCP_METHOD_HEADER: str(method)}
        name = params.get(NAMED_BY.get(str(method), ""))
        if isinstance(name, str):
            headers[MCP_NAME_HEADER] = encode_header_value(name)
        return headers

    def _note_version(self, line: bytes) -> None:
        if self._initialize is None or b"protocolVersion" not in line:
            return
        message = json.loads(line)
        result = message.get("result")
        if message.get("id") == self._initialize and isinstance(result, dict):
            self._version, self._initialize = result.get("protocolVersion"), None


def _unbounded() -> dict[str, Any]:
    """Options that lift the limit on an event's size, if this SDK has one: a tool's answer may be large."""
    known = inspect.signature(streamable_http_client).parameters
    return {"max_sse_event_size": None} if "max_sse_event_size" in known else {}


@asynccontextmanager
async def connect(url: str, headers: Mapping[str, str]) -> AsyncIterator[HttpServer]:
    """A connection to the server at `url`. `headers` go with every request, besides the protocol's own."""
    opened: asyncio.Future[HttpServer] = asyncio.get_running_loop().create_future()
    # In a task of its own: if a request fails, the SDK cancels the task that opened the connection.
    staying = asyncio.create_task(_stay(url, headers, opened))
    try:
        yield await opened
    finally:
        staying.cancel()
        await asyncio.gather(staying, return_exceptions=True)


async def _stay(url: str, headers: Mapping[str, str], opened: asyncio.Future[HttpServer]) -> None:
    """Keep the connection open until it fails or we are cancelled; then the listener hears that it has ended."""
    try:
        async with (
            create_mcp_http_client(headers=dict(headers)) as http,
            streamable_http_client(url, http_client=http, **_unbounded()) as (reading, writing),
        ):
            server = HttpServer(reading, writing)
            opened.set_result(server)
            pump = asyncio.create_task(server.pump())
            try:
                await server.closed.wait()
            finally:
                pump.cancel()
    except Exception as failed:  # noqa: BLE001 - of whatever kind, the SDK wraps it in groups
        if not opened.done():
            opened.set_exception(OSError(f"{url}: {_first(failed)}"))
            return
        opened.result().ended = f"at {url} can no longer be reached ({_first(failed)}); it ended"
    opened.result().end()


def _first(failed: BaseException) -> str:
    """What the first failure in the groups says."""
    while inner := getattr(failed, "exceptions", ()):
        failed = inner[0]
    return f"{type(failed).__name__}: {failed}"
