"""Policies that are evaluated together, indexed once by what the warnings compare, and the comparisons counted."""

import math
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import groupby
from typing import TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from app.model.constraints import Constraint
from app.model.policies import Policy, PolicyKind
from app.model.rule import Rule
from app.model.rules import (
    DenialCounted,
    ParameterSchema,
    PolicyRule,
    TimeBased,
    ToolAllowlist,
    ToolDenylist,
    ToolGrant,
)
from app.model.time_windows import TimeWindow
from app.policy_tools.lint.overlaps import Patterns, windows_meet

_encode = msgspec.json.encode
_WINDOW_COST = 1_000
"""In comparisons of patterns."""

_Rule = TypeVar("_Rule", bound=Rule)
EVERY_TOOL = "*"
LOWER_BOUNDS = ("min", "above", "at_least", "enum", "equals", "path", "host")
_LOWER_IN_SCHEMAS = {"minimum", "exclusiveMinimum", "enum", "const"}


class TooMuchToCompare(Exception):
    """The warnings would take more comparisons than they may."""


class Comparisons:
    """How many comparisons of tool patterns there may still be, and the index of each rule's patterns."""

    def __init__(self, most: float) -> None:
        self._left = most
        self._patterns: dict[int, tuple[Rule, Patterns]] = {}
        self._meet: dict[frozenset[bytes], bool] = {}

    def spend(self, number: int) -> None:
        """Count so many. Raises TooMuchToCompare if there are more than there may be."""
        self._left -= number
        if self._left < 0:
            raise TooMuchToCompare

    def tools(self, rule: Rule) -> Patterns:
        """The rule's tool patterns, indexed."""
        found = self._patterns.get(id(rule))
        if found is None:
            self.spend(len(rule.tools))
            found = self._patterns[id(rule)] = rule, Patterns(rule.tools)  # the rule, lest its id be another's
        return found[1]

    def meet(self, one: Patterns, other: Patterns) -> bool:
        """True if both cover some tool."""
        few, many = sorted((one, other), key=lambda each: len(each.patterns))
        return next(self.meeting(few, many), None) is not None

    def meeting(self, some: Patterns, others: Patterns) -> Iterator[str]:
        """Yield each pattern of the first that covers a tool that the others cover, too."""
        opened = sum(each.endswith("*") for each in some.patterns)
        self.spend(1 + len(some.patterns) * others.steps + opened * len(others.patterns))
        return some.meeting(others)

    def windows_meet(self, one: TimeWindow, other: TimeWindow) -> bool:
        """True if both windows are ever open at one time."""
        self.spend(1)
        pair = frozenset((_encode(one), _encode(other)))
        if pair not in self._meet:
            self.spend(_WINDOW_COST)
            self._meet[pair] = windows_meet(one, other)
        return self._meet[pair]

    def first_uncovered(self, inner: Patterns, outer: Patterns) -> str | None:
        """The first pattern of `inner` that no single pattern of `outer` covers; None if all are covered."""
        self.spend(1 + len(inner.patterns) * outer.steps)
        return outer.first_uncovered(inner)


class Together:
    """Enabled policies that are evaluated together, by what the warnings look for."""

    def __init__(self, policies: Sequence[Policy], comparisons: Comparisons) -> None:
        self.comparisons = comparisons
        self.policies = policies
        self._denied: dict[float, tuple[Patterns, dict[str, str]]] = {}
        self._bound: dict[int, Patterns] = {}

    @cached_property
    def grants(self) -> dict[int, list[Policy]]:
        """The grants of each priority, from the highest."""
        grants = sorted(
            (each for each in self.policies if each.kind is PolicyKind.GRANT), key=lambda each: -each.priority
        )
        return {priority: list(each) for priority, each in groupby(grants, key=lambda each: each.priority)}

    @cached_property
    def guardrails(self) -> list[Policy]:
        """The guardrails."""
        return [each for each in self.policies if each.kind is PolicyKind.GUARDRAIL]

    @cached_property
    def guarding(self) -> list[tuple[Policy, ToolAllowlist]]:
        """The guardrails' allowlists; of those that name the same tools, one."""
        return _allowlists(self.guardrails)

    @cached_property
    def tiers(self) -> dict[int, list[tuple[Policy, ToolAllowlist]]]:
        """The allowlists of the grants of each priority; of those that name the same tools, one."""
        return {priority: _allowlists(tier) for priority, tier in self.grants.items()}

    @cached_property
    def granted_roots(self) -> dict[str, list[PolicyRule]]:
        """The directories in which rules want paths to lie, and these rules."""
        found: dict[str, list[PolicyRule]] = {}
        for rule in (rule for policy in self.policies for rule in policy.rules if rule.names_right_calls):
            wanted = "when" if isinstance(rule, ToolGrant) else ""
            for where, _, _, constraint in rule.constraints():
                for root in (
                    () if where != wanted or isinstance(constraint.path, UnsetType) else constraint.path.constant_roots
                ):
                    found.setdefault(root.rstrip("/") or "/", []).append(rule)
        return found

    @cached_property
    def windows(self) -> dict[bytes, list[tuple[Policy, TimeBased]]]:
        """The rules with equal windows, and the policy of each."""
        found: dict[bytes, list[tuple[Policy, TimeBased]]] = {}
        for policy in self.policies:
            for _, rule in rules_of(policy, TimeBased):
                found.setdefault(_encode(rule.time_window), []).append((policy, rule))
        return found

    def bound(self, priority: int) -> Patterns:
        """The tools whose calls a rule of a guardrail, or of a grant of this priority or above, asks about, limits or
        constrains.
        """
        if priority not in self._bound:
            above = (policy for at, tier in self.grants.items() if at >= priority for policy in tier)
            binding = [
                rule
                for policy in (*self.guardrails, *above)
                for rule in policy.rules
                if not isinstance(rule, ToolGrant | ToolAllowlist | DenialCounted)
            ]
            self.comparisons.spend(sum(len(rule.tools) for rule in binding))
            self._bound[priority] = Patterns(tool for rule in binding for tool in rule.tools)
        return self._bound[priority]

    def denied(self, policy: Policy) -> tuple[Patterns, dict[str, str]]:
        """What guardrails and, for a grant, those of its tier and above deny in every call, and the policy of each."""
        least = policy.priority if policy.kind is PolicyKind.GRANT else math.inf
        if least not in self._denied:
            self.comparisons.spend(len(self._denials))
            names = {tool: name for priority, tool, name in self._denials if priority >= least}
            self._denied[least] = Patterns(names), names
        return self._denied[least]

    @cached_property
    def _denials(self) -> list[tuple[float, str, str]]:
        """(priority, tool, policy) of all that is denied in every call, those of guardrails last and of the highest."""
        return [
            (math.inf if policy.kind is PolicyKind.GUARDRAIL else policy.priority, tool, policy.name)
            for some in (self.grants.values(), [self.guardrails])
            for tier in some
            for policy in reversed(tier)
            for _, rule in rules_of(policy, ToolDenylist)
            if rule.is_always
            for tool in rule.tools
        ]

    @cached_property
    def always_deciding(self) -> Policy | None:
        """The highest grant that decides about every tool, so that no lower one is evaluated."""
        return next((each for tier in self.grants.values() for each in tier if _decides_always(each)), None)

    @cached_property
    def breakers(self) -> list[tuple[Policy, int, DenialCounted]]:
        """(policy, index of the rule, rule) of every breaker."""
        return [(each, index, rule) for each in self.policies for index, rule in rules_of(each, DenialCounted)]

    @cached_property
    def bounded_by_guardrails(self) -> dict[tuple[str, str], list[PolicyRule]]:
        """By what they constrain, the guardrails' rules that bound a value from below in every call they cover."""
        found: dict[tuple[str, str], list[PolicyRule]] = {}
        for policy in self.guardrails:
            for named, rule in bounding(policy):
                found.setdefault(named, []).append(rule)
        return found

    @cached_property
    def guarding_schemas(self) -> list[ParameterSchema]:
        """The schemas of guardrails."""
        return [rule for each in self.guardrails for _, rule in rules_of(each, ParameterSchema)]


def rules_of(policy: Policy, kind: type[_Rule]) -> list[tuple[int, _Rule]]:
    """(index, rule) of every rule of one type."""
    return [(index, rule) for index, rule in enumerate(policy.rules) if isinstance(rule, kind)]


def bounding(policy: Policy) -> Iterator[tuple[tuple[str, str], PolicyRule]]:
    """Yield ((kind of value, name), rule) for each value that a rule bounds from below in every call that it covers."""
    for rule in policy.rules:
        for where, of, name, constraint in rule.constraints() if rule.is_always else ():
            if not where and has_any(constraint, LOWER_BOUNDS):
                yield (of, name), rule


def is_bounded_in(rule: ParameterSchema, name: str) -> bool:
    """True if the schema bounds the parameter of this dotted name from below in every call that the rule covers."""
    part: object = rule.schema
    for step in name.split("."):
        inner = part.get("properties") if isinstance(part, dict) else None
        part = inner.get(step) if isinstance(inner, dict) else None
    return rule.is_always and isinstance(part, dict) and not _LOWER_IN_SCHEMAS.isdisjoint(part)


def has_any(constraint: Constraint, bounds: Sequence[str]) -> bool:
    """True if the constraint has one of these fields."""
    return any(getattr(constraint, bound, UNSET) is not UNSET for bound in bounds)


def _allowlists(policies: Sequence[Policy]) -> list[tuple[Policy, ToolAllowlist]]:
    found = [(each, rule) for each in policies for _, rule in rules_of(each, ToolAllowlist)]
    return list({(rule.is_always, *rule.tools): (each, rule) for each, rule in reversed(found)}.values())[::-1]


def _decides_always(policy: Policy) -> bool:
    return any(
        rule.is_always and (isinstance(rule, ToolAllowlist) or EVERY_TOOL in rule.tools) for rule in policy.rules
    )
