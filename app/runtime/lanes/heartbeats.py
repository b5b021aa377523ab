"""Heartbeats, by which a parent notices that a forked process's event loop hangs."""

import mmap
from collections.abc import Callable
from typing import Final

BEAT_SECONDS = 1.0
"""Seconds between two beats of a loop, and between two looks of the parent."""

MISSED_MAX: Final = 10
"""A loop that misses this many looks hangs: no step takes nearly that long."""

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

    def begin(self, index: int) -> None:
        """A process is about to be forked."""
        self._beats[index] = self._seen[index] = self._missed[index] = 0

    def is_starting(self, index: int) -> bool:
        """True until its first beat."""
        return not self._beats[index]

    def beat(self, index: int) -> None:
        """This process's loop goes on."""
        self._beats[index] += 1

    def keep_beating(self, index: int, later: Callable[[float, Callable[[], None]], object]) -> None:
        """Beat now and from then on. later: the loop's `call_later`."""
        self.beat(index)
        later(BEAT_SECONDS, lambda: self.keep_beating(index, later))

    def stands_still(self, index: int, waited_s: float = 0.0) -> bool:
        """Look, once in BEAT_SECONDS. True if the process has beaten before, but not in the last MISSED_MAX looks.

        waited_s: how long it has waited for a core since it was forked. The time waited since its last beat does not
        count.
        """
        beats = self._beats[index]
        if not beats or beats != self._seen[index]:
            self._seen[index], self._missed[index], self._waited_s[index] = beats, 0, waited_s
        else:
            self._missed[index] += 1
        return self._missed[index] - (waited_s - self._waited_s[index]) / BEAT_SECONDS >= MISSED_MAX
