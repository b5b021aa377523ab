"""What people are asked about a call, and the plan that their yes makes of it."""

from collections.abc import Collection, Iterable

from msgspec.structs import replace

from app.model.decisions import AuthorizeRequest, HistoryCheck, Outcome, Plan, Quota, Result
from app.model.escalations import Escalation
from app.pdp.compiled import CompiledAgent
from app.pdp.quotas import open_quotas, settled_quotas
from app.pdp.relations import NOTHING
from app.pdp.sequences import with_marks
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
    return distinct(each for each in asked if each is not None)


def distinct(asked: Iterable[Escalation]) -> tuple[Escalation, ...]:
    """The same without a rule that is among them already."""
    return tuple({each.fingerprint: each for each in asked}.values())


def approved_plan(
    agent: CompiledAgent, request: AuthorizeRequest, plan: Plan, covered: Collection[str], reason: str, key_id: str
) -> Plan:
    """The plan once people have said yes to the rules with these fingerprints.

    It is allowed and takes every quota of all who are asked; those that would have asked for a person, and are covered,
    are taken though they are full. What denies still denies, and the call leaves its marks.
    key_id: the API key that asks.
    """
    view = agent.view_of(request)
    outcome = Outcome(Result.ALLOWED, plan.outcome.policy_id, plan.outcome.rule, reason)
    quotas = settled_quotas(open_quotas(view.asked, Result.ALLOWED, 0), request, key_id)
    past = (_past(agent, quota, covered) for quota in quotas)
    taken = tuple(quota for quota in past if quota is not None)
    return with_marks(replace(plan, outcome=outcome, quotas=taken), view.marks, request)


def _past(agent: CompiledAgent, quota: Quota | HistoryCheck, covered: Collection[str]) -> Quota | HistoryCheck | None:
    """What is left to ask of the store once people have said yes; None = nothing, and nothing is taken."""
    asked = agent.escalation(quota.when_full)
    if asked is None or asked.fingerprint not in covered:
        return quota
    if isinstance(quota, HistoryCheck):
        return None
    return replace(quota, max_calls=_NEVER_FULL if quota.amount is None else _NEVER_SPENT)
