"""FastMCP: a server middleware that asks before each tool call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from fastmcp.exceptions import ToolError
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from remit_client import AsyncRemit, Remit
from remit_client.enforcement import async_enforcer
from remit_client.gate import Framework, Options, Refused, ToolCall, Waits, async_gate
from remit_client.listing import statuses

if TYPE_CHECKING:
    from typing_extensions import Unpack

FASTMCP = Framework(goes_on=True, has_failed=lambda result: bool(getattr(result, "is_error", False)))
Agent = str | Callable[[MiddlewareContext[Any]], str]


class RemitMiddleware(Middleware):
    """A tool runs only if Remit allows the call; otherwise the client gets a tool error that says why.

    agent: the calling agent, or a function that reads it from the request, such as from its access token.
    hide: leave tools that the agent can never call out of listings.
    """

    def __init__(
        self, remit: Remit | AsyncRemit, agent: Agent, *, hide: bool = True, **options: Unpack[Options]
    ) -> None:
        self._remit = AsyncRemit.of(remit)
        self._agent = agent
        self._hides = hide
        self._options = options

    async def on_call_tool(self, context: MiddlewareContext[Any], call_next: CallNext[Any, Any]) -> Any:
        """The tool's answer. Raises ToolError unless Remit has allowed the call."""
        message = context.message
        gate = async_gate(self._remit, self._agent_of(context), FASTMCP, **self._options)

        def run(judged: dict[str, Any]) -> Any:
            return call_next(context.copy(message=message.model_copy(update={"arguments": judged})))

        return await gate.answer(ToolCall(message.name, message.arguments or {}, _session(context)), run, _refuse)

    async def on_list_tools(self, context: MiddlewareContext[Any], call_next: CallNext[Any, Any]) -> Sequence[Any]:
        """The listed tools without those that the agent can never call."""
        tools: Sequence[Any] = await call_next(context)
        if not self._hides:
            return tools
        core = async_enforcer(self._remit, self._agent_of(context), **self._options)
        known = await statuses(core.remit, core.agent, [core.policy_name(tool.name) for tool in tools])
        return [tool for tool in tools if known.get(core.policy_name(tool.name)) != "denied"]

    def _agent_of(self, context: MiddlewareContext[Any]) -> str:
        return self._agent(context) if callable(self._agent) else self._agent


def _refuse(verdict: Refused | Waits) -> NoReturn:
    raise ToolError(verdict.text) from verdict.cause


def _session(context: MiddlewareContext[Any]) -> dict[str, str]:
    """The connection's id, if it outlives this call: approvals and marks belong to a session."""
    of_server = context.fastmcp_context
    request = of_server.request_context if of_server is not None else None
    if of_server is None or request is None or request.session.protocol_version in MODERN_PROTOCOL_VERSIONS:
        return {}
    return {"session": of_server.session_id}
