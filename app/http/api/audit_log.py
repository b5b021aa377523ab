"""/v1/audit-logs."""

from typing import Any

from litestar import MediaType, Request, Response, get
from litestar.di import NamedDependency as Handed
from litestar.params import FromPath
from msgspec.structs import replace

from app.errors import AuditEntryNotFound, Invalid
from app.http.agent_references import reference_in_query
from app.http.authentication import requires
from app.http.paths import id_in_path
from app.http.queries import MAX_LIMIT, Query
from app.model.api_keys import Caller, Scope
from app.model.audit import ANY_SHADOW, AuditQuery, Backlog
from app.model.checkpoints import Checkpoint
from app.model.decisions import Result
from app.model.times import rfc3339
from app.replica import Services
from app.views.audit_entries import with_code, with_codes
from app.views.verification import VerificationView
from app.webhooks.records import note_finding

FILTERS = (
    "agent_id",
    "action",
    "tool_name",
    "result",
    "id",
    "key_id",
    "policy_id",
    "rule_type",
    "shadow",
    "from",
    "to",
)
ALIASES = {
    "agentId": "agent_id",
    "toolName": "tool_name",
    "keyId": "key_id",
    "policyId": "policy_id",
    "ruleType": "rule_type",
}
DEFAULT_LIMIT = 100
CHECKPOINT_MAX = 400
"""More than the length of any checkpoint line."""
VERIFY_SEGMENTS = 2_000
"""The most segments verified by one request: a million entries, some four seconds in steps of up to 15 ms."""


@get("/v1/audit-logs", guards=[requires(Scope.READ, Scope.AUDIT)])
async def query_audit_log(
    request: Request[Any, Any, Any], caller: Handed[Caller], services: Handed[Services]
) -> Response[bytes]:
    """Entries that match every filter, newest first; X-Next-Cursor asks for the page after this one."""
    query = Query(request, known=(*FILTERS, "limit", "offset", "cursor"), aliases=ALIASES)
    page = await services.audit.query(caller.workspace_id, await settled_query(services, caller, query))
    headers = {} if page.next_before is None else {"X-Next-Cursor": str(page.next_before)}
    if page.floor is not None:
        headers["X-Audit-Floor"] = rfc3339(page.floor.time_ms)
    # The log keeps entries as the lines that are sent, so nothing is encoded again; only the code is added.
    lines = await with_codes(page.lines)
    return Response(b"[" + b",".join(lines) + b"]", headers=headers, media_type=MediaType.JSON)


@get("/v1/audit-logs/{entry_id:str}", guards=[requires(Scope.READ, Scope.AUDIT)])
async def get_audit_entry(
    entry_id: FromPath[str], caller: Handed[Caller], services: Handed[Services]
) -> Response[bytes]:
    """One entry as logged, with the code of the decision."""
    known = id_in_path(entry_id, AuditEntryNotFound("No audit entry has this id"))
    return Response(with_code((await services.audit.entry(caller.workspace_id, known))[1]), media_type=MediaType.JSON)


@get("/v1/audit-logs/status", guards=[requires(Scope.READ, Scope.AUDIT)])
async def audit_log_status(
    request: Request[Any, Any, Any], caller: Handed[Caller], services: Handed[Services]
) -> Backlog:
    """How far sealing is behind, and what the log holds."""
    Query(request, known=())
    return await services.audit.backlog(caller.workspace_id)


@get("/v1/audit-logs/verify", guards=[requires(Scope.ADMIN, Scope.AUDIT)])
async def verify_audit_log(
    request: Request[Any, Any, Any], caller: Handed[Caller], services: Handed[Services]
) -> VerificationView:
    """Recompute the chain from the entries, up to two thousand segments at a time."""
    query = Query(request, known=("checkpoint",))
    line = query.text("checkpoint", most=CHECKPOINT_MAX)
    try:
        since = None if line is None else Checkpoint.parse(line)
    except ValueError as error:
        raise Invalid.at("checkpoint", str(error)) from None
    found = await services.audit.verify(caller.workspace_id, since, VERIFY_SEGMENTS)
    if found.finding is not None:
        await note_finding(services.client, caller.workspace_id, found.finding)
    return VerificationView.of(found)


async def settled_query(services: Services, caller: Caller, query: Query) -> AuditQuery:
    """The filters and the page in a query string, with the agent's id. Raises Invalid, AgentNotFound."""
    wanted = audit_query(query)
    if wanted.agent_id is None:
        return wanted
    return replace(wanted, agent_id=await services.agents.id_of(caller.workspace_id, wanted.agent_id))


def audit_query(query: Query) -> AuditQuery:
    """The filters and the page in a query string, with the agent as named there. Raises Invalid."""
    result = query.choice("result", [each.value for each in Result])
    return AuditQuery(
        agent_id=reference_in_query(query),
        action=query.text("action"),
        tool_name=query.text("tool_name"),
        result=None if result is None else Result(result),
        id=query.uuid("id"),
        key_id=query.uuid("key_id"),
        policy_id=query.uuid("policy_id"),
        rule_type=query.text("rule_type"),
        shadow=ANY_SHADOW if query.given("shadow") == ANY_SHADOW else query.uuid("shadow"),
        from_ms=query.time_ms("from"),
        to_ms=query.time_ms("to"),
        limit=query.number("limit", least=1, most=MAX_LIMIT) or DEFAULT_LIMIT,
        offset=query.offset(),
        before=query.number("cursor", least=1, most=10**15),
    )
