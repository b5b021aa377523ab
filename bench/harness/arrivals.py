"""Open-loop requests: when each was due, sent and answered. Latency counts from the moment it was due.

A generator that waits for an answer before it sends the next request measures less the slower the service gets.
Here every request has its own moment, whatever happens to the others; time it spends waiting for a connection is
part of its latency.
"""

from array import array
from bisect import bisect_left
from collections.abc import Sequence

from msgspec import Struct

from bench.harness.histogram import Histogram


class Phase(Struct, frozen=True):
    """A steady rate, in requests a second, for some seconds."""

    rate: float
    seconds: float


class Slice(Struct, frozen=True, kw_only=True):
    """The requests due in one stretch of time; times in us.

    answered_within: answers that came in this stretch, whenever their requests were due.
    """

    begins_us: int
    seconds: float
    intended: int
    answered: int
    answered_within: int
    shed: int
    p50_us: int
    p99_us: int
    p999_us: int
    max_us: int
    lag_p99_us: int


class Arrivals:
    """The requests of one run, numbered in the order in which they are due. All times are us since the start."""

    def __init__(self, phases: Sequence[Phase]) -> None:
        self.intended_us = array("q", intended_times(phases))
        self._answered_us = array("q", bytes(8 * len(self.intended_us)))
        self._lag_us = array("q", bytes(8 * len(self.intended_us)))
        self._shed = bytearray(len(self.intended_us))
        self._next = 0
        self.open = len(self.intended_us)

    def take(self, now_us: int, free_since_us: int) -> int | None:
        """The next request that is due; None if none is.

        free_since_us: since when a connection has been free for it. The time since the request was due and a connection
        free is the generator's own lag.
        """
        number = self._next
        if number == len(self.intended_us) or self.intended_us[number] > now_us:
            return None
        self._next += 1
        self._lag_us[number] = now_us - max(self.intended_us[number], free_since_us)
        return number

    def next_moment_us(self) -> int | None:
        """When the next request is due; None if all have been sent."""
        return self.intended_us[self._next] if self._next < len(self.intended_us) else None

    def answered(self, number: int, now_us: int, *, shed: bool = False) -> None:
        """The request has its answer; shed: the service refused it with 503."""
        self._answered_us[number] = now_us
        self._shed[number] = shed
        self.open -= 1

    def slice(self, from_us: int, until_us: int) -> Slice:
        """The requests due in [from_us, until_us)."""
        numbers = range(bisect_left(self.intended_us, from_us), bisect_left(self.intended_us, until_us))
        done = [n for n in numbers if self._answered_us[n]]
        latency = Histogram(self._answered_us[n] - self.intended_us[n] for n in done)
        return Slice(
            begins_us=from_us,
            seconds=(until_us - from_us) / 1e6,
            intended=len(numbers),
            answered=len(done),
            answered_within=sum(from_us <= moment < until_us for moment in self._answered_us),
            shed=sum(self._shed[n] for n in done),
            p50_us=latency.percentile(50),
            p99_us=latency.percentile(99),
            p999_us=latency.percentile(99.9),
            max_us=latency.max_us,
            lag_p99_us=Histogram(self._lag_us[n] for n in done).percentile(99),
        )


def intended_times(phases: Sequence[Phase]) -> list[int]:
    """When every request is due, evenly spaced within each phase, us since the start."""
    moments: list[int] = []
    begins_us = 0.0
    for phase in phases:
        count = round(phase.rate * phase.seconds)
        moments += [round(begins_us + 1e6 * number / phase.rate) for number in range(count)]
        begins_us += 1e6 * phase.seconds
    return moments
