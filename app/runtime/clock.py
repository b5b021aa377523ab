"""Two clocks: this machine's, for durations, and an estimate of the store's, the only one that decides."""

import time


def monotonic_us() -> int:
    """This machine's monotonic clock in us: it never steps, and both lanes of a replica read the same."""
    return time.monotonic_ns() // 1000


class StoreClock:
    """An estimate of the store's TIME, corrected by every round trip. Nothing relies on it being exact.

    The store read its clock after the command left and before the reply came, so each reply bounds the offset
    between that clock and our monotonic one from both sides. The offset is kept within the newest bounds: it
    follows a step of the store's clock at once and never drifts further than one round trip.
    """

    def __init__(self) -> None:
        self._offset_us = time.time_ns() // 1000 - monotonic_us()

    def now_us(self) -> int:
        """The store's time, us since the epoch, as far as we know."""
        return monotonic_us() + self._offset_us

    def at(self, moment_us: int) -> int:
        """The store's time at one of our `monotonic_us()`."""
        return moment_us + self._offset_us

    def observe(self, sent_us: int, received_us: int, time_us: int) -> None:
        """Learn from a reply that carried TIME; `sent_us` and `received_us` are our monotonic times."""
        self._offset_us = min(max(self._offset_us, time_us - received_us), time_us - sent_us)
