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

    @property
    def ended(self) -> str:
        """How it ended, as the end of a sentence for a person."""
        return "closed the connection"

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
            heard(None)

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
    async with (
        create_mcp_http_client(headers=dict(headers)) as http,
        streamable_http_client(url, http_client=http, **_unbounded()) as (reading, writing),
    ):
        server = HttpServer(reading, writing)
        pump = asyncio.create_task(server.pump())
        try:
            yield server
        finally:
            pump.cancel()
