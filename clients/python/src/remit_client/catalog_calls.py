"""The endpoints of the tool catalogue, as functions that make their requests; also available in `calls`."""

from __future__ import annotations

from typing import Any

from remit_client.wire import Call, as_it_is, given, listed, nothing, segment


def put_catalog(tools: list[Any], *, prune: bool = False) -> Call[Any]:
    """Put these tools, in the form of MCP's `tools/list`, into the catalogue; with `prune`, delete all others."""
    query = {"prune": "true"} if prune else {}
    return Call("PUT", "/v1/catalog", as_it_is, query=query, body={"tools": tools})


def list_catalog(limit: int | None = None, offset: int | None = None) -> Call[list[Any]]:
    """Every known tool, by name."""
    query = given(limit=limit, offset=offset)
    return Call("GET", "/v1/catalog", listed(as_it_is), query=query, repeatable=True)


def get_catalog_tool(tool: str) -> Call[Any]:
    """One tool of the catalogue."""
    return Call("GET", _tool(tool), as_it_is, repeatable=True)


def put_catalog_tool(tool: str, **fields: Any) -> Call[Any]:
    """Put one tool into the catalogue: `title`, `description`, `inputSchema`."""
    return Call("PUT", _tool(tool), as_it_is, body=fields)


def delete_catalog_tool(tool: str) -> Call[None]:
    """Delete a tool from the catalogue."""
    return Call("DELETE", _tool(tool), nothing)


def _tool(tool: str) -> str:
    return f"/v1/catalog/tool/{segment(tool)}"
