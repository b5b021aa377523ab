"""/v1/agents/{id}/tools: what an agent may call."""

import msgspec
from litestar import MediaType, Response

from app.errors import AgentNotFound
from app.explain.tool_listings import ToolListing
from app.http.endpoint import endpoint
from app.http.references import asked_about
from app.model.api_keys import Caller, Scope
from app.model.query_fields import Limit, Offset, QueryFields
from app.model.text import Name, require_tool_name
from app.model.tool_access import AgentTools
from app.replica import Services

_encode = msgspec.json.encode
_UNNAMED = b'{"name":"","catalogued":false,'


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
        tool=params.tool,
    )
    return Response(await services.pool.run(caller.workspace_id, encoded, found), media_type=MediaType.JSON)


def encoded(listing: ToolListing) -> bytes:
    """The listing as the API shows it, an `AgentTools`; parts that tools have in common are encoded once."""
    shared: dict[int, bytes] = {}
    tools = []
    for name, catalogued, access in listing.tools:
        rest = shared.get(id(access))
        if rest is None:
            rest = shared[id(access)] = _encode(access).removeprefix(_UNNAMED)
        known = b"true" if catalogued else b"false"
        tools.append(b'{"name":%b,"catalogued":%b,%b' % (_encode(name), known, rest))
    agent = _encode(listing.agent)
    head = b'{"agent":%b,"at":%b,"total":%d,"tools":[' % (agent, _encode(listing.at), listing.total)
    return b"%b%b]}" % (head, b",".join(tools))
