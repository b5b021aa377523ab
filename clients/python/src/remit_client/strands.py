"""Strands Agents, also on Bedrock AgentCore: a hook that asks before each tool call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from strands.hooks import AfterToolCallEvent, BeforeToolCallEvent, HookOrder, HookProvider, HookRegistry

from remit_client import AsyncRemit, Remit
from remit_client.gate import Options, Run, ToolCall, Waits, async_gate, message_of

if TYPE_CHECKING:
    from typing_extensions import Unpack


class RemitHook(HookProvider):
    """A tool runs only if Remit allows the call; otherwise the model is told why not. It is asked after other hooks.

    interrupt: a call that a person must approve stops the run with an interrupt, whose reason has the approval's id.
    Answer it with anything once the approval is decided; the tool's own interrupts get answers of their own. Without
    `interrupt`, the model is told to repeat the call later.
    If there is no decision, the run ends with the RemitError, and the tool has not run.
    """

    def __init__(
        self, remit: Remit | AsyncRemit, agent: str, *, interrupt: bool = False, **options: Unpack[Options]
    ) -> None:
        self._gate = async_gate(remit, agent, **options)
        self._interrupts = interrupt

    def register_hooks(self, registry: HookRegistry, **_: Any) -> None:
        """The hook is the last before a tool, and so the first after it."""
        registry.add_callback(BeforeToolCallEvent, self._before, order=HookOrder.SDK_LAST)
        registry.add_callback(AfterToolCallEvent, self._after, order=HookOrder.SDK_LAST)

    async def _before(self, event: BeforeToolCallEvent) -> None:
        if event.cancel_tool:
            return
        verdict = await self._gate.judge(_call(event))
        if isinstance(verdict, Run):
            event.tool_use = {**event.tool_use, "input": _Judged(verdict)}
            return
        if self._interrupts and isinstance(verdict, Waits):
            event.interrupt("remit", {"approval_id": verdict.approval_id, "message": verdict.message})
        event.cancel_tool = verdict.text

    async def _after(self, event: AfterToolCallEvent) -> None:
        if isinstance(arguments := event.tool_use["input"], _Judged):
            failed = event.exception is not None or event.result["status"] == "error"
            await self._gate.ended(arguments.run, event.result, failed=failed)


class _Judged(dict[str, Any]):
    """The arguments that were judged, with the verdict. The framework copies calls, but not their arguments."""

    def __init__(self, run: Run) -> None:
        super().__init__(run.arguments)
        self.run = run


def _call(event: BeforeToolCallEvent) -> ToolCall:
    """Its place is the message that has it, whose id the agent made and keeps."""
    call, state = event.tool_use, getattr(event.agent, "_interrupt_state", None)
    said = (each for each in reversed(event.agent.messages) if each["role"] == "assistant")
    ids = ((each, [block["toolUse"]["toolUseId"] for block in each["content"] if "toolUse" in block]) for each in said)
    message = message_of(call["toolUseId"], ids)
    return ToolCall(
        call["name"],
        call["input"],
        context={"session": event.agent.session_id},
        place=(message["tracking_id"], call["toolUseId"]) if message else None,
        # During a leg that answers interrupts, Strands says so until the tools of the message have ended.
        resumable=lambda: getattr(state, "activated", True),
    )
