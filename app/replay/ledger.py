"""The traces of calls during a replay: what they took from limits, their marks in sessions, denials in breakers."""

from collections import deque
from collections.abc import Collection, Iterable
from functools import partial
from itertools import islice, takewhile

from app.model.agents import AgentStatus
from app.model.decision_codes import DecisionCode
from app.model.decisions import Outcome, Result
from app.model.marks import MAX_SESSIONS, TOO_MANY_SESSIONS
from app.model.plans import Check, DenialCount, HistoryCheck, Mark, Quota, RecordCheck, RememberedCheck
from app.model.quotas import MAX_DENIALS
from app.model.records import MAX_RECORDS, Reported, digest, stored
from app.pdp.compiled import INACTIVE
from app.pdp.rules.records import read_record
from app.replay.buckets import Buckets
from app.replay.replayed_call import ReplayedCall
from app.replay.spans import Limit, Room, Timeline

_US_PER_MS = 1000
_Breaker = tuple[str, str]
"""A policy's id and a rule's fingerprint."""

_Times = deque[int]
_NONE: tuple[_Times, _Times] = (deque(), deque())
_NEVER = -(1 << 60)
_Latest = dict[tuple[str, str, str], list[int]]
"""By agent (none = any), session and mark: when a call was certainly last allowed, and when it last may have been."""


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


class Sessions:
    """The marks of all sessions: those certainly left, and those that may have been."""

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        self.latest: _Latest = {}
        self.anywhere: dict[str, int] = {}
        """When a mark may have been left in an unknown session."""
        self.ended_anywhere: dict[str, int] = {}
        """When a mark may have been ended in an unknown session."""
        self.live: dict[tuple[str, str], dict[str, int]] = {}
        self.in_doubt: set[str] = set()

    def room(self, check: HistoryCheck, agent_id: str) -> Room:
        """YES if the rule passes; NO if the session forbids the call, or was not allowed what the rule requires."""
        whose = "" if check.forbids else agent_id
        certain = possible = _NEVER
        for mark in check.marks:
            times = self.latest.get((whose, check.session, mark))
            if times is not None:
                was_ended = check.spends and times[0] <= self.ended_anywhere.get(mark, _NEVER)
                certain, possible = max(certain, _NEVER if was_ended else times[0]), max(possible, times[1])
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

    def end(self, checks: Iterable[HistoryCheck], agent_id: str, *, certain: bool) -> None:
        """End the marks that a call used up which was allowed, or may have been."""
        for check in checks:
            for mark in check.marks if check.spends else ():
                times = self.latest.get((agent_id, check.session, mark))
                if times is not None:
                    times[0] = _NEVER
                    times[1] = _NEVER if certain else times[1]

    def end_anywhere(self, marks: Iterable[str]) -> None:
        """Note that a call may have used up these marks, in an unknown session."""
        self.ended_anywhere.update(dict.fromkeys(marks, self._timeline.now_ms))

    def mark_uncertain(self, marks: Iterable[str]) -> None:
        """From here on, it is unknown in which sessions these marks were left before."""
        for mark in marks:
            self.anywhere[mark] = self.ended_anywhere[mark] = self._timeline.now_ms
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
        self.ended_anywhere.update((mark, ms) for mark, ms in other.ended_anywhere.items() if mark not in without)
        self.in_doubt |= other.in_doubt


class Records:
    """What was reported of the results of calls, by agent and session: as the store has it, the oldest first."""

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        self._stored: dict[tuple[str, str], dict[str, str]] = {}

    def report(self, agent_id: str, session: str, tool: str, records: Reported) -> None:
        """Keep what a runtime reports of a call that is executed now; of many records the newest stay."""
        held = self._stored.setdefault((agent_id, session), {})
        for name, fields in records.items():
            held.pop(digest(name), None)
            held[digest(name)] = f"{self._timeline.now_ms} {stored(tool, fields)}"
        for oldest in list(held)[:-MAX_RECORDS]:
            del held[oldest]

    def fits(self, check: RecordCheck, agent_id: str) -> bool:
        """Whether such a record was reported, and is as the rule wants it."""
        found = self._stored.get((agent_id, check.session), {}).get(check.record)
        return read_record(check, found, self._timeline.now_ms)[1]


class Ledger:
    """Buckets, sessions, breakers and records on one timeline.

    remembered: whether people have approved the values that rules look up, and pinned the requests, and whether records
    fit of which neither an entry says anything nor `records`. The log does not say which, nor for how long, so a replay
    does not know; in a test of policies nothing has been approved or pinned, and nothing reported but by its calls.
    """

    def __init__(self, timeline: Timeline, remembered: Room = Room.UNKNOWN) -> None:
        self._remembered = remembered
        self.buckets = Buckets(timeline)
        self.sessions = Sessions(timeline)
        self.denials = Denials(timeline)
        self.records = Records(timeline)

    def outcomes(self, call: ReplayedCall, agent_id: str) -> list[Outcome]:
        """The possible outcomes of the call. Its first full quota decides; several if that quota is uncertain."""
        outcomes = []
        standing = self.denials.standing(agent_id)
        if standing is not Room.YES:
            outcomes.append(INACTIVE[AgentStatus.SUSPENDED].outcome)
            if standing is not Room.UNKNOWN:
                return outcomes
        for quota in call.plan.quotas:
            room = self._room(quota, agent_id, call)
            if room is not Room.YES:
                outcomes.append(quota.when_full)
                if room is not Room.UNKNOWN:
                    return outcomes
        return self._with_marks(call, agent_id, [*outcomes, call.plan.outcome])

    def approved(self, call: ReplayedCall, agent_id: str, reason: str) -> tuple[list[Outcome], bool]:
        """The possible outcomes for a call that people had approved, and whether a rule still asks people about it.

        The approval satisfies every rule that asks people; rules that deny still deny.
        """
        outcome = call.plan.outcome
        if outcome.result is Result.DENIED or self.denials.standing(agent_id) is not Room.YES:
            return self.outcomes(call, agent_id), False
        outcomes, asks_people = [], outcome.result is Result.ESCALATED
        for quota in call.all_quotas():
            room = self._room(quota, agent_id, call)
            if quota.when_full.result is Result.ESCALATED and room in (Room.NO, Room.UNKNOWN):
                asks_people = True
            elif room is not Room.YES:
                outcomes.append(quota.when_full)
                if room is not Room.UNKNOWN:
                    return outcomes, asks_people
        allowed = Outcome(Result.ALLOWED, outcome.policy_id, outcome.rule, reason, DecisionCode.ALLOWED)
        return self._with_marks(call, agent_id, [*outcomes, allowed]), asks_people

    def take(
        self, call: ReplayedCall, agent_id: str, *, certain: bool = True, limits: Collection[Limit] | None = None
    ) -> None:
        """Count a call that was allowed, or may have been, and leave its marks. limits: None = in all limits."""
        certain = certain and not call.is_unclear
        quotas = call.all_quotas()
        limited = (each for each in quotas if isinstance(each, Quota))
        self.buckets.take(
            (each for each in limited if limits is None or (each.policy_id, each.fingerprint) in limits),
            agent_id,
            call.id,
            certain=certain,
        )
        for limit in call.unclear_limits():
            self.buckets.take_unnamed(limit)
        if call.marks:
            self.sessions.leave(call.session, call.marks, agent_id, certain=certain)
        checks = (quota for quota in quotas if isinstance(quota, HistoryCheck))
        self.sessions.end(checks, agent_id, certain=certain)
        self.sessions.end_anywhere(call.unclear_ends())

    def deny(self, call: ReplayedCall, agent_id: str, *, certain: bool = True, suspends: bool = True) -> None:
        """Count, in the breakers, an active agent's call that was denied, or may have been."""
        if call.breakers:
            self.denials.deny(call.breakers, agent_id, certain=certain, suspends=suspends)
        for breaker in call.unclear_breakers():
            self.denials.deny_unnamed(breaker)

    def take_from_all(self, limits: Iterable[Limit], marks: Iterable[str]) -> None:
        """From here on, it is unknown what earlier calls took and which marks they left."""
        for limit in limits:
            self.buckets.take_unnamed(limit)
        self.sessions.mark_uncertain(marks)
        self.denials.mark_uncertain()

    def replace_with(
        self, other: "Ledger", limits: Collection[Limit], marks: Collection[str], breakers: Collection[Limit]
    ) -> None:
        """Replace everything with the other's, except these limits, marks and breakers."""
        self.buckets.replace_with(other.buckets, limits)
        self.denials.replace_with(other.denials, breakers)
        self.sessions.replace_with(other.sessions, marks)

    def _room(self, quota: Check, agent_id: str, call: ReplayedCall) -> Room:
        if isinstance(quota, HistoryCheck):
            return self.sessions.room(quota, agent_id)
        if isinstance(quota, DenialCount):
            return self.denials.room(quota, agent_id)
        if isinstance(quota, RememberedCheck):
            return self._remembered
        if isinstance(quota, RecordCheck):
            fits = call.record_fits(quota)
            if fits is None:
                return Room.YES if self.records.fits(quota, agent_id) else self._remembered
            return Room.YES if fits else Room.NO
        return self.buckets.room(quota, agent_id)

    def _with_marks(self, call: ReplayedCall, agent_id: str, outcomes: list[Outcome]) -> list[Outcome]:
        """The outcomes, given that an allowed call needs room for its marks."""
        if not call.marks or outcomes[-1].result is not Result.ALLOWED:
            return outcomes
        room = self.sessions.crowded(call.session, call.marks, agent_id)
        if room is Room.NO:
            return [*outcomes[:-1], TOO_MANY_SESSIONS]
        return outcomes if room is Room.YES else [*outcomes[:-1], TOO_MANY_SESSIONS, outcomes[-1]]
