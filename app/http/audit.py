"""/v1/audit-logs."""

from typing import Any

from litestar import MediaType, Request, Response, get

from app.http.authentication import requires
from app.http.queries import MAX_LIMIT, Query
from app.model.audit import AuditQuery
from app.model.decisions import Result
from app.model.keys import Caller, Scope
from app.services import Services

FILTERS = ("agent_id", "action", "tool_name", "result", "from", "to")
ALIASES = {"agentId": "agent_id", "toolName": "tool_name"}
DEFAULT_LIMIT = 100


@get("/v1/audit-logs", guards=[requires(Scope.READ)])
async def query_audit_log(request: Request[Any, Any, Any], caller: Caller, services: Services) -> Response[bytes]:
    """Entries that match every filter, newest first; X-Next-Cursor asks for the page after this one."""
    query = Query(request, known=(*FILTERS, "limit", "offset", "cursor"), aliases=ALIASES)
    page = await services.audit.query(caller.workspace_id, audit_query(query))
    headers = {} if page.next_before is None else {"X-Next-Cursor": str(page.next_before)}
    # The log keeps entries as the lines they are sent as, so nothing is decoded to be encoded again.
    return Response(b"[" + b",".join(page.lines) + b"]", headers=headers, media_type=MediaType.JSON)


def audit_query(query: Query) -> AuditQuery:
    """The filters and the page that a query string asks for. Raises Invalid."""
    result = query.choice("result", [each.value for each in Result])
    return AuditQuery(
        agent_id=query.uuid("agent_id"),
        action=query.text("action"),
        tool_name=query.text("tool_name"),
        result=None if result is None else Result(result),
        from_ms=query.time_ms("from"),
        to_ms=query.time_ms("to"),
        limit=query.number("limit", least=1, most=MAX_LIMIT) or DEFAULT_LIMIT,
        offset=query.offset(),
        before=query.number("cursor", least=1, most=10**15),
    )
