"""The endpoints of the catalogue of tools, each as the request that it takes; `calls` has them, too."""

from __future__ import annotations

from typing import Any

from remit_client.wire import Call, as_it_is, given, listed, nothing, segment


def put_catalog(tools: list[Any], *, prune: bool = False) -> Call[Any]:
    """These tools, as an MCP server's `tools/list` has them, are in the catalogue; with `prune` no others."""
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
    """The catalogue has the tool so: `title`, `description`, `inputSchema`."""
    return Call("PUT", _tool(tool), as_it_is, body=fields)


def delete_catalog_tool(tool: str) -> Call[None]:
    """The catalogue has the tool no more."""
    return Call("DELETE", _tool(tool), nothing)


def _tool(tool: str) -> str:
    return f"/v1/catalog/tool/{segment(tool)}"
