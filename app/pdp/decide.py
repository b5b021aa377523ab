"""`decide`: one tool call against an agent's policies, quotas left open."""

from app.model.decisions import AuthorizeRequest, Outcome, Plan, Quota, Result
from app.pdp.compiled import CompiledAgent, PolicyView
from app.pdp.time_windows import MINUTE_US


def decide(agent: CompiledAgent, request: AuthorizeRequest, now_us: int) -> Plan:
    """The plan for one tool call.

    now_us: the store's time as far as it is known; a plan that depends on it says for how long it holds.

    The first tier with a matching policy decides: denied over escalated over allowed, and the oldest policy
    that gave the result is the one named. Quotas come in the order in which a full one decides.
    """
    if not agent.active:
        return agent.refusal
    view = agent.view(request.tool_name)
    if view.constant is not None:
        return view.constant
    minute = now_us // MINUTE_US
    outcome, deciding = _base(view.tier, request, minute)
    quotas = _open_quotas(view.tier, outcome.result, deciding)
    if view.timed:
        return Plan(outcome, quotas, minute * MINUTE_US, (minute + 1) * MINUTE_US)
    return Plan(outcome, quotas)


def _base(tier: tuple[PolicyView, ...], request: AuthorizeRequest, minute: int) -> tuple[Outcome, int]:
    """The outcome if every quota has room, and the place in the tier of the policy that gave it."""
    escalated: tuple[Outcome, int] | None = None
    for place, policy in enumerate(tier):
        for condition in policy.conditions:
            reason = condition.failed(request.parameters, minute)
            if reason is None:
                continue
            if condition.when_failed is Result.DENIED:
                return Outcome(Result.DENIED, policy.policy_id, condition.ref, reason), place
            if escalated is None:
                escalated = Outcome(Result.ESCALATED, policy.policy_id, condition.ref, reason), place
    return escalated or (tier[0].allowed, 0)


def _open_quotas(tier: tuple[PolicyView, ...], result: Result, deciding: int) -> tuple[Quota, ...]:
    """The quotas that can still change the outcome, in the order in which a full one decides.

    A denial can only be named after an older policy's denying quota; an escalation gives way to any denying
    quota and to an older policy's escalating one; an allowance needs room in all of them.
    """
    if result is Result.ALLOWED and len(tier) == 1 and len(tier[0].quotas) <= 1:
        return tier[0].quotas
    denying = tier[:deciding] if result is Result.DENIED else tier
    escalating = tier[:deciding] if result is Result.ESCALATED else tier if result is Result.ALLOWED else ()
    return tuple(
        quota
        for candidates, full in ((denying, Result.DENIED), (escalating, Result.ESCALATED))
        for policy in candidates
        for quota in policy.quotas
        if quota.when_full.result is full
    )
