"""One caller, who asks again once the answer is there."""

import time
from collections.abc import Callable

from bench.harness.processes import Replica
from bench.harness.table import Sample

CPU, P50 = "service CPU ms", "p50 ms"
"""What one question costs the replica, and how long the caller waits for its answer."""


def one_after_the_other(ask: Callable[[], object], replica: Replica, seconds: float, fewest: int) -> Sample:
    """Ask for this long, and at least so many times."""
    times: list[float] = []
    before, until = replica.cpu_us(), time.monotonic() + max(seconds, 1)
    while time.monotonic() < until or len(times) < fewest:
        start = time.perf_counter()
        ask()
        times.append((time.perf_counter() - start) * 1e3)
    spent_ms = (replica.cpu_us() - before) / 1e3
    return {CPU: spent_ms / len(times), P50: sorted(times)[len(times) // 2]}
