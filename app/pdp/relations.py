"""Tests that need another value of the call: `equals`, `atMost`, `atLeast`, `fromRequest`, `command`, and `path` in
directories of the context.
"""

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

from msgspec import UNSET

from app.cancellation import raise_if_cancelled
from app.language.ambiguous import Ambiguous
from app.language.dates import moment_of
from app.language.spellings import spelled_once
from app.language.whole_words import Places, Words
from app.model.constraints import MAX_REQUEST_BYTES, REQUEST, Constraint, FromRequest, Operand
from app.pdp.clauses import Test, Unjudged, scalar
from app.pdp.command_tests import CommandTest, Unread
from app.pdp.operands import Json, OtherValue
from app.pdp.path_tests import PathRelation

Relation = Callable[[Json, Json], Test]
"""Takes parameters and context of a call; returns the test that any value of this call must pass."""


def relations_of(
    constraint: Constraint,
    *,
    secret: bool = False,
    is_secret: Callable[[str], bool] | None = None,
    unread: Unread = Unread.FAILS,
) -> Iterator[Relation]:
    """A test for each field that reads another value, too. With `secret`, no clause shows a value."""
    if constraint.equals is not UNSET:
        yield _equality(constraint.equals)
    if constraint.at_most is not UNSET:
        yield _order(constraint.at_most, lambda value, other: value <= other, "above")
    if constraint.at_least is not UNSET:
        yield _order(constraint.at_least, lambda value, other: value >= other, "below")
    if constraint.from_request is not UNSET:
        yield _request_relation(constraint.from_request)
    if constraint.path is not UNSET and constraint.path.root_names:
        yield PathRelation(constraint.path, secret=secret)
    if constraint.command is not UNSET:
        yield CommandTest(constraint.command, secret=secret, is_secret=is_secret, unread=unread)


def _equality(operand: Operand) -> Relation:
    """Equal in JSON type and value to every value that the other name can mean; only scalars are compared."""
    other = OtherValue(operand)
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
    other = OtherValue(operand)
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


_is_spelled_once = spelled_once(REQUEST)
FEWEST = {FromRequest.EXACT: 3, FromRequest.TEXT: 1}
"""The fewest characters of a value that is looked for; shorter ones stand in many requests by chance."""

_NOT_ASKED_FOR = "which does not stand in the user's request as whole words"
_NO_STRING = Unjudged("not a text that could stand in the user's request")
_NO_REQUEST = Unjudged('to be found in the user\'s request, but the call has no "request" in its context')
_HIDDEN_REQUEST = Unjudged("to be found in the user's request, which cannot be told from another spelling of its name")
_ODD_REQUEST = Unjudged("to be found in the user's request, which is not a text")
_LONG_REQUEST = Unjudged(f"to be found in the user's request, which is longer than {MAX_REQUEST_BYTES} bytes")


def _request_relation(how: FromRequest) -> Relation:
    """The value stands in the user's request as whole words. No clause quotes the request."""
    fold, fewest = how is FromRequest.TEXT, FEWEST[how]
    too_short = f"shorter than {fewest} characters, which could stand in any request"

    def relation(_parameters: Json, context: Json) -> Test:
        words = _words_of_request(context, fold=fold)
        if isinstance(words, Unjudged):
            return lambda _: words
        places = Places()

        def test(value: Any) -> str | None:
            if type(value) is not str:
                return _NO_STRING
            raise_if_cancelled()
            if len(value) < fewest:
                return too_short
            try:
                return None if words.contain(value, places) else _NOT_ASKED_FOR
            except Ambiguous as error:
                return Unjudged(f"which cannot be looked for in the user's request: it {error}")

        return test

    return relation


def _words_of_request(context: Json, *, fold: bool) -> Words | Unjudged:
    if not _is_spelled_once(context):
        return _HIDDEN_REQUEST
    if REQUEST not in context:
        return _NO_REQUEST
    request = context[REQUEST]
    return _words_in(request, fold) if type(request) is str else _ODD_REQUEST


@lru_cache(maxsize=8)
def _words_in(request: str, fold: bool) -> Words | Unjudged:
    """The words of a request; kept, because several rules of a call and several calls of a task read the same one."""
    if len(request) > MAX_REQUEST_BYTES or (not request.isascii() and len(request.encode()) > MAX_REQUEST_BYTES):
        return _LONG_REQUEST
    try:
        return Words(request, fold=fold)
    except Ambiguous as error:
        return Unjudged(f"to be found in the user's request, which {error}")


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
