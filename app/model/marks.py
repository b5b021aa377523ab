"""Marks: what allowed calls leave in their session, for sequence rules to find.

A mark belongs to a pattern that some rule names, and records when a call it covers was last allowed. Patterns in
`forbiddenAfter` mark the session, whichever agent made the call; those in `requiresBefore` mark agent and session.
Patterns named by shadow policies have separate, soft marks: a call without room for them is allowed without them.
"""

import hashlib
from collections.abc import Callable, Iterable, Mapping

from app.model.decision_codes import DecisionCode
from app.model.decisions import Outcome, Result
from app.model.plans import Mark
from app.model.policies import Policy, PolicyMode
from app.model.rules import PolicyRule, Sequenced
from app.model.sequences import CallSequence

MAX_SESSIONS = 1_000
"""The most sessions in which an agent can have live marks of one pattern."""

TOO_MANY_SESSIONS = Outcome(
    Result.DENIED,
    None,
    None,
    f"Sequence rules look back on {MAX_SESSIONS} sessions of the agent already",
    DecisionCode.SEQUENCE_FORBIDDEN,
)
"""The outcome if there is no room for the marks of one more session; `commit_decision` has the same reason."""

MAX_SHARED_MARKS = 1_000
"""The most pairs of pattern and look-back time that the workspace's rules can name in `forbiddenAfter`: every agent's
calls are checked against them.
"""


_SOFT = " "
"""The prefix of a pattern that a shadow policy names; no tool's name begins this way."""


def shadow_mark(pattern: str) -> str:
    """The pattern's name as a soft mark."""
    return _SOFT + pattern


def marked_pattern(pattern: str) -> str:
    """The tool pattern of a mark, soft or not."""
    return pattern.removeprefix(_SOFT)


def mark_name(pattern: str) -> str:
    """The pattern's name in the store."""
    return hashlib.sha256(pattern.encode()).hexdigest()[:32]


def shared_marks(policy: Policy | None) -> frozenset[str]:
    """The marks that an enabled policy demands of every agent's calls, as `<seconds> <pattern>`; none for no policy.

    For each mark, the workspace counts the policies that demand it.
    """
    if policy is None or not policy.enabled:
        return frozenset()
    spelled = _spelling(policy)
    return frozenset(
        f"{sequence.seconds} {spelled(pattern)}"
        for sequence in _sequences(policy.rules)
        for pattern in sequence.forbidden
    )


def longest_shared(marks: Iterable[str]) -> dict[str, int]:
    """The patterns of `shared_marks`, each with the longest of its times, in seconds."""
    return _longest((pattern, int(seconds)) for seconds, _, pattern in (mark.partition(" ") for mark in marks))


def own_marks(policies: Iterable[Policy]) -> dict[str, int]:
    """The marks these policies demand of an agent's own calls: each `requiresBefore` pattern with its longest time."""
    return _longest(
        (_spelling(policy)(pattern), sequence.seconds)
        for policy in policies
        if policy.enabled
        for sequence in _sequences(policy.rules)
        for pattern in sequence.required
    )


def marks_of(shared: Mapping[str, int], own: Mapping[str, int]) -> dict[str, Mark]:
    """The mark of each pattern."""
    second = 1_000_000
    return {
        pattern: Mark(
            mark_name(pattern),
            shared.get(pattern, 0) * second,
            own.get(pattern, 0) * second,
            soft=pattern.startswith(_SOFT),
        )
        for pattern in {**shared, **own}
    }


def _spelling(policy: Policy) -> Callable[[str], str]:
    return shadow_mark if policy.mode is PolicyMode.SHADOW else str


def _sequences(rules: Iterable[PolicyRule]) -> Iterable[CallSequence]:
    return (rule.sequence for rule in rules if isinstance(rule, Sequenced))


def _longest(looked_back: Iterable[tuple[str, int]]) -> dict[str, int]:
    longest: dict[str, int] = {}
    for pattern, seconds in looked_back:
        longest[pattern] = max(seconds, longest.get(pattern, 0))
    return longest
