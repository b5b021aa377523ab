"""/v1/audit-logs/counts: how many entries match, by value and over time."""

from litestar import Response

from app.errors import AgentNotFound, AuditLogDamaged
from app.http.endpoint import endpoint
from app.http.openapi.described_headers import AUDIT_FLOOR
from app.http.references import with_agent_id
from app.model.api_keys import Caller, Scope
from app.model.counts import CountQuery, Counts
from app.model.times import rfc3339
from app.replica import Services
from app.validation_messages import refusing_fields


@endpoint(
    "GET",
    "/v1/audit-logs/counts",
    tag="Audit log",
    scopes=(Scope.READ, Scope.VIEW, Scope.AUDIT),
    errors=(AgentNotFound, AuditLogDamaged),
    headers=AUDIT_FLOOR,
)
async def count_audit_log(params: CountQuery, caller: Caller, services: Services) -> Response[Counts]:
    """Count the entries that match, by value.

    Counts are exact, and include every decision already answered. With `step`, they are also given for each interval.
    Filters by action, rule type, key, session, user and shadow policy read the entries, which takes longer.
    """
    query = await with_agent_id(services.records, caller, params)
    with refusing_fields(""):
        counted = await services.log.audit.counts(caller.workspace_id, query)
    headers = {} if counted.floor is None else {"X-Audit-Floor": rfc3339(counted.floor.time_ms)}
    return Response(counted.counts, headers=headers)
