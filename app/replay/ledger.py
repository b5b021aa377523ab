"""The traces of calls during a replay: what they took from limits, their marks in sessions, denials."""

from collections.abc import Collection, Iterable

from app.model.agents import AgentStatus
from app.model.decision_codes import DecisionCode
from app.model.decisions import Outcome, Result
from app.model.marks import TOO_MANY_SESSIONS
from app.model.plans import Check, DenialCount, HistoryCheck, Quota, RememberedCheck
from app.pdp.compiled import INACTIVE
from app.replay.buckets import Buckets
from app.replay.denials import Denials
from app.replay.replayed_call import ReplayedCall
from app.replay.sessions import Sessions
from app.replay.spans import Limit, Room, Timeline


class Ledger:
    """Buckets, sessions and breakers on one timeline.

    remembered: whether people have approved the values that rules look up, and pinned the requests. The log does not
    say which, nor for how long, so a replay does not know; in a test of policies nobody has.
    """

    def __init__(self, timeline: Timeline, remembered: Room = Room.UNKNOWN) -> None:
        self._remembered = remembered
        self.buckets = Buckets(timeline)
        self.sessions = Sessions(timeline)
        self.denials = Denials(timeline)

    def outcomes(self, call: ReplayedCall, agent_id: str) -> list[Outcome]:
        """The possible outcomes of the call. Its first full quota decides; several if that quota is uncertain."""
        outcomes = []
        standing = self.denials.standing(agent_id)
        if standing is not Room.YES:
            outcomes.append(INACTIVE[AgentStatus.SUSPENDED].outcome)
            if standing is not Room.UNKNOWN:
                return outcomes
        for quota in call.plan.quotas:
            room = self._room(quota, agent_id)
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
            room = self._room(quota, agent_id)
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
        quotas = (quota for quota in call.all_quotas() if isinstance(quota, Quota))
        self.buckets.take(
            (each for each in quotas if limits is None or (each.policy_id, each.fingerprint) in limits),
            agent_id,
            call.id,
            certain=certain,
        )
        for limit in call.unclear_limits():
            self.buckets.take_unnamed(limit)
        if call.marks:
            self.sessions.leave(call.session, call.marks, agent_id, certain=certain)

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

    def _room(self, quota: Check, agent_id: str) -> Room:
        if isinstance(quota, HistoryCheck):
            return self.sessions.room(quota, agent_id)
        if isinstance(quota, DenialCount):
            return self.denials.room(quota, agent_id)
        if isinstance(quota, RememberedCheck):
            return self._remembered
        return self.buckets.room(quota, agent_id)

    def _with_marks(self, call: ReplayedCall, agent_id: str, outcomes: list[Outcome]) -> list[Outcome]:
        """The outcomes, given that an allowed call needs room for its marks."""
        if not call.marks or outcomes[-1].result is not Result.ALLOWED:
            return outcomes
        room = self.sessions.crowded(call.session, call.marks, agent_id)
        if room is Room.NO:
            return [*outcomes[:-1], TOO_MANY_SESSIONS]
        return outcomes if room is Room.YES else [*outcomes[:-1], TOO_MANY_SESSIONS, outcomes[-1]]
