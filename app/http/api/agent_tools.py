"""/v1/agents/{id}/tools: what an agent may call."""

from typing import Any

import msgspec
from litestar import MediaType, Request, Response, get
from litestar.di import NamedDependency as Handed
from litestar.params import FromPath

from app.authorize.authorizer import BOUND_ELSEWHERE
from app.errors import AgentNotFound, InsufficientScope
from app.explain.tool_listings import ToolListing
from app.http.agent_references import agent_in_path
from app.http.authentication import requires
from app.http.queries import Query
from app.model.api_keys import Caller, Scope
from app.model.text import require_tool_name
from app.replica import Services
from app.validation_messages import refusing_fields

_encode = msgspec.json.encode
_UNNAMED = b'{"name":"","catalogued":false,'
_READERS = (Scope.READ, Scope.POLICIES)


@get("/v1/agents/{agent_id:str}/tools", guards=[requires(*_READERS, Scope.AUTHORIZE)])
async def list_agent_tools(
    agent_id: FromPath[str], request: Request[Any, Any, Any], caller: Handed[Caller], services: Handed[Services]
) -> Response[bytes]:
    """The result of the agent's calls of each known tool, before their parameters are known."""
    query = Query(request, known=("tool", "limit", "offset"))
    tool = query.text("tool")
    if tool is not None:
        with refusing_fields(""):
            require_tool_name("tool", tool)
    found = await services.tool_listings.list_tools(
        caller.workspace_id,
        await _agent(services, caller, agent_id),
        limit=query.limit(),
        offset=query.offset(),
        tool=tool,
    )
    return Response(await services.pool.run(caller.workspace_id, encoded, found), media_type=MediaType.JSON)


async def _agent(services: Services, caller: Caller, given: str) -> str:
    """The agent's id. Raises AgentNotFound; InsufficientScope for a key bound to other agents."""
    reads_all = caller.has_any(_READERS)
    try:
        agent_id = await agent_in_path(services, caller, given)
    except AgentNotFound:
        if reads_all or caller.asks_for_all:
            raise
        raise InsufficientScope(BOUND_ELSEWHERE) from None
    if not reads_all and not caller.may_ask_for(agent_id):
        raise InsufficientScope(BOUND_ELSEWHERE)
    return agent_id


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
