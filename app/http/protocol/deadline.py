"""One timer for everything a connection waits for."""

import asyncio
from collections.abc import Callable
from typing import Final

NEVER: Final = float("inf")


class Deadline:
    """Calls `expired` once the time set last has passed.

    Setting it only stores a number. The loop's timer is moved only if it would fire too late; if it fires too early, it
    is set again.
    """

    __slots__ = ("_due", "_expired", "_loop", "_tick", "_tick_at")

    def __init__(self, loop: asyncio.AbstractEventLoop, expired: Callable[[], None]) -> None:
        self._loop, self._expired = loop, expired
        self._due = self._tick_at = NEVER
        self._tick: asyncio.TimerHandle | None = None

    def after(self, seconds: float) -> None:
        """Expire after this many seconds, replacing any earlier setting."""
        self._due = self._loop.time() + seconds
        if self._due < self._tick_at:
            self._schedule()

    def never(self) -> None:
        """Do not expire."""
        self._due = NEVER

    def end(self) -> None:
        """Cancel the loop's timer, and forget what it would have called."""
        self.never()
        self._expired = _nothing
        if self._tick is not None:
            self._tick.cancel()

    def _schedule(self) -> None:
        if self._tick is not None:
            self._tick.cancel()
        self._tick_at = self._due
        self._tick = self._loop.call_at(self._due, self._look)

    def _look(self) -> None:
        self._tick, self._tick_at = None, NEVER
        if self._due <= self._loop.time():
            self.never()
            self._expired()
        elif self._due < NEVER:
            self._schedule()


def _nothing() -> None:
    """What happens at the deadline of what has ended."""
