"""`trace`: what `decide` decides about a call, and the part that each rule plays in it.

It runs `decide` itself, with an agent whose conditions record that they were evaluated and with which result. So
decisions that are not explained cost nothing extra.
"""

from collections.abc import Iterable, Mapping

from msgspec import UNSET, Struct
from msgspec.structs import replace

from app.language.schemas.patterns import counted_searches
from app.model.decisions import AuthorizeRequest
from app.model.explanations import Part
from app.model.plans import Check, Plan
from app.model.policies import Policy, PolicyKind, evaluation_order
from app.model.sequences import covering
from app.model.times import MINUTE_US
from app.pdp.compiled import CompiledAgent
from app.pdp.decide import decide_at_length, failures
from app.pdp.operands import NOTHING
from app.pdp.policy_views import PolicyView, ToolView
from app.pdp.quotas import settled_quotas
from app.pdp.rules.rule_type import CompiledRule, Condition

NOT_COVERED = "does not cover the tool"
COUNTS_DENIALS = "counts the call if it is denied"
"""Why a rule abstains for every call. The second is for a denial breaker that suspends."""

Place = tuple[str, int]
"""A policy's id, and a rule's place in it."""


class RuleTrace(Struct, frozen=True):
    """The part that a rule plays in a plan.

    pattern: the first that covers the tool. reason: why it failed or abstained.
    checks: what only the store can answer about it for this call. is_open: whether the plan asks the store.
    """

    rule: CompiledRule
    part: Part
    pattern: str | None
    reason: str | None = None
    checks: tuple[Check, ...] = ()
    is_open: bool = False


class PolicyTrace(Struct, frozen=True):
    """The part that a policy plays in a plan: `rules` in its order, empty if it is off."""

    policy: Policy
    part: Part
    rules: tuple[RuleTrace, ...]


class Trace(Struct, frozen=True):
    """A plan, and how `decide` came to it. policies: tiers in their order, then guardrails."""

    plan: Plan
    policies: tuple[PolicyTrace, ...]


class _NotingAgent:
    """A compiled agent as `decide` sees it: conditions record in `said` that they were judged, and why they failed."""

    def __init__(self, agent: CompiledAgent, known: Mapping[Place, str | None], minute: int) -> None:
        self._agent = agent
        self._known = known
        self._minute = minute
        self.refusal, self.combined = agent.refusal, agent.combined
        self.said: dict[Place, str | None] = {}
        self.asked: tuple[PolicyView, ...] = ()

    def view_of(self, request: AuthorizeRequest) -> ToolView:
        view = self._agent.view_of(request)
        self.asked = view.asked
        asked = (
            replace(policy, conditions=tuple(self._noting(policy, each, request) for each in policy.conditions))
            for policy in view.asked
        )
        return replace(view, asked=tuple(asked))

    def _noting(self, policy: PolicyView, condition: Condition, request: AuthorizeRequest) -> Condition:
        place, alone = (policy.policy_id, condition.ref.index), replace(policy, conditions=(condition,))

        def check(*_: object) -> str | None:
            if place in self._known:
                reason = self._known[place]
            else:
                reason = next((reason for *_, reason in failures((alone,), request, self._minute)), None)
            # A rule about shell lines can have two conditions, and fails if one of them does.
            self.said[place] = self.said.get(place) or reason
            return reason

        return replace(condition, failure=None, checks=(check,), time=None)


def trace(
    agent: CompiledAgent,
    policies: Iterable[Policy],
    request: AuthorizeRequest,
    now_us: int,
    key_id: str = "",
    known: Mapping[Place, str | None] | None = None,
) -> Trace:
    """The plan that `decide` makes, and the part that each policy plays in it.

    policies: those that the agent was compiled from, including disabled ones. The part of a shadow policy is that in
    the plan of all policies together.
    known: results of rules that must not be judged by this call: the reason if they failed, None if not.
    """
    noting = _NotingAgent(agent, known or {}, now_us // MINUTE_US)
    plan = decide_at_length(noting, request, now_us, key_id)
    judge = _Judge(agent, noting, plan, request, key_id)
    compiled = {policy.id: rules for policy, rules in agent.compiled_policies}
    ordered = sorted(evaluation_order(policies), key=lambda policy: policy.kind is PolicyKind.GUARDRAIL)
    aside = {}
    if agent.combined is not None:
        in_shadow = [policy for policy in ordered if policy.in_shadow]
        together = trace(agent.combined, in_shadow, request, now_us, key_id, known)
        aside = {each.policy.id: each for each in together.policies}
    traced = (aside.get(policy.id) or judge.policy(policy, compiled.get(policy.id, ())) for policy in ordered)
    return Trace(plan, tuple(traced))


class _Judge:
    """Determines the part of each rule in the plan, from what was recorded."""

    def __init__(
        self, agent: CompiledAgent, noting: _NotingAgent, plan: Plan, request: AuthorizeRequest, key_id: str
    ) -> None:
        self._active = agent.refusal is None
        self._noting = noting
        self._request = request
        self._asked = {view.policy_id: view for view in noting.asked}
        self._checks: dict[Place, tuple[Check, ...]] = {}
        for view in noting.asked:
            for check in settled_quotas(view.quotas, request, key_id, plan.holds_from_us):
                place = (check.policy_id, _index(check))
                self._checks[place] = (*self._checks.get(place, ()), check)
        self._breakers = {(each.policy_id, _index(each)): (each,) for each in plan.breakers}
        self._checks |= self._breakers
        self._open = {(quota.policy_id, _index(quota)) for quota in plan.quotas}
        grants = [policy for policy, _ in agent.compiled_policies if policy.id in self._asked]
        self._priority = next((policy.priority for policy in grants if policy.kind is PolicyKind.GRANT), None)

    def policy(self, policy: Policy, compiled: Iterable[CompiledRule]) -> PolicyTrace:
        if not policy.enabled:
            return PolicyTrace(policy, Part.OFF, ())
        rules = tuple(self._rule(policy, rule) for rule in compiled)
        parts = {rule.part for rule in rules}
        order = (Part.FAILED, Part.PASSED, Part.NOT_REACHED, Part.ABSTAINED)
        return PolicyTrace(policy, next(part for part in order if part in parts), rules)

    def _rule(self, policy: Policy, rule: CompiledRule) -> RuleTrace:
        place = (policy.id, rule.ref.index)
        part, reason = self._part(policy, rule, place)
        return RuleTrace(
            rule,
            part,
            covering(rule.rule.tools, self._request.tool_name),
            reason,
            self._checks.get(place, ()),
            place in self._open,
        )

    def _part(self, policy: Policy, rule: CompiledRule, place: Place) -> tuple[Part, str | None]:
        breaker = rule.demands.breaker
        if breaker is not None and breaker.suspends and place in self._breakers:
            return Part.ABSTAINED, COUNTS_DENIALS
        view = self._asked.get(policy.id)
        if view is None:
            return (Part.ABSTAINED, self._why_not(rule)) if self._is_asked(policy) else (Part.NOT_REACHED, None)
        said = self._noting.said
        if place in said and said[place] is not None:
            return Part.FAILED, said[place]
        if place in self._checks:
            return (Part.PASSED, None) if place in self._open else (Part.NOT_REACHED, None)
        if place in said:
            return Part.PASSED, None
        if any(condition.ref.index == rule.ref.index for condition in view.conditions):
            return Part.NOT_REACHED, None
        return Part.ABSTAINED, self._why_not(rule)

    def _is_asked(self, policy: Policy) -> bool:
        """True if the policy would have been evaluated if any of its rules mattered for the call."""
        if not self._active:
            return False
        if policy.kind is PolicyKind.GUARDRAIL:
            return self._priority is not None
        return self._priority is None or policy.priority >= self._priority

    def _why_not(self, rule: CompiledRule) -> str:
        if not rule.concerns(self._request.tool_name):
            return NOT_COVERED
        if rule.type.never_fails:
            with counted_searches():
                verdict = rule.applies(self._request.parameters, self._request.context or NOTHING)
            if isinstance(verdict, str):
                return verdict
        return 'its "unless" holds' if rule.rule.unless is not UNSET else 'its "when" does not hold'


def _index(quota: Check) -> int:
    return -1 if quota.when_full.rule is None else quota.when_full.rule.index
