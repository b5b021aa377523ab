"""A decorator and context manager in which a tool runs only if Remit allows it."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from types import TracebackType
from typing import Any, TypeVar, cast

from remit_client._async.enforcement import AsyncEnforcer
from remit_client.models import Decision, Json
from remit_client.signatures import Parameters, require_kind

F = TypeVar("F", bound=Callable[..., Any])


class AsyncGuard:
    """See `AsyncRemit.guard`."""

    def __init__(self, enforcer: AsyncEnforcer, tool: str, parameters: Json | None) -> None:
        self._enforcer = enforcer
        self._tool = tool
        self._parameters = parameters
        self._decision: Decision | None = None

    def __call__(self, function: F) -> F:
        """Wrap `function` so that each call asks first, and runs on copies of the arguments that were judged."""
        require_kind(function, inspect.iscoroutinefunction(function), asynchronous=True)
        parameters = Parameters(function, self._parameters)

        @functools.wraps(function)
        async def guarded(*args: Any, **kwargs: Any) -> Any:
            judged, copied = parameters.of(args, kwargs)
            decision = await self._enforcer.check(self._tool, judged)
            try:
                answer = await function(*copied.args, **copied.kwargs)
            except Exception:  # a cancelled call is not reported: nobody knows how far it got
                await self._enforcer.report(decision, "failed")
                raise
            await self._enforcer.executed(decision, self._tool, judged, answer)
            return answer

        return cast("F", guarded)

    async def __aenter__(self) -> Decision:
        if self._decision is not None:
            raise RuntimeError("This guard is already in use: make a new one for each call")
        self._decision = await self._enforcer.check(self._tool, self._parameters or {})
        return self._decision

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        decision, self._decision = self._decision, None
        if decision is not None and (error is None or isinstance(error, Exception)):
            await self._enforcer.report(decision, "executed" if error is None else "failed")
