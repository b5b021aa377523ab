"""pydantic-ai: a toolset that wraps another and asks before each call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from pydantic_ai import RunContext
from pydantic_ai.exceptions import ApprovalRequired, CallDeferred, ToolFailed
from pydantic_ai.messages import ModelResponse, ToolCallPart
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool, WrapperToolset

from remit_client import AsyncRemit, Remit
from remit_client.gate import Framework, Place, Refused, ToolCall, UserOptions, Waits, async_gate, message_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

PYDANTIC_AI = Framework(pauses=(ApprovalRequired, CallDeferred))
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
        **options: Unpack[UserOptions],
    ) -> None:
        super().__init__(wrapped)
        self._gate = async_gate(remit, agent, PYDANTIC_AI, **options)
        self._defers = defer
        self._has_user = options.get("user_request", False)
        # A resumed run has no prompt, but an approval counts only for a call with the request that it was asked for.
        self._paused: dict[tuple[str, str | None], Any] = {}

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> Any:
        """The tool's answer. Raises ToolFailed, which the model reads, or ApprovalRequired if `defer` is set."""
        session = str(getattr(ctx, "conversation_id", None) or ctx.run_id or "")
        paused = session, ctx.tool_call_id
        prompt = self._paused.get(paused) if ctx.prompt is None else ctx.prompt

        def refuse(verdict: Refused | Waits) -> NoReturn:
            if isinstance(verdict, Waits) and self._defers and not ctx.tool_call_approved:
                self._paused |= {paused: prompt} if self._has_user else {}
                for oldest in list(self._paused)[:-PAUSED_MAX]:
                    del self._paused[oldest]
                raise ApprovalRequired({"approval_id": verdict.approval_id, "message": verdict.message})
            raise ToolFailed(verdict.text)

        call = ToolCall(
            name,
            tool_args,
            context={"session": session},
            turns=[prompt],
            place=_place(ctx),
            resumable=lambda: ctx.tool_call_approved,
        )
        return await self._gate.answer(call, lambda judged: self.wrapped.call_tool(name, judged, ctx, tool), refuse)


def _place(ctx: RunContext[Any]) -> Place:
    """The model's answer that has the call, as the history keeps it, and the call's id."""
    answers = (each for each in reversed(getattr(ctx, "messages", ())) if isinstance(each, ModelResponse))
    calls = ((each, [part.tool_call_id for part in each.parts if isinstance(part, ToolCallPart)]) for each in answers)
    answer = message_of(ctx.tool_call_id, calls)
    return (answer.run_id, answer.timestamp.isoformat(), ctx.tool_call_id) if answer else None
