"""FastMCP: a server middleware that asks before each tool call."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from fastmcp.exceptions import ToolError
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from remit_client import AsyncRemit, Remit, RemitError
from remit_client.enforcement import Options, async_enforcer
from remit_client.listing import statuses

if TYPE_CHECKING:
    from typing_extensions import Unpack

Agent = str | Callable[[MiddlewareContext[Any]], str]


class RemitMiddleware(Middleware):
    """A tool runs only if Remit allows the call; otherwise the client gets a tool error that says why.

    agent: the calling agent, or a function that reads it from the request, such as from its access token.
    hide: leave tools that the agent can never call out of listings.
    """

    def __init__(
        self, remit: Remit | AsyncRemit, agent: Agent, *, hide: bool = True, **options: Unpack[Options]
    ) -> None:
        self._remit = remit if isinstance(remit, AsyncRemit) else AsyncRemit.with_settings_of(remit)
        self._agent = agent
        self._hides = hide
        self._options = options

    async def on_call_tool(self, context: MiddlewareContext[Any], call_next: CallNext[Any, Any]) -> Any:
        """The tool's answer. Raises ToolError unless Remit has allowed the call."""
        call = copy.deepcopy(context.message)
        try:
            enforcer = async_enforcer(self._remit, self._agent_of(context), **self._options)
            await enforcer.check(call.name, call.arguments or {}, _session(context))
        except RemitError as error:
            raise ToolError(error.for_agent()) from error
        return await call_next(context.copy(message=call))

    async def on_list_tools(self, context: MiddlewareContext[Any], call_next: CallNext[Any, Any]) -> Sequence[Any]:
        """The listed tools without those that the agent can never call."""
        tools: Sequence[Any] = await call_next(context)
        if not self._hides:
            return tools
        agent = self._agent_of(context)
        named = async_enforcer(self._remit, agent, **self._options).policy_name
        known = await statuses(self._remit, agent, [named(tool.name) for tool in tools])
        return [tool for tool in tools if known.get(named(tool.name)) != "denied"]

    def _agent_of(self, context: MiddlewareContext[Any]) -> str:
        return self._agent(context) if callable(self._agent) else self._agent


def _session(context: MiddlewareContext[Any]) -> dict[str, str]:
    """The connection's id, if it outlives this call: approvals and marks belong to a session."""
    of_server = context.fastmcp_context
    request = of_server.request_context if of_server is not None else None
    if of_server is None or request is None or request.session.protocol_version in MODERN_PROTOCOL_VERSIONS:
        return {}
    return {"session": of_server.session_id}
