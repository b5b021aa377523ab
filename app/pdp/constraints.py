"""Parameter constraints: what a value must be, and a sentence a person understands when it is not."""

from collections.abc import Callable, Iterator
from typing import Any

import msgspec
from msgspec import UNSET

from app.model.keys import without_raw_keys
from app.model.patterns import compile_regex
from app.model.policies import Constraint, Scalar
from app.model.redaction import REDACTED
from app.model.text import with_hidden_shown

Check = Callable[[dict[str, Any]], str | None]
"""Takes the parameters; None if they satisfy the constraint, else the reason why not."""

_Test = Callable[[Any], str | None]
_encode = msgspec.json.encode
_SHOWN = 80


def compile_constraint(name: str, constraint: Constraint, *, secret: bool) -> Check:
    """The check of one named parameter. With `secret` no reason shows a value, neither given nor wanted."""
    tests = list(_tests(constraint, secret=secret))
    required = constraint.required is not False
    path = name.split(".")

    def check(parameters: dict[str, Any]) -> str | None:
        if len(path) == 1:
            values = [parameters[name]] if name in parameters else []
        else:
            values = list(_values(parameters, path))
        if not values:
            return f'Parameter "{name}" is missing' if required else None
        for value in values:
            for test in tests:
                failure = test(value)
                if failure is not None:
                    return f'Parameter "{name}" is {REDACTED if secret else _shown(value)}, {failure}'
        return None

    return check


def _values(holder: dict[str, Any], path: list[str]) -> Iterator[Any]:
    """Every value that the dotted path can mean, the exact key first.

    All of them must satisfy the constraint (decision 0004): if the exact key alone counted, a caller could add
    `"payment.amount": 1` beside `"payment": {"amount": 900}` and have the wrong one checked.
    """
    for split in range(len(path), 0, -1):
        head = ".".join(path[:split])
        if head in holder:
            if split == len(path):
                yield holder[head]
            elif type(holder[head]) is dict:
                yield from _values(holder[head], path[split:])


def _tests(constraint: Constraint, *, secret: bool) -> Iterator[_Test]:
    if constraint.regex is not UNSET:
        yield _regex_test(constraint.regex, secret=secret)
    if constraint.enum is not UNSET:
        yield _enum_test(constraint.enum, secret=secret)
    if constraint.min is not UNSET:
        yield _min_test(constraint.min, secret=secret)
    if constraint.max is not UNSET:
        yield _max_test(constraint.max, secret=secret)


def _regex_test(pattern: str, *, secret: bool) -> _Test:
    compiled = compile_regex(pattern)
    failure = "which does not match the pattern" + ("" if secret else f" {_clipped(pattern)}")

    def test(value: Any) -> str | None:
        # As bytes, because the engine's Python side takes three times as long over where in a text it found what.
        if type(value) is str:
            return None if compiled.search(value.encode()) else failure
        if type(value) in (int, float, bool):
            return None if compiled.search(_encode(value)) else failure
        return "not a text, number or boolean that a pattern could match"

    return test


def _enum_test(allowed: list[Scalar], *, secret: bool) -> _Test:
    members = {(_kind(member), member) for member in allowed}
    failure = "not one of the allowed values"
    if not secret:
        failure = f"not one of {_clipped(', '.join(_encode(member).decode() for member in allowed))}"

    def test(value: Any) -> str | None:
        return None if type(value) not in (dict, list) and (_kind(value), value) in members else failure

    return test


def _min_test(bound: float, *, secret: bool) -> _Test:
    failure = "below the minimum" + ("" if secret else f" {_shown(bound)}")

    def test(value: Any) -> str | None:
        if type(value) not in (int, float):
            return "not a number"
        return failure if value < bound else None

    return test


def _max_test(bound: float, *, secret: bool) -> _Test:
    failure = "above the maximum" + ("" if secret else f" {_shown(bound)}")

    def test(value: Any) -> str | None:
        if type(value) not in (int, float):
            return "not a number"
        return failure if value > bound else None

    return test


def _kind(value: Scalar) -> type:
    """The JSON type. JSON has one type of number, so 1 and 1.0 are equal; true is not 1."""
    return float if type(value) is int else type(value)


def _shown(value: Any) -> str:
    if type(value) is dict:
        return "an object"
    if type(value) is list:
        return "an array"
    # Before it is cut: half a raw key is still most of a key.
    return _clipped(without_raw_keys(_encode(value[: 2 * _SHOWN] if type(value) is str else value).decode()))


def _clipped(text: str) -> str:
    """At most 80 characters, and none of them hidden: a value must not rewrite the sentence that shows it."""
    text = text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
    return with_hidden_shown(text)
