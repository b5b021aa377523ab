"""Times of changes in the order of the log, the spans between changes, and the limits and marks of policies in them."""

from collections.abc import Iterable
from enum import Enum
from typing import NamedTuple

from msgspec import UNSET

from app.model.changes import Change
from app.model.counting import breaker_fingerprints, limit_fingerprints
from app.model.marks import longest_shared, marks_of, own_marks, shared_marks
from app.model.policies import Policy
from app.model.times import parse_time_ms

Limit = tuple[str, str]
"""A policy's id and a rule's fingerprint."""


def mark_names(policies: Iterable[Policy]) -> set[str]:
    """The names of all marks that these policies need."""
    policies = list(policies)
    shared = longest_shared(frozenset[str]().union(*map(shared_marks, policies)))
    return {mark.name for mark in marks_of(shared, own_marks(policies)).values()}


def limits_of(policies: Iterable[Policy]) -> set[Limit]:
    return {(policy.id, fingerprint) for policy in policies for fingerprint in counting_rules(policy)}


def breakers_of(policies: Iterable[Policy]) -> set[Limit]:
    return {(policy.id, fingerprint) for policy in policies for fingerprint in breaker_fingerprints(policy.rules)}


def counting_rules(policy: Policy | None) -> set[str]:
    """The fingerprints of the policy's limits."""
    return set() if policy is None else set(limit_fingerprints(policy.rules))


class Room(Enum):
    """A quota's room for a call."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"
    CROWDED = "crowded"
    """The rule has as many live buckets as one agent may have."""


class Timeline:
    """The time by which quotas count: it never runs backwards, even when the store's clock did.

    now_ms: the current time. slack_ms: the possible error of a duration, beyond the millisecond to which the log
    rounds: 1 ms for each time that the clock stepped back.
    """

    def __init__(self) -> None:
        self._latest_ms = 0
        self._skew_ms = 0
        self.slack_ms = 0
        self.now_ms = 0

    def advance(self, time_ms: int) -> None:
        """Move on to the next entry, which was made at this time by the store's clock."""
        if time_ms < self._latest_ms:
            self._skew_ms += self._latest_ms - time_ms
            self.slack_ms += 1
        self._latest_ms = time_ms
        self.now_ms = time_ms + self._skew_ms


class Since(NamedTuple):
    """The moment of a change: the entry before it or, if an older release recorded the change, only the time."""

    time_ms: int
    sequence: int | None = None

    def holds_for(self, entry: "LogPosition") -> bool:
        """True if the entry was made after the change."""
        return self.time_ms <= entry.time_ms if self.sequence is None else self.sequence < entry.sequence

    def is_doubtful_for(self, entry: "LogPosition") -> bool:
        """True if that is uncertain, because both are of the same millisecond."""
        return self.sequence is None and self.time_ms == entry.time_ms > 0


class LogPosition(NamedTuple):
    """An entry's position in the log: its time and its sequence."""

    time_ms: int
    sequence: int


class Span(NamedTuple):
    """A stretch of the log in which the policies that govern an agent did not change.

    policies: None = no longer known. marking: policies of any owner that need marks from every agent's calls.
    """

    since: Since
    until: Since | None
    groups: tuple[str, ...]
    policies: tuple[Policy, ...] | None
    marking: tuple[Policy, ...] = ()

    def has(self, entry: LogPosition) -> bool:
        """True if the entry is within the span."""
        return self.since.holds_for(entry) and (self.until is None or not self.until.holds_for(entry))


EVER = Since(0)


def since_of(change: Change) -> Since:
    return Since(parse_time_ms(change.timestamp), None if change.sequence is UNSET else change.sequence)


def order_of(since: Since) -> tuple[int, int]:
    return since.time_ms, -1 if since.sequence is None else since.sequence
