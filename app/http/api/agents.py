"""/v1/agents."""

from typing import Any

from litestar import Request, Response, delete, get, patch, post
from litestar.di import NamedDependency as Handed
from litestar.params import FromPath, JSONBody
from msgspec import UNSET, UnsetType

from app.http.agent_references import agent_in_path
from app.http.authentication import requires
from app.http.bodies import Body
from app.http.etag import version_header
from app.http.json_array import answer_list
from app.http.litestar_bodies import BodyDTO
from app.http.queries import Query
from app.model.actors import ChangedBy
from app.model.agents import MAX_ALIAS, Agent, AgentStatus, Alias, Groups, require_alias, require_groups
from app.model.api_keys import Caller, Scope
from app.model.fields import AgentDescription, DisplayName
from app.model.text import require_visible
from app.replica import Services
from app.store.optimistic import Versions
from app.views.agents import AgentView


class CreateAgent(Body, frozen=True):
    """A new agent. It is active at once."""

    name: DisplayName
    description: AgentDescription | None = None
    groups: Groups | UnsetType = UNSET
    alias: Alias | None = None

    def __post_init__(self) -> None:
        _require_visible(self.name, self.description, self.groups, self.alias)


class UpdateAgent(Body, frozen=True):
    """What to change; fields that are left out stay.

    status: `revoked` is final.
    """

    name: DisplayName | UnsetType = UNSET
    description: AgentDescription | None | UnsetType = UNSET
    status: AgentStatus | UnsetType = UNSET
    groups: Groups | UnsetType = UNSET
    alias: Alias | None | UnsetType = UNSET

    def __post_init__(self) -> None:
        _require_visible(self.name, self.description, self.groups, self.alias)


@post("/v1/agents", guards=[requires(Scope.ADMIN, Scope.POLICIES)], dto=BodyDTO)
async def create_agent(
    data: JSONBody[CreateAgent], caller: Handed[Caller], services: Handed[Services], by: Handed[ChangedBy]
) -> Response[AgentView]:
    """Create an agent, active and without policies, so that all its calls are denied."""
    agent = await services.agents.create(
        caller.workspace_id,
        data.name,
        data.description,
        data.groups or (),
        alias=data.alias,
        by=by,
    )
    return _answer(agent)


@get("/v1/agents", guards=[requires(Scope.READ, Scope.POLICIES)])
async def list_agents(
    request: Request[Any, Any, Any], caller: Handed[Caller], services: Handed[Services]
) -> Response[Any]:
    """The workspace's agents, or those with an alias, a name or a status, oldest first."""
    query = Query(request, known=("alias", "name", "status", "limit", "offset"))
    status = query.choice("status", tuple(AgentStatus))
    agents = services.agents.each(
        caller.workspace_id,
        query.limit(),
        query.offset(),
        alias=query.text("alias", most=MAX_ALIAS),
        name=query.text("name"),
        status=None if status is None else AgentStatus(status),
    )
    return await answer_list(agents, AgentView.of)


@get("/v1/agents/{agent_id:str}", guards=[requires(Scope.READ, Scope.POLICIES)])
async def get_agent(agent_id: FromPath[str], caller: Handed[Caller], services: Handed[Services]) -> Response[AgentView]:
    """One agent as it is now."""
    return _answer(await services.agents.get(caller.workspace_id, await agent_in_path(services, caller, agent_id)))


@patch("/v1/agents/{agent_id:str}", guards=[requires(Scope.ADMIN, Scope.POLICIES)], dto=BodyDTO)
async def update_agent(
    agent_id: FromPath[str],
    data: JSONBody[UpdateAgent],
    caller: Handed[Caller],
    services: Handed[Services],
    by: Handed[ChangedBy],
    if_match: Handed[Versions],
) -> Response[AgentView]:
    """Change the given fields of the agent; every later decision applies them."""
    agent = await services.agents.update(
        caller.workspace_id,
        await agent_in_path(services, caller, agent_id),
        name=data.name,
        description=data.description,
        status=data.status,
        groups=data.groups,
        alias=data.alias,
        if_match=if_match,
        by=by,
    )
    if agent.status is not AgentStatus.ACTIVE:
        await services.approval_reaper.end_soon(caller.workspace_id, agent.id)
    return _answer(agent)


@delete("/v1/agents/{agent_id:str}", guards=[requires(Scope.ADMIN, Scope.POLICIES)])
async def delete_agent(
    agent_id: FromPath[str],
    caller: Handed[Caller],
    services: Handed[Services],
    by: Handed[ChangedBy],
    if_match: Handed[Versions],
) -> None:
    """Delete the agent, its policies and its quotas; its audit entries stay."""
    known = await agent_in_path(services, caller, agent_id)
    await services.agents.delete(caller.workspace_id, known, if_match=if_match, by=by)
    await services.approval_reaper.end_soon(caller.workspace_id, known)


def _answer(agent: Agent) -> Response[AgentView]:
    return Response(AgentView.of(agent), headers=version_header(agent.revision))


def _require_visible(
    name: str | UnsetType,
    description: str | UnsetType | None,
    groups: list[str] | UnsetType,
    alias: str | UnsetType | None,
) -> None:
    if name is not UNSET:
        require_visible("name", name)
    if description is not UNSET and description is not None:
        require_visible("description", description, lines=True)
    if groups is not UNSET:
        require_groups(groups)
    if alias is not UNSET and alias is not None:
        require_alias("alias", alias)
