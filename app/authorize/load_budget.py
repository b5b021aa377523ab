"""How much of the fast lane's time each workspace may spend on loading agents."""

import time
from collections.abc import Callable

from app.lane import Lane

_REFILL = 0.25
"""The share of the time that a workspace may spend."""

_MOST_S = 0.25
"""What a workspace may spend at once if it has spent nothing for a second, in seconds."""

_UNNOTICED_S, _DEARER = 0.001, 50
"""Loading that takes longer delays other calls noticeably, so the time beyond this counts that many times."""

_MANY = 1_000
"""Workspaces, beyond which those that have spent nothing lately are forgotten."""


class LoadBudget:
    """What each workspace may still spend. A load may overdraw it; the next ones then wait until it is paid back.

    Meanwhile the slow lane answers for the agents that are not in this lane's cache. So a workspace delays no other,
    although its agents change all the time or do not fit into the cache.
    """

    def __init__(self, lane: Lane, clock: Callable[[], float] = time.monotonic) -> None:
        self._lane = lane
        self._clock = clock
        self._full_at: dict[str, float] = {}

    def begin(self, workspace_id: str) -> None:
        """Set aside what a small agent takes. Raises TakesLong if nothing is left and the slow lane can answer."""
        if self._full_at.get(workspace_id, 0.0) - self._clock() > _MOST_S / _REFILL:
            self._lane.require_short()
        self._spend(workspace_id, _UNNOTICED_S)

    def end(self, workspace_id: str, seconds: float) -> None:
        """The load that began has taken this long, in seconds of CPU time."""
        self._spend(workspace_id, seconds - _UNNOTICED_S + max(0.0, seconds - _UNNOTICED_S) * _DEARER)

    def _spend(self, workspace_id: str, seconds: float) -> None:
        now = self._clock()
        if len(self._full_at) > _MANY:
            self._full_at = {each: at for each, at in self._full_at.items() if at > now}
        self._full_at[workspace_id] = max(now, self._full_at.get(workspace_id, 0.0)) + seconds / _REFILL
