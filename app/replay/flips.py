"""The findings of a replay so far: which calls flip, how many, and how many cannot be judged."""

from collections.abc import Callable

from msgspec import Struct

from app.model.decision_codes import DecisionCode
from app.model.decisions import Outcome, Result, RuleRef
from app.model.replays import NEW, Decider, Flip, FlipSample, ReplayReport
from app.replay.calls import LoggedCall

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
