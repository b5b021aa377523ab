"""Counters of a replica: a few additions per decision, read by GET /metrics.

The counters of all replicas that one `remit serve` started are in one piece of shared memory, with a row for each
process. So any replica can answer for all of them, and a restarted replica continues its predecessor's counts. No
locks: a row has one writer, and a reader may miss the latest addition.
"""

import mmap
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence

from app.errors import codes

RESULTS = ("allowed", "denied", "escalated")
CODES = (*codes(), "other")
DIRECTIONS = tuple(f"{was}_{would}" for was in RESULTS for would in RESULTS if was != would)
"""The actual result, and the result with the shadow policies."""

REASONS = ("version", "clock")
OUTCOMES = ("executed", "failed", "not_executed")
TRIPS = ("suspend", "deny", "escalate")
"""What a denial breaker does."""

CROWDS = ("values", "sessions", "amounts")
"""Things that rules track only a limited number of: values of a limit's `per`, and sessions of sequence rules."""

FILLS = ("rule", "agent", "key", "workspace")
"""What may have only so many approvals open."""

LANES = ("fast", "slow")

LATENCY_US = (500, 1_000, 2_000, 3_000, 5_000, 7_500, 10_000, 15_000, 25_000, 50_000, 100_000, 250_000, 1_000_000)
ROUND_TRIP_US = (100, 200, 500, 1_000, 2_000, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000)
BATCH = (1, 2, 4, 8, 16, 32, 64, 128)
_WORD = 8
_MICROSECONDS = 1e6


class _Family:
    """One metric: where its numbers are in a row, and how they are rendered."""

    def __init__(
        self, kind: str, name: str, meaning: str, start: int, labels: Sequence[str] = ("",), label: str = ""
    ) -> None:
        self.kind, self.name, self.meaning, self.start = kind, name, meaning, start
        self._samples = [f'{name}{{{label}="{value}"}}' if label else name for value in labels]
        self.end = start + len(labels)

    def lines(self, row: Sequence[int]) -> Iterator[str]:
        for sample, value in zip(self._samples, row[self.start : self.end], strict=True):
            yield f"{sample} {value}"


class _Histogram(_Family):
    """One number for each bound and one above the last, then the sum of what was observed."""

    def __init__(self, name: str, meaning: str, start: int, bounds: Sequence[int], scale: float = 1) -> None:
        super().__init__("histogram", name, meaning, start)
        self.bounds, self._scale = bounds, scale
        self.sum = start + len(bounds) + 1
        self.end = self.sum + 1

    def lines(self, row: Sequence[int]) -> Iterator[str]:
        seen = 0
        for bound, count in zip((*self.bounds, None), row[self.start : self.sum], strict=True):
            seen += count
            edge = "+Inf" if bound is None else f"{bound / self._scale:g}"
            yield f'{self.name}_bucket{{le="{edge}"}} {seen}'
        yield f"{self.name}_sum {row[self.sum] / self._scale:.6f}"
        yield f"{self.name}_count {seen}"


_DECISIONS = _Family("counter", "remit_decisions_total", "Decisions in the audit log.", 0, RESULTS, "result")
_REFUSALS = _Family(
    "counter", "remit_refusals_total", "Authorize calls answered with an error.", _DECISIONS.end, CODES, "code"
)
_STALE = _Family(
    "counter",
    "remit_stale_retries_total",
    "Plans made again because the agent, its policies or the clock had moved on.",
    _REFUSALS.end,
    REASONS,
    "moved",
)
_LATENCY = _Histogram(
    "remit_decision_latency_seconds",
    "From a call's arrival to its commit, as in latencyMs.",
    _STALE.end,
    LATENCY_US,
    _MICROSECONDS,
)
_ANSWER = _Histogram(
    "remit_answer_latency_seconds",
    "From a call's arrival until its answer or error is ready to send: the replica's share of what a caller waits.",
    _LATENCY.end,
    LATENCY_US,
    _MICROSECONDS,
)
_ROUND_TRIP = _Histogram(
    "remit_store_round_trip_seconds",
    "From sending a commit to reading its reply.",
    _ANSWER.end,
    ROUND_TRIP_US,
    _MICROSECONDS,
)
_BATCH = _Histogram("remit_store_batch_commands", "Commands sent to the store in one write.", _ROUND_TRIP.end, BATCH)
_REPORTED = _Family(
    "counter", "remit_outcomes_total", "Outcomes reported for allowed calls.", _BATCH.end, OUTCOMES, "status"
)
_REFUNDED = _Family(
    "counter",
    "remit_refunds_total",
    "Rate limits and budgets that were refunded because a call was not executed.",
    _REPORTED.end,
)
_DIVERGENCES = _Family(
    "counter",
    "remit_shadow_divergences_total",
    "Decisions that would have had another result if the shadow policies had been enforced.",
    _REFUNDED.end,
    DIRECTIONS,
    "direction",
)
_TRIPS = _Family(
    "counter",
    "remit_breaker_trips_total",
    "Denials that filled a denial breaker, by what it does then.",
    _DIVERGENCES.end,
    TRIPS,
    "action",
)
_CROWDED = _Family(
    "counter",
    "remit_crowded_denials_total",
    "Calls refused because a rule tracks as many values, sessions or amounts as it may.",
    _TRIPS.end,
    CROWDS,
    "of",
)
_FILLING = _Family(
    "counter",
    "remit_approvals_filling_total",
    "Approvals with which four fifths were open of those that may be.",
    _CROWDED.end,
    FILLS,
    "of",
)
_MOVES = _Family(
    "counter",
    "remit_lane_moves_total",
    "Connections that moved to the other lane of their replica, which answers their next request.",
    _FILLING.end,
    LANES,
    "to",
)
_GAUGES = (
    ("remit_agent_cache_bytes", "Estimated bytes of memory of the compiled policies in the cache."),
    ("remit_agent_cache_entries", "Agents whose compiled policies are cached."),
    ("remit_caller_cache_entries", "API keys whose workspace and scopes are cached."),
)
_GAUGE_FAMILIES = tuple(
    _Family("gauge", name, meaning, _MOVES.end + index) for index, (name, meaning) in enumerate(_GAUGES)
)
FAMILIES = (
    _DECISIONS,
    _REFUSALS,
    _STALE,
    _LATENCY,
    _ANSWER,
    _ROUND_TRIP,
    _BATCH,
    _REPORTED,
    _REFUNDED,
    _DIVERGENCES,
    _TRIPS,
    _CROWDED,
    _FILLING,
    _MOVES,
    *_GAUGE_FAMILIES,
)
ROW_BYTES = FAMILIES[-1].end * _WORD

_DECISION_AT = {result: _DECISIONS.start + index for index, result in enumerate(RESULTS)}
_DIVERGENCE_AT = {direction: _DIVERGENCES.start + index for index, direction in enumerate(DIRECTIONS)}
_REFUSAL_AT = {code: _REFUSALS.start + index for index, code in enumerate(CODES)}
_REPORTED_AT = {status: _REPORTED.start + index for index, status in enumerate(OUTCOMES)}
_GAUGE_AT = {family.name: family.start for family in _GAUGE_FAMILIES}


class Metrics:
    """The numbers of one process, and the sums over all that share its memory.

    file: descriptor of the shared memory, `rows` * ROW_BYTES long; None = memory of this process alone.
    row: which row this process writes.
    """

    def __init__(self, file: int | None = None, rows: int = 1, row: int = 0) -> None:
        size = rows * ROW_BYTES
        self._all = memoryview(mmap.mmap(-1 if file is None else file, size)).cast("Q")
        words = ROW_BYTES // _WORD
        self._rows = [self._all[start : start + words] for start in range(0, rows * words, words)]
        self._own = self._rows[row]
        self._gauges: dict[int, Callable[[], int]] = {}

    def write_row(self, row: int) -> None:
        """From now on, this process writes this row."""
        self._own = self._rows[row]

    def decided(self, result: str, latency_us: int) -> None:
        """Count a decision that is in the log."""
        own = self._own
        own[_DECISION_AT[result]] += 1
        own[_LATENCY.start + bisect_left(LATENCY_US, latency_us)] += 1
        own[_LATENCY.sum] += latency_us

    def diverged(self, result: str, would: str) -> None:
        """Count a decision whose entry records that shadow policies would have changed its result."""
        self._own[_DIVERGENCE_AT[f"{result}_{would}"]] += 1

    def ready(self, waited_us: int) -> None:
        """Count a call, and the time from its arrival until its answer, a decision or a refusal, was ready."""
        own = self._own
        own[_ANSWER.start + bisect_left(LATENCY_US, waited_us)] += 1
        own[_ANSWER.sum] += waited_us

    def refused(self, code: str) -> None:
        """Count an authorize call that got an error instead of a decision."""
        self._own[_REFUSAL_AT.get(code, _REFUSAL_AT["other"])] += 1

    def went_stale(self, *, version_moved: bool) -> None:
        """Count a plan that was out of date and must be made again."""
        self._own[_STALE.start + (not version_moved)] += 1

    def breaker_tripped(self, action: str) -> None:
        """Count a denial that filled a breaker with this action."""
        self._own[_TRIPS.start + TRIPS.index(action)] += 1

    def crowded(self, what: str) -> None:
        """Count a call that was refused because a rule already tracks the most values or sessions that it may."""
        self._own[_CROWDED.start + CROWDS.index(what)] += 1

    def filling(self, what: str) -> None:
        """Count an approval with which this has four fifths of those open that it may have."""
        self._own[_FILLING.start + FILLS.index(what)] += 1

    def moved(self, to_fast: bool) -> None:
        """Count a connection sent to the other lane."""
        self._own[_MOVES.start + (not to_fast)] += 1

    def answered(self, round_trip_us: int) -> None:
        """Count a commit that the store has answered, and its round trip."""
        own = self._own
        own[_ROUND_TRIP.start + bisect_left(ROUND_TRIP_US, round_trip_us)] += 1
        own[_ROUND_TRIP.sum] += round_trip_us

    def sent(self, commands: int) -> None:
        """Count the commands sent to the store in one write."""
        own = self._own
        own[_BATCH.start + bisect_left(BATCH, commands)] += 1
        own[_BATCH.sum] += commands

    def reported(self, status: str, refunded: int) -> None:
        """Count an outcome logged for the first time. refunded: how many limits were given back."""
        self._own[_REPORTED_AT[status]] += 1
        self._own[_REFUNDED.start] += refunded

    def watch(self, name: str, read: Callable[[], int]) -> None:
        """Register the gauge `name`: `refresh` sets it to the value of `read`."""
        self._gauges[_GAUGE_AT[name]] = read

    def refresh(self) -> None:
        """Update this process's gauges."""
        for index, read in self._gauges.items():
            self._own[index] = read()

    def render(self) -> str:
        """All numbers, summed over the processes, in the text format of Prometheus."""
        self.refresh()
        sums = [sum(column) for column in zip(*self._rows, strict=True)]
        lines: list[str] = []
        for family in FAMILIES:
            lines += (f"# HELP {family.name} {family.meaning}", f"# TYPE {family.name} {family.kind}")
            lines += family.lines(sums)
        return "\n".join([*lines, ""])


def gauge_text(name: str, meaning: str, value: float) -> str:
    """A gauge that is the same in every process, rendered like those of `Metrics.render`."""
    return f"# HELP {name} {meaning}\n# TYPE {name} gauge\n{name} {value:.15g}\n"
