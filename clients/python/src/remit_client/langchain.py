"""LangChain and LangGraph: a middleware that asks before each tool call."""

from __future__ import annotations

import copy
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from langchain.agents.middleware import AgentMiddleware
from langchain.tools.tool_node import ToolCallRequest
from langchain_core.messages import ToolCall, ToolMessage
from langgraph.types import Command, interrupt

from remit_client import ApprovalPending, AsyncRemit, NotAllowed, Remit
from remit_client.enforcement import Options, async_enforcer, enforcer
from remit_client.user_requests import request_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

Answer = ToolMessage | Command[Any]


class RemitMiddleware(AgentMiddleware[Any, Any]):
    """A tool runs only if Remit allows the call; otherwise the model is told why not.

    interrupt: a call that a person must approve pauses the graph (LangGraph's `interrupt`), whose value has the
    approval's id. Resume it once the approval is decided. Without `interrupt`, the model is told to repeat the call
    later.
    user_request: the human messages are the user's own, and are sent as `context.request`. Leave it out for an agent
    that another agent talks to, or that a schedule starts: then a model or a program has written them.
    If there is no decision, the run ends with the RemitError, and the tool has not run.
    """

    def __init__(
        self,
        remit: Remit | AsyncRemit,
        agent: str,
        *,
        interrupt: bool = False,
        user_request: bool = False,
        **options: Unpack[Options],
    ) -> None:
        super().__init__()
        self._enforcer = enforcer(remit, agent, **options)
        self._async_enforcer = async_enforcer(remit, agent, **options)
        self._interrupts = interrupt
        self._has_user = user_request

    def wrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Answer]) -> Answer:
        """The tool's answer, or why it was not called."""
        request, call = _copied(request)
        try:
            self._enforcer.check(call["name"], call["args"], self._vouched(request))
        except NotAllowed as refusal:
            return self._refused(call, refusal)
        return handler(request)

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[Answer]]
    ) -> Answer:
        """As `wrap_tool_call`, with `await`."""
        request, call = _copied(request)
        try:
            await self._async_enforcer.check(call["name"], call["args"], self._vouched(request))
        except NotAllowed as refusal:
            return self._refused(call, refusal)
        return await handler(request)

    def _vouched(self, request: ToolCallRequest) -> dict[str, str]:
        return _session(request) | (_request(request) if self._has_user else {})

    def _refused(self, call: Any, refusal: NotAllowed) -> ToolMessage:
        if self._interrupts and isinstance(refusal, ApprovalPending):
            # The first time, this pauses the graph. A resumed call gets here only if Remit still does not allow it.
            interrupt({"approval_id": refusal.approval_id, "tool": refusal.tool, "message": str(refusal)})
        return ToolMessage(refusal.for_agent(), tool_call_id=call["id"], name=call["name"], status="error")


def _copied(request: ToolCallRequest) -> tuple[ToolCallRequest, ToolCall]:
    """The request with arguments of its own, so that what was judged is what runs."""
    call = copy.deepcopy(request.tool_call)
    return request.override(tool_call=call), call


def _session(request: ToolCallRequest) -> dict[str, str]:
    config = getattr(request.runtime, "config", None) or {}
    session = (config.get("configurable") or {}).get("thread_id") or config.get("run_id")
    return {"session": str(session)} if session else {}


def _request(request: ToolCallRequest) -> dict[str, str]:
    """The human messages, except those that a middleware wrote, such as a summary, or that are an agent's by name."""
    state: Any = request.state
    messages = state.get("messages") if isinstance(state, dict) else getattr(state, "messages", state)
    human = (each for each in messages or () if getattr(each, "type", "") == "human" and not each.name)
    return request_of(each.content for each in human if "lc_source" not in each.additional_kwargs)
