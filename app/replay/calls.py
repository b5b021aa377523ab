"""Logged calls as a replay judges them, and the parts of them that the log hides."""

import re
from collections.abc import Collection, Iterator
from functools import lru_cache
from typing import Any

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType, field

from app.language.value_paths import EACH
from app.model.call_values import SHORTENED
from app.model.constraints import REQUEST
from app.model.decision_codes import DecisionCode
from app.model.decisions import RecordRead, Result, RuleRef, ShadowOutcome
from app.model.outcomes import CallStatus
from app.model.rule import Read, Rule, constraint_reads
from app.model.rules import recorded_code
from app.model.times import parse_time_ms
from app.redaction.credentials import REDACTED

_encode = msgspec.json.encode
_TO_THE_MINUTE = 17
_HOLDERS = ("parameters", "context")
_cut_key = re.compile(r"(?:svc|ses)_[0-9a-f]{8}\.\.\.").search
_MARKS = (REDACTED.encode(), b'"beginning":', b"svc_", b"ses_", b'"request":{"length":')

ValueName = tuple[str, str]
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
    decision_id: str | UnsetType = UNSET
    said_code: str | None = field(default=None, name="code")
    shadow: ShadowOutcome | UnsetType = UNSET
    records: list[RecordRead] = []

    @classmethod
    def without_entry(
        cls, agent_id: str, tool_name: str, parameters: Any, context: Any, *, call_id: str = "", key_id: str = ""
    ) -> "LoggedCall":
        """A call that is judged as a logged one would be, though no entry of the log says what it got.

        parameters, context: before they are JSON; UNSET = the call has no context.
        """
        return cls(
            id=call_id,
            agent_id=agent_id,
            key_id=key_id,
            tool_name=tool_name,
            parameters=Raw(_encode(parameters)),
            result=None,
            policy_id=None,
            rule=None,
            reason="",
            timestamp="",
            context=UNSET if context is UNSET else Raw(_encode(context)),
        )

    @property
    def time_ms(self) -> int:
        """By the store's clock."""
        text = self.timestamp
        return _minute_ms(text[:_TO_THE_MINUTE]) + int(text[17:19]) * 1000 + int(text[20:23])

    @property
    def code(self) -> DecisionCode:
        """The code of the decision. Raises ValueError if the line records no decision."""
        rule_type = None if self.rule is None else self.rule.type
        return recorded_code(Result(self.result or ""), rule_type, self.said_code)

    @property
    def not_executed(self) -> str | None:
        """The decision whose call this line reports as not executed; None if it is another line."""
        is_report = self.type == "outcome" and self.said_code == CallStatus.NOT_EXECUTED
        return self.decision_id if is_report and self.decision_id is not UNSET else None

    @property
    def was_inactive(self) -> bool:
        """True if the call was denied because its agent was not active."""
        return self.code in (DecisionCode.AGENT_SUSPENDED, DecisionCode.AGENT_REVOKED)

    @property
    def was_counted(self) -> bool:
        """True if denial breakers have counted it."""
        return not self.was_inactive and is_counted(Result(self.result or ""), self.code)


def is_counted(result: Result, code: DecisionCode) -> bool:
    """True if denial breakers count an active agent's call with this outcome: a denial, but not by one of them."""
    return result is Result.DENIED and code is not DecisionCode.TOO_MANY_DENIALS


decode_call = msgspec.json.Decoder(LoggedCall).decode
decode_object = msgspec.json.Decoder(dict[str, Any]).decode


@lru_cache(maxsize=64)
def _minute_ms(text: str) -> int:
    return parse_time_ms(f"{text}00.000Z")


def may_hide(line: bytes) -> bool:
    """False if certainly no part of the call is redacted or shortened."""
    redacted, shortened, key, session, request = _MARKS
    return redacted in line or shortened in line or key in line or session in line or request in line


def hidden_places(parameters: dict[str, Any], context: dict[str, Any]) -> frozenset[ValueName]:
    """The places where the log differs from what the caller sent: redacted, shortened, or with a key or token cut.

    Of a user's request, the log keeps only a MAC.
    """
    places = ((of, name) for of, value in zip(_HOLDERS, (parameters, context), strict=True) for name in _hidden(value))
    request = context.get(REQUEST)
    is_kept = type(request) is not dict or "length" not in request
    return frozenset(places) if is_kept else frozenset((*places, ("context", REQUEST)))


def is_hidden(value: Any) -> bool:
    """True if the log has something else in place of the value itself; the parts of it are not looked at."""
    if type(value) is str:
        return REDACTED in value or _cut_key(value) is not None
    return type(value) is dict and value.keys() >= SHORTENED


def _hidden(value: Any, name: str = "") -> Iterator[str]:
    if is_hidden(value):
        yield name
    if type(value) is dict:
        for key, inner in value.items():
            place = f"{name}.{key}" if name else key
            if _cut_key(key) is not None:
                yield place
            yield from _hidden(inner, place)
    elif type(value) is list:
        for inner in value:
            yield from _hidden(inner, name + EACH)


def session_is_hidden(hidden: Collection[ValueName]) -> bool:
    """True if the log hides the call's session."""
    return ("context", "session") in hidden


def reads_hidden(rule: Rule, hidden: Collection[ValueName]) -> bool:
    """True if the rule reads a value that the log hides."""
    return any(
        read.of == of and _meets(read, place) for read in (*rule.reads(), *rule.reads_besides) for of, place in hidden
    )


def circumstances_read_hidden(rule: Rule, hidden: Collection[ValueName]) -> bool:
    """True if the rule's `when` or `unless` reads a hidden value, so that it is unknown whether the rule applies."""
    return any(
        read.of == of and _meets(read, place)
        for read in constraint_reads(each for each in rule.constraints() if each[0])
        for of, place in hidden
    )


def _meets(read: Read, place: str) -> bool:
    """True if the value at the place is the one that is read, is a part of it, or contains it.

    The log does show whether a value exists.
    """
    name = read.name
    if not name:
        return True
    if place == name or place.startswith((f"{name}.", f"{name}[")):
        return not read.only_there
    return name.startswith((f"{place}.", f"{place}["))
