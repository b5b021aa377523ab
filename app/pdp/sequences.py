"""Sequence rules: what they require of a session's past, and what a call leaves in its session for them."""

import hashlib
from collections.abc import Callable, Collection
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from app.model.decisions import AuthorizeRequest, HistoryCheck, Mark, Outcome, Plan
from app.model.marks import mark_name
from app.model.sequences import MAX_SESSION_LENGTH, CallSequence
from app.pdp.clauses import clipped
from app.pdp.relations import NOTHING

_NO_SESSION = f"context.session must be a text of 1 to {MAX_SESSION_LENGTH} characters: the rule is about its past"
_SECOND_US = 1_000_000


class SessionCheck(Struct, frozen=True):
    """One side of a sequence rule, for which the call names the session. check: the part common to all calls."""

    check: HistoryCheck

    @property
    def when_full(self) -> Outcome:
        return self.check.when_full

    def of(self, request: AuthorizeRequest, _key_id: str) -> HistoryCheck | None:
        """The look-up for the call; None if it names no session, which fails the rule."""
        session = _session_of(request.context)
        return replace(self.check, session=session) if session else None


def session_checks(
    policy_id: str, sequence: CallSequence, when_failed: Outcome, spelled: Callable[[str], str] = str
) -> tuple[SessionCheck, ...]:
    """The checks of a rule; each has its own reason for failing. spelled: turns a pattern into its mark's name."""
    within = "" if sequence.seconds != sequence.within_seconds else f" in the last {sequence.seconds} s"
    sides = (
        (True, sequence.forbidden, f"The session was allowed a call of {{}}{within}"),
        (False, sequence.required, f"The session was allowed no call of {{}}{within} yet"),
    )
    return tuple(
        SessionCheck(
            HistoryCheck(
                policy_id,
                forbids,
                tuple(mark_name(spelled(pattern)) for pattern in dict.fromkeys(patterns)),
                sequence.seconds * _SECOND_US,
                replace(when_failed, reason=reason.format(_named(patterns))),
                "",
            )
        )
        for forbids, patterns, reason in sides
        if patterns
    )


def no_session(_parameters: dict[str, Any], context: dict[str, Any]) -> str | None:
    """Why a call fails every sequence rule; None if it names its session."""
    return None if _session_of(context) else _NO_SESSION


def with_marks(plan: Plan, marks: tuple[Mark, ...], request: AuthorizeRequest) -> Plan:
    """The plan, leaving these marks in the call's session; a call without a session leaves none."""
    session = _session_of(request.context)
    return replace(plan, session=session, marks=marks) if session else plan


def _session_of(context: dict[str, Any] | None) -> str:
    """The session's name in the store; "" if the call names none."""
    name = (context or NOTHING).get("session")
    if type(name) is not str or not 0 < len(name) <= MAX_SESSION_LENGTH:
        return ""
    return hashlib.sha256(name.encode()).hexdigest()[:32]


def _named(patterns: Collection[str]) -> str:
    return clipped(" or ".join(f'"{pattern}"' for pattern in patterns))
