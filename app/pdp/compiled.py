"""The compiled form of an agent's policies: in tiers, and for each tool only the rules that can matter."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain, groupby

import msgspec
from msgspec.structs import replace

from app.model.agents import Agent, AgentStatus
from app.model.decision_codes import DecisionCode
from app.model.decisions import AuthorizeRequest, Outcome, Result, RuleRef
from app.model.escalations import Escalation, descriptive_in, descriptive_names, escalation_of, names_in_context
from app.model.marks import marked_pattern, marks_of, own_marks
from app.model.memories import memory_name
from app.model.plans import DenialCount, Mark, Plan, Quota
from app.model.policies import Policy, PolicyKind, evaluation_order
from app.model.sequences import covers
from app.pdp.constraints import IsSecret, Verdict
from app.pdp.costs import quick_size
from app.pdp.operands import NOTHING
from app.pdp.policy_views import NOTHING_MATCHES, CompiledPolicy, ToolView, default_deny, policy_views
from app.pdp.quotas import OpenBreaker, open_quotas, plan_of
from app.pdp.rules import compile_rules
from app.pdp.rules.limits import VaryingQuota
from app.pdp.rules.rule_type import CompiledRule, Macs, Verdicts, no_macs
from app.pdp.shadow import ShadowPolicies

_MIN_VIEWS, _MAX_VIEWS = 4, 256
_MAX_VIEW_PARTS = 100_000
"""The most policies and rules in all cached views of an agent, about 200 bytes each."""

_QUICK_REMADE = 10_000
_QUICK_TOOL_PATTERNS = 50_000
"""The most policies and rules scanned for one tool, which takes five milliseconds; a rule counts as five policies."""


_ViewName = str | tuple[str, tuple[Verdict, ...]]


class CompiledAgent:
    """An agent and the policies that govern it, compiled.

    keeps_requests: True if the log keeps what the user asked for.
    refusal: the plan for every call of an agent that is not active; None if it is.
    combined: the same with its shadow policies treated as enforced; None if it has none.
    shadow: in such a combined agent, which of its policies are shadow policies; otherwise None.
    """

    def __init__(
        self,
        agent: Agent,
        policies: Sequence[Policy],
        is_secret: IsSecret,
        shared_marks: Mapping[str, int],
        macs: Macs = no_macs,
        shadow: ShadowPolicies | None = None,
    ) -> None:
        self.agent = agent
        self._is_secret = is_secret
        self.refusal = None if agent.status is AgentStatus.ACTIVE else INACTIVE[agent.status]
        self.agent_messages = {each.id: each.agent_message for each in policies if each.agent_message is not None}
        asked = (each for each in policies if (each.decides if shadow is None else each.enabled))
        self._enabled = enabled = [
            CompiledPolicy(policy, compile_rules(policy, is_secret, agent, macs)) for policy in evaluation_order(asked)
        ]
        self.keeps_requests = any(each.policy.keeps_requests for each in enabled)
        self.versions = {policy.id: policy.version for policy in policies}
        self.policy_ids = frozenset(self.versions)
        grants = [each for each in enabled if each.policy.kind is PolicyKind.GRANT]
        self._tiers = [list(tier) for _, tier in groupby(grants, key=lambda each: each.policy.priority)]
        self._guardrails = [each for each in enabled if each.policy.kind is PolicyKind.GUARDRAIL]
        self._views: dict[_ViewName, ToolView] = {}
        self.shadow, self.combined = shadow, None
        if shadow is None and any(policy.in_shadow for policy in policies):
            self.combined = CompiledAgent(agent, policies, is_secret, shared_marks, macs, ShadowPolicies(policies))
        self._escalations = {
            (each.policy.id, rule.ref.index): escalation_of(each.policy.id, rule.rule)
            for each in enabled
            for rule in each.rules
            if Result.ESCALATED in rule.results()
        }
        self._marks = marks_of(shared_marks, own_marks(policies))
        parts = sum(1 + len(each.rules) for each in enabled)
        self._views_max = max(_MIN_VIEWS, min(_MAX_VIEWS, _MAX_VIEW_PARTS // max(1, parts)))
        self.tool_patterns = sum(len(rule.rule.tools) + 5 for each in enabled for rule in each.rules) + len(self._marks)
        if self.combined is not None:
            self.tool_patterns += self.combined.tool_patterns

    def is_quick(self, request: AuthorizeRequest) -> bool:
        """True if `decide` takes a few milliseconds at worst; if not, it must run in a thread.

        The estimate uses only the policies and the call's size. For most calls it is too high, which costs no more than
        a thread.
        """
        view = self._views.get(request.tool_name)
        if view is None:
            if self.tool_patterns > _QUICK_TOOL_PATTERNS:
                return False
            view = self.view(request.tool_name)
        return request.size <= view.quick_size

    def view_of(self, request: AuthorizeRequest) -> ToolView:
        """The policies for this call: of the rules that cover the tool, those that apply to the call."""
        view = self.view(request.tool_name)
        if not view.judged:
            return view
        context = request.context or NOTHING
        verdicts = tuple(rule.applies(request.parameters, context) for rule in view.judged)
        by_rule = {id(rule): verdict for rule, verdict in zip(view.judged, verdicts, strict=True)}
        return self._kept_view((request.tool_name, verdicts), lambda: self._make_view(request.tool_name, by_rule))

    def rules_for(self, tool: str) -> list[tuple[str, CompiledRule]]:
        """Every rule of any tier that can matter for calls of a tool, with its policy's id."""
        return [(each.policy.id, rule) for each in self._enabled for rule in each.rules if rule.concerns(tool)]

    def marks_for(self, tool: str) -> tuple[Mark, ...]:
        """What an allowed call of a tool leaves in its session."""
        return tuple(mark for pattern, mark in self._marks.items() if covers((marked_pattern(pattern),), tool))

    def breakers_for(self, tool: str) -> tuple[OpenBreaker, ...]:
        """The breakers that count a denied call of a tool: those of all guardrails, evaluated or not."""
        rules = (rule for each in self._guardrails for rule in each.rules if covers(rule.rule.tools, tool))
        return tuple(breaker for rule in rules if (breaker := rule.demands.breaker) is not None)

    def escalation(self, policy_id: str, rule: RuleRef | None) -> Escalation | None:
        """The approval that this rule asks for if it fails; None if it asks for none."""
        return None if rule is None else self._escalations.get((policy_id, rule.index))

    def descriptive(self, tool: str) -> frozenset[str]:
        """The parameters of the tool whose texts an approval does not bind."""
        if not self._describes:
            return frozenset()
        asking = (rule.rule for _, rule in self.rules_for(tool) if Result.ESCALATED in rule.results())
        # A shadow policy may remember what people approve, so what it reads must be part of that.
        return descriptive_names(asking, [rule.rule for _, rule in (self.combined or self).rules_for(tool)])

    @cached_property
    def _describes(self) -> bool:
        return any(descriptive_in(rule.rule) for each in self._enabled for rule in each.rules)

    @property
    def compiled_policies(self) -> Iterator[tuple[Policy, Sequence[CompiledRule]]]:
        """The enabled policies in evaluation order, each with its rules."""
        return ((each.policy, each.rules) for each in self._enabled)

    @cached_property
    def context_names(self) -> frozenset[str]:
        """The paths of the context that any policy of the agent reads."""
        rules = (rule.rule for each in self._enabled for rule in each.rules)
        return frozenset(name for rule in rules for name in names_in_context(msgspec.to_builtins(rule)))

    @cached_property
    def memories(self) -> tuple[str, ...]:
        """The names of what the agent's rules remember, those of shadow policies, too."""
        own = (memory_name(self.agent, each.policy, rule.rule) for each in self._enabled for rule in each.rules)
        return (*filter(None, own), *(() if self.combined is None else self.combined.memories))

    def recurs(self, plan: Plan, tool: str) -> bool:
        """True if calls of the tool repeatedly get this rule's outcome and these quotas as the same objects.

        The reason may differ each time: it includes a parameter's value.
        """
        if plan.marks:
            return False
        beside = () if plan.shadow is None else plan.shadow.quotas
        if beside and (self.combined is None or plan.shadow is not self.combined.view(tool).shadow):
            return False
        if plan.quotas and plan.quotas is not self.view(tool).when_all_pass.quotas:
            return False
        if any(breaker.bucket for breaker in plan.breakers):
            return False
        # What a call took from a refundable limit is stored under its own id.
        return not any(isinstance(quota, Quota) and quota.refundable for quota in (*plan.quotas, *beside))

    def view(self, tool: str) -> ToolView:
        """The policies as `tool` sees them."""
        return self._views.get(tool) or self._kept_view(tool, lambda: self._tool_view(tool))

    def _tool_view(self, tool: str) -> ToolView:
        view = self._conditional_view(tool) or self._make_view(tool, {})
        if not view.shadowed or self.combined is None:
            return view
        # Both are decided, one after the other.
        together = self.combined.view(tool).quick_size
        return replace(view, quick_size=min(view.quick_size, together) // 2)

    def _kept_view(self, name: _ViewName, make: Callable[[], ToolView]) -> ToolView:
        """The cached view; the latest 256 are kept, fewer if the policies are very many."""
        view = self._views.get(name)
        if view is None:
            view = self._views[name] = make()
            excess = len(self._views) - self._views_max
            if excess > 0:
                # Threads run this, too: copying a list is atomic, and it does no harm if another thread has removed an
                # entry.
                for oldest in list(self._views)[:excess]:
                    self._views.pop(oldest, None)
        return view

    def _conditional_view(self, tool: str) -> ToolView | None:
        """The part of the view known before the call, if a rule has `when` or `unless`; None if none has."""
        asked = [rule for each in self._enabled for rule in each.rules if rule.concerns(tool)]
        judged = tuple(rule for rule in asked if rule.judge is not None)
        if not judged:
            return None
        quick = quick_size(cost for rule in asked for cost in rule.costs)
        # In the worst case every call has its own view.
        quick = quick if self.tool_patterns <= _QUICK_REMADE else -1
        return ToolView((), False, NOTHING_MATCHES, quick, judged, shadowed=self._is_shadowed(tool))

    def _is_shadowed(self, tool: str) -> bool:
        together = self.combined
        if together is None or together.shadow is None:
            return False
        is_asked = any(policy_id in together.shadow.ids for policy_id, _ in together.rules_for(tool))
        return is_asked or together.shadow.look_back_on(self.marks_for(tool))

    def _make_view(self, tool: str, verdicts: Verdicts) -> ToolView:
        shadowed = self._is_shadowed(tool)
        counting = self.breakers_for(tool)
        breakers = tuple(each for each in counting if isinstance(each, DenialCount))
        open_breakers = counting if len(breakers) < len(counting) else ()
        for tier in self._tiers:
            deciding = policy_views(tier, tool, verdicts)
            if deciding:
                asked = deciding + policy_views(self._guardrails, tool, verdicts)
                timed = any(condition.time for view in asked for condition in view.conditions) or any(
                    isinstance(quota, VaryingQuota) and quota.counted is not None
                    for view in asked
                    for quota in view.quotas
                )
                outcome = asked[0].allowed
                quotas = open_quotas(asked, outcome.result, 0)
                quick = quick_size(condition.cost for view in asked for condition in view.conditions)
                settled = tuple(quota for quota in quotas if isinstance(quota, Quota | DenialCount))
                varying = quotas if len(settled) < len(quotas) else ()
                plan = plan_of(outcome, settled, breakers)
                marks = self.marks_for(tool)
                shadow = None if self.shadow is None or varying or marks else self.shadow.plan(asked, plan)
                return ToolView(
                    asked, timed, plan, quick, varying=varying, breakers=open_breakers, marks=marks, shadowed=shadowed,
                    shadow=shadow,
                )  # fmt: skip
        nothing = default_deny(chain.from_iterable(self._tiers), tool, self._is_secret)
        if breakers:
            nothing = replace(nothing, breakers=breakers)
        return ToolView((), False, nothing, breakers=open_breakers, shadowed=shadowed)


INACTIVE = {
    status: Plan(Outcome(Result.DENIED, None, None, f"Agent is {status}", DecisionCode(f"agent_{status}")))
    for status in (AgentStatus.SUSPENDED, AgentStatus.REVOKED)
}
"""The plan for every call of an agent that is not active."""


def compile_agent(
    agent: Agent,
    policies: Sequence[Policy],
    is_secret: IsSecret,
    shared_marks: Mapping[str, int] | None = None,
    macs: Macs = no_macs,
) -> CompiledAgent:
    """The agent's enabled policies, ready for `decide`. Stored policies always compile.

    shared_marks: the patterns in the workspace's `forbiddenAfter` lists, with the seconds for which each counts.
    macs: the MACs of a value that a rule remembers, the newest secret's first.
    """
    return CompiledAgent(agent, policies, is_secret, shared_marks or {}, macs)
