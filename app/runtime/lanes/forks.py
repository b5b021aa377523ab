"""Processes that share what their parent has loaded: forked from it, and forked again if they are killed or hang."""

import ctypes
import logging
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence

from app.runtime.lanes.heartbeats import BEAT_SECONDS, MISSED_MAX, Heartbeats
from app.runtime.lanes.scheduling import waited_seconds

log = logging.getLogger(__name__)
_RESPAWN_SECONDS = 1.0
_PR_SET_PDEATHSIG, _PR_SET_NAME = 1, 15
_END_SIGNALS = frozenset({signal.SIGTERM, signal.SIGINT})
_SIGNALS = _END_SIGNALS | {signal.SIGCHLD}


def forked(names: Sequence[str], on_end: Callable[[], None], hearts: Heartbeats) -> int:
    """Fork a process for each name, and return in each with its index. The parent never returns.

    The parent passes SIGTERM and SIGINT on and ends when its children have. A child that hangs is killed, and a
    killed one is forked again, at most once a second, until its successor starts. When one ends by itself, the others
    are told to end, and its exit code is the parent's. When the parent is killed, the kernel kills its children. No
    thread may have been started before.

    on_end: called in the parent when its children have been told to end. hearts: has a counter for each.
    """
    signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    parent = _Parent(names, on_end, hearts)
    for index in range(len(names)):
        if parent.fork(index):
            return index
    return parent.stay()


class _Parent:
    def __init__(self, names: Sequence[str], on_end: Callable[[], None], hearts: Heartbeats) -> None:
        self._names, self._on_end, self._hearts = names, on_end, hearts
        self._pid = os.getpid()
        self._libc = ctypes.CDLL(None) if sys.platform == "linux" else None
        self._children: dict[int, int] = {}
        self._born = [0.0] * len(names)
        self._looks_at = 0.0
        self._successors: set[int] = set()

    def fork(self, index: int) -> bool:
        """Fork; True in the child."""
        self._hearts.begin(index)
        pid = os.fork()
        if pid:
            self._children[pid] = index
            self._born[index] = time.monotonic()
            return False
        if self._libc is not None:
            self._libc.prctl(_PR_SET_NAME, self._names[index].encode())
            self._libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() != self._pid:
                os._exit(1)  # the parent was killed in between, so no signal would come
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
        return True

    def stay(self) -> int:
        """Return, in a child that is forked later, with its index; in the parent, exit with the children's code."""
        code, ending, missing = 0, False, set[int]()
        while self._children or (missing and not ending):
            received = self._next_signal(missing)
            if received in _END_SIGNALS:
                ending = True
                self._end()
            for index, ended in self._ended():
                was_killed = ended < 0 and -ended not in _END_SIGNALS
                if ending:
                    code = max(code, int(was_killed))
                elif was_killed:
                    missing.add(index)
                    log.error("%s was killed by signal %s; starting another", self._names[index], -ended)
                elif index in self._successors and self._hearts.is_starting(index):
                    missing.add(index)
                    log.error("%s did not start (code %s); trying again", self._names[index], ended)
                else:
                    code, ending = max(1, ended), True
                    self._end()
            self._kill_still()
            for index in [] if ending else sorted(missing):
                if time.monotonic() - self._born[index] >= _RESPAWN_SECONDS and self._fork_again(index, missing):
                    return index
        sys.exit(code)

    def _fork_again(self, index: int, missing: set[int]) -> bool:
        """Fork again; True in the child. A fork that fails is tried again a second later."""
        try:
            self._successors.add(index)
            is_child = self.fork(index)
        except OSError as error:
            self._born[index] = time.monotonic()
            log.error("%s cannot be started: %s; trying again", self._names[index], error)  # noqa: TRY400
            return False
        missing.discard(index)
        return is_child

    def _next_signal(self, missing: set[int]) -> int | None:
        """The next signal, or None when it is time to fork one of the missing or to look at the others."""
        due = min([self._looks_at, *(self._born[index] + _RESPAWN_SECONDS for index in missing)])
        info = signal.sigtimedwait(_SIGNALS, max(0.0, due - time.monotonic()))
        return None if info is None else info.si_signo

    def _kill_still(self) -> None:
        """Kill the children that hang, once it is time to look; their end is noticed like any other."""
        now = time.monotonic()
        if now < self._looks_at:
            return
        self._looks_at = now + BEAT_SECONDS
        for pid, index in self._children.items():
            if self._hearts.stands_still(index, waited_seconds(pid)):
                log.error("%s has stood still for %.0f s; it is killed", self._names[index], MISSED_MAX * BEAT_SECONDS)
                os.kill(pid, signal.SIGKILL)

    def _ended(self) -> list[tuple[int, int]]:
        """The children that have ended: index, and exit code or minus the signal."""
        ended = []
        while self._children:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                break
            ended.append((self._children.pop(pid), os.waitstatus_to_exitcode(status)))
        return ended

    def _end(self) -> None:
        self._on_end()
        for pid in self._children:
            os.kill(pid, signal.SIGTERM)
