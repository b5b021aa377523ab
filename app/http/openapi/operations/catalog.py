"""The catalogue of tools."""

from app.errors import LimitReached, ToolNotFound, VersionConflict
from app.http.api.catalog import PutCatalog, PutTool
from app.http.openapi.operation import ADMIN, READ, Operation
from app.http.openapi.parameters import CHANGE_REASON, ETAG, IF_MATCH, IF_MATCH_CATALOG, LIMIT, OFFSET, PRUNE_TOOLS
from app.views.catalog import CatalogToolView, ChangedCatalogView

CATALOG = (
    Operation(
        "PUT",
        "/v1/catalog",
        "Put tools into the catalogue",
        ADMIN,
        "Catalogue",
        body=PutCatalog,
        query=(PRUNE_TOOLS,),
        answer=ChangedCatalogView,
        errors=(LimitReached, VersionConflict),
        headers=ETAG,
        request_headers=(IF_MATCH_CATALOG, CHANGE_REASON),
        description=(
            "Accepts an MCP server's answer to `tools/list` unchanged, up to 1 MiB and 1,000 tools. All of it or "
            "nothing is stored, as one entry of the trail of changes. A catalogue allows nothing and denies nothing: "
            "it says which tools there are."
        ),
    ),
    Operation(
        "GET",
        "/v1/catalog",
        "List the known tools, by name",
        READ,
        "Catalogue",
        query=(LIMIT, OFFSET),
        answer=list[CatalogToolView],
        headers=ETAG,
        description="The tools of the catalogue, and with `catalogued` false those that only the sealed log has.",
    ),
    Operation(
        "GET",
        "/v1/catalog/tool/{tool}",
        "Read a tool of the catalogue",
        READ,
        "Catalogue",
        answer=CatalogToolView,
        errors=(ToolNotFound,),
        headers=ETAG,
    ),
    Operation(
        "PUT",
        "/v1/catalog/tool/{tool}",
        "Put one tool into the catalogue",
        ADMIN,
        "Catalogue",
        body=PutTool,
        answer=CatalogToolView,
        errors=(LimitReached, VersionConflict),
        headers=ETAG,
        request_headers=(IF_MATCH, CHANGE_REASON),
    ),
    Operation(
        "DELETE",
        "/v1/catalog/tool/{tool}",
        "Remove a tool from the catalogue",
        ADMIN,
        "Catalogue",
        status=204,
        errors=(ToolNotFound, VersionConflict),
        request_headers=(IF_MATCH, CHANGE_REASON),
    ),
)
