"""Agents."""

from app.errors import AgentNotFound, AgentRevoked, AliasTaken, LimitReached, VersionConflict
from app.http.api.agents import CreateAgent, UpdateAgent
from app.http.openapi.operation import ADMIN, READ, Operation
from app.http.openapi.parameters import AGENT_FILTERS, CHANGE_REASON, ETAG, IF_MATCH, LIMIT, OFFSET, TOOL
from app.model.keys import Scope
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
            "Only the fields that are given change; `{}` changes nothing. The status `revoked` is final. An alias that "
            "it gives away names the agent that takes it from the next decision on."
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
            "Every tool that is known of, in the order of their names, and what becomes of the agent's calls of it "
            "without knowing their parameters. `allowed` and `denied` are said only where they are certain. Nothing is "
            "taken or logged. A key of the scope `authorize` asks about the agents that it may ask decisions for."
        ),
        further_scopes=(Scope.AUTHORIZE,),
    ),
)
