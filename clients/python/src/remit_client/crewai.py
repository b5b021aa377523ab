"""CrewAI: a tool that wraps another and asks before each call."""

from __future__ import annotations

import asyncio
import inspect
from typing import TYPE_CHECKING, Any

from crewai.tools import BaseTool
from pydantic import PrivateAttr

from remit_client import AsyncRemit, Remit, RemitError
from remit_client.gate import AsyncGate, Gate, Options, Run, async_gate, gate

if TYPE_CHECKING:
    from typing_extensions import Unpack


class RemitTool(BaseTool):
    """The same tool; a call runs only if Remit allows it. Otherwise, or without a decision, the model is told why not.

    Its results are not cached, so every call is judged. CrewAI's hooks are no place for this: the tool runs after an
    error in a hook, and the model does not read why a hook stops a call.
    """

    _wrapped: BaseTool = PrivateAttr()
    _gate: Gate = PrivateAttr()
    _async_gate: AsyncGate = PrivateAttr()

    def __init__(self, wrapped: BaseTool, remit: Remit | AsyncRemit, agent: str, **options: Unpack[Options]) -> None:
        fields = {name: getattr(wrapped, name) for name in BaseTool.model_fields}
        super().__init__(**{**fields, "cache_function": _never})
        self._wrapped = wrapped
        self._gate, self._async_gate = gate(remit, agent, **options), async_gate(remit, agent, **options)

    def _run(self, **arguments: Any) -> Any:
        try:
            verdict = self._gate.judge(self.name, arguments)
        except RemitError as error:
            return error.for_agent()
        if not isinstance(verdict, Run):
            return verdict.text
        return self._gate.run(verdict, self._run_wrapped)

    async def _arun(self, **arguments: Any) -> Any:
        try:
            verdict = await self._async_gate.judge(self.name, arguments)
        except RemitError as error:
            return error.for_agent()
        if not isinstance(verdict, Run):
            return verdict.text
        return await self._async_gate.run(verdict, lambda given: self._wrapped._arun(**given))  # noqa: SLF001

    def _run_wrapped(self, given: dict[str, Any]) -> Any:
        answer = self._wrapped._run(**given)  # noqa: SLF001 - `run` would validate anew
        return asyncio.run(answer) if inspect.iscoroutine(answer) else answer


def _never(_arguments: Any = None, _result: Any = None) -> bool:
    return False
