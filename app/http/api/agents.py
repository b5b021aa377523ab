"""/v1/agents."""

from typing import Any

from litestar import Response

from app.admin.requests import AgentChanges, NewAgent
from app.errors import AgentNotFound, AgentRevoked, AliasTaken, LimitReached, VersionConflict
from app.http.bodies import Body
from app.http.endpoint import endpoint
from app.http.headers import version_header
from app.http.json_array import answer_list
from app.http.openapi.described_headers import ETAG
from app.http.references import agent_in_path
from app.model.actors import ChangedBy
from app.model.agents import Agent, AgentStatus, Alias
from app.model.api_keys import Caller, Scope
from app.model.query_fields import Limit, Offset, QueryFields
from app.model.text import Name
from app.replica import Admin, Records, Services
from app.store.optimistic import Versions
from app.views.agents import AgentView

_WRITE: dict[str, Any] = {"tag": "Agents", "scopes": (Scope.ADMIN, Scope.POLICIES)}
_READ: dict[str, Any] = {"tag": "Agents", "scopes": (Scope.READ, Scope.VIEW, Scope.POLICIES)}


class AgentFilters(QueryFields, frozen=True):
    """Which agents to list; all given filters must match.

    alias: Only the agent with this alias.
    name: Only agents with this name.
    status: Only agents in this state.
    """

    alias: Alias | None = None
    name: Name | None = None
    status: AgentStatus | None = None
    limit: Limit | None = None
    offset: Offset = 0


class CreateAgent(Body, NewAgent, frozen=True):
    """A new agent. It is active at once."""


class UpdateAgent(Body, AgentChanges, frozen=True):
    """What to change; fields that are left out stay."""


@endpoint("POST", "/v1/agents", **_WRITE, status=201, errors=(LimitReached, AliasTaken), headers=ETAG)
async def create_agent(data: CreateAgent, caller: Caller, admin: Admin, by: ChangedBy) -> Response[AgentView]:
    """Create an agent."""
    return _answer(await admin.agents.create(caller.workspace_id, data, by))


@endpoint("GET", "/v1/agents", **_READ)
async def list_agents(params: AgentFilters, caller: Caller, records: Records) -> Response[list[AgentView]]:
    """List agents, oldest first."""
    agents = records.agents.each(
        caller.workspace_id, params.limit, params.offset, alias=params.alias, name=params.name, status=params.status
    )
    return await answer_list(agents, AgentView.of)


@endpoint("GET", "/v1/agents/{agent_id}", **_READ, errors=(AgentNotFound,), headers=ETAG)
async def get_agent(agent_id: str, caller: Caller, records: Records) -> Response[AgentView]:
    """Read an agent."""
    return _answer(await records.agents.get(caller.workspace_id, await agent_in_path(records, caller, agent_id)))


@endpoint(
    "PATCH",
    "/v1/agents/{agent_id}",
    **_WRITE,
    errors=(AgentNotFound, AgentRevoked, AliasTaken, VersionConflict),
    headers=ETAG,
)
async def update_agent(
    agent_id: str, data: UpdateAgent, caller: Caller, services: Services, by: ChangedBy, if_match: Versions
) -> Response[AgentView]:
    """Change an agent.

    Only the given fields change; `{}` changes nothing. The status `revoked` is final. An alias that is taken from the
    agent names its new agent from the next decision on.
    """
    known = await agent_in_path(services.records, caller, agent_id)
    return _answer(await services.admin.agents.update(caller.workspace_id, known, data, by, if_match))


@endpoint("DELETE", "/v1/agents/{agent_id}", **_WRITE, errors=(AgentNotFound, VersionConflict))
async def delete_agent(agent_id: str, caller: Caller, services: Services, by: ChangedBy, if_match: Versions) -> None:
    """Delete an agent with its policies.

    Its audit entries stay.
    """
    known = await agent_in_path(services.records, caller, agent_id)
    await services.admin.agents.delete(caller.workspace_id, known, by, if_match)


def _answer(agent: Agent) -> Response[AgentView]:
    return Response(AgentView.of(agent), headers=version_header(agent.revision))
