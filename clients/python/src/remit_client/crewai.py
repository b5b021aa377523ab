"""CrewAI: a tool that wraps another and asks before each call."""

from __future__ import annotations

import asyncio
import inspect
from typing import TYPE_CHECKING, Any

from crewai.tools import BaseTool
from pydantic import PrivateAttr

from remit_client import AsyncRemit, Remit
from remit_client.gate import AsyncGate, Framework, Gate, Options, Refused, ToolCall, Waits, gates

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
        self._gate, self._async_gate = gates(remit, agent, Framework(goes_on=True), **options)

    def _run(self, **arguments: Any) -> Any:
        return self._gate.answer(ToolCall(self.name, arguments), self._run_wrapped, _told)

    async def _arun(self, **arguments: Any) -> Any:
        run = self._wrapped._arun  # noqa: SLF001 - `arun` would validate anew
        return await self._async_gate.answer(ToolCall(self.name, arguments), lambda judged: run(**judged), _told)

    def _run_wrapped(self, judged: dict[str, Any]) -> Any:
        answer = self._wrapped._run(**judged)  # noqa: SLF001
        return asyncio.run(answer) if inspect.iscoroutine(answer) else answer


def _told(verdict: Refused | Waits) -> str:
    return verdict.text


def _never(_arguments: Any = None, _result: Any = None) -> bool:
    return False
