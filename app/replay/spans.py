"""Times of changes in the order of the log, and the spans between changes."""

from typing import NamedTuple

from msgspec import UNSET

from app.model.changes import Change
from app.model.policies import Policy
from app.model.times import parse_time_ms


class Since(NamedTuple):
    """When something changed: after which entry or, if an older release recorded the change, at which time."""

    time_ms: int
    sequence: int | None = None

    def holds_for(self, entry: "Place") -> bool:
        """Whether the entry was made after the change."""
        return self.time_ms <= entry.time_ms if self.sequence is None else self.sequence < entry.sequence

    def is_doubtful_for(self, entry: "Place") -> bool:
        """Whether that is uncertain, because both are of the same millisecond."""
        return self.sequence is None and self.time_ms == entry.time_ms > 0


class Place(NamedTuple):
    """An entry's place in the log: its time and its sequence."""

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

    def has(self, entry: Place) -> bool:
        """Whether the entry is within it."""
        return self.since.holds_for(entry) and (self.until is None or not self.until.holds_for(entry))


EVER = Since(0)


def since_of(change: Change) -> Since:
    return Since(parse_time_ms(change.timestamp), None if change.sequence is UNSET else change.sequence)


def order_of(since: Since) -> tuple[int, int]:
    return since.time_ms, -1 if since.sequence is None else since.sequence
