"""What policies can ever allow: for each kind of tool the results that its calls can get, with a call for each."""

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from app.model.bounds import AgentBounds, Bound, ExampleCall, IdleRule, Reachable, ToolBounds
from app.model.comparisons import Doubt
from app.model.decisions import Result
from app.model.policies import Policy, off_in_shadow
from app.model.rule import Effect
from app.model.rules import ToolAllowlist, ToolGrant
from app.model.sequences import covers
from app.pdp.constraints import IsSecret
from app.pdp.rules import rule_in_words
from app.policy_tools.compare.combinations import Effort
from app.policy_tools.compare.judging import Judging, kinds_of_tools
from app.policy_tools.compare.meaning import compare_meaning
from app.policy_tools.compare.tiers import concerning


def bounds_of(policies: Sequence[Policy], is_secret: IsSecret, effort: Effort | None = None) -> AgentBounds:
    """The bounds of an agent that these policies govern; those in shadow mode are left out."""
    effort = effort or Effort()
    enforced = [each for each in map(off_in_shadow, policies) if each.enabled]
    judging = Judging(enforced, [], effort)
    tools = [_tool_bounds(judging, enforced, names, is_secret) for names in kinds_of_tools(judging.rules)]
    doubts = [Doubt(tool, reason) for tool, reasons in judging.because.items() for reason in reasons]
    idle: list[IdleRule] = []
    not_judged: list[IdleRule] = []
    for rule, rest in _without_each_rule(enforced):
        meaning = compare_meaning(enforced, rest, effort)
        if not (meaning.flips or meaning.limits):
            (idle if meaning.complete else not_judged).append(rule)
    return AgentBounds(tools, idle, not_judged, not doubts, doubts)


def _tool_bounds(
    judging: Judging, policies: Sequence[Policy], names: tuple[str, ...], is_secret: IsSecret
) -> ToolBounds:
    tool, *like = names
    found: dict[Result, ExampleCall] = {}
    for call, at, limits, outcome, _ in judging.judged(tool):
        values = call.parameters, call.context
        found.setdefault(outcome.result, ExampleCall(outcome.result, *values, at, list(limits), outcome.reason))
    results, is_all = found.keys(), tool not in judging.because
    if Result.ALLOWED in results and len(results) > 1:
        calls = Reachable.BOUNDED
    elif not is_all:
        calls = Reachable.UNDECIDED
    elif Result.ALLOWED in results:
        calls = Reachable.ANY
    else:
        calls = Reachable.ASKS if Result.ESCALATED in results else Reachable.NEVER
    bounds = [
        Bound(policy.name, Effect.ESCALATE if rule.escalates else Effect.DENY, text)
        for policy in policies
        for rule in concerning(policy, tool)
        if not (isinstance(rule, ToolAllowlist | ToolGrant) and covers(rule.tools, tool) and rule.is_always)
        for text in [rule_in_words(rule, covered=covers(rule.tools, tool), is_secret=is_secret)]
    ]
    return ToolBounds(tool, like, calls, bounds, sorted(found.values(), key=lambda each: _ORDER.index(each.result)))


_ORDER = (Result.ALLOWED, Result.ESCALATED, Result.DENIED)


def _without_each_rule(policies: Sequence[Policy]) -> Iterator[tuple[IdleRule, list[Policy]]]:
    """Yield each rule, and the policies without it."""
    for place, policy in enumerate(policies):
        for index, rule in enumerate(policy.rules):
            rules = (*policy.rules[:index], *policy.rules[index + 1 :])
            less = [replace(policy, rules=rules)] if rules else []
            yield IdleRule(policy.name, index, rule.tag()), [*policies[:place], *less, *policies[place + 1 :]]
