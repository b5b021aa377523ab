"""OpenAI Agents SDK: an input guardrail for function tools, and its approval interrupt."""

from __future__ import annotations

import json
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from agents import FunctionTool, RunContextWrapper, ToolGuardrailFunctionOutput, ToolInputGuardrail
from agents.tool_guardrails import ToolInputGuardrailData

from remit_client import ApprovalPending, AsyncRemit, NotAllowed, Remit
from remit_client.arguments import strict_json
from remit_client.enforcement import Options, async_enforcer

if TYPE_CHECKING:
    from typing_extensions import Unpack

ASKED_MAX = 1000


class RemitGuardrail(ToolInputGuardrail[Any]):
    """A tool runs only if Remit allows the call; otherwise the model is told why not.

    Pass it to `function_tool(tool_input_guardrails=[…])`, or add it to a tool with `protect`; then a call that a
    person must approve also interrupts the run. If there is no decision, the run ends with the RemitError.
    """

    def __init__(self, remit: Remit | AsyncRemit, agent: str, **options: Unpack[Options]) -> None:
        super().__init__(self._guard, name="remit")
        self._protected: set[str] = set()
        self._enforcer = async_enforcer(remit, agent, **options)
        # `needs_approval` asks first; the guardrail, which runs next, takes that answer instead of asking again.
        self._asked: OrderedDict[tuple[str, str], NotAllowed | None] = OrderedDict()

    def protect(self, tool: FunctionTool) -> FunctionTool:
        """The same tool, guarded. A call that needs an approval interrupts the run.

        An approval is bound to its session, so both requests must name the same one. The framework does not name the
        run when it asks whether a call needs approval, so `group_id` cannot be the session here: set it with `context`.
        """
        self._protected.add(tool.name)
        tool.tool_input_guardrails = [*(tool.tool_input_guardrails or []), self]

        async def needs_approval(_context: RunContextWrapper[Any], parameters: dict[str, Any], call_id: str) -> bool:
            refusal = await self._ask(tool.name, parameters)
            if isinstance(refusal, ApprovalPending):
                return True
            self._asked[call_id, _canonical(tool.name, parameters)] = refusal
            while len(self._asked) > ASKED_MAX:
                self._asked.popitem(last=False)
            return False

        tool.needs_approval = needs_approval
        return tool

    async def _guard(self, data: ToolInputGuardrailData) -> ToolGuardrailFunctionOutput:
        context = data.context
        parameters = strict_json(context.tool_arguments or "{}")
        asked = (context.tool_call_id, _canonical(context.tool_name, parameters))
        if asked in self._asked:
            refusal = self._asked.pop(asked)
        else:
            run = None if context.tool_name in self._protected else getattr(context, "run_config", None)
            refusal = await self._ask(context.tool_name, parameters, getattr(run, "group_id", None))
        if refusal is None:
            return ToolGuardrailFunctionOutput.allow()
        return ToolGuardrailFunctionOutput.reject_content(refusal.for_agent(), output_info=refusal.decision)

    async def _ask(self, tool: str, parameters: dict[str, Any], session: str | None = None) -> NotAllowed | None:
        try:
            await self._enforcer.check(tool, parameters, {"session": session} if session else {})
        except NotAllowed as refusal:
            return refusal
        return None


def _canonical(tool: str, parameters: dict[str, Any]) -> str:
    return json.dumps([tool, parameters], sort_keys=True)
