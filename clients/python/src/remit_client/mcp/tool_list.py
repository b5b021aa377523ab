"""Asks a server for its tools, as the simplest client does."""

from __future__ import annotations

import asyncio
from typing import Any

from remit_client.mcp.channels import Server
from remit_client.mcp.messages import Message, Unreadable, error, is_request, read_answer, write

VERSION = "2025-06-18"
METHOD_NOT_FOUND = -32601
HELLO = {"protocolVersion": VERSION, "capabilities": {}, "clientInfo": {"name": "remit-client", "version": "1"}}


async def tools_of(server: Server) -> list[Message]:
    """All tools of the server, page by page. Raises ValueError if it does not list them."""
    heard: asyncio.Queue[bytes | None] = asyncio.Queue()
    server.listen(heard.put_nowait)
    await _asked(server, heard, "initialize", HELLO)
    server.send(write({"jsonrpc": "2.0", "method": "notifications/initialized"}))
    tools: list[Message] = []
    params: Message = {}
    while True:
        result = await _asked(server, heard, "tools/list", params)
        tools += [
            tool for tool in result.get("tools") or () if isinstance(tool, dict) and isinstance(tool.get("name"), str)
        ]
        if not result.get("nextCursor"):
            return tools
        params = {"cursor": result["nextCursor"]}


async def _asked(server: Server, heard: asyncio.Queue[bytes | None], method: str, params: Message) -> Any:
    server.send(write({"jsonrpc": "2.0", "id": method, "method": method, "params": params}))
    while (line := await heard.get()) is not None:
        try:
            message = read_answer(line)
        except Unreadable:
            continue
        if is_request(message):
            server.send(write(error(message["id"], METHOD_NOT_FOUND, "not offered by this client")))
        elif message.get("id") == method:
            if isinstance(message.get("result"), dict):
                return message["result"]
            raise ValueError(f"The MCP server did not answer {method}: {message.get('error')}")
    raise ValueError(f"The MCP server {server.ended} before it answered {method}")
