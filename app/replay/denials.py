"""Denial breakers during a replay: the denials they have counted, and the agents they have suspended."""

from collections import deque
from collections.abc import Collection, Iterable
from functools import partial
from itertools import islice, takewhile

from app.model.plans import DenialCount
from app.model.quotas import MAX_DENIALS
from app.replay.spans import Room, Timeline

_US_PER_MS = 1000
_Breaker = tuple[str, str]
"""A policy's id and a rule's fingerprint."""

_Times = deque[int]
_NONE: tuple[_Times, _Times] = (deque(), deque())


class Denials:
    """The denied calls of each agent, by breaker and bucket: those certainly counted, and those that may have been.

    trips: how often a breaker has certainly suspended an agent.
    """

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        self.counts: dict[tuple[str, str, str, str], tuple[_Times, _Times]] = {}
        self._suspended: dict[str, Room] = {}
        self.in_doubt_ms: int | None = None
        self.unnamed_ms: dict[_Breaker, int] = {}
        self.trips = 0

    def standing(self, agent_id: str) -> Room:
        """The agent's standing: NO if a breaker has suspended it."""
        return self._suspended.get(agent_id, Room.YES)

    def room(self, breaker: DenialCount, agent_id: str) -> Room:
        """The breaker's room: NO once it has tripped."""
        counts = self.counts.get(_name(breaker, agent_id), _NONE)
        now_ms, slack_ms = self._timeline.now_ms, self._timeline.slack_ms
        begin_ms = now_ms - breaker.window_us // _US_PER_MS
        certain = counts[0]
        # A denial exactly one window ago no longer counts, as in rate limits.
        if len(certain) >= breaker.max_denials and certain[-breaker.max_denials] > begin_ms + slack_ms:
            return Room.NO
        unnamed_ms = self.unnamed_ms.get((breaker.policy_id, breaker.fingerprint))
        if any(ms is not None and ms >= begin_ms - slack_ms for ms in (self.in_doubt_ms, unnamed_ms)):
            return Room.UNKNOWN
        most = sum(map(partial(_newer, begin_ms - slack_ms, breaker.max_denials), counts))
        return Room.YES if most < breaker.max_denials else Room.UNKNOWN

    def deny(
        self, breakers: Iterable[DenialCount], agent_id: str, *, certain: bool = True, suspends: bool = True
    ) -> None:
        """Count a call that was denied, or may have been. suspends: a breaker that trips suspends the agent."""
        for breaker in breakers:
            name = _name(breaker, agent_id)
            counts = self.counts.get(name)
            if counts is None:
                counts = self.counts[name] = (deque(maxlen=MAX_DENIALS), deque(maxlen=MAX_DENIALS))
            counts[not certain].append(self._timeline.now_ms)
            if suspends and breaker.suspends:
                room = self.room(breaker, agent_id)
                if room is not Room.YES and self._suspended.get(agent_id) is not Room.NO:
                    self._suspended[agent_id] = room
                    self.trips += room is Room.NO

    def deny_unnamed(self, breaker: _Breaker) -> None:
        """Note that a call may have been denied that the breaker counts in an unknown bucket."""
        self.unnamed_ms[breaker] = self._timeline.now_ms

    def resume(self, agent_id: str) -> None:
        """Note that people made the agent active again: its breakers start at zero."""
        self._suspended.pop(agent_id, None)
        for name in [each for each in self.counts if each[0] == agent_id]:
            del self.counts[name]

    def mark_uncertain(self) -> None:
        """From here on, earlier denials are uncertain."""
        self.in_doubt_ms = self._timeline.now_ms

    def replace_with(self, other: "Denials", without: Collection[_Breaker]) -> None:
        """Replace all counts with the other's, except those of the breakers in `without`."""
        for name in [each for each in self.counts if each[1:3] not in without]:
            del self.counts[name]
        self.counts.update((name, held) for name, held in other.counts.items() if name[1:3] not in without)
        self.unnamed_ms.update((name, ms) for name, ms in other.unnamed_ms.items() if name not in without)
        self.in_doubt_ms = max(filter(None, (self.in_doubt_ms, other.in_doubt_ms)), default=None)


def _name(breaker: DenialCount, agent_id: str) -> tuple[str, str, str, str]:
    return agent_id, breaker.policy_id, breaker.fingerprint, breaker.bucket


def _newer(begin_ms: int, most: int, times: _Times) -> int:
    """The number of times that may be in the window that begins at begin_ms, counted up to `most`."""
    newest = islice(reversed(times), most)
    return sum(1 for _ in takewhile(lambda time_ms: time_ms >= begin_ms, newest))
