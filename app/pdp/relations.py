"""Tests that compare a value with another one of the same call: `equals`, `atMost`, `atLeast`."""

from collections.abc import Callable, Iterator
from typing import Any

from msgspec import UNSET

from app.canonical.ambiguous import Ambiguous
from app.canonical.dates import moment_of
from app.canonical.value_paths import ValuePath
from app.model.constraints import Constraint, Operand
from app.pdp.clauses import Test, Unjudged, scalar

Json = dict[str, Any]
NOTHING: Json = {}
"""The context of a call that has none."""

Relation = Callable[[Json, Json], Test]
"""Takes parameters and context of a call; returns the test that any value of this call must pass."""


class Unknown(Unjudged):
    """A clause about a value that is compared with a missing one."""

    __slots__ = ()


def relations_of(constraint: Constraint) -> Iterator[Relation]:
    """A test for each field that names another value."""
    if constraint.equals is not UNSET:
        yield _equality(constraint.equals)
    if constraint.at_most is not UNSET:
        yield _order(constraint.at_most, lambda value, other: value <= other, "above")
    if constraint.at_least is not UNSET:
        yield _order(constraint.at_least, lambda value, other: value >= other, "below")


def _equality(operand: Operand) -> Relation:
    """Equal in JSON type and value to every value that the other name can mean; only scalars are compared."""
    other = _Other(operand)
    failure = f"not equal to {other.subject}"
    no_scalar = Unjudged(f"not a value that could equal {other.subject}")
    other_no_scalar = Unjudged(f"to be compared with {other.subject}, which is an array or an object")

    def relation(parameters: Json, context: Json) -> Test:
        values, fault = other.values(parameters, context)
        if fault is not None:
            return lambda _: fault
        if any(type(value) in (dict, list) for value in values):
            return lambda _: other_no_scalar
        wanted = {scalar(value) for value in values}
        only = next(iter(wanted)) if len(wanted) == 1 else None

        def test(value: Any) -> str | None:
            if type(value) in (dict, list):
                return no_scalar
            return None if scalar(value) == only else failure

        return test

    return relation


def _order(operand: Operand, holds: Callable[[Any, Any], bool], side: str) -> Relation:
    """Not above, or not below, any value that the other name can mean: numbers by value, dates and times by instant."""
    other = _Other(operand)
    failure = f"{side} {other.subject}"
    no_order = Unjudged(f"not to be ordered with {other.subject}: both must be numbers, dates or times of RFC 3339")

    def relation(parameters: Json, context: Json) -> Test:
        values, fault = other.values(parameters, context)
        if fault is not None:
            return lambda _: fault
        wanted = [_orderable(value) for value in values]

        def test(value: Any) -> str | None:
            given = _orderable(value)
            if given is None or any(each is None or each[0] != given[0] for each in wanted):
                return no_order
            return None if all(holds(given, each) for each in wanted) else failure

        return test

    return relation


class _Other:
    """The value that another name of the call means."""

    def __init__(self, operand: Operand) -> None:
        self._of_context = operand.of_context
        self._path = ValuePath(operand.name)
        self.subject = f'{"context" if operand.of_context else "parameter"} "{operand.name}"'
        self._missing = Unknown(f"to be compared with {self.subject}, which is missing")
        self._hidden = Unjudged(f"to be compared with {self.subject}, which cannot be found")

    def values(self, parameters: Json, context: Json) -> tuple[list[Any], Unjudged | None]:
        """Each value once, or why there is none."""
        try:
            values, missing = self._path.find(context if self._of_context else parameters)
        except Ambiguous:
            return [], self._hidden
        return values, self._missing if missing else None


def _orderable(value: Any) -> tuple[Any, ...] | None:
    """A sort key that begins with the kind; None if it is neither a number, a date nor a time."""
    if type(value) in (int, float):
        return "number", value
    if type(value) is not str:
        return None
    try:
        return moment_of(value)
    except Ambiguous:
        return None
