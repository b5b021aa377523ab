"""What `decide` reads: an agent's policies in tiers, and for each tool only the rules that can matter."""

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any

from msgspec import UNSET, Struct, UnsetType

from app.model.agents import Agent, AgentStatus
from app.model.decisions import AuthorizeRequest, Outcome, Plan, Quota, Result, RuleRef
from app.model.policies import (
    ApprovalRequired,
    Effect,
    ParameterConstraint,
    Policy,
    PolicyKind,
    PolicyRule,
    RateLimited,
    TimeBased,
    ToolAllowlist,
    ToolDenylist,
    evaluation_order,
    quota_fingerprints,
)
from app.pdp.constraints import Check, compile_constraint
from app.pdp.costs import MAX_BYTES, Cost, cost_of, may_be_longer, quick_bytes
from app.pdp.quotas import open_quotas
from app.pdp.time_windows import TimeCheck, compile_time_window
from app.pdp.tools import covers

_MIN_VIEWS, _MAX_VIEWS = 4, 256
_MAX_VIEW_PARTS = 100_000
"""Policies and rules in all views of an agent that are kept, about 200 bytes each."""

_QUICK_TOOL_PATTERNS = 50_000
"""To look through them all for one tool takes five milliseconds; a rule takes as long as five of them."""

_RESULT_OF = {Effect.DENY: Result.DENIED, Effect.ESCALATE: Result.ESCALATED}

IsSecret = Callable[[str], bool]


class Condition(Struct, frozen=True):
    """One rule that covers the tool and is no quota.

    when_failed: the result a failure gives.
    failure: the reason if it always fails; None if that depends on the call.
    checks, time: what it depends on; a condition without any always passes.
    cost: what it takes at worst to find out.
    """

    ref: RuleRef
    when_failed: Result
    failure: str | None = None
    checks: tuple[Check, ...] = ()
    time: TimeCheck | None = None
    cost: Cost = Cost()

    def failed(self, parameters: dict[str, Any], minute: int) -> str | None:
        """The reason why this call fails the rule, None if it passes."""
        if self.failure is not None:
            return self.failure
        for check in self.checks:
            reason = check(parameters)
            if reason is not None:
                return reason
        return self.time(minute) if self.time is not None else None


class PolicyView(Struct, frozen=True):
    """A policy as one tool sees it: only rules that do not abstain, in the policy's order.

    allowed: the outcome if nothing fails; its rule is the first that covers the tool.
    """

    policy_id: str
    conditions: tuple[Condition, ...]
    quotas: tuple[Quota, ...]
    allowed: Outcome


class ToolView(Struct, frozen=True):
    """Who is asked about one tool, in the order in which they are named where several give the same result.

    asked: the policies of the tier that decides (the first in which not every rule abstains), oldest first, and after
    them the guardrails; without those that abstain. Empty if no tier says anything: then nothing undoes the denial.
    timed: whether a condition depends on the clock.
    when_all_pass: the plan if no condition fails.
    quick_bytes: a call with parameters up to this length is decided in a few milliseconds; -1 = none is.
    """

    asked: tuple[PolicyView, ...]
    timed: bool
    when_all_pass: Plan
    quick_bytes: int = MAX_BYTES


class CompiledAgent:
    """An agent and the policies that govern it, compiled."""

    def __init__(self, agent: Agent, policies: Sequence[Policy], is_secret: IsSecret) -> None:
        self.agent = agent
        self.active = agent.status is AgentStatus.ACTIVE
        self.refusal = Plan(Outcome(Result.DENIED, None, None, f"Agent is {agent.status}"))
        enabled = [
            _CompiledPolicy(policy, _compile_rules(policy, is_secret))
            for policy in evaluation_order(policy for policy in policies if policy.enabled)
        ]
        grants = [each for each in enabled if each.policy.kind is PolicyKind.GRANT]
        self._tiers = [list(tier) for _, tier in groupby(grants, key=lambda each: each.policy.priority)]
        self._guardrails = [each for each in enabled if each.policy.kind is PolicyKind.GUARDRAIL]
        self._views: dict[str, ToolView] = {}
        parts = sum(1 + len(each.rules) for each in enabled)
        self._views_max = max(_MIN_VIEWS, min(_MAX_VIEWS, _MAX_VIEW_PARTS // max(1, parts)))
        self._tool_patterns = sum(len(rule.rule.tools) + 5 for each in enabled for rule in each.rules)

    def is_quick(self, request: AuthorizeRequest) -> bool:
        """Whether `decide` takes a few milliseconds at worst; else it belongs into a thread.

        The estimate knows the policies and one size of the call, so it is too high for most, and a thread is all that
        it costs them.
        """
        view = self._views.get(request.tool_name)
        if view is None:
            if self._tool_patterns > _QUICK_TOOL_PATTERNS:
                return False
            view = self.view(request.tool_name)
        if view.quick_bytes == MAX_BYTES:
            return True
        recorded = request.recorded_parameters
        return len(recorded) <= view.quick_bytes and not may_be_longer(recorded)

    def recurs(self, plan: Plan, tool: str) -> bool:
        """Whether calls of the tool get this outcome and these quotas again and again, as the same objects."""
        usual = self.view(tool).when_all_pass if self.active else self.refusal
        return plan.outcome is usual.outcome and plan.quotas is usual.quotas

    def view(self, tool: str) -> ToolView:
        """The policies as `tool` sees them. Those made last are kept, 256 of them unless the policies are very many."""
        view = self._views.get(tool)
        if view is None:
            view = self._views[tool] = self._make_view(tool)
            excess = len(self._views) - self._views_max
            if excess > 0:
                # Threads do this as well: a list is made in one step, and what another has removed is gone already.
                for oldest in list(self._views)[:excess]:
                    self._views.pop(oldest, None)
        return view

    def _make_view(self, tool: str) -> ToolView:
        for tier in self._tiers:
            deciding = _policy_views(tier, tool)
            if deciding:
                asked = deciding + _policy_views(self._guardrails, tool)
                timed = any(condition.time for view in asked for condition in view.conditions)
                outcome = asked[0].allowed
                quotas = open_quotas(asked, outcome.result, 0)
                quick = quick_bytes(condition.cost for view in asked for condition in view.conditions)
                return ToolView(asked, timed, Plan(outcome, quotas), quick)
        return ToolView((), False, DEFAULT_DENY)


DEFAULT_DENY = Plan(Outcome(Result.DENIED, None, None, "No policy matches this call: default deny"))


def compile_agent(agent: Agent, policies: Sequence[Policy], is_secret: IsSecret) -> CompiledAgent:
    """The agent's enabled policies, ready for `decide`. Policies that are stored always compile."""
    return CompiledAgent(agent, policies, is_secret)


class _Compiled(Struct, frozen=True):
    """A rule with its condition or quota made once; `covered` says for which tools."""

    rule: PolicyRule
    ref: RuleRef
    condition: Condition | None = None
    quota: Quota | None = None


class _CompiledPolicy(Struct, frozen=True):
    policy: Policy
    rules: list[_Compiled]


def _compile_rules(policy: Policy, is_secret: IsSecret) -> list[_Compiled]:
    fingerprints = quota_fingerprints(policy.rules)
    return [
        _compile_rule(policy, rule, RuleRef(index, str(rule.__struct_config__.tag)), fingerprint, is_secret)
        for index, (rule, fingerprint) in enumerate(zip(policy.rules, fingerprints, strict=True))
    ]


def _compile_rule(
    policy: Policy, rule: PolicyRule, ref: RuleRef, fingerprint: str | None, is_secret: IsSecret
) -> _Compiled:
    condition: Condition | None = None
    quota: Quota | None = None
    match rule:
        case ParameterConstraint():
            checks = tuple(
                compile_constraint(name, constraint, secret=is_secret(name))
                for name, constraint in rule.parameters.items()
            )
            when_failed = _result(rule.effect)
            condition = Condition(ref, when_failed, checks=checks, cost=cost_of(rule.parameters, when_failed))
        case TimeBased():
            condition = Condition(ref, _result(rule.effect), time=compile_time_window(rule.time_window))
        case RateLimited():
            limit = rule.rate_limit
            spent = f"Rate limit reached: {_calls(limit.max_calls)} in {limit.window_seconds} s"
            when_full = Outcome(_result(rule.effect), policy.id, ref, spent)
            quota = Quota(policy.id, fingerprint or "", limit.max_calls, limit.window_seconds * 1_000_000, when_full)
        case _:
            pass  # lists and approvals: whether they fail depends on the tool alone, so the view says it
    return _Compiled(rule, ref, condition, quota)


def _policy_views(policies: Sequence[_CompiledPolicy], tool: str) -> tuple[PolicyView, ...]:
    """The policies as `tool` sees them, without those of which every rule abstains."""
    return tuple(view for each in policies if (view := _policy_view(each.policy, each.rules, tool)))


def _policy_view(policy: Policy, rules: Sequence[_Compiled], tool: str) -> PolicyView | None:
    """The policy as `tool` sees it; None if every rule abstains."""
    conditions = [condition for rule in rules if (condition := _condition(rule, policy, tool))]
    quotas = tuple(rule.quota for rule in rules if rule.quota and covers(rule.rule.tools, tool))
    refs = [condition.ref for condition in conditions] + [quota.when_full.rule for quota in quotas]
    present = [ref for ref in refs if ref is not None]
    if not present:
        return None
    first = min(present, key=lambda ref: ref.index)
    allowed = Outcome(Result.ALLOWED, policy.id, first, f'Policy "{policy.name}" allows {_quoted(tool)}')
    return PolicyView(policy.id, tuple(conditions), quotas, allowed)


def _condition(compiled: _Compiled, policy: Policy, tool: str) -> Condition | None:
    """What the rule asks of a call of `tool`; None if it abstains or is a quota."""
    covered = covers(compiled.rule.tools, tool)
    name = f'policy "{policy.name}"'
    match compiled.rule:
        case ToolAllowlist():
            failure = None if covered else f"{_quoted(tool)} is not on the allowlist of {name}"
            return Condition(compiled.ref, Result.DENIED, failure)
        case ToolDenylist():
            failure = f"{_quoted(tool)} is on the denylist of {name}"
            return Condition(compiled.ref, Result.DENIED, failure) if covered else None
        case ApprovalRequired():
            failure = f"{_quoted(tool)} needs a person's approval under {name}"
            return Condition(compiled.ref, Result.ESCALATED, failure) if covered else None
        case _:
            return compiled.condition if covered else None


def _result(effect: Effect | UnsetType) -> Result:
    return Result.DENIED if effect is UNSET else _RESULT_OF[effect]


def _calls(count: int) -> str:
    return "1 call" if count == 1 else f"{count} calls"


def _quoted(tool: str) -> str:
    return f'"{tool}"'
