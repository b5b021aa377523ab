"""The approvals that a call needs, and the plan once they are given."""

from collections.abc import Collection, Iterable

from msgspec import Struct
from msgspec.structs import replace

from app.model.decision_codes import DecisionCode
from app.model.decisions import AuthorizeRequest, Outcome, Result, RuleRef
from app.model.escalations import Escalation
from app.model.plans import Check, DenialCount, HistoryCheck, Plan, RecordCheck, RememberedCheck
from app.model.times import MINUTE_US
from app.pdp.compiled import CompiledAgent
from app.pdp.decide import failure_of, failures
from app.pdp.policy_views import PolicyView
from app.pdp.quotas import open_quotas, settled_quotas
from app.pdp.rules.rule_type import Condition
from app.pdp.rules.sequence import with_marks
from app.pdp.shadow import with_shadow

_NEVER_FULL = 1 << 31
_NEVER_SPENT = 4 * 10**15
"""In calls, or in millionths of a budget: more than fits into any bucket, so a quota of this size is taken from but
never full. The script compares a budget's content modulo 2^52, which is more.
"""


class Approved(Struct, frozen=True):
    """What people have approved.

    rules: the fingerprints of the rules that asked. memories: the names of what will remember the call's values, if
    they are still in use. reason: of the decision.
    """

    rules: Collection[str]
    memories: Collection[str]
    reason: str


def escalations(agent: CompiledAgent, request: AuthorizeRequest, now_us: int) -> tuple[tuple[Escalation, str], ...]:
    """The escalations of all rules that ask a person about this call, however full its quotas are, each with why."""
    return tuple(
        (asked, reason)
        for _, policy_id, condition, reason in failures(agent.view_of(request).asked, request, now_us // MINUTE_US)
        if condition.when_failed is Result.ESCALATED
        and (asked := agent.escalation(policy_id, condition.ref)) is not None
    )


def asking_beside(agent: CompiledAgent, request: AuthorizeRequest, plan: Plan, key_id: str) -> tuple[Check, ...]:
    """The checks whose rules ask people if they are full, and cannot change the plan's escalation."""
    if plan.outcome.result is not Result.ESCALATED:
        return ()
    quotas = settled_quotas(
        open_quotas(agent.view_of(request).asked, Result.ALLOWED, 0), request, key_id, plan.holds_from_us
    )
    return tuple(each for each in quotas if each.when_full.result is Result.ESCALATED and each not in plan.quotas)


def asking_rule(check: Check) -> RuleRef | None:
    """The rule that asks a person if this check is full."""
    return check.rule if isinstance(check, RememberedCheck) else check.when_full.rule


def distinct(asked: Iterable[Escalation]) -> tuple[Escalation, ...]:
    """The list without repeated rules."""
    return tuple({each.fingerprint: each for each in asked}.values())


def approved_plan(
    agent: CompiledAgent,
    request: AuthorizeRequest,
    plan: Plan,
    approved: Approved,
    key_id: str,
) -> Plan:
    """The plan once people have approved.

    It is allowed, and takes every quota of all policies evaluated; quotas that escalate and are covered by the approval
    are taken even if full. Denials still apply, and the call leaves its marks, and in memory what people approved.
    key_id: the API key that asks.
    """
    view = agent.view_of(request)
    outcome = Outcome(Result.ALLOWED, plan.outcome.policy_id, plan.outcome.rule, approved.reason, DecisionCode.ALLOWED)
    quotas = settled_quotas(open_quotas(view.asked, Result.ALLOWED, 0), request, key_id, plan.holds_from_us)
    allowed = replace(plan, outcome=outcome, quotas=_left(agent, quotas, approved), shadow=None)
    allowed = with_marks(allowed, view.marks, request)
    if view.shadowed and agent.combined is not None:
        return _with_approved_shadow(allowed, agent.combined, request, approved, key_id)
    return allowed


def _with_approved_shadow(
    plan: Plan, combined: CompiledAgent, request: AuthorizeRequest, approved: Approved, key_id: str
) -> Plan:
    """The approved plan with the effect of shadow policies: people have approved none of their rules."""
    view = combined.view_of(request)
    if combined.shadow is None or not combined.shadow.bear_on(view.asked, view.marks):
        return plan
    asked = tuple(_without_covered(combined, policy, approved.rules) for policy in view.asked)
    # A plan that depends on the clock is valid for the minute it names; any other always is.
    failure = failure_of(asked, request, plan.holds_from_us // MINUTE_US)
    outcome, deciding = failure or (asked[0].allowed, 0)
    quotas = settled_quotas(open_quotas(asked, outcome.result, deciding), request, key_id, plan.holds_from_us)
    together = Plan(outcome, _left(combined, quotas, approved))
    if failure is None:
        together = with_marks(together, view.marks, request)
    return with_shadow(plan, together, combined.shadow.plan(asked, together))


def _without_covered(agent: CompiledAgent, policy: PolicyView, covered: Collection[str]) -> PolicyView:
    """The policy without the conditions whose failure people have approved."""

    def is_open(condition: Condition) -> bool:
        asked = agent.escalation(policy.policy_id, condition.ref)
        return asked is None or asked.fingerprint not in covered

    return replace(policy, conditions=tuple(filter(is_open, policy.conditions)))


def _left(agent: CompiledAgent, quotas: Iterable[Check], approved: Approved) -> tuple[Check, ...]:
    past = (_past(agent, quota, approved) for quota in quotas)
    return tuple(quota for quota in past if quota is not None)


def _past(agent: CompiledAgent, quota: Check, approved: Approved) -> Check | None:
    """The check that is left for the store once people have approved; None = none is, and nothing is taken."""
    asked = agent.escalation(quota.policy_id, asking_rule(quota))
    is_covered = asked is not None and asked.fingerprint in approved.rules
    if isinstance(quota, RememberedCheck):
        renews = quota.memory in approved.memories
        return replace(quota, asks=not is_covered, renews=renews) if renews or not is_covered else None
    if not is_covered:
        return quota
    if isinstance(quota, HistoryCheck):
        return replace(quota, asks=False) if quota.spends else None
    if isinstance(quota, RecordCheck):
        return replace(quota, asks=False)
    if isinstance(quota, DenialCount):
        return None
    return replace(quota, max_calls=_NEVER_FULL if quota.amount is None else _NEVER_SPENT)
