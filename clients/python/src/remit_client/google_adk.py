"""Google ADK: a plugin that asks before each tool call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from google.adk.plugins.base_plugin import BasePlugin
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.tool_context import ToolContext

from remit_client import AsyncRemit, Remit
from remit_client.gate import Run, ToolCall, UserOptions, Waits, async_gate, message_of

if TYPE_CHECKING:
    from typing_extensions import Unpack


class RemitPlugin(BasePlugin):
    """A tool runs only if Remit allows the call; otherwise the model is told why not. Make it the last plugin.

    confirm: a call that a person must approve pauses the run with ADK's tool confirmation, whose payload has the
    approval's id. Confirm it once the approval is decided; the tool's own confirmation is the same pause. Without
    `confirm`, the model is told to repeat the call later.
    user_request: the session's user messages are the user's own, and are sent as `context.request`. Leave it out for an
    agent to which another agent or a program talks.
    If there is no decision, the run ends with the RemitError, and the tool has not run.
    """

    def __init__(
        self, remit: Remit | AsyncRemit, agent: str, *, confirm: bool = False, **options: Unpack[UserOptions]
    ) -> None:
        super().__init__("remit")
        self._gate = async_gate(remit, agent, **options)
        self._confirms = confirm
        self._running: dict[ToolContext, Run] = {}

    async def before_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext
    ) -> dict[str, Any] | None:
        """Why the tool does not run; None if it does, with the arguments that were judged."""
        answered = tool_context.tool_confirmation
        if self._confirms and answered is not None and not answered.confirmed:
            return {"error": f'"{tool.name}" was not run: the user said no.'}
        verdict = await self._gate.judge(_call(tool.name, tool_args, tool_context))
        if isinstance(verdict, Run):
            tool_args |= verdict.arguments
            self._running[tool_context] = verdict
            return None
        if self._confirms and answered is None and isinstance(verdict, Waits):
            tool_context.request_confirmation(hint=verdict.message, payload={"approval_id": verdict.approval_id})
            tool_context.actions.skip_summarization = True
        return {"error": verdict.text}

    async def after_tool_callback(self, *, tool_context: ToolContext, result: Any, **_: Any) -> None:
        """Report that the tool has run, unless it has paused."""
        run = self._running.pop(tool_context, None)
        if run is not None and tool_context.function_call_id not in tool_context.actions.requested_tool_confirmations:
            await self._gate.ended(run, result)

    async def on_tool_error_callback(self, *, tool_context: ToolContext, **_: Any) -> None:
        """Report that the tool has failed."""
        if (run := self._running.pop(tool_context, None)) is not None:
            await self._gate.ended(run, failed=True)


def _call(tool: str, arguments: dict[str, Any], context: ToolContext) -> ToolCall:
    """Its place is the event of the model's answer that has it. What resumes a run is no turn: it has no text."""
    events, call_id = context.session.events, context.function_call_id
    own = (each for each in reversed(events) if each.author == context.agent_name)
    event = message_of(call_id, ((each, [call.id for call in each.get_function_calls()]) for each in own))
    said = (each.content.parts or () for each in events if each.author == "user" and each.content)
    return ToolCall(
        tool,
        arguments,
        context={"session": context.session.id},
        turns=([part.text for part in parts if part.text] for parts in said),
        place=(event.id, call_id) if event else None,
        resumable=lambda: context.tool_confirmation is not None,
    )
