"""Logged calls as a replay judges them, and which parts of them the log hides."""

import re
from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache
from typing import Any

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from app.canonical.value_paths import EACH
from app.model.constraints import Constraint
from app.model.counting import limit_of
from app.model.decision_codes import DecisionCode
from app.model.decisions import Result, RuleRef, ShadowOutcome
from app.model.logged_codes import code_from
from app.model.quotas import Budget
from app.model.rules import ParameterSchema, PolicyRule, Sequenced, constraints_of
from app.model.times import parse_time_ms
from app.redaction.credentials import REDACTED

_TO_THE_MINUTE = 17
_HOLDERS = ("parameters", "context")
_cut_key = re.compile(r"svc_[0-9a-f]{8}\.\.\.").search
_SHORTENED = frozenset({"beginning", "length"})
_MARKS = (REDACTED.encode(), b'"beginning":', b"svc_")

Place = tuple[str, str]
"""`parameters` or `context`, and the name of a value in it; "" = all of it."""


class LoggedCall(Struct, rename="camel"):
    """The fields of a log line that a replay reads."""

    id: str
    agent_id: str
    key_id: str
    tool_name: str
    parameters: Raw
    result: str | None
    policy_id: str | None
    rule: RuleRef | None
    reason: str
    timestamp: str
    context: Raw | UnsetType = UNSET
    approval_id: str | UnsetType = UNSET
    type: str | UnsetType = UNSET
    shadow: ShadowOutcome | UnsetType = UNSET

    @property
    def time_ms(self) -> int:
        """By the store's clock."""
        text = self.timestamp
        return _minute_ms(text[:_TO_THE_MINUTE]) + int(text[17:19]) * 1000 + int(text[20:23])

    @property
    def code(self) -> DecisionCode:
        """Why it was decided this way. Raises ValueError if the line records no decision."""
        return code_from(Result(self.result or ""), None if self.rule is None else self.rule.type, self.reason)

    @property
    def was_inactive(self) -> bool:
        """Whether the call was denied because its agent was not active."""
        return self.code in (DecisionCode.AGENT_SUSPENDED, DecisionCode.AGENT_REVOKED)


decode_call = msgspec.json.Decoder(LoggedCall).decode
decode_object = msgspec.json.Decoder(dict[str, Any]).decode


@lru_cache(maxsize=64)
def _minute_ms(text: str) -> int:
    return parse_time_ms(f"{text}00.000Z")


def may_hide(line: bytes) -> bool:
    """Whether any part of the call may be redacted or shortened; False = certainly none is."""
    redacted, shortened, cut = _MARKS
    return redacted in line or shortened in line or cut in line


def hidden_places(parameters: dict[str, Any], context: dict[str, Any]) -> frozenset[Place]:
    """The places where the log differs from what the caller sent: redacted, shortened, or with an API key removed."""
    found = ((of, name) for of, value in zip(_HOLDERS, (parameters, context), strict=True) for name in _hidden(value))
    return frozenset(found)


def _hidden(value: Any, name: str = "") -> Iterator[str]:
    if type(value) is str:
        if REDACTED in value or _cut_key(value):
            yield name
    elif type(value) is dict:
        if value.keys() >= _SHORTENED:
            yield name
        for key, inner in value.items():
            yield from _hidden(inner, f"{name}.{key}" if name else key)
    elif type(value) is list:
        for inner in value:
            yield from _hidden(inner, name + EACH)


def session_is_hidden(hidden: Collection[Place]) -> bool:
    """Whether the log hides the call's session."""
    return ("context", "session") in hidden


def reads_hidden(rule: PolicyRule, hidden: Collection[Place]) -> bool:
    """Whether the rule reads a value that the log hides."""
    return any(
        of == at and _meets(name, place, only_there=only_there)
        for of, name, only_there in _read_by(rule)
        for at, place in hidden
    )


def circumstances_read_hidden(rule: PolicyRule, hidden: Collection[Place]) -> bool:
    """Whether the rule's `when` or `unless` reads a hidden value, so that it is unknown whether the rule applies."""
    return any(
        of == at and _meets(name, place, only_there=only_there)
        for of, name, only_there in _named(each for each in constraints_of(rule) if each[0])
        for at, place in hidden
    )


def _meets(name: str, place: str, *, only_there: bool) -> bool:
    """Whether the value at the place is the named one, a part of it, or contains it.

    only_there: the rule only tests whether a value exists, which the log does show.
    """
    if not name:
        return True
    if place == name or place.startswith((f"{name}.", f"{name}[")):
        return not only_there
    return name.startswith((f"{place}.", f"{place}["))


def _read_by(rule: PolicyRule) -> Iterator[tuple[str, str, bool]]:
    """`parameters` or `context`, the value's name, and whether the rule only tests whether it exists."""
    yield from _named(constraints_of(rule))
    if isinstance(rule, ParameterSchema):
        yield "parameters", "", False
    if isinstance(rule, Sequenced):
        yield "context", "session", False
    limit = limit_of(rule)
    if isinstance(limit, Budget):
        yield "parameters", limit.parameter, False
    if limit is not None and limit.per is not UNSET:
        for each in limit.per:
            holder, _, name = each.partition(".")
            if holder in _HOLDERS:
                yield holder, name, False


def _named(constraints: Iterable[tuple[str, str, str, Constraint]]) -> Iterator[tuple[str, str, bool]]:
    for _, of, name, constraint in constraints:
        yield of, name, {"required", "absent"}.issuperset(constraint.given)
        for operand in (constraint.equals, constraint.at_most, constraint.at_least):
            if operand is not UNSET:
                yield "context" if operand.of_context else "parameters", operand.name, False
