"""Rules that probably do something else than meant: constraints that admit too much, breakers that never act, and
parameters that `fromRequest` or `approvedBefore` forgot.
"""

import re
from collections.abc import Iterator
from typing import Any

from msgspec import UNSET, UnsetType

from app.language.paths import under
from app.model.constraints import Constraint
from app.model.escalations import descriptive_in, reads_parameter
from app.model.policies import Policy
from app.model.quotas import BreakerAction
from app.model.rules import (
    DenialCounted,
    ParameterConstraint,
    ParameterSchema,
    PolicyRule,
    TimeBased,
    ToolAllowlist,
    ToolGrant,
)
from app.model.sequences import covers
from app.pdp.call_schemas import segments_of
from app.policy_tools.lint.known_tools import KnownTools
from app.policy_tools.lint.together import (
    LOWER_BOUNDS,
    Comparisons,
    Together,
    bounding,
    has_any,
    is_bounded_in,
    rules_of,
)
from app.policy_tools.lint.warnings import Code, PolicyWarning

_PATH_WORDS = frozenset({"path", "file", "filename", "filepath", "dir", "directory", "folder"})
_HOST_WORDS = frozenset({"url", "uri", "host", "hostname", "domain", "endpoint", "link"})
_LINE_WORDS = frozenset({"command", "cmd", "script", "commands", "bash", "shell"})
_AMOUNT_WORDS = frozenset(
    {"amount", "amounts", "price", "sum", "total", "quantity", "count", "number", "size", "limit", "nights", "days"}
    | {"cost", "fee", "refund", "credit", "payment", "passengers", "bags", "units", "hours", "minutes", "seconds"}
)
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


_SHOWN = 5


def constraint_warnings(place: str, rule: PolicyRule, policy: Policy, together: Together) -> Iterator[PolicyWarning]:
    """The warnings about the constraints of one rule of the policy. place: its JSON path."""
    for where, of, name, constraint in rule.constraints():
        full_place = ".".join(filter(None, (place, where, of, name)))
        yield from _stars_in_paths(full_place, constraint)
        if where == ("unless" if isinstance(rule, ToolGrant) else "when"):
            yield from _paths_in_other_cases(full_place, rule, constraint, together)
        if where:  # a `when` only selects calls; it does not admit them
            continue
        for warning in _about(f"{place}.{of}.{name}", name, constraint):
            if warning.code is not Code.MIN_MISSING or not _has_least_elsewhere(rule, (of, name), policy, together):
                yield warning


def _stars_in_paths(place: str, constraint: Constraint) -> Iterator[PolicyWarning]:
    """A star is a letter of a directory's name, as in a file system."""
    path = constraint.path
    for index, folder in enumerate(
        () if isinstance(path, UnsetType) or isinstance(path.under, UnsetType) else path.under
    ):
        if isinstance(folder, str) and "*" in folder:
            whole = folder.partition("*")[0].rpartition("/")[0] or "/"
            message = (
                f'"*" is a letter here and stands for nothing else, so this is only the directory "{folder[:80]}"; '
                f'a directory covers all that lies below it, so say "{whole[:80]}"'
            )
            yield PolicyWarning(Code.STAR_IN_PATH, f"{place}.path.under[{index}]", message)


def _paths_in_other_cases(
    place: str, rule: PolicyRule, constraint: Constraint, together: Together
) -> Iterator[PolicyWarning]:
    """A restriction for a directory in one letter case, below a directory that is granted in any."""
    path = constraint.path
    if isinstance(path, UnsetType) or path.ignore_case is True or isinstance(rule, ToolAllowlist):
        return
    compared = together.comparisons
    for folder in path.constant_roots:
        compared.spend(len(together.granted_roots))
        holding = [rules for root, rules in together.granted_roots.items() if root != folder and under((root,))(folder)]
        tools = compared.tools(rule)
        if any(compared.meet(tools, compared.tools(each)) for rules in holding for each in rules):
            message = (
                f'"{folder[:80]}" in another letter case is allowed, and the same directory where macOS and Windows '
                'keep files; add "ignoreCase": true'
            )
            yield PolicyWarning(Code.PATH_IN_OTHER_CASE, f"{place}.path", message)
            return


def _has_least_elsewhere(rule: PolicyRule, named: tuple[str, str], policy: Policy, together: Together) -> bool:
    """True if another rule bounds the value from below in every call that the rule covers."""
    compared = together.comparisons
    compared.spend(len(policy.rules) + len(together.guarding_schemas))
    of, name = named
    own = (other for each, other in bounding(policy) if each == named)
    schemas = [*(each for _, each in rules_of(policy, ParameterSchema)), *together.guarding_schemas]
    in_schemas = (each for each in schemas if of == "parameters" and is_bounded_in(each, name))
    return any(
        compared.first_uncovered(compared.tools(rule), compared.tools(other)) is None
        for other in (*own, *together.bounded_by_guardrails.get(named, ()), *in_schemas)
    )


def _about(place: str, name: str, constraint: Constraint) -> Iterator[PolicyWarning]:
    words = {word.lower() for word in _WORD.findall(name.rpartition(".")[2])}
    # Next to a constraint such as `path` or `host`, a pattern can only narrow further.
    if constraint.regex is not UNSET and not has_any(constraint, ("path", "host", "command")):
        # What a `notRegex` excludes does not join either.
        excluded = constraint.not_regex if isinstance(constraint.not_regex, str) else ""
        yield from _about_regex(
            f"{place}.regex", words - _LINE_WORDS if set(";&|") <= set(excluded) else words, constraint.regex
        )
    if (
        has_any(constraint, ("max", "below", "at_most"))
        and not has_any(constraint, LOWER_BOUNDS)
        and (words & _AMOUNT_WORDS)
    ):
        message = f'"{name}" may be negative, and -1000000 is below every maximum; give it a min'
        yield PolicyWarning(Code.MIN_MISSING, place, message)


_JOINS = re.compile(r"""
    \\[SWDPs]|\[\^              # classes that exclude a few characters, and white space, which has line ends
  | (?<!\\)(?<!\[)\.(?![^\[]*\])  # any character
  | [;&`\n]|\\[n|$]              # a joint itself
  | \[[^\]]*[|$!][^\]]*\]          # or in a class
""", re.VERBOSE).search  # fmt: skip


def lets_commands_join(regex: str) -> bool:
    """True if the pattern can match a line with several commands: it is not anchored, or something in it can be a
    joint.
    """
    is_anchored = regex.startswith(("^", "\\A", "(?i)^")) and regex.endswith(("$", "\\z"))
    return not is_anchored or _JOINS(regex) is not None


def _about_regex(place: str, words: set[str], regex: str) -> Iterator[PolicyWarning]:
    for meant, kind, example in (
        (_PATH_WORDS, "path", '{"path": {"under": ["/repo"]}}; `^/repo/` lets /repo/../etc/passwd pass'),
        (_HOST_WORDS, "host", '{"host": {"in": ["*.corp.com"]}}; a regex is passed by user@, ports and odd spellings'),
    ):
        if words & meant:
            message = f"a regex does not know what a {kind} means; say {example}"
            yield PolicyWarning(Code.REGEX_ON_PATH_OR_HOST, place, message)
            return
    if words & _LINE_WORDS and lets_commands_join(regex):
        message = (
            "a shell line can join commands, and some line that this matches does; say "
            '{"command": {"root": {"context": "project"}, "allow": '
            '[{"run": "ls", "flags": "usual", "paths": "inside"}]}}'
        )
        yield PolicyWarning(Code.PATTERN_LETS_COMMANDS_JOIN, place, message)
        return
    if not (regex.startswith(("^", "\\A", "(?i)^", "(?s)^")) and regex.endswith(("$", "\\z"))):
        message = "is found anywhere in the text, so any text around a match passes; anchor it with ^ and $"
        yield PolicyWarning(Code.REGEX_UNANCHORED, place, message)


def hours_warnings(index: int, rule: PolicyRule) -> Iterator[PolicyWarning]:
    """Two hours are often meant as the first and the last of many."""
    hours = rule.time_window.allowed_hours if isinstance(rule, TimeBased) else UNSET
    if hours is not UNSET and len(span := sorted(set(hours))) == 2 and span[1] - span[0] not in (1, 23):  # noqa: PLR2004
        first, last = span
        message = (
            f"{first} and {last} are two hours, {first}:00 to {first}:59 and {last}:00 to {last}:59; list every hour "
            "in which calls are right"
        )
        yield PolicyWarning(Code.HOURS_NOT_A_SPAN, f"$.rules[{index}].timeWindow.allowedHours", message)


_Placed = tuple[Policy, int, DenialCounted]
"""(policy, index of the rule in the policy, breaker)."""


def breaker_warnings(policy: Policy, together: Together) -> Iterator[PolicyWarning]:
    """The warnings about the policy's breakers, judged together with those that govern the same agents."""
    own = rules_of(policy, DenialCounted)
    if not own:
        return
    # Of two equal breakers the later never acts, so the policy's own come last.
    others = [each for each in together.breakers if each[0].id != policy.id]
    together.comparisons.spend(len(together.breakers))
    for place, (index, rule) in enumerate(own):
        terms = rule.denial_breaker
        if terms.max_denials == 1 and terms.action is not BreakerAction.ESCALATE:
            what = "suspends the agent" if terms.action is BreakerAction.SUSPEND else "stops calls for a while"
            message = (
                f"the first denial {what}, be it a typing error or a limit that is full for a moment; let it have "
                "more, or escalate"
            )
            yield PolicyWarning(Code.BREAKER_ON_FIRST_DENIAL, f"$.rules[{index}].denialBreaker.maxDenials", message)
        before = [*others, *((policy, *each) for each in own[:place])]
        after = [(policy, *each) for each in own[place + 1 :]]
        sooner = next((each for each in before if _suspends_before(each, rule, together.comparisons)), None) or next(
            (each for each in after if _suspends_before(each, rule, together.comparisons, comes_later=True)), None
        )
        if sooner is not None:
            where = "another breaker of this policy" if sooner[0].id == policy.id else f'that of "{sooner[0].name}"'
            message = f"{where} suspends the agent before this one is full, so it never acts"
            yield PolicyWarning(Code.BREAKER_NEVER_FULL, f"$.rules[{index}].denialBreaker", message)


def _suspends_before(other: _Placed, rule: DenialCounted, compared: Comparisons, *, comes_later: bool = False) -> bool:
    """True if the other breaker is always full before this one; of two equal breakers, the later never acts."""
    compared.spend(1)
    theirs, ours = other[2].denial_breaker, rule.denial_breaker
    if theirs.action is not BreakerAction.SUSPEND:
        return False
    if theirs.max_denials > ours.max_denials or theirs.window_seconds < ours.window_seconds:
        return False
    own_tools, other_tools = compared.tools(rule), compared.tools(other[2])
    if compared.first_uncovered(own_tools, other_tools) is not None:
        return False
    is_alike = ours.action is BreakerAction.SUSPEND and (theirs.max_denials, theirs.window_seconds) == (
        ours.max_denials,
        ours.window_seconds,
    )
    return not (comes_later and is_alike and compared.first_uncovered(other_tools, own_tools) is None)


def descriptive_warnings(policy: Policy, together: Together) -> Iterator[PolicyWarning]:
    """For each parameter that a rule calls descriptive and that is bound for all of its tools: the first reason why."""
    for index, rule in enumerate(policy.rules):
        for place, name in enumerate(descriptive_in(rule)):
            left, first = set(rule.tools), ""
            for why, bound in _bound(rule, name, together):
                left, first = left - bound, first or why
            if not left:
                message = f'"{name}" is part of what is approved all the same: {first}'
                where = f"$.rules[{index}].approval.descriptive[{place}]"
                yield PolicyWarning(Code.DESCRIPTIVE_IS_BOUND, where, message)


def _bound(rule: PolicyRule, name: str, together: Together) -> Iterator[tuple[str, set[str]]]:
    """Yield why the parameter is bound for calls of some of the rule's tools, and the patterns of those."""
    compared = together.comparisons
    for policy in together.policies:
        compared.spend(len(policy.rules))
        for index, other in enumerate(policy.rules):
            is_read = reads_parameter(other, name)
            if not is_read and (not other.can_escalate or name in descriptive_in(other)):
                continue
            fenced = isinstance(other, ToolAllowlist)
            met = rule.tools if fenced else compared.meeting(compared.tools(rule), compared.tools(other))
            if bound := set(met):
                cure = "reads it; leave it out here" if is_read else "can ask, too, and does not name it; name it there"
                yield f'$.rules[{index}] of "{policy.name}" {cure}', bound


def from_request_warnings(policy: Policy, known: KnownTools, compared: Comparisons) -> Iterator[PolicyWarning]:
    """For each such rule: names whose values are no strings, and strings that no rule of the policy constrains."""
    for index, rule in enumerate(policy.rules):
        if not isinstance(rule, ParameterConstraint) or isinstance(rule.parameters, UnsetType):
            continue
        asked = {
            name: "fromRequest" if each.from_request is not UNSET else "approvedBefore"
            for name, each in rule.parameters.items()
            if each.from_request is not UNSET or each.approved_before is not UNSET
        }
        if not asked:
            continue
        place = f"$.rules[{index}].parameters"
        tools = dict.fromkeys(tool for pattern in rule.tools for tool in known.covered(pattern))
        schemas = {tool: known.schema(tool) for tool in tools}
        compared.spend(len(asked) * len(tools))
        for name, field in asked.items():
            tool = next((tool for tool, schema in schemas.items() if _is_no_string(schema, name)), None)
            if tool is not None:
                message = f'by the schema in the catalogue, "{name}" of "{tool}" is no string, so it never passes'
                yield PolicyWarning(Code.NOT_IN_REQUESTS, f"{place}.{name}.{field}", message)
        for tool, schema in schemas.items():
            compared.spend(len(_properties(schema)) + len(policy.rules))
            forgotten = sorted(_strings_of(schema) - _constrained(policy, tool))
            if forgotten:
                names = ", ".join(forgotten[:_SHOWN]) + (", …" if len(forgotten) > _SHOWN else "")
                message = (
                    f'"{tool}" also takes {names}, which no rule of this policy constrains, so any value passes there; '
                    'say "fromRequest" or an enum there, too, or {"absent": true}'
                )
                yield PolicyWarning(Code.FREE_BESIDE_REQUEST, place, message)
                break


def _constrained(policy: Policy, tool: str) -> set[str]:
    """The outermost keys of the parameters that the policy's rules constrain in every call of the tool."""
    rules = (rule for rule in policy.rules if rule.is_always and covers(rule.tools, tool))
    named = (name for rule in rules for _, of, name, _ in rule.constraints() if of == "parameters")
    return {
        ".".join(parts[:end]) for name in named for parts in segments_of(name)[:1] for end in range(1, len(parts) + 1)
    }


def _strings_of(schema: Any) -> set[str]:
    """The properties of an object of this schema that may be strings or arrays of strings."""
    return {name for name, each in _properties(schema).items() if _may_be_string(each) or _may_be_string(_items(each))}


def _is_no_string(schema: Any, name: str) -> bool:
    """True if the schema names other types for the values of this name, a parameter or the elements of one."""
    outermost, *rest = segments_of(name)
    found = _properties(schema).get(".".join(outermost))
    if rest == [[]]:
        found = _items(found)
    elif rest:
        return False
    return bool(_types(found)) and "string" not in _types(found)


def _may_be_string(schema: Any) -> bool:
    """True unless the schema names only other types."""
    return isinstance(schema, dict) and (not _types(schema) or "string" in _types(schema))


def _types(schema: Any) -> set[str]:
    """The types that the schema names, in branches, too; empty if it leaves some open."""
    if not isinstance(schema, dict):
        return set()
    if "type" in schema:
        return {schema["type"]} if isinstance(schema["type"], str) else set(schema["type"])
    branches = [_types(each) for word in ("anyOf", "oneOf") for each in schema.get(word) or ()]
    return set().union(*branches) if all(branches) else set()


def _properties(schema: Any) -> dict[str, Any]:
    properties = schema.get("properties") if isinstance(schema, dict) else None
    return properties if isinstance(properties, dict) else {}


def _items(schema: Any) -> Any:
    return schema.get("items") if isinstance(schema, dict) else None
