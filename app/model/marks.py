"""Marks: what allowed calls leave in their session, for sequence rules to find.

A mark belongs to a pattern that some rule names, and records when a call it covers was last allowed. Patterns in
`forbiddenAfter` mark the session, whichever agent made the call; those in `requiresBefore` mark agent and session. A
rule with `once` has marks of its own, which end when it lets a call pass.
Patterns named by shadow policies have separate, soft marks: a call without room for them is allowed without them.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from app.model.counting import quota_fingerprints
from app.model.decision_codes import DecisionCode
from app.model.decisions import Outcome, Result
from app.model.plans import Mark
from app.model.policies import Policy, PolicyMode
from app.model.rules import Sequenced
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
_OF_RULE = "\n"
"""Between a rule and the pattern that it alone has; no tool's name contains it."""


class SequenceMarks(NamedTuple):
    """The marks that a sequence rule looks for, of each pattern one. place: of the rule in its policy."""

    place: int
    seconds: int
    forbidden: list[str]
    required: list[str]


def shadow_mark(pattern: str) -> str:
    """The pattern's name as a soft mark."""
    return _SOFT + pattern


def marked_pattern(mark: str) -> str:
    """The tool pattern of a mark, of whatever kind."""
    return mark.rpartition(_OF_RULE)[2].removeprefix(_SOFT)


def mark_name(pattern: str) -> str:
    """The pattern's name in the store."""
    return hashlib.sha256(pattern.encode()).hexdigest()[:32]


def shared_marks(policy: Policy | None) -> frozenset[str]:
    """The marks that an enabled policy demands of every agent's calls, as `<seconds> <pattern>`; none for no policy.

    For each mark, the workspace counts the policies that demand it.
    """
    if policy is None or not policy.enabled:
        return frozenset()
    return frozenset(f"{sequence.seconds} {mark}" for sequence in sequences_of(policy) for mark in sequence.forbidden)


def longest_shared(marks: Iterable[str]) -> dict[str, int]:
    """The patterns of `shared_marks`, each with the longest of its times, in seconds."""
    return _longest((pattern, int(seconds)) for seconds, _, pattern in (mark.partition(" ") for mark in marks))


def own_marks(policies: Iterable[Policy]) -> dict[str, int]:
    """The marks these policies demand of an agent's own calls: each `requiresBefore` pattern with its longest time."""
    return _longest(
        (mark, sequence.seconds)
        for policy in policies
        if policy.enabled
        for sequence in sequences_of(policy)
        for mark in sequence.required
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


def sequences_of(policy: Policy) -> Iterator[SequenceMarks]:
    """Yield the marks of each sequence rule of the policy."""
    if any(isinstance(rule, Sequenced) for rule in policy.rules):
        for index, (rule, name) in enumerate(zip(policy.rules, quota_fingerprints(policy.rules), strict=True)):
            if isinstance(rule, Sequenced):
                yield sequence_marks(policy, index, rule.sequence, name)


def sequence_marks(policy: Policy, index: int, sequence: CallSequence, name: str | None) -> SequenceMarks:
    """The marks of a sequence rule. name: the fingerprint of its counter, if it has `once`."""
    forbidden, required = sequence.forbidden, sequence.required
    if name is not None:
        required = [f"{policy.id} {name}{_OF_RULE}{pattern}" for pattern in required]
    if policy.mode is PolicyMode.SHADOW:
        forbidden, required = list(map(shadow_mark, forbidden)), list(map(shadow_mark, required))
    return SequenceMarks(index, sequence.seconds, forbidden, required)


def _longest(looked_back: Iterable[tuple[str, int]]) -> dict[str, int]:
    longest: dict[str, int] = {}
    for pattern, seconds in looked_back:
        longest[pattern] = max(seconds, longest.get(pattern, 0))
    return longest
