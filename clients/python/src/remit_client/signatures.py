"""Derives a tool's parameters from the arguments of a function call."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any


class Parameters:
    """Names the arguments of each call of `function`, including defaults but not `self` or `cls`.

    fixed: further parameters, which take precedence.
    """

    def __init__(self, function: Callable[..., Any], fixed: Mapping[str, Any] | None) -> None:
        self._signature = inspect.signature(function)
        self._fixed = dict(fixed or {})
        names = list(self._signature.parameters.values())
        first = names[0].name if names else ""
        self._left_out = first if first in ("self", "cls") else None
        self._rest = next((one.name for one in names if one.kind is one.VAR_KEYWORD), None)

    def of(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """The parameters of one call. Raises TypeError if the function itself would."""
        bound = self._signature.bind(*args, **kwargs)
        bound.apply_defaults()
        named = dict(bound.arguments)
        rest = named.pop(self._rest, {}) if self._rest else {}
        if self._left_out:
            named.pop(self._left_out, None)
        return {**rest, **named, **self._fixed}


def require_kind(function: Callable[..., Any], is_coroutine: bool, *, asynchronous: bool) -> None:
    """Raises TypeError unless `function` fits the client: a check that is never awaited lets everything through."""
    name = getattr(function, "__qualname__", repr(function))
    if inspect.isasyncgenfunction(function) or (asynchronous and inspect.isgeneratorfunction(function)):
        raise TypeError(f"{name} is a generator: guard the calls in it with the context manager instead")
    if asynchronous and not is_coroutine:
        raise TypeError(f"{name} is not async: guard it with Remit instead of AsyncRemit")
    if not asynchronous and is_coroutine:
        raise TypeError(f"{name} is async: guard it with AsyncRemit instead of Remit")
