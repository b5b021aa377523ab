"""pydantic-ai: a toolset that wraps another and asks before each call."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from pydantic_ai import RunContext
from pydantic_ai.exceptions import ApprovalRequired, CallDeferred, ToolFailed
from pydantic_ai.messages import ModelResponse, ToolCallPart
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool, WrapperToolset

from remit_client import AsyncRemit, Remit
from remit_client.gate import Options, Place, Run, Waits, async_gate
from remit_client.user_requests import request_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

PAUSED_MAX = 1000


class RemitToolset(WrapperToolset[Any]):
    """A tool of `wrapped` runs only if Remit allows the call; otherwise the model is told why not.

    defer: a call that a person must approve ends the run with DeferredToolRequests (add it to `output_type`), which
    hold the approval's id as metadata. Without it, the model is told to repeat the call later.
    user_request: the run's prompt is the user's own, and is sent as `context.request`. Leave it out for an agent that
    another agent prompts, or that a schedule starts. Earlier prompts do not count: tools can add messages that look
    like prompts.
    If there is no decision, the run ends with the RemitError, and the tool has not run.
    """

    def __init__(
        self,
        wrapped: AbstractToolset[Any],
        remit: Remit | AsyncRemit,
        agent: str,
        *,
        defer: bool = False,
        user_request: bool = False,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(wrapped)
        self._gate = async_gate(remit, agent, **options)
        self._defers = defer
        self._has_user = user_request
        # A resumed run has no prompt, but an approval counts only for a call with the request that it was asked for.
        self._paused: OrderedDict[tuple[str, str], dict[str, str]] = OrderedDict()

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> Any:
        """The tool's answer. Raises ToolFailed, which the model reads, or ApprovalRequired if `defer` is set."""
        session = _session(ctx)
        vouched = ({"session": session} if session else {}) | self._request(ctx)
        verdict = await self._gate.judge(name, tool_args, vouched, _place(ctx))
        if isinstance(verdict, Waits) and self._defers and not ctx.tool_call_approved:
            self._pause(ctx)
            raise ApprovalRequired({"approval_id": verdict.approval_id, "message": verdict.message})
        if not isinstance(verdict, Run):
            raise ToolFailed(verdict.text)
        return await self._gate.run(
            verdict,
            lambda judged: self.wrapped.call_tool(name, judged, ctx, tool),
            pauses=(ApprovalRequired, CallDeferred),
            resumable=lambda: ctx.tool_call_approved,
        )

    def _request(self, ctx: RunContext[Any]) -> dict[str, str]:
        if not self._has_user:
            return {}
        if ctx.prompt is None:
            return self._paused.get((_session(ctx), str(ctx.tool_call_id)), {})
        return request_of([ctx.prompt])

    def _pause(self, ctx: RunContext[Any]) -> None:
        self._paused[_session(ctx), str(ctx.tool_call_id)] = self._request(ctx)
        while len(self._paused) > PAUSED_MAX:
            self._paused.popitem(last=False)


def _place(ctx: RunContext[Any]) -> Place:
    """The model's answer that has the call, as the history keeps it, and the call's id, unless it is there twice."""
    for message in reversed(getattr(ctx, "messages", ())):
        ids = [part.tool_call_id for part in message.parts if isinstance(part, ToolCallPart)]
        if isinstance(message, ModelResponse) and ctx.tool_call_id in ids:
            twice = ids.count(ctx.tool_call_id) > 1
            return None if twice else (message.run_id, message.timestamp.isoformat(), ctx.tool_call_id)
    return None


def _session(ctx: RunContext[Any]) -> str:
    return str(getattr(ctx, "conversation_id", None) or ctx.run_id or "")
