"""Strands Agents, also on Bedrock AgentCore: a hook that asks before each tool call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from strands.hooks import AfterToolCallEvent, BeforeToolCallEvent, HookOrder, HookProvider, HookRegistry

from remit_client import AsyncRemit, Remit
from remit_client.gate import Options, Place, Run, Waits, async_gate

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
        call = event.tool_use
        verdict = await self._gate.judge(
            call["name"], call["input"], {"session": event.agent.session_id}, _place(event)
        )
        if isinstance(verdict, Run):
            event.tool_use = {**call, "input": _Judged(verdict)}
            return
        if self._interrupts and isinstance(verdict, Waits):
            event.interrupt("remit", {"approval_id": verdict.approval_id, "message": verdict.message})
        event.cancel_tool = verdict.text

    async def _after(self, event: AfterToolCallEvent) -> None:
        arguments = event.tool_use["input"]
        if isinstance(arguments, _Judged):
            failed = event.exception is not None or event.result["status"] == "error"
            # During a leg that answers interrupts, Strands says so until the tools of the message have ended.
            resumed = getattr(getattr(event.agent, "_interrupt_state", None), "activated", True)
            await self._gate.ended(arguments.run, event.result, failed=failed, resumable=resumed)


class _Judged(dict[str, Any]):
    """The arguments that were judged, with the verdict. The framework copies calls, but not their arguments."""

    def __init__(self, run: Run) -> None:
        super().__init__(run.arguments)
        self.run = run


def _place(event: BeforeToolCallEvent) -> Place:
    """The message that has the call, whose id the agent made and keeps, and the call's id, unless it is there twice."""
    call = event.tool_use["toolUseId"]
    for message in reversed(event.agent.messages):
        ids = [block["toolUse"]["toolUseId"] for block in message["content"] if "toolUse" in block]
        if message["role"] == "assistant" and call in ids:
            return (message["tracking_id"], call) if ids.count(call) == 1 else None
    return None
