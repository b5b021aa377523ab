"""/v1/changes."""

from typing import Any

from litestar import Request, Response, get
from litestar.di import NamedDependency as Handed

from app.errors import Invalid
from app.http.api.audit_log import DEFAULT_LIMIT
from app.http.authentication import requires
from app.http.queries import MAX_LIMIT, Query
from app.model.actors import UNRECORDED
from app.model.api_keys import Caller, Scope
from app.model.changes import Change, ChangeQuery, ResourceType
from app.replica import Services
from app.store.changes import is_change_id

FILTERS = ("actor_id", "resource_type", "resource_id", "from", "to")
ALIASES = {"actorId": "actor_id", "resourceType": "resource_type", "resourceId": "resource_id"}


@get("/v1/changes", guards=[requires(Scope.ADMIN, Scope.AUDIT)])
async def query_changes(
    request: Request[Any, Any, Any], caller: Handed[Caller], services: Handed[Services]
) -> Response[list[Change]]:
    """Changes that match every filter, newest first; X-Next-Cursor asks for the page after this one."""
    query = Query(request, known=(*FILTERS, "limit", "cursor"), aliases=ALIASES)
    page = await services.changes.query(caller.workspace_id, change_query(query))
    headers = {} if page.older_than is None else {"X-Next-Cursor": page.older_than}
    return Response(page.changes, headers=headers)


def change_query(query: Query) -> ChangeQuery:
    """The filters and the page in a query string. Raises Invalid."""
    resource_type = query.choice("resource_type", [each.value for each in ResourceType])
    cursor = query.text("cursor")
    if cursor is not None and not is_change_id(cursor):
        raise Invalid.at("cursor", "must be the X-Next-Cursor of another page")
    return ChangeQuery(
        actor_id=named if (named := query.text("actor_id")) in UNRECORDED else query.uuid("actor_id"),
        resource_type=None if resource_type is None else ResourceType(resource_type),
        resource_id=query.uuid("resource_id"),
        from_ms=query.time_ms("from"),
        to_ms=query.time_ms("to"),
        limit=query.number("limit", least=1, most=MAX_LIMIT) or DEFAULT_LIMIT,
        older_than=cursor,
    )
