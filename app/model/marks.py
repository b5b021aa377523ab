"""Marks: what allowed calls leave in their session, so that sequence rules can look back on them.

A mark stands for a pattern that some rule names, and says when a call that it covers was allowed last. Those that
`forbiddenAfter` names belong to the session, whichever agent left them; those of `requiresBefore` to agent and session.
What shadow policies name has marks of its own, soft ones: a call that finds no room for them is allowed without them.
"""

import hashlib
from collections.abc import Callable, Iterable, Mapping

from app.model.decisions import Mark
from app.model.policies import Policy, PolicyMode
from app.model.rules import PolicyRule, Sequenced
from app.model.sequences import CallSequence

MAX_SESSIONS = 1_000
"""Sessions in which an agent can have live marks of one pattern."""

MAX_SHARED_MARKS = 1_000
"""What all rules of a workspace can name in `forbiddenAfter`: patterns, each with its times; every agent's calls are
held against them."""


_SOFT = " "
"""What comes before a pattern that a shadow policy names: no tool's name begins so."""


def soft(pattern: str) -> str:
    """The pattern as shadow policies name it."""
    return _SOFT + pattern


def marked_pattern(pattern: str) -> str:
    """The pattern of tools that one of either kind stands for."""
    return pattern.removeprefix(_SOFT)


def mark_name(pattern: str) -> str:
    """What a pattern is called in the store."""
    return hashlib.sha256(pattern.encode()).hexdigest()[:32]


def shared_marks(policy: Policy | None) -> frozenset[str]:
    """What a policy asks of every agent's calls while it is enabled, as `<seconds> <pattern>`; no policy asks nothing.

    The workspace counts how many policies ask for each.
    """
    if policy is None or not policy.enabled:
        return frozenset()
    spelled = _spelling(policy)
    return frozenset(
        f"{each.seconds} {spelled(pattern)}" for each in _sequences(policy.rules) for pattern in each.forbidden
    )


def longest_shared(marks: Iterable[str]) -> dict[str, int]:
    """The patterns of `shared_marks`, each with the longest of its times, in seconds."""
    return _longest((pattern, int(seconds)) for seconds, _, pattern in (mark.partition(" ") for mark in marks))


def own_marks(policies: Iterable[Policy]) -> dict[str, int]:
    """What these policies ask of an agent's own calls: each pattern of `requiresBefore` with its longest time."""
    return _longest(
        (_spelling(policy)(pattern), each.seconds)
        for policy in policies
        if policy.enabled
        for each in _sequences(policy.rules)
        for pattern in each.required
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
    return soft if policy.mode is PolicyMode.SHADOW else str


def _sequences(rules: Iterable[PolicyRule]) -> Iterable[CallSequence]:
    return (rule.sequence for rule in rules if isinstance(rule, Sequenced))


def _longest(named: Iterable[tuple[str, int]]) -> dict[str, int]:
    found: dict[str, int] = {}
    for pattern, seconds in named:
        found[pattern] = max(seconds, found.get(pattern, 0))
    return found
