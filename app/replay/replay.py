"""The replay itself: judges each logged call, in order and at its time, by the policies that would have governed it."""

from collections import deque
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import NamedTuple

import msgspec
from msgspec import UNSET, Struct

from app.model.decision_codes import DecisionCode
from app.model.decisions import Outcome, Result, RuleRef
from app.model.marks import shared_marks
from app.model.policies import Policy, off_in_shadow
from app.model.replays import NEW, Decider, Flip, FlipSample, ReplayReport, ReplayTask
from app.model.times import rfc3339
from app.pdp.constraints import IsSecret
from app.replay.calls import LoggedCall, decode_call, is_counted
from app.replay.history import History
from app.replay.ledger import Ledger
from app.replay.replayed_call import ReplayedCall
from app.replay.rulesets import PolicySpan, Ruleset, Rulesets
from app.replay.spans import Limit, LogPosition, Room, Timeline, breakers_of, limits_of, mark_names

MAX_FLIPS = 500
"""Groups of flips in a report. Callers choose tool names, so these must not make the report grow without bound."""

SAMPLES = 3
_ORDER = (
    (Result.DENIED, Result.ALLOWED),
    (Result.ESCALATED, Result.ALLOWED),
    (Result.DENIED, Result.ESCALATED),
    (Result.ALLOWED, Result.DENIED),
    (Result.ALLOWED, Result.ESCALATED),
    (Result.ESCALATED, Result.DENIED),
)
_Rule = tuple[str | None, RuleRef | None]


class Recorded(Struct, frozen=True):
    """The recorded decision, in the form in which decisions are compared."""

    result: Result
    policy_id: str | None
    rule: RuleRef | None
    reason: str

    @classmethod
    def of(cls, call: LoggedCall) -> "Recorded":
        """The recorded decision on a logged call.

        A denial only because there was no room for an approval counts as escalated.
        """
        had_no_room = call.code is DecisionCode.APPROVALS_FULL
        result = Result.ESCALATED if had_no_room else Result(call.result or "")
        return cls(result, call.policy_id, call.rule, call.reason)


class Findings:
    """Counts the flips. name_of: gives a policy's name by its id."""

    def __init__(self, report: ReplayReport, name_of: Callable[[str], str | None]) -> None:
        self.report = report
        self._fresh: list[Flip] = []
        self._name_of = name_of
        self._flips: dict[tuple[Result, Result, str, _Rule, _Rule], Flip] = {}

    def judged(self, call: LoggedCall, was: Recorded, outcome: Outcome) -> None:
        """Count a call that the draft decides like this."""
        report = self.report
        report.judged += 1
        if outcome.result is was.result:
            report.unchanged += 1
            return
        report.flipped += 1
        key = (was.result, outcome.result, call.tool_name, (was.policy_id, was.rule), (outcome.policy_id, outcome.rule))
        flip = self._flips.get(key)
        if flip is None:
            if len(self._flips) >= MAX_FLIPS:
                report.not_listed += 1
                return
            flip = self._flips[key] = Flip(
                was=was.result,
                becomes=outcome.result,
                tool_name=call.tool_name,
                by=self._decider(was.policy_id, was.rule),
                now_by=self._decider(outcome.policy_id, outcome.rule),
                samples=[],
            )
            self._fresh.append(flip)
        flip.count += 1
        if len(flip.samples) < SAMPLES:
            sample = FlipSample(
                id=call.id,
                agent_id=call.agent_id,
                timestamp=call.timestamp,
                reason=was.reason,
                new_reason=outcome.reason,
            )
            flip.samples.append(sample)

    def take_fresh(self) -> list[Flip]:
        """The groups of flips not returned before, each with at least one sample."""
        fresh, self._fresh = self._fresh, []
        return fresh

    def finish(self) -> ReplayReport:
        """The report, with its flips sorted."""
        self.report.flips = sorted(
            self._flips.values(), key=lambda flip: (_ORDER.index((flip.was, flip.becomes)), -flip.count, flip.tool_name)
        )
        return self.report

    def _decider(self, policy_id: str | None, rule: RuleRef | None) -> Decider:
        name = None if policy_id is None else self._name_of(policy_id)
        is_new = policy_id is not None and policy_id.startswith(NEW)
        return Decider(policy_id=None if is_new else policy_id, policy_name=name, rule=rule)


class _Entry(NamedTuple):
    """A logged decision, and what governed its agent; two candidates if it is unknown which of them did."""

    call: LoggedCall
    line: bytes
    time_ms: int
    rulesets: Sequence[PolicySpan]

    @property
    def was_approved(self) -> bool:
        """True if the call had an approval; if it was allowed, people had approved it."""
        return self.call.approval_id is not UNSET

    def seen_by(self, ruleset: Ruleset) -> ReplayedCall:
        return ReplayedCall(self.call, self.line, ruleset, self.time_ms)


class Replay:
    """Reads the lines of the log, oldest first, beginning before the span; `findings` has the results so far.

    draft: the policies that replace the owner's; None = nothing is replaced.
    """

    def __init__(self, task: ReplayTask, history: History, draft: Sequence[Policy] | None, is_secret: IsSecret) -> None:
        self._task = task
        draft = None if draft is None else [off_in_shadow(policy) for policy in draft]
        self._rulesets = Rulesets(history, task.owner, draft, is_secret)
        self._timeline = Timeline()
        self._ledger = Ledger(self._timeline)
        self._history = history
        self._is_in_doubt = False
        self._counted_before: Ledger | None = Ledger(self._timeline)
        self._drops = deque(history.drops())
        self._resumed = deque(history.resumed())
        self._is_draft = draft is not None
        self._begun_at = 0
        self._kept = {policy.id for policy in draft or ()}
        shared = [policy for policy in history.policies() if policy.agent_id is None]
        self._shared = limits_of(shared)
        everything = (*history.policies(), *(draft or ()))
        self._limits, self._marks = limits_of(everything), mark_names(everything)
        self._asked_of_all = any(map(shared_marks, everything))
        report = ReplayReport(from_=rfc3339(task.from_ms), to=rfc3339(task.to_ms))
        self.findings = Findings(report, {policy.id: policy.name for policy in everything}.get)

    @property
    def reads_all_agents(self) -> bool:
        """True if it needs other agents' calls too, because they may have taken from shared limits."""
        return self._task.agent_id is None or bool(self._shared or self._asked_of_all)

    def begin_in_doubt(self, until_ms: int) -> None:
        """Note that entries up to this time are gone, so that what they took from limits is unknown."""
        self._timeline.advance(until_ms)
        self._take_from_all()

    def feed(self, body: bytes, sequences: Iterable[int]) -> None:
        """Read the next lines, each with its line feed; sequences: their numbers in the log."""
        for line, sequence in zip(body.splitlines(), sequences, strict=True):
            self._take(line, sequence)

    def _take(self, line: bytes, sequence: int) -> None:
        unjudged = self.findings.report.unjudged
        try:
            call = decode_call(line)
            position = LogPosition(call.time_ms, sequence)
        except (msgspec.MsgspecError, ValueError):
            unjudged.unreadable += 1
            return
        if call.type is UNSET:
            self._timeline.advance(position.time_ms)
            if call.result is None:
                unjudged.unreadable += position.time_ms >= self._task.from_ms
            else:
                self._count(call, line, position)
        elif (decision_id := call.not_executed) is not None:
            for ledger in self._ledgers():
                ledger.buckets.give_back(decision_id)

    def _count(self, call: LoggedCall, line: bytes, position: LogPosition) -> None:
        """Judge a decision if it is in the span and its agent is replayed; otherwise only count it."""
        report, in_span = self.findings.report, position.time_ms >= self._task.from_ms
        if in_span:
            self._begin(position)
        if self._drops and self._drops[0][0].holds_for(position):
            self._drop(position)
        if self._resumed and self._resumed[0][0].holds_for(position):
            self._resume(position)
        governed = self._rulesets.at(call.agent_id, position)
        if governed is None:
            self._is_in_doubt = True
            report.unjudged.unknown += in_span and self._task.agent_id in (None, call.agent_id)
            return
        if self._is_in_doubt:
            self._take_from_all()
        entry = _Entry(call, line, position.time_ms, self._rulesets_of(call, governed, position))
        if not governed.is_asked:
            if (self._shared or self._marks) and call.result == Result.ALLOWED:
                self._take_shared(entry)
        elif not in_span:
            report.warmed_up += 1
            self._warm_up(entry)
        elif position.time_ms <= self._task.to_ms:
            self._judge(entry, position)

    def _rulesets_of(self, call: LoggedCall, governed: PolicySpan, position: LogPosition) -> list[PolicySpan]:
        """The spans that may have governed the agent: two if a change may have come before or after the call."""
        if not governed.span.since.is_doubtful_for(position):
            return [governed]
        before = self._rulesets.at(call.agent_id, LogPosition(position.time_ms - 1, position.sequence))
        return [governed] if before is None else [governed, before]

    def _begin(self, position: LogPosition) -> None:
        """At the first call of the span, fill the limits that only the draft has, as if they had always existed."""
        as_if, self._counted_before = self._counted_before, None
        if as_if is not None:
            self._begun_at = position.sequence
            policies = self._history.policies_at(position)
            self._ledger.replace_with(as_if, limits_of(policies), mark_names(policies), breakers_of(policies))

    def _drop(self, position: LogPosition) -> None:
        """Empty the buckets of rules that have been removed from their policies by now."""
        while self._drops and self._drops[0][0].holds_for(position):
            _, policy_id, fingerprint = self._drops.popleft()
            if self._counted_before is not None or policy_id not in self._kept:
                self._ledger.buckets.drop((policy_id, fingerprint))

    def _resume(self, position: LogPosition) -> None:
        """Reset the breakers of agents that people have made active again by now."""
        while self._resumed and self._resumed[0][0].holds_for(position):
            _, agent_id = self._resumed.popleft()
            for ledger in self._ledgers():
                ledger.denials.resume(agent_id)

    def _take_from_all(self) -> None:
        self._is_in_doubt = False
        for ledger in self._ledgers():
            ledger.take_from_all(self._limits, self._marks)

    def _ledgers(self) -> list[Ledger]:
        return [each for each in (self._ledger, self._counted_before) if each is not None]

    def _warm_up(self, entry: _Entry) -> None:
        """Count a call from before the span in the limits of its time, and in the draft's, as if those had existed.

        The log says which calls were allowed.
        """
        if entry.call.result != Result.ALLOWED:
            if entry.call.was_counted:
                self._warm_up_breakers(entry)
            return
        self._take_as_recorded(entry, None)
        governed = entry.rulesets[0]
        if governed.now is governed.then or self._counted_before is None:
            return
        drafted = entry.seen_by(governed.now)
        result = drafted.plan.outcome.result
        if drafted.is_unclear or result is Result.ALLOWED or (result is Result.ESCALATED and entry.was_approved):
            self._counted_before.take(drafted, entry.call.agent_id)

    def _warm_up_breakers(self, entry: _Entry) -> None:
        """Count a denied call from before the span in the breakers of its time, and in the draft's as if these existed.

        None of them suspends: the log says which agents were suspended before the span.
        """
        agent_id, governed = entry.call.agent_id, entry.rulesets[0]
        for each in entry.rulesets:
            self._ledger.deny(entry.seen_by(each.then), agent_id, certain=len(entry.rulesets) == 1, suspends=False)
        if governed.now is not governed.then and self._counted_before is not None:
            self._counted_before.deny(entry.seen_by(governed.now), agent_id, suspends=False)

    def _take_shared(self, entry: _Entry) -> None:
        """Count another agent's call in the shared limits, and leave its marks, which may differ under the draft."""
        governed = entry.rulesets[0]
        if governed.now is not governed.then and self._counted_before is not None:
            self._counted_before.take(entry.seen_by(governed.now), entry.call.agent_id, limits=())
        self._take_as_recorded(entry, self._shared, by_draft=self._counted_before is None)

    def _take_as_recorded(self, entry: _Entry, limits: Collection[Limit] | None, *, by_draft: bool = False) -> None:
        """Count an allowed call as the policies of its time counted it. limits: None = in all limits."""
        rulesets = [each.now if by_draft else each.then for each in entry.rulesets]
        for ruleset in {id(each): each for each in rulesets}.values():
            certain = all(each is ruleset for each in rulesets)
            self._ledger.take(entry.seen_by(ruleset), entry.call.agent_id, certain=certain, limits=limits)

    def _judge(self, entry: _Entry, position: LogPosition) -> None:
        report, call, was = self.findings.report, entry.call, Recorded.of(entry.call)
        standing = self._ledger.denials.standing(call.agent_id)
        if call.was_inactive and (standing is Room.NO or not self._may_be_lifted(call, position)):
            report.inactive += 1
            return
        now = {id(each.now): each.now for each in entry.rulesets}
        if len(now) > 1:
            report.unjudged.edited += 1
            for ruleset in now.values():
                self._take_uncertain(call, entry.seen_by(ruleset))
            return
        judged = entry.seen_by(entry.rulesets[0].now)
        if judged.is_unclear and not judged.is_denied:
            report.unjudged.hidden += 1
            self._take_uncertain(call, judged)
            return
        if judged.is_unclear:
            outcomes = [judged.plan.outcome]
        elif entry.was_approved and was.result is Result.ALLOWED:
            outcomes, asks_people = self._ledger.approved(judged, call.agent_id, call.reason)
            report.approved += asks_people and outcomes[-1].result is Result.ALLOWED
        else:
            outcomes = self._ledger.outcomes(judged, call.agent_id)
        is_certain = all(each.result is outcomes[0].result for each in outcomes)
        if outcomes[-1].result is Result.ALLOWED:
            self._ledger.take(judged, call.agent_id, certain=is_certain)
        if standing is not Room.NO:
            self._deny(entry, judged, outcomes, certain=is_certain and standing is Room.YES)
        if is_certain:
            self.findings.judged(call, was, outcomes[0])
        else:
            report.unjudged.limits += 1

    def _deny(self, entry: _Entry, judged: ReplayedCall, outcomes: Sequence[Outcome], *, certain: bool) -> None:
        """Count the call in breakers if it is denied, or may be; also if there is no room for an approval."""
        had_no_room = entry.call.code is DecisionCode.APPROVALS_FULL and outcomes[-1].result is Result.ESCALATED
        counted = [is_counted(each.result, each.code) for each in outcomes]
        if had_no_room or any(counted):
            self._ledger.deny(judged, entry.call.agent_id, certain=certain and all(counted))
            self.findings.report.trips = self._ledger.denials.trips

    def _may_be_lifted(self, call: LoggedCall, position: LogPosition) -> bool:
        """True if a breaker suspended the agent within the span, which the draft might have prevented."""
        since = self._history.tripped(call.agent_id, position) if self._is_draft else None
        return since is not None and since.sequence is not None and since.sequence >= self._begun_at

    def _take_uncertain(self, call: LoggedCall, judged: ReplayedCall) -> None:
        self._ledger.deny(judged, call.agent_id, certain=False)
        if not judged.is_denied:
            self._ledger.take(judged, call.agent_id, certain=False)
