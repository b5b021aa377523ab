"""A policy as it concerns one tool: the rules that matter for it, and what they demand."""

from collections.abc import Sequence

from msgspec import Struct

from app.model.decision_codes import DecisionCode
from app.model.decisions import Outcome, Result
from app.model.policies import Policy
from app.pdp.clauses import covers
from app.pdp.quotas import OpenQuota
from app.pdp.rules.rule_type import CompiledRule, Condition, Verdicts


class PolicyView(Struct, frozen=True):
    """A policy as it concerns one tool: only rules that do not abstain, in the policy's order.

    allowed: the outcome if nothing fails; its rule is the first that covers the tool.
    """

    policy_id: str
    conditions: tuple[Condition, ...]
    quotas: tuple[OpenQuota, ...]
    allowed: Outcome


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
