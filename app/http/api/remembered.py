"""/v1/agents/{id}/remembered: the values that count as approved before."""

from app.errors import AgentNotFound, VersionConflict
from app.http.endpoint import endpoint
from app.http.references import agent_in_path
from app.model.actors import ChangedBy
from app.model.api_keys import Caller, Scope
from app.model.approved_before import Remembered
from app.replica import Records, Services
from app.store.optimistic import Versions


@endpoint(
    "GET",
    "/v1/agents/{agent_id}/remembered",
    tag="Agents",
    scopes=(Scope.READ, Scope.VIEW, Scope.POLICIES),
    errors=(AgentNotFound,),
)
async def list_remembered(agent_id: str, caller: Caller, records: Records) -> list[Remembered]:
    """List what counts as approved before.

    The values of an agent's approved calls that rules with `approvedBefore` remember now, the latest approved first.
    The values themselves are not stored: the approval shows the call.
    """
    return await records.remembered.of(caller.workspace_id, await agent_in_path(records, caller, agent_id))


@endpoint(
    "DELETE",
    "/v1/agents/{agent_id}/remembered",
    tag="Agents",
    scopes=(Scope.ADMIN, Scope.POLICIES),
    errors=(AgentNotFound, VersionConflict),
)
async def forget_remembered(
    agent_id: str, caller: Caller, services: Services, by: ChangedBy, if_match: Versions
) -> None:
    """Forget what was approved before.

    Nothing that people have approved for the agent so far counts as approved before in a later decision. Open approvals
    stay, but their calls are not remembered.
    """
    known = await agent_in_path(services.records, caller, agent_id)
    await services.admin.agents.forget(caller.workspace_id, known, by, if_match)
