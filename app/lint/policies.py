"""Warnings about a policy, judged together with the others that govern the same agents."""

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import TypeVar

from app.lint.approvers import ApprovingGroups, approver_warnings
from app.lint.from_request import from_request_warnings
from app.lint.known_tools import NOTHING_KNOWN, KnownTools, parameter_warnings
from app.lint.overlaps import first_not_within, tools_meet, windows_meet
from app.lint.rules import breaker_warnings, constraint_warnings
from app.lint.warnings import Code, PolicyWarning
from app.model.policies import Policy, PolicyKind
from app.model.rule import Rule
from app.model.rules import DenialCounted, PolicyRule, Sequenced, TimeBased, ToolAllowlist, ToolDenylist

_Rule = TypeVar("_Rule", bound=Rule)
EVERY_TOOL = "*"
MAX_COMPARISONS = 4_000_000
"""Comparisons that take a thread about two seconds at worst."""
_WINDOW_COST = 20_000


def lint_policies(
    policies: Sequence[Policy], known_tools: KnownTools = NOTHING_KNOWN, approving: ApprovingGroups = None
) -> list[list[PolicyWarning]]:
    """Each policy's warnings, in order. The policies are all that govern an agent, a group or a workspace.

    known_tools: those in the log or the catalogue; if empty, nothing is known, so no pattern is suspect. approving: the
    groups whose people may approve.
    """
    enabled = [policy for policy in policies if policy.enabled]
    return [list(_warnings(policy, _evaluated_with(policy, enabled), known_tools, approving)) for policy in policies]


def lint_written(
    written: Sequence[Policy],
    beside: Sequence[Policy],
    known_tools: KnownTools = NOTHING_KNOWN,
    approving: ApprovingGroups = None,
) -> list[list[PolicyWarning]]:
    """The warnings about each written policy, judged together with the others, which get no warnings.

    If there are so many that this would take seconds, each gets a single warning that says so.
    """
    if _comparisons(written, beside, len(known_tools)) > MAX_COMPARISONS:
        message = "there are too many tool patterns or time windows to be compared; make fewer, or use prefixes"
        return [[PolicyWarning(Code.TOO_MUCH_TO_COMPARE, "$.rules", message)] for _ in written]
    enabled = [policy for policy in (*written, *beside) if policy.enabled]
    return [list(_warnings(policy, _evaluated_with(policy, enabled), known_tools, approving)) for policy in written]


def _evaluated_with(policy: Policy, enabled: Sequence[Policy]) -> Sequence[Policy]:
    """The policies it is judged with: for an enforced one, the enforced ones; for a shadow one, all as if enforced."""
    return enabled if policy.in_shadow else [each for each in enabled if not each.in_shadow]


def _comparisons(written: Sequence[Policy], beside: Sequence[Policy], known: int) -> int:
    """The most pattern comparisons, estimated; a pair of time windows counts as `_WINDOW_COST` of them."""
    own, others = (
        sum(len(rule.tools) for policy in policies for rule in policy.rules) for policies in (written, beside)
    )
    windows = sum(len(_of(policy, TimeBased)) ** 2 // 2 for policy in written)
    # A pattern that ends in a star can cover all known tools.
    open_ended = sum(pattern.endswith("*") for policy in written for rule in policy.rules for pattern in rule.tools)
    return own * (own + others) + open_ended * known // 10 + _WINDOW_COST * windows


def _warnings(
    policy: Policy, enabled: Sequence[Policy], known_tools: KnownTools, approving: ApprovingGroups
) -> Iterator[PolicyWarning]:
    if policy.kind is PolicyKind.GRANT:
        yield from _grants_too_much(policy)
        if policy.enabled:
            yield from _against_lower_tiers(policy, enabled)
            yield from _below_what_always_decides(policy, enabled)
            yield from _shadowing_allowlists(policy, enabled)
    if policy.enabled:
        yield from breaker_warnings(policy, enabled)
    yield from _contradictions(policy, [each for each in enabled if each.id != policy.id])
    yield from from_request_warnings(policy, known_tools)
    for index, rule in enumerate(policy.rules):
        yield from constraint_warnings(f"$.rules[{index}]", rule, _judged_with(policy, enabled))
        yield from parameter_warnings(f"$.rules[{index}]", rule, known_tools)
        yield from approver_warnings(f"$.rules[{index}]", rule, approving)
        yield from _refused_anyway(policy, index, rule, enabled)
        yield from _never_begins(index, rule)
        for place, pattern in _patterns_of(rule):
            if known_tools and pattern != EVERY_TOOL and not known_tools.covered(pattern):
                message = f'"{pattern}" covers no tool that has been seen or catalogued; is it spelled right?'
                yield PolicyWarning(Code.UNKNOWN_TOOL, f"$.rules[{index}].{place}", message)


def _grants_too_much(policy: Policy) -> Iterator[PolicyWarning]:
    """A grant that only restricts allows every call within the restriction."""
    passing = [(index, rule) for index, rule in enumerate(policy.rules) if not rule.only_fails]
    if passing and not any(rule.names_right_calls for _, rule in passing):
        index, rule = passing[0]
        message = (
            f"this policy grants by restriction: a {rule.tag()} rule that passes allows every tool it covers "
            f'({", ".join(rule.tools[:3])}). Make the policy a guardrail ("kind": "guardrail"), or say in an allowlist '
            "or a parameter_constraint which calls are right"
        )
        yield PolicyWarning(Code.GRANTS_BY_RESTRICTION, f"$.rules[{index}]", message)
    for index, rule in enumerate(policy.rules):
        if isinstance(rule, ToolAllowlist) and EVERY_TOOL in rule.tools and len(policy.rules) == 1:
            message = "this policy allows every call of every tool, those that will exist included; name the tools"
            yield PolicyWarning(Code.ALLOWS_EVERYTHING, f"$.rules[{index}].tools", message)


def _against_lower_tiers(policy: Policy, enabled: Sequence[Policy]) -> Iterator[PolicyWarning]:
    """Where this policy allows, lower ones are not evaluated, so none of them denies or asks a person."""
    allowed = [pattern for rule in policy.rules if not rule.only_fails for pattern in rule.tools]
    guarded = [pattern for rule in policy.rules if rule.only_fails and rule.is_always for pattern in rule.tools]
    for lower in enabled:
        if lower.kind is not PolicyKind.GRANT or lower.priority >= policy.priority:
            continue
        for rule in lower.rules:
            silenced = [pattern for pattern in rule.tools if tools_meet([pattern], allowed)]
            if rule.only_fails and first_not_within(silenced, guarded) is not None:
                what = "approval" if rule.escalates else "denial"
                message = (
                    f'where this policy allows, the {what} of "{first_not_within(silenced, guarded)}" in the policy '
                    f'"{lower.name}" (priority {lower.priority}) is never asked for. Put that rule into a guardrail'
                )
                yield PolicyWarning(Code.SILENCES_BELOW, "$.priority", message)
                break


def _below_what_always_decides(policy: Policy, enabled: Sequence[Policy]) -> Iterator[PolicyWarning]:
    """An allowlist always decides, so nothing below its tier is ever evaluated."""
    for higher in enabled:
        if higher.kind is PolicyKind.GRANT and higher.priority > policy.priority and _decides_always(higher):
            message = (
                f'this policy is never asked: "{higher.name}" (priority {higher.priority}) decides about every tool '
                "before it. Give both one priority, or make one of them a guardrail"
            )
            yield PolicyWarning(Code.NEVER_DECIDES, "$.priority", message)
            return


def _contradictions(policy: Policy, others: Sequence[Policy]) -> Iterator[PolicyWarning]:
    """Pairs of rules that no call can satisfy together."""
    for (_, one), (index, other) in combinations(_of(policy, ToolAllowlist), 2):
        if not tools_meet(one.tools, other.tools):
            message = "no tool is on this allowlist and on the one before it, so the policy denies every call"
            yield PolicyWarning(Code.ALLOWLISTS_DISJOINT, f"$.rules[{index}].tools", message)
    for other_policy in others:
        together = other_policy.kind is PolicyKind.GUARDRAIL or (
            policy.kind is PolicyKind.GRANT and other_policy.priority == policy.priority
        )
        for index, rule in _of(policy, ToolAllowlist):
            if together and any(not tools_meet(rule.tools, each.tools) for _, each in _of(other_policy, ToolAllowlist)):
                message = (
                    f'no tool is on this allowlist and on that of "{other_policy.name}": together they deny all; '
                    "put what both allow into one list"
                )
                yield PolicyWarning(Code.ALLOWLISTS_DISJOINT, f"$.rules[{index}].tools", message)
    for (_, first), (index, second) in combinations(_of(policy, TimeBased), 2):
        if tools_meet(first.tools, second.tools) and not windows_meet(first.time_window, second.time_window):
            message = "at no time are this window and the one before it both open, so their tools are never allowed"
            yield PolicyWarning(Code.WINDOW_NEVER_OPENS, f"$.rules[{index}].timeWindow", message)


def _shadowing_allowlists(policy: Policy, enabled: Sequence[Policy]) -> Iterator[PolicyWarning]:
    """Grants of one priority decide together, so an allowlist of one refuses what another allows."""
    for other in enabled:
        if other.id == policy.id or other.kind is not PolicyKind.GRANT or other.priority != policy.priority:
            continue
        for one, allowlisting in ((policy, other), (other, policy)):
            index, shadowed = _first_refused(one, allowlisting)
            if shadowed is None:
                continue
            whose = f'this policy allows and the allowlist of "{other.name}" refuses'
            if allowlisting is policy:
                index, whose = _of(policy, ToolAllowlist)[0][0], f'"{other.name}" allows and this allowlist refuses'
            message = (
                f'"{shadowed}" is denied: {whose}. Grants of one priority decide together, and an allowlist refuses '
                "what it does not name; name the tool in it too, or allow all tools in one allowlist"
            )
            yield PolicyWarning(Code.ALLOWLIST_SHADOWS, f"$.rules[{index}].tools", message)
            break


def _first_refused(one: Policy, other: Policy) -> tuple[int, str | None]:
    """The first tool pattern that `one` allows and an allowlist of `other` refuses, and the index of its rule.

    None if there is none, or if the two have no tool in common, of which there is another warning.
    """
    allowlists = [rule.tools for _, rule in _of(other, ToolAllowlist) if rule.is_always]
    own = _of(one, ToolAllowlist)
    allows: list[tuple[int, PolicyRule]] = [*own] or [
        each for each in enumerate(one.rules) if each[1].names_right_calls
    ]
    if own and not all(tools_meet(rule.tools, tools) for _, rule in own for tools in allowlists):
        return 0, None
    found = ((index, first_not_within(rule.tools, tools)) for index, rule in allows for tools in allowlists)
    return next((each for each in found if each[1] is not None), (0, None))


def _judged_with(policy: Policy, enabled: Sequence[Policy]) -> list[Policy]:
    """The policy and those whose rules a call that it allows must pass, too."""
    return [policy, *(each for each in enabled if each.id != policy.id and each.kind is PolicyKind.GUARDRAIL)]


def _refused_anyway(policy: Policy, index: int, rule: PolicyRule, enabled: Sequence[Policy]) -> Iterator[PolicyWarning]:
    """A rule has no effect if other rules of the policy or of a guardrail refuse every tool that it covers."""
    if isinstance(rule, ToolAllowlist | ToolDenylist | DenialCounted):
        return
    for each in _judged_with(policy, enabled):
        whose = "the policy's own" if each.id == policy.id else f'of "{each.name}", the'
        denied = [pattern for _, deny in _of(each, ToolDenylist) if deny.is_always for pattern in deny.tools]
        allowlists = [allowlist for _, allowlist in _of(each, ToolAllowlist) if allowlist.is_always]
        if any(not tools_meet(rule.tools, allowlist.tools) for allowlist in allowlists):
            word = "allowlist"
        elif first_not_within(rule.tools, denied) is None:
            word = "denylist"
        else:
            continue
        message = f"{whose} {word} refuses every tool that this rule covers, so it never decides"
        yield PolicyWarning(Code.NEVER_DECIDES, f"$.rules[{index}]", message)
        return


def _never_begins(index: int, rule: PolicyRule) -> Iterator[PolicyWarning]:
    """A tool that must come first must not be covered by the very rule that requires it."""
    required = rule.sequence.required if isinstance(rule, Sequenced) and rule.is_always else []
    if required and first_not_within(required, rule.tools) is None:
        message = (
            "what must come before is covered by the rule itself, so no session is ever allowed it, and none of "
            "the rule's tools; leave it out of tools"
        )
        yield PolicyWarning(Code.SEQUENCE_NEVER_BEGINS, f"$.rules[{index}].sequence.requiresBefore", message)


def _patterns_of(rule: PolicyRule) -> Iterator[tuple[str, str]]:
    """Yield (path below the rule, pattern) for every tool pattern of a rule."""
    lists = [("tools", rule.tools)]
    if isinstance(rule, Sequenced):
        lists += [
            ("sequence.forbiddenAfter", rule.sequence.forbidden),
            ("sequence.requiresBefore", rule.sequence.required),
        ]
    yield from ((f"{name}[{place}]", pattern) for name, patterns in lists for place, pattern in enumerate(patterns))


def _of(policy: Policy, kind: type[_Rule]) -> list[tuple[int, _Rule]]:
    """(index, rule) of every rule of one type."""
    return [(index, rule) for index, rule in enumerate(policy.rules) if isinstance(rule, kind)]


def _decides_always(policy: Policy) -> bool:
    return any(
        rule.is_always and (isinstance(rule, ToolAllowlist) or EVERY_TOOL in rule.tools) for rule in policy.rules
    )
