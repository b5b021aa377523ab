"""The calls that sessions were allowed during a replay: the marks that sequence rules look up."""

from collections.abc import Collection, Iterable

from app.model.marks import MAX_SESSIONS
from app.model.plans import HistoryCheck, Mark
from app.replay.spans import Room, Timeline

_US_PER_MS = 1000
_NEVER = -(1 << 60)
_Latest = dict[tuple[str, str, str], list[int]]
"""By agent (none = any), session and mark: when a call was certainly last allowed, and when it last may have been."""


class Sessions:
    """The marks of all sessions: those certainly left, and those that may have been."""

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        self.latest: _Latest = {}
        self.anywhere: dict[str, int] = {}
        """When a mark may have been left in an unknown session."""
        self.live: dict[tuple[str, str], dict[str, int]] = {}
        self.in_doubt: set[str] = set()

    def room(self, check: HistoryCheck, agent_id: str) -> Room:
        """YES if the rule passes; NO if the session forbids the call, or was not allowed what the rule requires."""
        whose = "" if check.forbids else agent_id
        certain = possible = _NEVER
        for mark in check.marks:
            times = self.latest.get((whose, check.session, mark))
            if times is not None:
                certain, possible = max(certain, times[0]), max(possible, times[1])
            possible = max(possible, self.anywhere.get(mark, _NEVER))
        now_ms, slack_ms = self._timeline.now_ms, self._timeline.slack_ms
        window_ms = check.window_us // _US_PER_MS
        if certain + window_ms > now_ms + slack_ms:
            return Room.NO if check.forbids else Room.YES
        if possible + window_ms < now_ms - slack_ms:
            return Room.YES if check.forbids else Room.NO
        return Room.UNKNOWN

    def crowded(self, session: str, marks: Iterable[Mark], agent_id: str) -> Room:
        """YES if the agent may leave these marks in one more session."""
        worst = Room.YES
        now_ms, slack_ms = self._timeline.now_ms, self._timeline.slack_ms
        for mark in marks:
            live = self.live.get((agent_id, mark.name))
            if live is None or len(live) < MAX_SESSIONS or live.get(session, 0) > now_ms + slack_ms:
                continue
            for name in [name for name, until_ms in live.items() if until_ms < now_ms - slack_ms]:
                del live[name]
            if len(live) < MAX_SESSIONS:
                continue
            certain = sum(until_ms > now_ms + slack_ms for until_ms in live.values())
            if certain >= MAX_SESSIONS and session not in live and mark.name not in self.in_doubt:
                return Room.NO
            worst = Room.UNKNOWN
        return worst

    def leave(self, session: str, marks: Iterable[Mark], agent_id: str, *, certain: bool) -> None:
        """Leave the marks of a call that was allowed, or may have been. session: "" = unknown."""
        now_ms = self._timeline.now_ms
        for mark in marks:
            if not session:
                self.anywhere[mark.name] = now_ms
                self.in_doubt.add(mark.name)
                continue
            for whose, counts_us in (("", mark.shared_us), (agent_id, mark.own_us)):
                if counts_us:
                    times = self.latest.setdefault((whose, session, mark.name), [_NEVER, _NEVER])
                    times[1] = now_ms
                    if certain:
                        times[0] = now_ms
            if not certain:
                self.in_doubt.add(mark.name)
            until_ms = now_ms + max(mark.shared_us, mark.own_us) // _US_PER_MS
            self.live.setdefault((agent_id, mark.name), {})[session] = until_ms

    def mark_uncertain(self, marks: Iterable[str]) -> None:
        """From here on, it is unknown in which sessions these marks were left before."""
        for mark in marks:
            self.anywhere[mark] = self._timeline.now_ms
            self.in_doubt.add(mark)

    def replace_with(self, other: "Sessions", without: Collection[str]) -> None:
        """Replace all marks with the other's, except those in `without`."""
        for held in [each for each in self.latest if each[2] not in without]:
            del self.latest[held]
        self.latest.update((each, times) for each, times in other.latest.items() if each[2] not in without)
        for crowd in [each for each in self.live if each[1] not in without]:
            del self.live[crowd]
        self.live.update((each, held) for each, held in other.live.items() if each[1] not in without)
        self.anywhere.update((mark, at_ms) for mark, at_ms in other.anywhere.items() if mark not in without)
        self.in_doubt |= other.in_doubt
