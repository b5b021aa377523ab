"""OpenAI Agents SDK: an input guardrail for function tools, and its approval interrupt."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from agents import (
    FunctionTool,
    RunContextWrapper,
    ToolGuardrailFunctionOutput,
    ToolInputGuardrail,
    ToolOutputGuardrail,
)
from agents.tool_guardrails import ToolInputGuardrailData, ToolOutputGuardrailData
from agents.tracing import get_current_trace

from remit_client import AsyncRemit, Remit
from remit_client.arguments import strict_json
from remit_client.gate import Place, Run, ToolCall, UserOptions, Waits, async_gate

if TYPE_CHECKING:
    from typing_extensions import Unpack

MARK = "_remit_begun"


class RemitGuardrail(ToolInputGuardrail[Any]):
    """A tool runs only if Remit allows the call; otherwise the model is told why not.

    Pass it to `function_tool(tool_input_guardrails=[…])`, or add it to a tool with `protect`; then a call that a
    person must approve also interrupts the run, and so does one for which the tool itself wants an approval, unless
    Remit denies it. If there is no decision, the run ends with the RemitError.
    user_request: the user turns of the run's input are the user's own, and are sent as `context.request`. Leave it out
    for an agent that is another one's tool, or that a schedule starts: then a model or a program has written them.
    """

    def __init__(self, remit: Remit | AsyncRemit, agent: str, **options: Unpack[UserOptions]) -> None:
        super().__init__(self._guard, name="remit")
        self._agent = agent
        self._protected: set[str] = set()
        self._gate = async_gate(remit, agent, **options)

    def protect(self, tool: FunctionTool) -> FunctionTool:
        """The same tool, guarded. A call that needs an approval interrupts the run.

        A call is judged once, however often the run is resumed, and its outcome is reported, which ends that. Of a tool
        that has only the guardrail, every question is a call of its own, and no outcome is reported.
        An approval is bound to its session, so both requests must name the same one. The framework does not name the
        run when it asks whether a call needs approval, so `group_id` cannot be the session here: set it with `context`.
        """
        self._protected.add(tool.name)
        tool.tool_input_guardrails = [*(tool.tool_input_guardrails or []), self]
        tool.tool_output_guardrails = [
            ToolOutputGuardrail(self._ended, name="remit"),
            *(tool.tool_output_guardrails or []),
        ]
        own = tool.needs_approval

        async def needs_approval(context: RunContextWrapper[Any], parameters: dict[str, Any], call_id: str) -> bool:
            verdict = await self._gate.judge(_call(context, tool.name, parameters, _place(context, call_id)))
            if not isinstance(verdict, Run):
                return isinstance(verdict, Waits)
            return await own(context, parameters, call_id) if callable(own) else own

        tool.needs_approval = needs_approval
        return tool

    async def _guard(self, data: ToolInputGuardrailData) -> ToolGuardrailFunctionOutput:
        context = data.context
        parameters = strict_json(context.tool_arguments or "{}")
        place, session, begun = None, None, _Begun()
        if context.tool_name in self._protected:
            place = _place(context, context.tool_call_id)
            if _running.setdefault((self._agent, *place), begun) is not begun:
                place = None
        else:
            session = getattr(getattr(context, "run_config", None), "group_id", None)
        verdict = await self._gate.judge(_call(context, context.tool_name, parameters, place, session))
        if not isinstance(verdict, Run):
            return ToolGuardrailFunctionOutput.reject_content(verdict.text, output_info=verdict.decision)
        begun.run = verdict
        vars(context)[MARK] = begun
        return ToolGuardrailFunctionOutput.allow()

    async def _ended(self, data: ToolOutputGuardrailData) -> ToolGuardrailFunctionOutput:
        begun = vars(data.context).pop(MARK, None)
        if begun is not None:
            await self._gate.ended(begun.run, data.output)
        return ToolGuardrailFunctionOutput.allow()


class _Begun:
    """A call that the framework has begun, for as long as its context lives."""

    run: Run


_running: WeakValueDictionary[tuple[Any, ...], _Begun] = WeakValueDictionary()
"""By agent and place, the calls that run now: only the first of those with the same is named."""


def _place(run: RunContextWrapper[Any], call_id: str) -> tuple[Any, ...]:
    """The trace, which a resumed run continues; the run's input, since runs may share a trace; the turn; the call's id.

    Of two calls of a turn that have the same id, the framework runs one. A subagent may still stand at the same place:
    so a place names one call of an agent at a time, and none whose outcome was reported. Without tracing, a mark on the
    run's usage stands for the trace; it is lost when the run is saved.
    """
    trace = get_current_trace()
    begun = trace.trace_id if trace is not None and trace.trace_id != "no-op" else None
    if begun is None:
        begun = vars(run.usage).setdefault("_remit_run", uuid.uuid4().hex)
    return begun, repr(getattr(run, "turn_input", ())), run.usage.requests, call_id


def _call(
    run: RunContextWrapper[Any], tool: str, parameters: dict[str, Any], place: Place, session: str | None = None
) -> ToolCall:
    """The user turns are those of the input that the run began with."""
    turns = [item for item in getattr(run, "turn_input", ()) if isinstance(item, dict) and item.get("role") == "user"]
    said = (turn.get("content") for turn in turns)
    return ToolCall(tool, parameters, {"session": session}, turns=said, place=place, resumable=lambda: True)
