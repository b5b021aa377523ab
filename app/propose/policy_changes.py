"""Changes to policies that an agent has: what it no longer uses asks, what people always approve no longer does."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from app.model.proposals import ChangeKind, need
from app.model.rules import MAX_RULES
from app.propose.observed_calls import ObservedCall, by_tool, units_of
from app.propose.proposed_policies import READING, Proposed, bounded_name

Policies = list[dict[str, Any]]
_GRANTS, _ASKS = ("tool_grant", "tool_allowlist"), "approval_required"
_CONDITIONS = ("when", "unless")


class Change(NamedTuple):
    """One change. calls, units: the approved calls that it follows from, and whose they were.

    edit: makes the policies after it from those before it.
    """

    kind: ChangeKind
    tool: str
    calls: int
    units: int
    edit: Callable[[Policies], Policies]


def is_in_force(policy: Mapping[str, Any]) -> bool:
    """True of an enforced grant: nothing else is changed."""
    is_grant = policy.get("kind", "grant") == "grant" and policy.get("enabled", True)
    return bool(is_grant and policy.get("mode", "enforce") == "enforce")


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
    Only grants that are in force are changed; each change applies in the tier in which the tool was granted, or asked.
    """
    granted = sorted({tool for rule in _granting(current) for tool in rule["tools"]})
    idle = [tool for tool in granted if unused is not None and tool not in unused]
    changes = [
        *(Change(ChangeKind.NARROWS, tool, 0, 0, _narrowing(tool)) for tool in idle),
        *_widening(calls, proposed),
    ]
    policies = [dict(each) for each in current]
    return [each for each in changes if each.edit(policies) != policies]


def applied(current: Sequence[Mapping[str, Any]], changes: Iterable[Change]) -> Policies:
    """The policies after all of the changes."""
    policies = [dict(each) for each in current]
    for change in changes:
        policies = change.edit(policies)
    return policies


def _widening(calls: Sequence[ObservedCall], proposed: Proposed) -> Iterator[Change]:
    for tool, made in by_tool(calls).items():
        approved = [call for call in made if call.approved]
        units = units_of(approved)
        if len(units) < need(len(units_of(made))) or tool not in (*proposed.bounded, *proposed.free):
            continue
        name = bounded_name(tool)
        bounds = next((each for each in proposed.policies if each["name"] == name), None)
        edit = _granting_of(tool) if bounds is None else _bounding(tool, bounds)
        yield Change(ChangeKind.WIDENS, tool, len(approved), len(units), edit)


def _granting(policies: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """The rules that grant tools, of the policies in force; of an allowlist in a grant, too."""
    for policy in policies:
        if is_in_force(policy):
            yield from (rule for rule in policy["rules"] if rule["type"] in _GRANTS)


def _conditions_of(rule: Mapping[str, Any]) -> dict[str, Any]:
    return {name: rule[name] for name in _CONDITIONS if name in rule}


def _narrowing(tool: str) -> Callable[[Policies], Policies]:
    def edit(policies: Policies) -> Policies:
        return [{**each, "rules": _asking(each["rules"], tool)} if is_in_force(each) else each for each in policies]

    return edit


def _asking(rules: list[dict[str, Any]], tool: str) -> list[dict[str, Any]]:
    """The rules of a policy that asks about the tool where it granted it. An allowlist stays: it denies other tools."""
    left, asking = list[dict[str, Any]](), list[dict[str, Any]]()
    for rule in rules:
        is_granted = rule["type"] in _GRANTS and tool in rule["tools"]
        if is_granted:
            conditions = {name: {"ifMissing": "skip", **each} for name, each in _conditions_of(rule).items()}
            asking.append({"type": _ASKS, "tools": [tool], **conditions})
        left += _with_fewer_tools(rule, tool) if is_granted and rule["type"] == "tool_grant" else [rule]
    for asked in asking:
        same = next((place for place, rule in enumerate(left) if {**rule, "tools": [tool]} == asked), None)
        if same is None:
            left.append(asked)
        else:
            left[same] = {**asked, "tools": sorted({*left[same]["tools"], tool})}
    return left if len(left) <= MAX_RULES else rules


def _asks(policy: Mapping[str, Any], tool: str) -> bool:
    """True of a policy in force that asks about each call of the tool."""
    return is_in_force(policy) and any(_is_asking(rule, tool) for rule in policy["rules"])


def _is_asking(rule: Mapping[str, Any], tool: str) -> bool:
    return rule["type"] == _ASKS and tool in rule["tools"] and not _conditions_of(rule)


def _granting_of(tool: str) -> Callable[[Policies], Policies]:
    def edit(policies: Policies) -> Policies:
        asking = [each for each in policies if _asks(each, tool)]
        if not asking:
            return policies
        at, left = _highest(asking), _without_asking(policies, tool)
        for policy in left:
            first, *others = policy["rules"]
            is_grant = first["type"] == "tool_grant" and not _conditions_of(first) and is_in_force(policy)
            if policy["name"] == READING and is_grant and _highest([policy]) == at:
                granted = {**first, "tools": sorted({*first["tools"], tool})}
                return [{**each, "rules": [granted, *others]} if each is policy else each for each in left]
        return [*left, _placed({"name": READING, "rules": [{"type": "tool_grant", "tools": [tool]}]}, at)]

    return edit


def _bounding(tool: str, bounds: Mapping[str, Any]) -> Callable[[Policies], Policies]:
    def is_own(policy: Mapping[str, Any]) -> bool:
        return bool(policy["name"] == bounds["name"] and policy.get("kind", "grant") == "grant")

    def edit(policies: Policies) -> Policies:
        before = [each for each in policies if _asks(each, tool) or (is_own(each) and is_in_force(each))]
        if not before:
            return policies
        made, left = _placed(bounds, _highest(before)), _without_asking(policies, tool)
        for place, each in enumerate(left):
            if is_own(each):
                kept = {name: value for name, value in each.items() if name not in ("priority", "mode", "enabled")}
                return [*left[:place], kept | made, *left[place + 1 :]]
        return [*left, made]

    return edit


def _highest(policies: Iterable[Mapping[str, Any]]) -> int:
    return max(int(each.get("priority", 0)) for each in policies)


def _placed(policy: Mapping[str, Any], priority: int) -> dict[str, Any]:
    """The policy in this tier: in a lower one it would not be evaluated for what another grants there."""
    return {"name": policy["name"], **({"priority": priority} if priority else {}), "rules": policy["rules"]}


def _without_asking(policies: Policies, tool: str) -> Policies:
    """The policies, of which none asks about each call of the tool; what is empty then is gone."""
    left = []
    for policy in policies:
        rules = [
            kept
            for rule in policy["rules"]
            for kept in (_with_fewer_tools(rule, tool) if _is_asking(rule, tool) else [rule])
        ]
        if not is_in_force(policy):
            left.append(policy)
        elif rules:
            left.append({**policy, "rules": rules})
    return left


def _with_fewer_tools(rule: dict[str, Any], tool: str) -> list[dict[str, Any]]:
    """The rule without the tool; nothing if it has no other."""
    tools = [each for each in rule["tools"] if each != tool]
    return [{**rule, "tools": tools}] if tools else []
