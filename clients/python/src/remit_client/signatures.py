"""Derives a tool's parameters from the arguments of a function call."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from remit_client.arguments import frozen


class Parameters:
    """Names the arguments of each call of `function`, including defaults but not a method's `self` or `cls`.

    fixed: further parameters, which the function does not take. Raises TypeError if it does.
    """

    def __init__(self, function: Callable[..., Any], fixed: Mapping[str, Any] | None) -> None:
        self._signature = inspect.signature(function)
        self._fixed = dict(fixed or {})
        names = list(self._signature.parameters.values())
        path: str = getattr(function, "__qualname__", "")
        self._holder, _, self._name = path.rpartition(".")
        self._module = getattr(function, "__module__", None)
        self._receiver = names[0].name if names and names[0].name in ("self", "cls") else None
        self._rest = next((one.name for one in names if one.kind is one.VAR_KEYWORD), None)
        self._require_apart(self._fixed, {one.name for one in names} - {self._rest})

    def of(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[dict[str, Any], inspect.BoundArguments]:
        """The parameters of one call as JSON, and copies of its arguments, which are what must run.

        Raises TypeError if the function itself would, if two arguments have one name, or if one is not JSON.
        """
        bound = self._signature.bind(*args, **kwargs)
        bound.apply_defaults()
        left_out = self._receiver if self._receives(bound.arguments.get(self._receiver or "")) else None
        for name, value in bound.arguments.items():
            if name != left_out:
                bound.arguments[name] = copy.deepcopy(value)
        named = dict(bound.arguments)
        rest = named.pop(self._rest, {}) if self._rest else {}
        self._require_apart(rest, {*named, *self._fixed})
        if left_out:
            del named[left_out]
        return frozen({**rest, **named, **self._fixed}), bound

    def _receives(self, value: Any) -> bool:
        """Whether the function is a method, static ones aside, of a class of this object or of this class."""
        kinds = (*type(value).__mro__, *(value.__mro__ if isinstance(value, type) else ()))
        return any(
            (kind.__module__, kind.__qualname__) == (self._module, self._holder)
            and not isinstance(vars(kind).get(self._name), staticmethod)
            for kind in kinds
        )

    def _require_apart(self, given: Iterable[str], others: Collection[str]) -> None:
        if twice := sorted(set(given) & set(others)):
            raise TypeError(f'"{twice[0]}" names two values of one call, and only one of them could be judged')


def require_kind(function: Callable[..., Any], is_coroutine: bool, *, asynchronous: bool) -> None:
    """Raises TypeError unless `function` fits the client: a check that is never awaited lets everything through."""
    name = getattr(function, "__qualname__", repr(function))
    if inspect.isasyncgenfunction(function) or (asynchronous and inspect.isgeneratorfunction(function)):
        raise TypeError(f"{name} is a generator: guard the calls in it with the context manager instead")
    if asynchronous and not is_coroutine:
        raise TypeError(f"{name} is not async: guard it with Remit instead of AsyncRemit")
    if not asynchronous and is_coroutine:
        raise TypeError(f"{name} is async: guard it with AsyncRemit instead of Remit")
