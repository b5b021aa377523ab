"""Warnings about a policy, judged together with the others that govern the same agents."""

import difflib
from collections.abc import Iterator, Sequence
from itertools import chain, combinations, islice

from msgspec import UNSET, UnsetType

from app.model.policies import Policy, PolicyKind
from app.model.rule import Rule
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
from app.model.sequences import covers
from app.policy_tools.lint.known_tools import NOTHING_KNOWN, KnownTools, parameter_warnings, unasked_warnings
from app.policy_tools.lint.overlaps import Patterns
from app.policy_tools.lint.rules import (
    breaker_warnings,
    constraint_warnings,
    descriptive_warnings,
    from_request_warnings,
    hours_warnings,
)
from app.policy_tools.lint.together import EVERY_TOOL, Comparisons, Together, TooMuchToCompare, rules_of
from app.policy_tools.lint.warnings import Code, PolicyWarning

MAX_COMPARISONS = 1_000_000
"""Comparisons that take a thread about a second at worst."""
_WARNING_COST = 20
_CHANGE_ONE = "change one of them"
_ADDS = "a tool_grant, which adds and denies nothing"
_MOST_OTHERS = 5
"""A policy gets a warning of one kind about at most so many other policies."""


ApprovingGroups = frozenset[str] | None
"""The groups of the identity provider that have the scope `approve` in the workspace; None = that is not known."""
_NAME_COST = 20


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
            yield from unasked_warnings(policy, known_tools, together)
    if policy.enabled:
        yield from breaker_warnings(policy, together)
        yield from descriptive_warnings(policy, together)
    yield from _contradictions(policy, together)
    yield from islice(_disjoint_from_others(policy, together), _MOST_OTHERS)
    yield from islice(_never_opens_beside_others(policy, together), _MOST_OTHERS)
    yield from _prefixes_without_their_names(policy, known_tools)
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
        if _never_open_together(first, second, compared):
            message = "at no time are this window and the one before it both open, so their tools are never allowed"
            yield PolicyWarning(Code.WINDOW_NEVER_OPENS, f"$.rules[{index}].timeWindow", message)


def _never_open_together(one: TimeBased, other: TimeBased, compared: Comparisons) -> bool:
    """True if some tool is allowed only while both windows are open, and they never are at one time."""
    if not (one.is_always and other.is_always and compared.meet(compared.tools(one), compared.tools(other))):
        return False
    return not compared.windows_meet(one.time_window, other.time_window)


def _never_opens_beside_others(policy: Policy, together: Together) -> Iterator[PolicyWarning]:
    """Windows of other policies that decide together with the policy: guardrails, and grants of its priority."""
    compared = together.comparisons
    warned = {policy.id}
    for index, rule in rules_of(policy, TimeBased):
        alike = (
            some
            for some in together.windows.values()
            if not compared.windows_meet(rule.time_window, some[0][1].time_window)
        )
        for other, each in chain.from_iterable(alike):
            is_beside = policy.priority == other.priority or PolicyKind.GUARDRAIL in (policy.kind, other.kind)
            if other.id in warned or not is_beside or not _never_open_together(rule, each, compared):
                continue
            warned.add(other.id)
            message = (
                f'at no time are this window and that of "{other.name}" both open, so their tools are never allowed'
            )
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


def _prefixes_without_their_names(policy: Policy, known: KnownTools) -> Iterator[PolicyWarning]:
    """In what restricts, a prefix that leaves out the tool that has its name alone; known: else only those that are."""
    refused = [tool for rule in policy.rules if rule.only_fails for tool in rule.tools]
    for index, rule in enumerate(policy.rules):
        restricts = rule.only_fails or (policy.kind is PolicyKind.GUARDRAIL and not isinstance(rule, ToolAllowlist))
        lists = [("tools", rule.tools, refused if rule.only_fails else rule.tools)] if restricts else []
        if isinstance(rule, Sequenced):
            lists.append(("sequence.forbiddenAfter", rule.sequence.forbidden, rule.sequence.forbidden))
        for field, patterns, beside in lists:
            for place, pattern in enumerate(patterns):
                name = pattern.removesuffix("*")
                if name in ("", pattern) or not (known.covered(name) if known else name[-1].isalnum()):
                    continue
                if not covers(beside, name):
                    message = (
                        f'"{pattern}" covers names that go on after "{name}", and not "{name}" itself; add "{name}" '
                        "if that is meant, too"
                    )
                    yield PolicyWarning(Code.PREFIX_WITHOUT_ITS_NAME, f"$.rules[{index}].{field}[{place}]", message)


def _patterns_of(rule: PolicyRule) -> Iterator[tuple[str, str]]:
    """Yield (path below the rule, pattern) for every tool pattern of a rule."""
    lists = [("tools", rule.tools)]
    if isinstance(rule, Sequenced):
        lists += [
            ("sequence.forbiddenAfter", rule.sequence.forbidden),
            ("sequence.requiresBefore", rule.sequence.required),
        ]
    if isinstance(rule, ParameterConstraint) and not isinstance(rule.record, UnsetType):
        lists.append(("record.from", rule.record.from_))
    yield from ((f"{name}[{place}]", pattern) for name, patterns in lists for place, pattern in enumerate(patterns))


def approver_warnings(
    place: str, rule: Rule, approving: ApprovingGroups, compared: Comparisons
) -> Iterator[PolicyWarning]:
    """Yield the warnings about the people that a rule asks for, if it escalates."""
    if approving is None or rule.approval is UNSET:
        return
    named = None if rule.approval.approvers is UNSET else rule.approval.approvers.groups
    if not approving and (named is not None or rule.approval.fresh is not UNSET):
        field = "fresh" if named is None else "approvers"
        message = (
            f"nobody can decide what this rule asks: `{field}` needs people who sign in with an identity provider, and "
            "REMIT_OIDC_SCOPES gives no group the scope approve in this workspace (API keys are in no group and never "
            f"fresh); give one the scope, or leave `{field}` out"
        )
        yield PolicyWarning(Code.NOBODY_CAN_APPROVE, f"{place}.approval.{field}", message)
        return
    for index, group in enumerate(named or ()):
        if group not in approving:
            compared.spend(_NAME_COST * len(approving))
            near = difflib.get_close_matches(group, approving, n=1)
            cure = f'did you mean "{near[0]}"?' if near else "give it the scope there, or name another group"
            message = (
                f'REMIT_OIDC_SCOPES does not give "{group}" the scope approve in this workspace, so of its people only '
                f"those decide who have it by another group; {cure}"
            )
            yield PolicyWarning(Code.GROUP_CANNOT_APPROVE, f"{place}.approval.approvers.groups[{index}]", message)


def against_lower_tiers(policy: Policy, together: Together) -> Iterator[PolicyWarning]:
    """Where this policy allows, lower ones are not evaluated, so none of them denies or asks a person."""
    compared = together.comparisons
    allowed = Patterns(pattern for rule in policy.rules if not rule.only_fails for pattern in rule.tools)
    guarded = Patterns(pattern for rule in policy.rules if rule.only_fails and rule.is_always for pattern in rule.tools)
    lower_grants = (lower for priority, tier in together.grants.items() if priority < policy.priority for lower in tier)
    for lower in lower_grants:
        for rule in lower.rules:
            if not rule.only_fails:
                continue
            silenced = [*compared.meeting(compared.tools(rule), allowed)]
            if silenced and (first := compared.first_uncovered(Patterns(silenced), guarded)) is not None:
                what = "approval" if rule.escalates else "denial"
                message = (
                    f'where this policy allows, the {what} of "{first}" in the policy '
                    f'"{lower.name}" (priority {lower.priority}) is never asked for. Put that rule into a guardrail'
                )
                yield PolicyWarning(Code.SILENCES_BELOW, "$.priority", message)
                break


def below_what_always_decides(policy: Policy, together: Together) -> Iterator[PolicyWarning]:
    """An allowlist always decides, so nothing below its tier is ever evaluated."""
    higher = together.always_deciding
    if higher is not None and higher.priority > policy.priority:
        fences = any(rule.is_always and EVERY_TOOL not in rule.tools for _, rule in rules_of(higher, ToolAllowlist))
        cure = "Make its allowlist a tool_grant, which decides only about its tools, give" if fences else "Give"
        message = (
            f'this policy is never asked: "{higher.name}" (priority {higher.priority}) decides about every tool '
            f"before it. {cure} both one priority, or make one of them a guardrail"
        )
        yield PolicyWarning(Code.NEVER_DECIDES, "$.priority", message)


def shadowing_allowlists(policy: Policy, together: Together) -> Iterator[PolicyWarning]:
    """Grants of one priority decide together, so an allowlist of one refuses what another allows."""
    for other in together.grants[policy.priority]:
        if other.id == policy.id:
            continue
        for one, allowlisting in ((policy, other), (other, policy)):
            index, shadowed = _first_refused(one, allowlisting, together.comparisons)
            if shadowed is None:
                continue
            whose = f'this policy allows and the allowlist of "{other.name}" refuses'
            if allowlisting is policy:
                index, whose = (
                    rules_of(policy, ToolAllowlist)[0][0],
                    f'"{other.name}" allows and this allowlist refuses',
                )
            message = (
                f'"{shadowed}" is denied: {whose}. Grants of one priority decide together, and an allowlist refuses '
                "what it does not name; make it a tool_grant, which adds and denies nothing"
            )
            yield PolicyWarning(Code.ALLOWLIST_SHADOWS, f"$.rules[{index}].tools", message)
            break


def _first_refused(one: Policy, other: Policy, compared: Comparisons) -> tuple[int, str | None]:
    """The first tool pattern that `one` allows and an allowlist of `other` refuses, and the index of its rule.

    None if there is none, or if the two have no tool in common, of which there is another warning.
    """
    compared.spend(len(one.rules) + len(other.rules))
    allowlists = [compared.tools(rule) for _, rule in rules_of(other, ToolAllowlist) if rule.is_always]
    if not allowlists:
        return 0, None
    own = rules_of(one, ToolAllowlist)
    allows: list[tuple[int, PolicyRule]] = [*own] or [
        each for each in enumerate(one.rules) if each[1].names_right_calls
    ]
    if own and not all(compared.meet(compared.tools(rule), tools) for _, rule in own for tools in allowlists):
        return 0, None
    found = (
        (index, compared.first_uncovered(compared.tools(rule), tools)) for index, rule in allows for tools in allowlists
    )
    return next((each for each in found if each[1] is not None), (0, None))
