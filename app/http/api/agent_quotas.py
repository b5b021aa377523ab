"""/v1/agents/{id}/quotas: how full an agent's limits are."""

from app.errors import AgentNotFound, AuditLogDamaged
from app.http.endpoint import endpoint
from app.http.references import asked_about
from app.model.agent_quotas import AgentQuotas
from app.model.api_keys import Caller, Scope
from app.replica import Services

_READ_THE_LOG = (Scope.READ, Scope.VIEW, Scope.AUDIT)


@endpoint(
    "GET",
    "/v1/agents/{agent_id}/quotas",
    tag="Agents",
    scopes=(Scope.READ, Scope.VIEW, Scope.POLICIES, Scope.AUTHORIZE),
    errors=(AgentNotFound, AuditLogDamaged),
)
async def list_agent_quotas(agent_id: str, caller: Caller, services: Services) -> AgentQuotas:
    """List how full an agent's limits, budgets and denial breakers are.

    Each rule in force that counts the agent's calls: what is taken, what is left, and when the oldest counted call
    leaves the window. Of a limit with `per`, the values whose buckets are fullest; keys that may not read the log see
    how full these are, but not the values. Nothing is counted or logged. A key with the scope `authorize` may ask about
    the agents for which it may ask decisions.
    """
    return await services.explanations.quota_reader.read(
        caller.workspace_id,
        await asked_about(services.records, caller, agent_id),
        from_log=caller.has_any(_READ_THE_LOG),
    )
