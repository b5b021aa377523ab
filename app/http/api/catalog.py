"""/v1/catalog: the tools of a workspace, as their servers list them."""

from typing import Annotated, Any

from litestar import Request, Response
from msgspec import UNSET, Meta, Struct, UnsetType, field

from app.errors import Invalid, LimitReached, ToolNotFound, VersionConflict
from app.http.authentication import provide_changed_by
from app.http.bodies import Body, decode_body, read_body
from app.http.endpoint import endpoint
from app.http.headers import provide_if_match_tags, version_header
from app.http.openapi.described_headers import CHANGE_REASON, ETAG, IF_MATCH_CATALOG
from app.http.references import name_in_path
from app.http.views.catalog import CatalogToolView, ChangedCatalogView
from app.model.actors import ChangedBy
from app.model.api_keys import Caller, Scope
from app.model.catalog import (
    MAX_TOOL_NAME,
    MAX_TOOLS,
    ToolAnnotations,
    ToolEntries,
    ToolEntry,
    ToolMarks,
    require_distinct,
)
from app.model.query_fields import Limit, Offset, QueryFields
from app.model.text import FieldError, ToolName, require_tool_name
from app.replica import Records, Services
from app.store.optimistic import Versions
from app.validation_messages import refusing_fields

MAX_CATALOG_BODY = 1024 * 1024
"""The largest list of tools in one body; larger catalogues are sent in parts."""

_WRITE: dict[str, Any] = {"tag": "Catalogue", "scopes": (Scope.ADMIN, Scope.POLICIES)}
_READ: dict[str, Any] = {"tag": "Catalogue", "scopes": (Scope.READ, Scope.VIEW, Scope.POLICIES)}


class CatalogPut(QueryFields, frozen=True):
    """How tools are put into the catalogue.

    prune: Remove the tools that are not in the body; otherwise they stay.
    """

    prune: bool = False


class ToolPage(QueryFields, frozen=True):
    """Which tools to list."""

    limit: Limit | None = None
    offset: Offset = 0


class ToolList(Struct, frozen=True, kw_only=True):
    """The result of an MCP server's `tools/list`. Fields that are not named here are ignored.

    tools: The tools.
    next_cursor: Present if there is another page.
    """

    tools: ToolEntries
    next_cursor: str | None = field(default=None, name="nextCursor")


class PutCatalog(Body, frozen=True, forbid_unknown_fields=False):
    """An MCP server's answer to `tools/list`, unchanged: the whole message, or its result.

    tools: The tools. Other tools in the catalogue stay, or are deleted with `prune`.
    result: The result, if the whole message is sent.
    next_cursor: Present if there is another page; not with `prune`.
    """

    tools: ToolEntries | UnsetType = UNSET
    result: ToolList | UnsetType = UNSET
    next_cursor: str | None = field(default=None, name="nextCursor")

    def __post_init__(self) -> None:
        if (self.tools is UNSET) is (self.result is UNSET):
            raise FieldError("tools", "give tools, or result with tools in it")
        require_distinct(self.listed.tools, "tools" if self.result is UNSET else "result.tools")

    @property
    def listed(self) -> ToolList:
        """The list, from either form."""
        if not isinstance(self.result, UnsetType):
            return self.result
        return ToolList(tools=[] if isinstance(self.tools, UnsetType) else self.tools, next_cursor=self.next_cursor)


class MarkTools(Body, frozen=True):
    """What a person says of tools of the catalogue.

    tools: By name.
    """

    tools: Annotated[dict[ToolName, ToolMarks], Meta(min_length=1, max_length=MAX_TOOLS)]

    def __post_init__(self) -> None:
        for name in self.tools:
            require_tool_name("tools", name)


class PutTool(Body, frozen=True, forbid_unknown_fields=False):
    """A tool as an MCP server lists it. Fields that are not named here are ignored.

    name: As in the path, or left out.
    title: Its name for people.
    description: What it does, as told to a model.
    input_schema: The JSON Schema of its parameters, as its server publishes it.
    annotations: What its server says of its calls; only a suggestion to whoever marks it.
    """

    name: ToolName | UnsetType = UNSET
    title: str | None = None
    description: str | None = None
    input_schema: dict[str, Any] | None = field(default=None, name="inputSchema")
    annotations: ToolAnnotations | None = None


@endpoint(
    "PUT",
    "/v1/catalog",
    **_WRITE,
    body=PutCatalog,
    errors=(LimitReached, VersionConflict),
    headers=ETAG,
    request_headers=(IF_MATCH_CATALOG, CHANGE_REASON),
)
async def put_catalog(
    request: Request[Any, Any, Any], params: CatalogPut, caller: Caller, services: Services
) -> Response[ChangedCatalogView]:
    """Put tools into the catalogue.

    Accepts an MCP server's answer to `tools/list` unchanged, up to 1 MiB and 1,000 tools. All of it or nothing is
    stored, as one entry of the trail of changes. A catalogue allows nothing and denies nothing: it says which tools
    there are.
    """
    if_match, by = provide_if_match_tags(request), provide_changed_by(request)
    raw = await read_body(request.receive, MAX_CATALOG_BODY)
    entries = await services.pool.run(caller.workspace_id, lambda: tools_of(raw, prune=params.prune))
    state, change = await services.records.catalog.put(
        caller.workspace_id,
        entries,
        prune=params.prune,
        if_match=if_match,
        by=by,
    )
    return Response(ChangedCatalogView.of(state, change), headers=version_header(state.version))


@endpoint(
    "PATCH",
    "/v1/catalog",
    **_WRITE,
    errors=(ToolNotFound, VersionConflict),
    headers=ETAG,
    request_headers=(IF_MATCH_CATALOG, CHANGE_REASON),
)
async def mark_tools(
    data: MarkTools, request: Request[Any, Any, Any], caller: Caller, records: Records, by: ChangedBy
) -> Response[ChangedCatalogView]:
    """Say what calls of tools do to the world, and whose text they return.

    Of all the tools named or of none, as one entry of the trail of changes. What a server says of its own tools never
    counts. It changes no decision: it says what a proposal, a warning and an approval tell people. It holds until the
    tool's schema or description changes.
    """
    state, change = await records.catalog.mark(
        caller.workspace_id, data.tools, if_match=provide_if_match_tags(request), by=by
    )
    return Response(ChangedCatalogView.of(state, change), headers=version_header(state.version))


@endpoint("GET", "/v1/catalog", **_READ, headers=ETAG)
async def list_catalog(params: ToolPage, caller: Caller, services: Services) -> Response[list[CatalogToolView]]:
    """List the known tools, by name.

    The tools of the catalogue, and with `catalogued` false those that only the sealed log has.
    """
    listing = await services.records.catalog.listing(caller.workspace_id)
    names = listing.names[params.offset :][: params.limit]
    views = await services.pool.run(caller.workspace_id, _views, listing.catalog.tools, names)
    return Response(views, headers=version_header(listing.catalog.version))


@endpoint("GET", "/v1/catalog/tool/{tool}", **_READ, errors=(ToolNotFound,), headers=ETAG)
async def get_tool(tool: str, caller: Caller, records: Records) -> Response[CatalogToolView]:
    """Read a tool of the catalogue."""
    found = await records.catalog.get(caller.workspace_id, _tool_in(tool))
    return Response(CatalogToolView.of(found), headers=version_header(found.version))


@endpoint("PUT", "/v1/catalog/tool/{tool}", **_WRITE, errors=(LimitReached, VersionConflict), headers=ETAG)
async def put_tool(
    tool: str, data: PutTool, caller: Caller, records: Records, if_match: Versions, by: ChangedBy
) -> Response[CatalogToolView]:
    """Put one tool into the catalogue.

    What a person said of it stays unless its schema or description changes.
    """
    made = await records.catalog.put_tool(caller.workspace_id, _entry(_tool_in(tool), data), if_match=if_match, by=by)
    return Response(CatalogToolView.of(made), headers=version_header(made.version))


@endpoint("DELETE", "/v1/catalog/tool/{tool}", **_WRITE, errors=(ToolNotFound, VersionConflict))
async def delete_tool(tool: str, caller: Caller, records: Records, if_match: Versions, by: ChangedBy) -> None:
    """Remove a tool from the catalogue."""
    await records.catalog.delete_tool(caller.workspace_id, _tool_in(tool), if_match=if_match, by=by)


def tools_of(raw: bytes, *, prune: bool) -> list[ToolEntry]:
    """The tools of a complete answer to `tools/list`. Raises Invalid, PayloadTooLarge."""
    body = decode_body(raw, PutCatalog, MAX_CATALOG_BODY)
    if prune and body.listed.next_cursor is not None:
        message = "is present, so this is not the whole list; send the tools of all pages at once, or leave out prune"
        raise Invalid.at("$.nextCursor" if body.result is UNSET else "$.result.nextCursor", message)
    return body.listed.tools


def _views(tools: Any, names: list[str]) -> list[CatalogToolView]:
    return [
        CatalogToolView.of(tools[name]) if name in tools else CatalogToolView(name=name, catalogued=False)
        for name in names
    ]


def _tool_in(path: str) -> str:
    """The tool that a path names.

    Raises Invalid if it cannot be a tool's name; so a pasted API key never reaches the store.
    """
    name = name_in_path(path)
    if len(name) > MAX_TOOL_NAME:
        raise Invalid.at("tool", f"must have 1 to {MAX_TOOL_NAME} characters")
    with refusing_fields(""):
        require_tool_name("tool", name)
    return name


def _entry(name: str, data: PutTool) -> ToolEntry:
    """The tool of this name that the body describes. Raises Invalid."""
    if data.name not in (UNSET, name):
        raise Invalid.at("$.name", "is not the tool that the path names; leave it out")
    with refusing_fields():
        return ToolEntry(
            name=name,
            title=data.title,
            description=data.description,
            input_schema=data.input_schema,
            annotations=data.annotations,
        )
