"""Shadow policies: what a plan would be if they were enforced, and which of them makes the difference."""

from collections.abc import Iterable, Sequence
from typing import Protocol

from msgspec.structs import replace

from app.model.decisions import Outcome, Result, RuleRef, ShadowOutcome
from app.model.marks import mark_name, sequences_of
from app.model.plans import Mark, Plan, SessionRoom, ShadowPlan
from app.model.policies import Policy, evaluation_order
from app.model.rules import Sequenced

_By = tuple[str, RuleRef]


class HasAllowed(Protocol):
    """A policy as seen by one tool: its id, and its outcome if nothing fails."""

    @property
    def policy_id(self) -> str: ...

    @property
    def allowed(self) -> Outcome: ...


class ShadowPolicies:
    """Which of the policies that govern an agent are in shadow mode, and the marks that their sequence rules need."""

    def __init__(self, policies: Iterable[Policy]) -> None:
        in_shadow = evaluation_order(policy for policy in policies if policy.in_shadow)
        self.ids = frozenset(policy.id for policy in in_shadow)
        self._settled: dict[ShadowOutcome, ShadowPlan] = {}
        self._marking: dict[str, _By] = {}
        for policy in in_shadow:
            for sequence in sequences_of(policy):
                by = policy.id, RuleRef(sequence.place, Sequenced.tag())
                for mark in (*sequence.forbidden, *sequence.required):
                    self._marking.setdefault(mark_name(mark), by)

    def bear_on(self, asked: Sequence[HasAllowed], marks: Iterable[Mark]) -> bool:
        """True if one of them is evaluated for this call, or needs a mark that the call leaves in its session.

        If not, the plan of all policies equals that of the enforced ones.
        """
        return any(policy.policy_id in self.ids for policy in asked) or self.look_back_on(marks)

    def look_back_on(self, marks: Iterable[Mark]) -> bool:
        """True if a sequence rule of one of them looks for one of these marks."""
        return any(mark.name in self._marking for mark in marks)

    def plan(self, asked: Sequence[HasAllowed], together: Plan) -> ShadowPlan | None:
        """The plan with the shadow policies, next to that of the enforced ones; None if no shadow policy matters for
        the call.

        asked: the policies that led to `together`, the plan of all policies.

        If the result differs from that of the enforced policies, the policy that makes the difference is the shadow
        policy that gave it or, if only shadow grants made its tier decide, the first of these grants. Sequence rules of
        shadow policies deny a call for which the session's history has no room.
        """
        if not self.bear_on(asked, together.marks):
            return None
        first = asked[0].allowed

        def named(outcome: Outcome) -> ShadowOutcome:
            by = outcome if outcome.policy_id in self.ids else first
            return _outcome(_by(by), outcome.result)

        quotas = together.quotas
        if together.outcome.result is Result.DENIED:
            # A full quota of an enforced policy would change the actual answer in the same way.
            quotas = tuple(each for each in quotas if each.policy_id in self.ids)
        if not quotas and not together.marks:
            settled = named(together.outcome)
            return self._settled.setdefault(settled, ShadowPlan((), (settled,), ()))
        marks = [mark for mark in together.marks if not mark.soft or mark.name in self._marking]
        rooms = tuple(SessionRoom(mark.name, together.session) for mark in marks)
        crowded = (_outcome(self._marking.get(mark.name, _by(first)), Result.DENIED) for mark in marks)
        outcomes = named(together.outcome), *(named(each.when_full) for each in quotas), *crowded
        own = (*(each.policy_id in self.ids for each in quotas), *(False for _ in rooms))
        return ShadowPlan((*quotas, *rooms), outcomes, own)


def with_shadow(plan: Plan, together: Plan, shadow: ShadowPlan | None) -> Plan:
    """The plan of the enforced policies. The shadow plan is attached, unless both always give the same result."""
    if together.holds_until_us < plan.holds_until_us:
        plan = replace(plan, holds_from_us=together.holds_from_us, holds_until_us=together.holds_until_us)
    if shadow is None:
        return plan
    same = together.outcome.result is plan.outcome.result and together.quotas == plan.quotas
    soft_room = any(mark.soft for mark in together.marks)
    return plan if same and not soft_room else replace(plan, shadow=shadow)


def _by(outcome: Outcome) -> _By:
    if outcome.policy_id is None or outcome.rule is None:
        raise ValueError("a policy that is asked has a rule that speaks for it")
    return outcome.policy_id, outcome.rule


def _outcome(by: _By, result: Result) -> ShadowOutcome:
    return ShadowOutcome(by[0], result, by[1])
