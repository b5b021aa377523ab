"""Sequence rules: what they require of a session's past, and what a call leaves in its session for them."""

from collections.abc import Collection, Iterator
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from app.language.spellings import Spellings
from app.model.decisions import AuthorizeRequest, Outcome
from app.model.marks import mark_name, sequence_marks
from app.model.plans import HistoryCheck, Mark, Plan
from app.model.policies import SHADOW_BUCKET
from app.model.rules import Sequenced
from app.model.sequences import MAX_SESSION_LENGTH, CallSequence, session_digest
from app.pdp.clauses import clipped
from app.pdp.constraints import IsSecret
from app.pdp.operands import NOTHING
from app.pdp.rules.rule_type import Demands, PlacedRule, RuleType

_NO_SESSION = f"context.session must be a text of 1 to {MAX_SESSION_LENGTH} characters: the rule is about its past"
_SECOND_US = 1_000_000


class SessionCheck(Struct, frozen=True):
    """One side of a sequence rule, for which the call names the session. check: the part common to all calls."""

    check: HistoryCheck

    @property
    def when_full(self) -> Outcome:
        return self.check.when_full

    def of(self, request: AuthorizeRequest, _key_id: str, _now_us: int) -> HistoryCheck | None:
        """The look-up for the call; None if it names no session, which fails the rule."""
        session = session_of(request.context)
        return replace(self.check, session=session) if session else None


class SequenceType(RuleType[Sequenced]):
    def compile(self, placed: PlacedRule[Sequenced]) -> Demands:
        return Demands(placed.condition(no_session), tuple(_checks(placed)))

    def words(self, rule: Sequenced, is_secret: IsSecret) -> Iterator[str]:
        sequence, within = rule.sequence, _within(rule.sequence)
        if sequence.forbidden:
            yield f"not once the session was allowed {_named(sequence.forbidden)}{within}"
        if sequence.required:
            once = ", for each call anew" if sequence.once is True else ""
            yield f"only once the session was allowed {_named(sequence.required)}{within}{once}"


def _checks(placed: PlacedRule[Sequenced]) -> Iterator[SessionCheck]:
    """Yield a check for each side of the rule, each with a reason for failing."""
    sequence, within = placed.rule.sequence, _within(placed.rule.sequence)
    once = sequence.once is True
    counter = placed.fingerprint.removesuffix(SHADOW_BUCKET) or None
    marks = sequence_marks(placed.policy, placed.ref.index, sequence, counter)
    since = " since this rule last let a call pass" if once else " yet"
    for forbids, patterns, spelled, reason in (
        (True, sequence.forbidden, marks.forbidden, f"The session was allowed a call of {{}}{within}"),
        (False, sequence.required, marks.required, f"The session was allowed no call of {{}}{within}{since}"),
    ):
        if patterns:
            names = tuple(map(mark_name, dict.fromkeys(spelled)))
            failed, window_us = placed.failure(reason.format(_named(patterns))), sequence.seconds * _SECOND_US
            check = HistoryCheck(placed.policy.id, forbids, names, window_us, failed, "", once and not forbids)
            yield SessionCheck(check)


def _within(sequence: CallSequence) -> str:
    return "" if sequence.seconds != sequence.within_seconds else f" in the last {sequence.seconds} s"


def no_session(_parameters: dict[str, Any], context: dict[str, Any], _spelled: Spellings) -> str | None:
    """Why a call fails every sequence rule; None if it names its session."""
    return None if session_of(context) else _NO_SESSION


def with_marks(plan: Plan, marks: tuple[Mark, ...], request: AuthorizeRequest) -> Plan:
    """The plan, leaving these marks in the call's session; a call without a session leaves none."""
    session = session_of(request.context)
    return replace(plan, session=session, marks=marks) if session else plan


def session_of(context: dict[str, Any] | None) -> str:
    """The session's name in the store; "" if the call names none."""
    name = (context or NOTHING).get("session")
    if type(name) is not str or not 0 < len(name) <= MAX_SESSION_LENGTH:
        return ""
    return session_digest(name)


def _named(patterns: Collection[str]) -> str:
    return clipped(" or ".join(f'"{pattern}"' for pattern in patterns))
