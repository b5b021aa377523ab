"""The signals that end `remit serve`."""

import signal
import time
from types import FrameType

TICK_SECONDS = 0.05
"""The time between two looks of `remit serve` at its children."""


class Told(Exception):
    """A signal came before the service was up."""


class Signals:
    """Counts SIGINT, SIGTERM and SIGHUP: the first asks the service to drain, the second hurries it.

    SIGHUP means that the terminal is closed. It hurries nothing, because both the kernel and the shell may send it, and
    stays ignored if it was (`nohup`). The handler only counts: an exception raised in it could surface anywhere.
    """

    def __init__(self) -> None:
        self.told = 0
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if number is not signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, self._take)

    def _take(self, number: int, _frame: FrameType | None) -> None:
        if number != signal.SIGHUP or not self.told:
            self.told += 1

    def check(self) -> None:
        """Raise Told if a signal has come, which ends the start."""
        if self.told:
            raise Told

    def pause(self) -> None:
        """Wait for a moment. Raises Told if a signal has come."""
        self.check()
        time.sleep(TICK_SECONDS)
