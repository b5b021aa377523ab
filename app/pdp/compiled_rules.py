"""Rules, compiled once: what each demands of the calls it covers, its result on failure, and when it applies."""

from typing import Any

from msgspec import UNSET, Struct, UnsetType

from app.model.constraints import named_constraints
from app.model.counting import quota_fingerprints
from app.model.decision_codes import DecisionCode
from app.model.decisions import DenialCount, Outcome, Quota, Result, RuleRef
from app.model.marks import shadow_mark
from app.model.policies import SHADOW_BUCKET, Policy, PolicyMode
from app.model.quotas import BreakerAction, Budget, DenialBreaker
from app.model.rules import (
    ApprovalRequired,
    Budgeted,
    DenialCounted,
    Effect,
    ParameterConstraint,
    ParameterSchema,
    PolicyRule,
    RateLimited,
    Sequenced,
    TimeBased,
    ToolAllowlist,
)
from app.pdp.clauses import covers
from app.pdp.constraints import Check, IsSecret, Judge, Verdict, compile_circumstances, compile_constraint, schema_check
from app.pdp.costs import Cost, cost_of, cost_of_schema
from app.pdp.quotas import OpenQuota
from app.pdp.sequences import no_session, session_checks
from app.pdp.time_windows import TimeCheck, compile_time_window
from app.pdp.varying_quotas import VaryingQuota, varying_quota
from app.schemas.json_schema import compile_schema

_RESULT_OF = {Effect.DENY: Result.DENIED, Effect.ESCALATE: Result.ESCALATED}


class Condition(Struct, frozen=True):
    """A rule that covers the tool and is not a quota.

    when_failed, code: the result if it fails, and the code of that if it denies.
    failure: the reason if it always fails; None if that depends on the call.
    checks, time: what it depends on; a condition without any always passes.
    cost: the worst-case cost of evaluating it.
    """

    ref: RuleRef
    when_failed: Result
    code: DecisionCode
    failure: str | None = None
    checks: tuple[Check, ...] = ()
    time: TimeCheck | None = None
    cost: Cost = Cost()

    def failed(self, parameters: dict[str, Any], context: dict[str, Any], minute: int) -> str | None:
        """The reason why this call fails the rule, None if it passes."""
        if self.failure is not None:
            return self.failure
        for check in self.checks:
            reason = check(parameters, context)
            if reason is not None:
                return reason
        return self.time(minute) if self.time is not None else None


class CompiledRule(Struct, frozen=True):
    """A rule with its condition or quota, made once.

    when_failed: the result if it fails. condition, quotas: what it demands; lists and approvals have neither, because
    only the tool decides whether they fail. judge: decides whether it applies to a call; None = always.
    costs: the worst-case costs of all that. breaker: what counts the denied calls of its tools.
    """

    rule: PolicyRule
    ref: RuleRef
    when_failed: Result
    condition: Condition | None = None
    quotas: tuple[OpenQuota, ...] = ()
    judge: Judge | None = None
    costs: tuple[Cost, ...] = ()
    breaker: DenialCount | None = None

    def concerns(self, tool: str) -> bool:
        """Whether it can matter for a call of this tool: it covers it, or forbids what it does not cover."""
        return isinstance(self.rule, ToolAllowlist) or covers(self.rule.tools, tool)

    def applies(self, parameters: dict[str, Any], context: dict[str, Any]) -> Verdict:
        """Whether it applies to this call; the reason for its failure if that cannot be judged."""
        return self.judge is None or self.judge(parameters, context)


def compile_rules(policy: Policy, is_secret: IsSecret, active_since: int = 0) -> list[CompiledRule]:
    """The rules of a policy, in its order. active_since: the agent's revision that made it active."""
    fingerprints = quota_fingerprints(policy.rules)
    if policy.mode is PolicyMode.SHADOW:
        fingerprints = [None if name is None else name + SHADOW_BUCKET for name in fingerprints]
    return [
        _compile_rule(
            policy, rule, RuleRef(index, str(rule.__struct_config__.tag)), fingerprint, is_secret, active_since
        )
        for index, (rule, fingerprint) in enumerate(zip(policy.rules, fingerprints, strict=True))
    ]


def _compile_rule(
    policy: Policy, rule: PolicyRule, ref: RuleRef, fingerprint: str | None, is_secret: IsSecret, active_since: int
) -> CompiledRule:
    condition: Condition | None = None
    breaker: DenialCount | None = None
    quotas: tuple[OpenQuota, ...] = ()
    when_failed = _result(rule)
    match rule:
        case ParameterConstraint():
            named = list(named_constraints(rule.parameters, rule.context))
            checks = tuple(
                compile_constraint(name, constraint, secret=is_secret(name), of=of, is_secret=is_secret)
                for of, name, constraint in named
            )
            condition = Condition(ref, when_failed, rule.code, checks=checks, cost=cost_of(named, when_failed))
        case ParameterSchema():
            schema = compile_schema(rule.schema)
            condition = Condition(
                ref, when_failed, rule.code, checks=(schema_check(schema),), cost=cost_of_schema(schema)
            )
        case TimeBased():
            condition = Condition(ref, when_failed, rule.code, time=compile_time_window(rule.time_window))
        case RateLimited() | Budgeted():
            quota = _quota(policy, rule, ref, fingerprint or "", when_failed)
            quotas = (quota,)
            if isinstance(quota, VaryingQuota):
                condition = Condition(ref, when_failed, DecisionCode.PARAMETER_INVALID, checks=(quota.failed,))
        case Sequenced():
            spelled = shadow_mark if policy.mode is PolicyMode.SHADOW else str
            quotas = session_checks(policy.id, rule.sequence, _failure(rule, when_failed, policy.id, ref, ""), spelled)
            condition = Condition(ref, when_failed, rule.code, checks=(no_session,))
        case DenialCounted():
            full = _failure(rule, when_failed, policy.id, ref, rule.denial_breaker.reached)
            breaker = _denial_count(rule.denial_breaker, full, fingerprint or "", active_since)
            quotas = () if breaker.suspends else (breaker,)
        case _:
            pass
    judge, costs = _judge(rule, is_secret)
    if condition is not None:
        costs = (*costs, condition.cost)
    return CompiledRule(rule, ref, when_failed, condition, quotas, judge, costs, breaker)


def _quota(
    policy: Policy, rule: RateLimited | Budgeted, ref: RuleRef, fingerprint: str, when_failed: Result
) -> Quota | VaryingQuota:
    limit = rule.budget if isinstance(rule, Budgeted) else rule.rate_limit
    if isinstance(limit, Budget):
        most, spent = limit.max_micros, f'Budget spent: {limit.max} of "{limit.parameter}" in {limit.window_seconds} s'
    else:
        most, spent = limit.max_calls, f"Rate limit reached: {_calls(limit.max_calls)} in {limit.window_seconds} s"
    when_full = _failure(rule, when_failed, policy.id, ref, spent)
    window_us = limit.window_seconds * 1_000_000
    held = Quota(policy.id, fingerprint, most, window_us, when_full, refundable=limit.refundable is True)
    return varying_quota(held, limit)


def _failure(rule: PolicyRule, result: Result, policy_id: str, ref: RuleRef, reason: str) -> Outcome:
    """The outcome of a rule that fails. One that escalates asks for a person, whatever its type."""
    code = rule.code if result is Result.DENIED else DecisionCode.APPROVAL_REQUIRED
    return Outcome(result, policy_id, ref, reason, code)


def _denial_count(breaker: DenialBreaker, when_full: Outcome, fingerprint: str, active_since: int) -> DenialCount:
    return DenialCount(
        policy_id=when_full.policy_id or "",
        fingerprint=fingerprint,
        max_denials=breaker.max_denials,
        window_us=breaker.window_seconds * 1_000_000,
        when_full=when_full,
        suspends=breaker.action is BreakerAction.SUSPEND,
        since=active_since,
    )


def _judge(rule: PolicyRule, is_secret: IsSecret) -> tuple[Judge | None, tuple[Cost, ...]]:
    """The function that decides whether a rule applies to a call, and its cost."""
    for word, circumstances in (("when", rule.when), ("unless", rule.unless)):
        if not isinstance(circumstances, UnsetType):
            named = named_constraints(circumstances.parameters, circumstances.context)
            return compile_circumstances(word, circumstances, is_secret), (cost_of(named),)
    return None, ()


def _result(rule: PolicyRule) -> Result:
    """The result of a failure."""
    if isinstance(rule, ApprovalRequired | DenialCounted):
        return Result.ESCALATED if rule.escalates else Result.DENIED
    effect = getattr(rule, "effect", UNSET)
    return Result.DENIED if effect is UNSET else _RESULT_OF[effect]


def _calls(count: int) -> str:
    return "1 call" if count == 1 else f"{count} calls"
