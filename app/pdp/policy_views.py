"""A policy as it concerns one tool: the rules that matter for it, and what they demand."""

from collections.abc import Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from app.model.decision_codes import DecisionCode
from app.model.decisions import Outcome, Result
from app.model.plans import Mark, Plan, ShadowPlan
from app.model.policies import Policy
from app.model.sequences import covers
from app.pdp.constraints import IsSecret
from app.pdp.costs import ANY_SIZE
from app.pdp.quotas import OpenBreaker, OpenQuota
from app.pdp.rules import why_not_granted
from app.pdp.rules.rule_type import CompiledRule, Condition, Verdicts


class PolicyView(Struct, frozen=True):
    """A policy as it concerns one tool: only rules that do not abstain, in the policy's order.

    allowed: the outcome if nothing fails; its rule is the first that covers the tool.
    """

    policy_id: str
    conditions: tuple[Condition, ...]
    quotas: tuple[OpenQuota, ...]
    allowed: Outcome


class ToolView(Struct, frozen=True):
    """The policies evaluated for one tool, in order; if several give the same result, the first one is named.

    asked: the policies of the tier that decides (the first in which not every rule abstains), oldest first, then the
    guardrails; without those that abstain. Empty if every tier abstains, because nothing can then undo the denial.
    timed: whether a condition, or under which time a limit counts, depends on the clock.
    when_all_pass: the plan if no condition fails.
    quick_size: a call of up to this many bytes is decided in a few milliseconds; -1 = none is.
    judged: the rules whose `when` or `unless` says whether they apply; () = all always apply. If there are any, each
    call uses the view of the rules that apply to it, and only quick_size of this one is used.
    varying: the quotas of when_all_pass whose bucket, amount or session depends on the call; () = there are none.
    breakers: its breakers, if the bucket of any depends on the call; () = none does.
    marks: what an allowed call leaves in its session.
    shadowed: whether a shadow policy can matter for the tool. shadow: in a view of all policies together, how its
    when_all_pass differs from that of the enforced ones.
    """

    asked: tuple[PolicyView, ...]
    timed: bool
    when_all_pass: Plan
    quick_size: int = ANY_SIZE
    judged: tuple[CompiledRule, ...] = ()
    varying: tuple[OpenQuota, ...] = ()
    breakers: tuple[OpenBreaker, ...] = ()
    marks: tuple[Mark, ...] = ()
    shadowed: bool = False
    shadow: ShadowPlan | None = None


class CompiledPolicy(Struct, frozen=True):
    """A policy and its rules, compiled once."""

    policy: Policy
    rules: list[CompiledRule]


def policy_views(policies: Sequence[CompiledPolicy], tool: str, verdicts: Verdicts) -> tuple[PolicyView, ...]:
    """The policies as they concern `tool`, without those whose rules all abstain."""
    return tuple(view for each in policies if (view := _policy_view(each.policy, each.rules, tool, verdicts)))


def _policy_view(policy: Policy, rules: Sequence[CompiledRule], tool: str, verdicts: Verdicts) -> PolicyView | None:
    """The policy as it concerns `tool`; None if every rule abstains."""
    applying = [(rule, verdict) for rule in rules if (verdict := verdicts.get(id(rule), True)) is not False]
    conditions = [
        condition for rule, verdict in applying if (condition := rule.condition_for(tool, verdict)) is not None
    ]
    conditions += [unread for rule, verdict in applying if (unread := rule.unread_for(tool, verdict)) is not None]
    quotas = tuple(
        quota
        for rule, verdict in applying
        if rule.demands.quotas and verdict is True and covers(rule.rule.tools, tool)
        for quota in rule.demands.quotas
    )
    refs = [condition.ref for condition in conditions] + [quota.when_full.rule for quota in quotas]
    present = [ref for ref in refs if ref is not None]
    if not present:
        return None
    first = min(present, key=lambda ref: ref.index)
    allowed = Outcome(Result.ALLOWED, policy.id, first, f'Policy "{policy.name}" allows "{tool}"', DecisionCode.ALLOWED)
    return PolicyView(policy.id, tuple(conditions), quotas, allowed)


_NO_POLICY = "No policy matches this call: default deny"
NOTHING_MATCHES = Plan(Outcome(Result.DENIED, None, None, _NO_POLICY, DecisionCode.DEFAULT_DENY))


def default_deny(grants: Iterable[CompiledPolicy], tool: str, is_secret: IsSecret) -> Plan:
    """The plan for a call that no policy matches. If one grants the tool to other calls, the reason says to which."""
    for each in grants:
        for rule in each.rules:
            if rule.type.never_fails and covers(rule.rule.tools, tool):
                reason = why_not_granted(each.policy, rule.rule, tool, is_secret)
                return Plan(replace(NOTHING_MATCHES.outcome, reason=reason))
    return NOTHING_MATCHES
