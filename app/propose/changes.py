"""Changes to policies that an agent has: what it no longer uses asks, what people always approve no longer does."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from app.model.proposals import ChangeKind, need
from app.propose.observed import ObservedCall, by_tool, units_of
from app.propose.proposer import READING, UNSEEN, Proposed, bounded_name

Policies = list[dict[str, Any]]


class Change(NamedTuple):
    """One change. calls, units: the approved calls that it follows from, and whose they were.

    edit: makes the policies after it from those before it.
    """

    kind: ChangeKind
    tool: str
    calls: int
    units: int
    edit: Callable[[Policies], Policies]


def grants_a_pattern(policies: Iterable[Mapping[str, Any]]) -> bool:
    """True if one of them grants tools that it does not name, so that there is nothing to change but all of it."""
    return any(tool.endswith("*") for rule in _granting(policies) for tool in rule["tools"])


def changes_of(
    current: Sequence[Mapping[str, Any]],
    calls: Sequence[ObservedCall],
    proposed: Proposed,
    unused: Collection[str] | None,
) -> list[Change]:
    """The changes, narrowing first. proposed: from all calls, as if the agent had no policies.

    unused: whether a tool is unused is known only if this has the tools that were called; None = it is not known.
    """
    granted = sorted({tool for rule in _granting(current) for tool in rule["tools"]})
    idle = [tool for tool in granted if unused is not None and tool not in unused]
    return [
        *(Change(ChangeKind.NARROWS, tool, 0, 0, _narrowing(tool)) for tool in idle),
        *_widening(current, calls, proposed),
    ]


def applied(current: Sequence[Mapping[str, Any]], changes: Iterable[Change]) -> Policies:
    """The policies after all of the changes."""
    policies = [dict(each) for each in current]
    for change in changes:
        policies = change.edit(policies)
    return policies


def _widening(
    current: Sequence[Mapping[str, Any]], calls: Sequence[ObservedCall], proposed: Proposed
) -> Iterator[Change]:
    for tool, made in by_tool(calls).items():
        approved = [call for call in made if call.approved]
        units = units_of(approved)
        if len(units) < need(len(units_of(made))) or tool not in (*proposed.bounded, *proposed.free):
            continue
        name = bounded_name(tool)
        bounds = next((each for each in proposed.policies if each["name"] == name), None)
        edit = _granting_of(tool) if bounds is None else _bounding(tool, bounds)
        policies = [dict(each) for each in current]
        if edit(policies) != policies:
            yield Change(ChangeKind.WIDENS, tool, len(approved), len(units), edit)


def _granting(policies: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """The rules that grant tools, of the policies in force; of an allowlist in a grant, too."""
    for policy in policies:
        is_grant = policy.get("kind", "grant") == "grant" and policy.get("enabled", True)
        if is_grant and policy.get("mode", "enforce") == "enforce":
            yield from (rule for rule in policy["rules"] if rule["type"] in ("tool_grant", "tool_allowlist"))


def _narrowing(tool: str) -> Callable[[Policies], Policies]:
    def edit(policies: Policies) -> Policies:
        left = _without(policies, tool, "tool_grant", "tool_allowlist")
        for policy in left:
            if policy["name"] == UNSEEN:
                first, *others = policy["rules"]
                asked = {**first, "tools": sorted({*first["tools"], tool})}
                return [{**each, "rules": [asked, *others]} if each is policy else each for each in left]
        return [*left, {"name": UNSEEN, "rules": [{"type": "approval_required", "tools": [tool]}]}]

    return edit


def _granting_of(tool: str) -> Callable[[Policies], Policies]:
    def edit(policies: Policies) -> Policies:
        left = _without(policies, tool, "approval_required")
        for policy in left:
            first, *others = policy["rules"]
            if policy["name"] == READING and first["type"] == "tool_grant":
                granted = {**first, "tools": sorted({*first["tools"], tool})}
                return [{**each, "rules": [granted, *others]} if each is policy else each for each in left]
        return [*left, {"name": READING, "rules": [{"type": "tool_grant", "tools": [tool]}]}]

    return edit


def _bounding(tool: str, bounds: Mapping[str, Any]) -> Callable[[Policies], Policies]:
    def edit(policies: Policies) -> Policies:
        left = _without(policies, tool, "approval_required")
        if any(each["name"] == bounds["name"] for each in left):
            return [{**each, "rules": bounds["rules"]} if each["name"] == bounds["name"] else each for each in left]
        return [*left, dict(bounds)]

    return edit


def _without(policies: Policies, tool: str, *types: str) -> Policies:
    """The policies, with the tool in no rule of these types; what is empty then is gone."""
    left = []
    for policy in policies:
        rules = []
        for rule in policy["rules"]:
            tools = [each for each in rule["tools"] if each != tool] if rule["type"] in types else rule["tools"]
            if tools:
                rules.append(rule if tools == rule["tools"] else {**rule, "tools": tools})
        if rules:
            left.append(policy if rules == policy["rules"] else {**policy, "rules": rules})
    return left
