"""FastMCP: a server middleware that asks before each tool call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from fastmcp.exceptions import ToolError
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
from fastmcp.tools.base import InputRequiredToolResult
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from remit_client import AsyncRemit, Remit
from remit_client.enforcement import async_enforcer
from remit_client.gate import Framework, Options, Refused, ToolCall, Waits, async_gate
from remit_client.legs import Legs
from remit_client.listing import statuses

if TYPE_CHECKING:
    from typing_extensions import Unpack

Agent = str | Callable[[MiddlewareContext[Any]], str]


class _Asks(Exception):
    """The tool has not ended: it asks the client, and is called once more with what the client answers."""

    def __init__(self, result: InputRequiredToolResult) -> None:
        self.result = result


FASTMCP = Framework((_Asks,), lambda result: bool(getattr(result, "is_error", False)), goes_on=True)


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
        self._legs = Legs()

    async def on_call_tool(self, context: MiddlewareContext[Any], call_next: CallNext[Any, Any]) -> Any:
        """The tool's answer. Raises ToolError unless Remit has allowed the call."""
        message, agent = context.message, self._agent_of(context)
        asked = agent, message.name, message.arguments or {}
        gate = async_gate(self._remit, agent, FASTMCP, **self._options)

        async def run(judged: dict[str, Any]) -> Any:
            result = await call_next(context.copy(message=message.model_copy(update={"arguments": judged})))
            if isinstance(result, InputRequiredToolResult):
                raise _Asks(result)
            return result

        answers = message.input_responses is not None or message.request_state is not None
        place = self._legs.place(asked, answers=answers, state=message.request_state) if _is_modern(context) else None
        call = ToolCall(message.name, asked[2], _session(context), place=place)
        try:
            return await gate.answer(call, run, _refuse)
        except _Asks as asks:
            if place is not None:
                self._legs.expect(asked, place, asks.result.input_required.request_state)
            return asks.result

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
    if of_server is None or of_server.request_context is None or _is_modern(context):
        return {}
    return {"session": of_server.session_id}


def _is_modern(context: MiddlewareContext[Any]) -> bool:
    """Whether the request is of the protocol of 2026-07-28 or later, in which each one stands alone."""
    request = context.fastmcp_context and context.fastmcp_context.request_context
    return request is not None and request.session.protocol_version in MODERN_PROTOCOL_VERSIONS
