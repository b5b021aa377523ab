"""Agents."""

from app.errors import AgentNotFound, AgentRevoked, AliasTaken, LimitReached, VersionConflict
from app.http.api.agents import CreateAgent, UpdateAgent
from app.http.openapi.operation import ADMIN, READ, Operation
from app.http.openapi.parameters import AGENT_FILTERS, CHANGE_REASON, ETAG, IF_MATCH, LIMIT, OFFSET, TOOL
from app.model.api_keys import Scope
from app.model.tool_access import AgentTools
from app.views.agents import AgentView

AGENTS = (
    Operation(
        "POST",
        "/v1/agents",
        "Create an agent",
        ADMIN,
        "Agents",
        body=CreateAgent,
        status=201,
        answer=AgentView,
        request_headers=(CHANGE_REASON,),
        errors=(LimitReached, AliasTaken),
        headers=ETAG,
    ),
    Operation(
        "GET",
        "/v1/agents",
        "List agents, oldest first",
        READ,
        "Agents",
        query=(*AGENT_FILTERS, LIMIT, OFFSET),
        answer=list[AgentView],
    ),
    Operation(
        "GET",
        "/v1/agents/{agent_id}",
        "Read an agent",
        READ,
        "Agents",
        answer=AgentView,
        errors=(AgentNotFound,),
        headers=ETAG,
    ),
    Operation(
        "PATCH",
        "/v1/agents/{agent_id}",
        "Change an agent",
        ADMIN,
        "Agents",
        body=UpdateAgent,
        answer=AgentView,
        errors=(AgentNotFound, AgentRevoked, AliasTaken, VersionConflict),
        headers=ETAG,
        request_headers=(IF_MATCH, CHANGE_REASON),
        description=(
            "Only the given fields change; `{}` changes nothing. The status `revoked` is final. An alias that is "
            "taken from the agent names its new agent from the next decision on."
        ),
    ),
    Operation(
        "DELETE",
        "/v1/agents/{agent_id}",
        "Delete an agent with its policies",
        ADMIN,
        "Agents",
        status=204,
        errors=(AgentNotFound, VersionConflict),
        request_headers=(IF_MATCH, CHANGE_REASON),
        description="Its audit entries stay.",
    ),
    Operation(
        "GET",
        "/v1/agents/{agent_id}/tools",
        "List what an agent may call",
        READ,
        "Agents",
        query=(TOOL, LIMIT, OFFSET),
        answer=AgentTools,
        errors=(AgentNotFound,),
        description=(
            "Every known tool, sorted by name, with the result that the agent's calls would get, before their "
            "parameters are known. `allowed` and `denied` are returned only where they are certain. Nothing is "
            "counted or logged. A key with the scope `authorize` may ask about the agents for which it may ask "
            "decisions."
        ),
        further_scopes=(Scope.AUTHORIZE,),
    ),
)
