"""What people are asked about a call, and the plan that their yes makes of it."""

from collections.abc import Collection

from msgspec.structs import replace

from app.model.decisions import AuthorizeRequest, Outcome, Plan, Quota, Result
from app.model.escalations import Escalation
from app.pdp.compiled import CompiledAgent
from app.pdp.quotas import open_quotas, settled_quotas
from app.pdp.relations import NOTHING
from app.pdp.time_windows import MINUTE_US

_NEVER_FULL = 1 << 31
_NEVER_SPENT = 4 * 10**15
"""Calls, and millionths of a budget: nothing holds as much, so what is of this size is taken and never found full. The
script compares what a budget holds modulo 2^52, which is more."""


def escalations(agent: CompiledAgent, request: AuthorizeRequest, now_us: int) -> tuple[Escalation, ...]:
    """What every rule that asks for a person about this call asks, whatever its quotas hold; no rule twice."""
    minute, context = now_us // MINUTE_US, request.context or NOTHING
    asked = [
        agent.escalation(Outcome(Result.ESCALATED, policy.policy_id, condition.ref, ""))
        for policy in agent.view_of(request).asked
        for condition in policy.conditions
        if condition.when_failed is Result.ESCALATED
        and condition.failed(request.parameters, context, minute) is not None
    ]
    return tuple({each.fingerprint: each for each in asked if each is not None}.values())


def approved_plan(
    agent: CompiledAgent, request: AuthorizeRequest, plan: Plan, covered: Collection[str], reason: str, key_id: str
) -> Plan:
    """The plan once people have said yes to the rules with these fingerprints.

    It is allowed and takes every quota of all who are asked; those that would have asked for a person, and are covered,
    are taken though they are full. What denies still denies. key_id: the API key that asks.
    """
    asked = agent.view_of(request).asked
    outcome = Outcome(Result.ALLOWED, plan.outcome.policy_id, plan.outcome.rule, reason)
    quotas = settled_quotas(open_quotas(asked, Result.ALLOWED, 0), request, key_id)
    taken = tuple(_past(agent, quota, covered) for quota in quotas)
    return replace(plan, outcome=outcome, quotas=taken)


def _past(agent: CompiledAgent, quota: Quota, covered: Collection[str]) -> Quota:
    asked = agent.escalation(quota.when_full)
    if asked is None or asked.fingerprint not in covered:
        return quota
    return replace(quota, max_calls=_NEVER_FULL if quota.amount is None else _NEVER_SPENT)
