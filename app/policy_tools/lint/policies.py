"""Warnings about a policy, judged together with the others that govern the same agents."""

from collections.abc import Iterator, Sequence
from itertools import combinations, islice

from app.model.policies import Policy, PolicyKind
from app.model.rules import (
    DenialCounted,
    ParameterConstraint,
    PolicyRule,
    Sequenced,
    TimeBased,
    ToolAllowlist,
    ToolDenylist,
    ToolGrant,
)
from app.policy_tools.lint.approvers import ApprovingGroups, approver_warnings
from app.policy_tools.lint.from_request import from_request_warnings
from app.policy_tools.lint.known_tools import NOTHING_KNOWN, KnownTools, parameter_warnings
from app.policy_tools.lint.overlaps import Patterns, windows_meet
from app.policy_tools.lint.rules import breaker_warnings, constraint_warnings, hours_warnings
from app.policy_tools.lint.tiers import against_lower_tiers, below_what_always_decides, shadowing_allowlists
from app.policy_tools.lint.together import EVERY_TOOL, Comparisons, Together, TooMuchToCompare, rules_of
from app.policy_tools.lint.warnings import Code, PolicyWarning

MAX_COMPARISONS = 1_000_000
"""Comparisons that take a thread about a second at worst."""
_WINDOW_COST = 10_000
_WARNING_COST = 20
_CHANGE_ONE = "change one of them"
_ADDS = "a tool_grant, which adds and denies nothing"
_MOST_OTHERS = 5
"""A policy gets a warning of one kind about at most so many other policies."""


def lint_policies(
    policies: Sequence[Policy], known_tools: KnownTools = NOTHING_KNOWN, approving: ApprovingGroups = None
) -> list[list[PolicyWarning]]:
    """Each policy's warnings, in order. The policies are all that govern an agent, a group or a workspace.

    known_tools: those in the log or the catalogue; if empty, nothing is known, so no pattern is suspect. approving: the
    groups whose people may approve.
    """
    return _lint(policies, policies, known_tools, approving, Comparisons(float("inf")))


def lint_written(
    written: Sequence[Policy],
    beside: Sequence[Policy],
    known_tools: KnownTools = NOTHING_KNOWN,
    approving: ApprovingGroups = None,
) -> list[list[PolicyWarning]]:
    """The warnings about each written policy, judged together with the others, which get no warnings.

    If there are so many that this would take seconds, each gets a single warning that says so.
    """
    try:
        return _lint(written, [*written, *beside], known_tools, approving, Comparisons(MAX_COMPARISONS))
    except TooMuchToCompare:
        message = "there are too many tool patterns or time windows to be compared; make fewer, or use prefixes"
        return [[PolicyWarning(Code.TOO_MUCH_TO_COMPARE, "$.rules", message)] for _ in written]


def _lint(
    written: Sequence[Policy],
    governing: Sequence[Policy],
    known_tools: KnownTools,
    approving: ApprovingGroups,
    comparisons: Comparisons,
) -> list[list[PolicyWarning]]:
    """An enforced policy is judged with the enforced ones; one in shadow with all, as if they were enforced."""
    enabled = [policy for policy in governing if policy.enabled]
    enforced = Together([policy for policy in enabled if not policy.in_shadow], comparisons)
    in_shadow = Together(enabled, comparisons)
    found = []
    for policy in written:
        warnings = []
        for warning in _warnings(policy, in_shadow if policy.in_shadow else enforced, known_tools, approving):
            comparisons.spend(_WARNING_COST)
            warnings.append(warning)
        found.append(warnings)
    return found


def _warnings(
    policy: Policy, together: Together, known_tools: KnownTools, approving: ApprovingGroups
) -> Iterator[PolicyWarning]:
    if policy.kind is PolicyKind.GRANT:
        yield from _grants_too_much(policy, together.comparisons)
        if policy.enabled:
            yield from islice(against_lower_tiers(policy, together), _MOST_OTHERS)
            yield from below_what_always_decides(policy, together)
            yield from islice(shadowing_allowlists(policy, together), _MOST_OTHERS)
    if policy.enabled:
        yield from breaker_warnings(policy, together)
    yield from _contradictions(policy, together)
    yield from islice(_disjoint_from_others(policy, together), _MOST_OTHERS)
    yield from from_request_warnings(policy, known_tools, together.comparisons)
    for index, rule in enumerate(policy.rules):
        yield from constraint_warnings(f"$.rules[{index}]", rule, policy, together)
        yield from parameter_warnings(f"$.rules[{index}]", rule, known_tools, together.comparisons)
        yield from approver_warnings(f"$.rules[{index}]", rule, approving, together.comparisons)
        yield from _refused_anyway(policy, index, rule, together)
        yield from _never_begins(index, rule)
        yield from hours_warnings(index, rule)
        for place, pattern in _patterns_of(rule):
            if known_tools and pattern != EVERY_TOOL and not known_tools.covered(pattern):
                message = f'"{pattern}" covers no tool that has been seen or catalogued; is it spelled right?'
                yield PolicyWarning(Code.UNKNOWN_TOOL, f"$.rules[{index}].{place}", message)


def _grants_too_much(policy: Policy, compared: Comparisons) -> Iterator[PolicyWarning]:
    """A rule that restricts, in a grant, allows every call within the restriction."""
    fenced = any(rule.is_always for _, rule in rules_of(policy, ToolAllowlist))
    named = Patterns(pattern for rule in policy.rules if rule.names_right_calls for pattern in rule.tools)
    for index, rule in enumerate(policy.rules):
        if fenced or rule.only_fails or rule.names_right_calls:
            continue
        unnamed = compared.first_uncovered(compared.tools(rule), named)
        if unnamed is None:
            continue
        message = (
            f"this policy grants by restriction: a {rule.tag()} rule that passes allows every tool it covers "
            f'("{unnamed}"). Make it a rule of a guardrail ("kind": "guardrail"), or say in a tool_grant or a '
            "parameter_constraint which calls are right, and let it cover their tools only"
        )
        yield PolicyWarning(Code.GRANTS_BY_RESTRICTION, f"$.rules[{index}]", message)
        break
    for index, rule in enumerate(policy.rules):
        if isinstance(rule, ToolAllowlist | ToolGrant) and EVERY_TOOL in rule.tools and len(policy.rules) == 1:
            message = "this policy allows every call of every tool, those that will exist included; name the tools"
            yield PolicyWarning(Code.ALLOWS_EVERYTHING, f"$.rules[{index}].tools", message)
        if isinstance(rule, ParameterConstraint) and _demands_nothing(rule):
            message = "this constraint demands nothing of the calls that it allows; make it a tool_grant, which says so"
            yield PolicyWarning(Code.GRANTS_BY_TRICK, f"$.rules[{index}]", message)


def _demands_nothing(rule: ParameterConstraint) -> bool:
    """True if every value that it names may be missing, and may be anything if it is not."""
    return all(
        where or (constraint.required is False and constraint.given == ["required"])
        for where, _, _, constraint in rule.constraints()
    )


def _contradictions(policy: Policy, together: Together) -> Iterator[PolicyWarning]:
    """Pairs of the policy's own rules that no call can satisfy together."""
    compared = together.comparisons
    for (_, one), (index, other) in combinations(rules_of(policy, ToolAllowlist), 2):
        if not compared.meet(compared.tools(one), compared.tools(other)):
            message = (
                "no tool is on this allowlist and on the one before it, so the policy denies every call; make each "
                f"{_ADDS}"
            )
            yield PolicyWarning(Code.ALLOWLISTS_DISJOINT, f"$.rules[{index}].tools", message)
    for (_, first), (index, second) in combinations(rules_of(policy, TimeBased), 2):
        if compared.meet(compared.tools(first), compared.tools(second)):
            compared.spend(_WINDOW_COST)
            if not windows_meet(first.time_window, second.time_window):
                message = "at no time are this window and the one before it both open, so their tools are never allowed"
                yield PolicyWarning(Code.WINDOW_NEVER_OPENS, f"$.rules[{index}].timeWindow", message)


def _disjoint_from_others(policy: Policy, together: Together) -> Iterator[PolicyWarning]:
    """Allowlists that decide together with one of the policy's, and have no tool in common with it."""
    compared = together.comparisons
    own = rules_of(policy, ToolAllowlist)
    beside = together.tiers.get(policy.priority, []) if policy.kind is PolicyKind.GRANT else []
    for index, rule in own:
        warned = {policy.id}
        for other, allowlist in (*together.guarding, *beside):
            if other.id in warned or compared.meet(compared.tools(rule), compared.tools(allowlist)):
                continue
            warned.add(other.id)
            is_boundary = PolicyKind.GUARDRAIL in (policy.kind, other.kind)
            cure = "put what both allow into one list" if is_boundary else f"make each {_ADDS}"
            message = f'no tool is on this allowlist and on that of "{other.name}": together they deny all; {cure}'
            yield PolicyWarning(Code.ALLOWLISTS_DISJOINT, f"$.rules[{index}].tools", message)


def _refused_anyway(policy: Policy, index: int, rule: PolicyRule, together: Together) -> Iterator[PolicyWarning]:
    """A rule has no effect if other rules, of its policy or of those before and beside it, refuse all of its tools."""
    if isinstance(rule, ToolAllowlist | ToolDenylist | DenialCounted):
        return
    refusing = _refusing(policy, rule, together)
    if refusing is not None:
        whose_word, cure = refusing
        message = f"{whose_word} refuses every tool that this rule covers, so it never decides; {cure}"
        yield PolicyWarning(Code.NEVER_DECIDES, f"$.rules[{index}]", message)


def _refusing(policy: Policy, rule: PolicyRule, together: Together) -> tuple[str, str] | None:
    """The list that refuses every tool the rule covers, the policy's own or another's, and the cure; None if none."""
    compared = together.comparisons
    covered = compared.tools(rule)
    own = [(policy, each) for _, each in rules_of(policy, ToolAllowlist)]
    for other, allowlist in (*own, *together.guarding):
        if allowlist.is_always and not compared.meet(covered, compared.tools(allowlist)):
            if other.kind is PolicyKind.GUARDRAIL:
                return f'the allowlist of "{other.name}"', _CHANGE_ONE
            return "the policy's own allowlist", f"make that {_ADDS}"
    denied = [tool for _, each in rules_of(policy, ToolDenylist) if each.is_always for tool in each.tools]
    compared.spend(len(denied))
    if compared.first_uncovered(covered, own_denied := Patterns(denied)) is None:
        return "the policy's own denylist", _CHANGE_ONE
    everywhere, names = together.denied(policy)
    still = Patterns(each for each in covered.patterns if own_denied.covering(each) is None)
    if compared.first_uncovered(still, everywhere) is not None:
        return None
    return f'the denylist of "{names[everywhere.covering(still.patterns[0]) or ""]}"', _CHANGE_ONE


def _never_begins(index: int, rule: PolicyRule) -> Iterator[PolicyWarning]:
    """A tool that must come first must not be covered by the very rule that requires it."""
    required = rule.sequence.required if isinstance(rule, Sequenced) and rule.is_always else []
    if required and Patterns(rule.tools).first_uncovered(Patterns(required)) is None:
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
