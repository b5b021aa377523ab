"""`decide`: judges one tool call by an agent's policies, leaving quotas open."""

from collections.abc import Iterator
from typing import Protocol

from msgspec.structs import replace

from app.language.schemas.patterns import counted_searches
from app.language.spellings import spellings_of
from app.model.decision_codes import DecisionCode
from app.model.decisions import AuthorizeRequest, Outcome, Result
from app.model.plans import Plan
from app.model.times import MINUTE_US
from app.pdp.compiled import CompiledAgent
from app.pdp.operands import NOTHING
from app.pdp.policy_views import PolicyView, ToolView
from app.pdp.quotas import open_quotas, plan_of, settled_breakers, settled_quotas
from app.pdp.rules.rule_type import Condition
from app.pdp.rules.sequence import with_marks
from app.pdp.shadow import with_shadow


class Judged(Protocol):
    """The part of a compiled agent that `decide` uses."""

    @property
    def refusal(self) -> Plan | None: ...

    @property
    def combined(self) -> CompiledAgent | None: ...

    def view_of(self, request: AuthorizeRequest) -> ToolView: ...


def decide(agent: Judged, request: AuthorizeRequest, now_us: int, key_id: str = "") -> Plan:
    """The plan for one tool call.

    now_us: the store's time, estimated; a plan that depends on it says how long it is valid.
    key_id: the API key that asks, for limits per key.

    The first tier with a matching policy decides and the guardrails restrict it: denied over escalated over allowed;
    the first evaluated policy that gave the result is named. Quotas are in the order in which a full one decides. The
    effect of shadow policies is attached.
    """
    if agent.refusal is not None:
        return agent.refusal
    view = agent.view_of(request)
    minute = now_us // MINUTE_US
    failure = failure_of(view.asked, request, minute)
    if failure is None:
        plan = view.when_all_pass
        if view.varying:
            plan = plan_of(plan.outcome, settled_quotas(view.varying, request, key_id, now_us), plan.breakers)
        if view.marks:
            plan = with_marks(plan, view.marks, request)
    else:
        outcome, deciding = failure
        quotas = open_quotas(view.asked, outcome.result, deciding)
        settled = settled_quotas(quotas, request, key_id, now_us) if quotas else ()
        plan = plan_of(outcome, settled, view.when_all_pass.breakers)
    if view.breakers:
        plan = replace(plan, breakers=settled_breakers(view.breakers, request, key_id))
    if view.timed:
        plan = replace(plan, holds_from_us=minute * MINUTE_US, holds_until_us=(minute + 1) * MINUTE_US)
    if view.shadowed and agent.combined is not None:
        return _with_shadow(plan, agent.combined, request, now_us, key_id)
    return plan


def decide_at_length(agent: Judged, request: AuthorizeRequest, now_us: int, key_id: str = "") -> Plan:
    """The same plan for a call that may take long: its patterns share the steps of one call."""
    with counted_searches():
        return decide(agent, request, now_us, key_id)


def _with_shadow(plan: Plan, combined: CompiledAgent, request: AuthorizeRequest, now_us: int, key_id: str) -> Plan:
    view = combined.view_of(request)
    if combined.shadow is None or not combined.shadow.bear_on(view.asked, view.marks):
        return plan
    together = decide(combined, request, now_us, key_id)
    usual = view.when_all_pass
    is_usual = together.outcome is usual.outcome and together.quotas is usual.quotas
    shadow = view.shadow if is_usual and view.shadow is not None else combined.shadow.plan(view.asked, together)
    return with_shadow(plan, together, shadow)


def failure_of(asked: tuple[PolicyView, ...], request: AuthorizeRequest, minute: int) -> tuple[Outcome, int] | None:
    """The outcome of the failing condition that decides, and the place of its policy; None if none fails."""
    escalated: tuple[Outcome, int] | None = None
    for place, policy_id, condition, reason in failures(asked, request, minute):
        if condition.when_failed is Result.DENIED:
            return Outcome(Result.DENIED, policy_id, condition.ref, reason, condition.code), place
        if escalated is None:
            code = DecisionCode.APPROVAL_REQUIRED
            escalated = Outcome(Result.ESCALATED, policy_id, condition.ref, reason, code), place
    return escalated


def failures(
    asked: tuple[PolicyView, ...], request: AuthorizeRequest, minute: int
) -> Iterator[tuple[int, str, Condition, str]]:
    """Yield each condition that the call fails: the place of its policy, that one's id, the condition, and why."""
    parameters, context = request.parameters, request.context or NOTHING
    spelled = spellings_of(parameters)
    for place, policy in enumerate(asked):
        for condition in policy.conditions:  # one loop for all, because an agent may have hundreds of them on a tool
            reason = condition.failure
            if reason is None:
                for check in condition.checks:
                    reason = check(parameters, context, spelled)
                    if reason is not None:
                        break
                else:
                    if condition.time is None:
                        continue
                    reason = condition.time(minute)
            if reason is not None:
                yield place, policy.policy_id, condition, reason
