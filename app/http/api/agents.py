"""/v1/agents, and of each what it may call, how full its limits are, and what was approved before."""

from typing import Annotated, Any

import msgspec
from litestar import MediaType, Response
from msgspec import UNSET, Meta, Struct, UnsetType

from app.errors import AgentNotFound, AgentRevoked, AliasTaken, AuditLogDamaged, LimitReached, VersionConflict
from app.explain.tool_listings import ToolListing
from app.http.bodies import Body
from app.http.endpoint import endpoint
from app.http.headers import version_header
from app.http.json_array import answer_list
from app.http.openapi.described_headers import ETAG
from app.http.references import agent_in_path, asked_about
from app.http.views import as_view
from app.model.actors import ChangedBy
from app.model.agent_quotas import AgentQuotas
from app.model.agents import Agent, AgentStatus, AgentType, Alias, Groups, Trip
from app.model.api_keys import Caller, Scope
from app.model.approved_before import Remembered
from app.model.fields import AgentDescription, CreatedAt, DisplayName, Id, UpdatedAt, VersionNumber
from app.model.query_fields import Limit, Offset, QueryFields
from app.model.requests import AgentChanges, NewAgent, given
from app.model.text import Name, require_tool_name
from app.model.tool_access import AgentTools
from app.replica import Records, Services
from app.store.optimistic import Versions

_WRITE: dict[str, Any] = {"tag": "Agents", "scopes": (Scope.ADMIN, Scope.POLICIES)}
_READ: dict[str, Any] = {"tag": "Agents", "scopes": (Scope.READ, Scope.VIEW, Scope.POLICIES)}


class AgentView(Struct, frozen=True, kw_only=True, rename="camel"):
    """An agent as the API shows it.

    status: Only an active agent is ever allowed anything.
    tripped: The denial breaker that suspended it; left out if none did.
    """

    id: Id
    name: DisplayName
    alias: Alias | None
    type: AgentType
    description: AgentDescription | None
    status: AgentStatus
    groups: Groups
    version: VersionNumber
    created_at: CreatedAt
    updated_at: UpdatedAt
    tripped: Trip | UnsetType = UNSET

    @classmethod
    def of(cls, agent: Agent) -> "AgentView":
        return as_view(cls, agent, version=agent.revision)


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
async def create_agent(data: CreateAgent, caller: Caller, records: Records, by: ChangedBy) -> Response[AgentView]:
    """Create an agent."""
    agent = await records.agents.create(
        caller.workspace_id,
        data.name,
        data.description,
        data.groups or (),
        alias=data.alias,
        kind=data.type,
        by=by,
    )
    return _answer(agent)


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
    agent = await services.records.agents.update(caller.workspace_id, known, **given(data), if_match=if_match, by=by)
    if agent.status is not AgentStatus.ACTIVE:
        await services.consequences.end_approvals(caller.workspace_id, agent.id)
    return _answer(agent)


@endpoint("DELETE", "/v1/agents/{agent_id}", **_WRITE, errors=(AgentNotFound, VersionConflict))
async def delete_agent(agent_id: str, caller: Caller, services: Services, by: ChangedBy, if_match: Versions) -> None:
    """Delete an agent with its policies.

    Its audit entries stay.
    """
    known = await agent_in_path(services.records, caller, agent_id)
    await services.records.agents.delete(caller.workspace_id, known, if_match=if_match, by=by)
    await services.consequences.end_approvals(caller.workspace_id, known)


def _answer(agent: Agent) -> Response[AgentView]:
    return Response(AgentView.of(agent), headers=version_header(agent.revision))


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


_encode = msgspec.json.encode
_UNNAMED = b'{"name":"","catalogued":false,"consequence":null,'


class ToolFilters(QueryFields, frozen=True):
    """Which tools to list.

    tool: Only this tool, whether or not it is known.
    """

    tool: Name | None = None
    limit: Limit | None = None
    offset: Offset = 0

    def __post_init__(self) -> None:
        if self.tool is not None:
            require_tool_name("tool", self.tool)


@endpoint(
    "GET",
    "/v1/agents/{agent_id}/tools",
    tag="Agents",
    scopes=(Scope.READ, Scope.VIEW, Scope.POLICIES, Scope.AUTHORIZE),
    answer=AgentTools,
    errors=(AgentNotFound,),
)
async def list_agent_tools(agent_id: str, params: ToolFilters, caller: Caller, services: Services) -> Response[bytes]:
    """List what an agent may call.

    Every known tool, sorted by name, with the result that the agent's calls would get, before their parameters are
    known. `allowed` and `denied` are returned only where they are certain. Nothing is counted or logged. A key with the
    scope `authorize` may ask about the agents for which it may ask decisions.
    """
    found = await services.explanations.tool_listings.list_tools(
        caller.workspace_id,
        await asked_about(services.records, caller, agent_id),
        limit=params.limit,
        offset=params.offset,
        only=None if params.tool is None else [params.tool],
    )
    return Response(await services.pool.run(caller.workspace_id, encoded, found), media_type=MediaType.JSON)


class NamedTools(Body, frozen=True):
    """Which tools to list.

    names: The tools, in the order of the answer, whether or not they are known.
    """

    names: Annotated[list[Name], Meta(min_length=1, max_length=1000)]

    def __post_init__(self) -> None:
        for index, name in enumerate(self.names):
            require_tool_name(f"names[{index}]", name)


@endpoint(
    "POST",
    "/v1/agents/{agent_id}/tools",
    reads_only=True,
    tag="Agents",
    scopes=(Scope.READ, Scope.VIEW, Scope.POLICIES, Scope.AUTHORIZE),
    answer=AgentTools,
    errors=(AgentNotFound,),
)
async def list_named_tools(agent_id: str, data: NamedTools, caller: Caller, services: Services) -> Response[bytes]:
    """List what an agent may call of these tools, known or not.

    For who lists the tools of a server, which need not be in the catalogue. The answer is that of the `GET`.
    """
    found = await services.explanations.tool_listings.list_tools(
        caller.workspace_id, await asked_about(services.records, caller, agent_id), only=data.names
    )
    return Response(await services.pool.run(caller.workspace_id, encoded, found), media_type=MediaType.JSON)


def encoded(listing: ToolListing) -> bytes:
    """The listing as the API shows it, an `AgentTools`; parts that tools have in common are encoded once."""
    shared: dict[int, bytes] = {}
    tools = []
    for name, tool, access in listing.tools:
        rest = shared.get(id(access))
        if rest is None:
            rest = shared[id(access)] = _encode(access).removeprefix(_UNNAMED)
        known, consequence = b"false" if tool is None else b"true", _encode(tool and tool.consequence)
        tools.append(b'{"name":%b,"catalogued":%b,"consequence":%b,%b' % (_encode(name), known, consequence, rest))
    agent = _encode(listing.agent)
    head = b'{"agent":%b,"at":%b,"total":%d,"tools":[' % (agent, _encode(listing.at), listing.total)
    return b"%b%b]}" % (head, b",".join(tools))


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
    await services.records.agents.update(caller.workspace_id, known, forgets=True, if_match=if_match, by=by)
