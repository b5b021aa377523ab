"""Heartbeats, by which a parent notices that a forked process's event loop stands still."""

import mmap
from collections.abc import Callable
from typing import Final

BEAT_SECONDS = 1.0
"""Seconds between two beats of a loop, and between two looks of the parent."""

MISSED_MAX: Final = 10
"""A loop that misses this many looks stands still: no step takes nearly that long."""

_WORD = 8


class Heartbeats:
    """A counter for each process, in memory shared with processes forked later.

    It counts looks, not seconds, so a frozen container or a suspended machine, which stops parent and child alike, does
    not count. Neither does the time that the process waited for a core. A process that has not beaten yet is starting,
    however long that takes.
    """

    def __init__(self, processes: int) -> None:
        self._beats = memoryview(mmap.mmap(-1, processes * _WORD)).cast("Q")
        self._seen, self._missed = [0] * processes, [0] * processes
        self._waited_s = [0.0] * processes

    def begin(self, place: int) -> None:
        """A process is about to be forked."""
        self._beats[place] = self._seen[place] = self._missed[place] = 0

    def is_starting(self, place: int) -> bool:
        """Whether it has not beaten yet."""
        return not self._beats[place]

    def beat(self, place: int) -> None:
        """This process's loop goes on."""
        self._beats[place] += 1

    def keep_beating(self, place: int, later: Callable[[float, Callable[[], None]], object]) -> None:
        """Beat now and from then on. later: the loop's `call_later`."""
        self.beat(place)
        later(BEAT_SECONDS, lambda: self.keep_beating(place, later))

    def stands_still(self, place: int, waited_s: float = 0.0) -> bool:
        """Look, once in BEAT_SECONDS: whether the process has beaten before, but not in the last MISSED_MAX looks.

        waited_s: how long it has waited for a core since it was forked. What it waited since its last beat counts as no
        look at all.
        """
        beats = self._beats[place]
        if not beats or beats != self._seen[place]:
            self._seen[place], self._missed[place], self._waited_s[place] = beats, 0, waited_s
        else:
            self._missed[place] += 1
        return self._missed[place] - (waited_s - self._waited_s[place]) / BEAT_SECONDS >= MISSED_MAX
