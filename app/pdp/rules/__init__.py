"""The types of rules, one module each, and what is the same for all of them."""

from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules

import msgspec
from msgspec import UnsetType

from app.model.agents import Agent
from app.model.constraints import IfMissing, named_constraints
from app.model.counting import quota_fingerprints
from app.model.decisions import Result, RuleRef
from app.model.memories import memory_name
from app.model.policies import SHADOW_BUCKET, Policy, PolicyMode
from app.model.rule import Rule
from app.model.rules import TYPES
from app.pdp.call_schemas import circumstances_schema
from app.pdp.constraint_words import named_in_words
from app.pdp.constraints import IsSecret, Judge, compile_circumstances
from app.pdp.costs import Cost, cost_of
from app.pdp.rules.rule_type import TYPE_OF, CompiledRule, Macs, PlacedRule, no_macs
from app.pdp.value_schemas import NOTHING_PASSES, UNKNOWN, SchemaPart

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")
if TYPE_OF.keys() != set(TYPES):
    raise TypeError(f"a type of rule that does nothing: {TYPE_OF.keys() ^ set(TYPES)}")

_NOT_LISTED = "the tool is not on the policy's allowlist"
_ASKED = {"when": "if", "unless": "unless"}
_MAX_WORDS = 300
"""The most characters about a grant in a reason; each denied call's entry has them."""
_MAX_BYTES = 4096
"""The largest schema of one rule, in bytes of JSON; longer ones are left out."""


def compile_rules(
    policy: Policy, is_secret: IsSecret, agent: Agent | None = None, macs: Macs = no_macs
) -> list[CompiledRule]:
    """The rules of a policy, in its order. macs: the MACs of a value, the newest secret's first."""
    active_since = 0 if agent is None else agent.active_since
    compiled = []
    for index, (rule, name) in enumerate(zip(policy.rules, quota_fingerprints(policy.rules), strict=True)):
        ref, result = RuleRef(index, rule.tag()), Result.ESCALATED if rule.escalates else Result.DENIED
        fingerprint = name or ""
        if name is not None and policy.mode is PolicyMode.SHADOW:
            fingerprint += SHADOW_BUCKET
        rule_type = TYPE_OF[type(rule)]
        memory = "" if agent is None else memory_name(agent, policy, rule)
        placed = PlacedRule(
            policy,
            rule,
            ref=ref,
            when_failed=result,
            fingerprint=fingerprint,
            is_secret=is_secret,
            active_since=active_since,
            memory=memory,
            macs=macs,
        )
        demands = rule_type.compile(placed)
        judge, costs = _judge(rule, is_secret)
        if demands.condition is not None:
            costs = (*costs, demands.condition.cost)
        compiled.append(
            CompiledRule(
                rule_type, policy, rule, ref=ref, when_failed=result, demands=demands, judge=judge, costs=costs
            )
        )
    return compiled


def _judge(rule: Rule, is_secret: IsSecret) -> tuple[Judge | None, tuple[Cost, ...]]:
    """The function that decides whether a rule applies to a call, and its cost."""
    for word, circumstances in (("when", rule.when), ("unless", rule.unless)):
        if not isinstance(circumstances, UnsetType):
            named = named_constraints(circumstances.parameters, circumstances.context)
            return compile_circumstances(word, circumstances, is_secret), (cost_of(named),)
    return None, ()


def rule_in_words(rule: Rule, *, covered: bool, is_secret: IsSecret) -> str:
    """What a call of a tool must satisfy so that the rule does not fail. Requirements on secrets are left out."""
    said = "; ".join(TYPE_OF[type(rule)].words(rule, is_secret)) if covered else _NOT_LISTED
    return ", ".join([said, *(f"{word} {asked}" for word, asked in _circumstances_in_words(rule, is_secret))])


def why_not_granted(policy: Policy, rule: Rule, tool: str, is_secret: IsSecret) -> str:
    """Why a call is denied of which this grant is the first that covers the tool: it does not apply to the call."""
    asked = " ".join(f"{_ASKED[word]} {asked}" for word, asked in _circumstances_in_words(rule, is_secret))
    asked = asked if len(asked) <= _MAX_WORDS else f"{asked[: _MAX_WORDS - 1]}…"
    return f'No policy grants this call; "{policy.name}" grants "{tool}" {asked}'


def _circumstances_in_words(rule: Rule, is_secret: IsSecret) -> Iterator[tuple[str, str]]:
    """Yield (`when` or `unless`, what it asks) if the rule has one of them."""
    for word, circumstances in (("when", rule.when), ("unless", rule.unless)):
        if not isinstance(circumstances, UnsetType):
            named = named_constraints(circumstances.parameters, circumstances.context)
            yield word, " and ".join(named_in_words(*each, is_secret) for each in named)


def rule_schema(rule: Rule, *, covered: bool, is_secret: IsSecret, applies: bool = False) -> SchemaPart:
    """The parameters with which a call does not fail the rule.

    covered: whether the rule covers the tool. applies: assume that the rule applies, leaving out `when` and `unless`.
    What a rule demands of anything else is left out. That does not make the schema less exact, because it only
    describes the parameters.
    """
    part = TYPE_OF[type(rule)].schema(rule, is_secret) if covered else NOTHING_PASSES
    if part.schema is not True and len(msgspec.json.encode(part.schema)) > _MAX_BYTES:
        return UNKNOWN
    for word, circumstances in (("when", rule.when), ("unless", rule.unless)):
        if applies or isinstance(circumstances, UnsetType):
            continue
        # A value that a `when` reads must be present and of its type, or the rule fails; the schema does not say so.
        condition = circumstances_schema(circumstances, is_secret)
        skips_missing = word == "unless" and circumstances.if_missing is IfMissing.SKIP
        if condition is None or part.schema is True or skips_missing:
            return UNKNOWN
        return SchemaPart({"if": condition, "then" if word == "when" else "else": part.schema}, is_exact=False)
    return part
