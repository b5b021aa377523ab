"""LlamaIndex: a tool that wraps a function tool and asks before each call."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any, NoReturn

from llama_index.core.tools import FunctionTool
from workflows.runtime.types.results import WaitingForEvent

from remit_client import AsyncRemit, Remit
from remit_client.gate import Framework, Options, Refused, ToolCall, Waits, gates

if TYPE_CHECKING:
    from typing_extensions import Unpack

LLAMA_INDEX = Framework(pauses=(WaitingForEvent,), goes_on=True)


class RemitTool(FunctionTool):
    """The same tool; a call runs only if Remit allows it. Otherwise, or without a decision, the model reads why not.

    It raises PermissionError, which agents make the tool's error: so no callback of the tool takes it for a result.
    """

    def __init__(
        self, wrapped: FunctionTool, remit: Remit | AsyncRemit, agent: str, **options: Unpack[Options]
    ) -> None:
        function, name = wrapped.real_fn, wrapped.metadata.get_name()
        judging, judging_async = gates(remit, agent, LLAMA_INDEX, **options)

        @functools.wraps(function)
        def run(*args: Any, **kwargs: Any) -> Any:
            given, unjudged = self._split(args, kwargs)
            return judging.answer(ToolCall(name, given), lambda given: wrapped.fn(**given, **unjudged), _refuse)

        @functools.wraps(function)
        async def run_async(*args: Any, **kwargs: Any) -> Any:
            given, unjudged = self._split(args, kwargs)
            call = ToolCall(name, given)
            return await judging_async.answer(call, lambda given: wrapped.async_fn(**given, **unjudged), _refuse)

        super().__init__(
            fn=None if inspect.iscoroutinefunction(function) else run,
            async_fn=run_async,
            metadata=wrapped.metadata,
            callback=wrapped._callback,  # noqa: SLF001 - it has no other name
            async_callback=wrapped._async_callback,  # noqa: SLF001
            partial_params=wrapped.partial_params,
        )

    def _split(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """The arguments by name, and apart from them the workflow's context, which is no argument of the model's."""
        given = inspect.signature(self.real_fn).bind_partial(*args).arguments | kwargs
        context = self.ctx_param_name
        return given, {context: given.pop(context)} if context in given else {}


def _refuse(verdict: Refused | Waits) -> NoReturn:
    raise PermissionError(verdict.text) from verdict.cause
