"""The clock by which durations within one machine are measured."""

import time


def monotonic_us() -> int:
    """This machine's monotonic clock in us: it never steps, and both lanes of a replica read the same."""
    return time.monotonic_ns() // 1000
