"""OpenAI Agents SDK: an input guardrail for function tools, and its approval interrupt."""

from __future__ import annotations

import json
import time
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from agents import FunctionTool, RunContextWrapper, ToolGuardrailFunctionOutput, ToolInputGuardrail
from agents.tool_guardrails import ToolInputGuardrailData

from remit_client import ApprovalPending, AsyncRemit, NotAllowed, Remit
from remit_client.arguments import strict_json
from remit_client.enforcement import Options, async_enforcer
from remit_client.user_requests import request_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

ASKED_MAX, ASKED_S = 1000, 10.0


class RemitGuardrail(ToolInputGuardrail[Any]):
    """A tool runs only if Remit allows the call; otherwise the model is told why not.

    Pass it to `function_tool(tool_input_guardrails=[…])`, or add it to a tool with `protect`; then a call that a
    person must approve also interrupts the run. If there is no decision, the run ends with the RemitError.
    user_request: the user turns of the run's input are the user's own, and are sent as `context.request`. Leave it out
    for an agent that is another one's tool, or that a schedule starts: then a model or a program has written them.
    """

    def __init__(
        self, remit: Remit | AsyncRemit, agent: str, *, user_request: bool = False, **options: Unpack[Options]
    ) -> None:
        super().__init__(self._guard, name="remit")
        self._has_user = user_request
        self._protected: set[str] = set()
        self._enforcer = async_enforcer(remit, agent, **options)
        # `needs_approval` asks first; the guardrail, which runs next, takes that answer instead of asking again.
        # That is at once, unless something else pauses the run; then the call is judged anew.
        self._asked: OrderedDict[tuple[str, str], tuple[NotAllowed | None, float]] = OrderedDict()

    def protect(self, tool: FunctionTool) -> FunctionTool:
        """The same tool, guarded. A call that needs an approval interrupts the run.

        An approval is bound to its session, so both requests must name the same one. The framework does not name the
        run when it asks whether a call needs approval, so `group_id` cannot be the session here: set it with `context`.
        """
        self._protected.add(tool.name)
        tool.tool_input_guardrails = [*(tool.tool_input_guardrails or []), self]

        async def needs_approval(context: RunContextWrapper[Any], parameters: dict[str, Any], call_id: str) -> bool:
            refusal = await self._ask(tool.name, parameters, context)
            if isinstance(refusal, ApprovalPending):
                return True
            self._asked[call_id, _canonical(tool.name, parameters)] = refusal, time.monotonic() + ASKED_S
            while len(self._asked) > ASKED_MAX:
                self._asked.popitem(last=False)
            return False

        tool.needs_approval = needs_approval
        return tool

    async def _guard(self, data: ToolInputGuardrailData) -> ToolGuardrailFunctionOutput:
        context = data.context
        parameters = strict_json(context.tool_arguments or "{}")
        asked = (context.tool_call_id, _canonical(context.tool_name, parameters))
        refusal, until = self._asked.pop(asked, (None, 0.0))
        if time.monotonic() > until:
            run = None if context.tool_name in self._protected else getattr(context, "run_config", None)
            refusal = await self._ask(context.tool_name, parameters, context, getattr(run, "group_id", None))
        if refusal is None:
            return ToolGuardrailFunctionOutput.allow()
        return ToolGuardrailFunctionOutput.reject_content(refusal.for_agent(), output_info=refusal.decision)

    async def _ask(
        self, tool: str, parameters: dict[str, Any], run: RunContextWrapper[Any], session: str | None = None
    ) -> NotAllowed | None:
        vouched = ({"session": session} if session else {}) | (_request(run) if self._has_user else {})
        try:
            await self._enforcer.check(tool, parameters, vouched)
        except NotAllowed as refusal:
            return refusal
        return None


def _request(run: RunContextWrapper[Any]) -> dict[str, str]:
    """The user turns of the input that the run began with."""
    turns = [item for item in getattr(run, "turn_input", ()) if isinstance(item, dict) and item.get("role") == "user"]
    return request_of(turn.get("content") for turn in turns)


def _canonical(tool: str, parameters: dict[str, Any]) -> str:
    return json.dumps([tool, parameters], sort_keys=True)
