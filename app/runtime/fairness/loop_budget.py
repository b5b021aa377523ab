"""Limits the share of the fast lane's loop that each workspace may take."""

import time
from collections.abc import Callable
from typing import TypeVar

from app.runtime.lanes.lane import Lane

NOTICED_S = 0.00025
"""Seconds; a step that takes longer delays the calls of others noticeably."""

_REFILL = 0.25
"""The share of the time that a workspace may take."""

_DELAYING = 0.001
"""The share of the time by which its steps may exceed NOTICED_S; it stays well below the 1 % that others' p99 shows."""

_MOST_S = 0.25
"""Seconds that a workspace may take at once if it has taken none for a second."""

_ALONE_AFTER_S = 60.0
"""Seconds; a key that has been the only one to ask for this long does not delay others."""

_WATCHED_S = 60.0
"""Seconds; a key whose calls have been short for this long is no longer measured."""

_MANY = 1_000
"""The most workspaces, and keys, remembered; those that have taken nothing lately are forgotten first."""

Made = TypeVar("Made")


class LoopBudget:
    """The time that each workspace may still take of the loop: for loading agents, and for calls once one took long.

    Those of its keys that have had a long call lately have equal parts of it; the others are not measured. A step may
    overdraw a key's part. Until it has paid back, the slow lane answers such calls of it. So neither a workspace nor a
    key delays others, although its agents change all the time, do not fit into the cache, or have patterns that are
    just quick enough, or its calls take long to read.
    """

    def __init__(
        self, lane: Lane, clock: Callable[[], float] = time.monotonic, cpu_clock: Callable[[], float] = time.thread_time
    ) -> None:
        self._lane = lane
        self._clock = clock
        self._cpu_clock = cpu_clock
        self._full_at: dict[tuple[str, str], float] = {}
        self._others_until = 0.0
        self._latest = ""
        self._watched_until: dict[str, dict[str, float]] = {}  # by workspace and key, those that end first first

    def run(self, workspace_id: str, key: str, step: Callable[..., Made], *what: object) -> Made:
        """Run `step(*what)`: return or raise what it does. Raises MoveToSlowLane if the slow lane must answer.

        key: who asks. A step is long by the CPU time of its thread, not by what else the machine did meanwhile.
        """
        if key != self._latest:
            self._switch(key)
        watched = self._watched_until.get(workspace_id)
        if watched is None or key not in watched:
            began = self._cpu_clock()
            try:
                return step(*what)
            finally:
                if self._cpu_clock() - began > NOTICED_S:
                    self._watch(workspace_id, key)
        now = self._clock()
        self._require_share(workspace_id, key, now)
        began = self._cpu_clock()
        try:
            return step(*what)
        finally:
            seconds = self._cpu_clock() - began
            if seconds > NOTICED_S:
                self._watch(workspace_id, key)
                seconds += _extra(seconds)
            self._take(workspace_id, key, now, seconds)

    def begin(self, workspace_id: str, key: str) -> None:
        """Reserve the time of a short step. Raises MoveToSlowLane if nothing is left and the slow lane can answer."""
        now = self._clock()
        self._require_share(workspace_id, key, now)
        self._take(workspace_id, key, now, NOTICED_S)

    def end(self, workspace_id: str, key: str, seconds: float, beside: float = 0.0) -> None:
        """The step that began has taken this much CPU time of the loop, and `beside` of a thread, in seconds."""
        self._take(workspace_id, key, self._clock(), seconds - NOTICED_S + _extra(seconds) + beside)

    def _switch(self, key: str) -> None:
        """A call of another key than the latest has come."""
        if self._latest:
            self._others_until = self._clock() + _ALONE_AFTER_S
        self._latest = key

    def _watch(self, workspace_id: str, key: str) -> None:
        """Measure the calls of this key until all of them have been short for a while."""
        watched = self._watched_until.setdefault(workspace_id, {})
        if watched.pop(key, None) is None and sum(map(len, self._watched_until.values())) > _MANY:
            self._watched_until = {workspace_id: (watched := {})}
        watched[key] = self._clock() + _WATCHED_S

    def _parts(self, workspace_id: str, now: float) -> int:
        """Among how many keys the workspace's budget is divided; those whose time has passed are forgotten."""
        watched = self._watched_until.get(workspace_id, {})
        while watched and next(iter(watched.values())) < now:
            del watched[next(iter(watched))]
        if not watched:
            self._watched_until.pop(workspace_id, None)
        return max(1, len(watched))

    def _require_share(self, workspace_id: str, key: str, now: float) -> None:
        if self._full_at.get((workspace_id, key), 0.0) - now > _MOST_S / _REFILL and now < self._others_until:
            self._lane.require_short()

    def _take(self, workspace_id: str, key: str, now: float, seconds: float) -> None:
        if len(self._full_at) > _MANY:
            self._full_at = {each: at for each, at in self._full_at.items() if at > now}
        refill, of = _REFILL / self._parts(workspace_id, now), (workspace_id, key)
        self._full_at[of] = max(now, self._full_at.get(of, 0.0)) + seconds / refill


def _extra(seconds: float) -> float:
    """Seconds charged for a step of this length beyond its own time."""
    return max(0.0, seconds - NOTICED_S) * _REFILL / _DELAYING
