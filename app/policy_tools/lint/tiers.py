"""Warnings about a grant beside others: those of lower and higher tiers, and those that decide together with it."""

from collections.abc import Iterator

from app.model.policies import Policy
from app.model.rules import PolicyRule, ToolAllowlist
from app.policy_tools.lint.overlaps import Patterns
from app.policy_tools.lint.together import EVERY_TOOL, Comparisons, Together, rules_of
from app.policy_tools.lint.warnings import Code, PolicyWarning


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
