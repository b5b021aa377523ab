"""What the policies of both sides of a change say together: by tier, and only what can still matter for the result."""

from collections.abc import Callable, Iterable, Sequence
from enum import IntEnum
from typing import Any

from msgspec import UnsetType

from app.model.constraints import IfMissing
from app.model.policies import Policy, PolicyKind
from app.model.rule import Rule
from app.model.rules import PinnedRequest, Sequenced
from app.model.sequences import covers
from app.pdp.rules.rule_type import TYPE_OF
from app.policy_tools.compare.reads import HOLDS, LACKS, UNJUDGED

Rank = tuple[int, int]
"""What a rule's constraints and its `when` or `unless` have come to: the worst of each."""

Said = tuple[Any, ...]
"""By tier, "nothing", "denied", or "escalated" or "allowed" with the limits that can still change that; "-" = whatever
it says does not matter."""

_NOTHING, _DENIED, _ESCALATED, _ALLOWED, _WHATEVER = "nothing", "denied", "escalated", "allowed", "-"


class Effect(IntEnum):
    """What a rule does about a call."""

    ABSTAINS = 0
    PASSES = 1
    FAILS = 2


def concerning(policy: Policy, tool: str) -> list[Rule]:
    """The rules of a policy that can matter for a tool."""
    return [rule for rule in policy.rules if TYPE_OF[type(rule)].covers_all or covers(rule.tools, tool)]


def _tier(policy: Policy) -> float:
    return _GUARDRAILS if policy.kind is PolicyKind.GUARDRAIL else policy.priority


_GUARDRAILS = -1.0


class Tiers:
    """The policies of both sides that concern a tool, by tier.

    units: the numbers of the rules of each policy, and the tiers in which it is; the same policy of both sides is one.
    """

    def __init__(self, sides: Sequence[Sequence[Policy]], tool: str, number_of: Callable[[Rule], int]) -> None:
        self._tool = tool
        self._rules: dict[int, Rule] = {}
        self._sides: list[list[int]] = []
        self._simple: dict[tuple[Said, frozenset[int]], Said] = {}
        units: dict[tuple[int, ...], set[int]] = {}
        self.count = 0
        for policies in sides:
            concerned = [(_tier(each), rules) for each in policies if (rules := concerning(each, tool))]
            order = [*sorted({tier for tier, _ in concerned if tier != _GUARDRAILS}, reverse=True), _GUARDRAILS]
            for tier, rules in sorted(concerned, key=lambda each: -each[0]):
                self._rules |= {number_of(rule): rule for rule in rules}
                units.setdefault(tuple(map(number_of, rules)), set()).add(self.count + order.index(tier))
            self._sides.append([*range(self.count, self.count + len(order))])
            self.count += len(order)
        self.units = [(unit, frozenset(tiers)) for unit, tiers in units.items()]

    def said(self, before: Said, units: Iterable[int], ranks: Sequence[Rank | None], final: frozenset[int]) -> Said:
        """What is said once these policies have spoken, too. final: the tiers in which no other will speak."""
        words = list(before)
        for place in units:
            unit, tiers = self.units[place]
            word = self._word(unit, ranks)
            for tier in tiers:
                words[tier] = self._joined(words[tier], word)
        return self._simplified(tuple(words), final)

    @property
    def nothing(self) -> Said:
        """Before any policy has spoken."""
        return (_NOTHING,) * self.count

    def _joined(self, one: Any, other: Any) -> Any:
        """What two policies of a tier say together."""
        if _WHATEVER in (one, other):
            return _WHATEVER
        if _DENIED in (one, other):
            return _DENIED
        if _NOTHING in (one, other):
            return other if one == _NOTHING else one
        limits = one[1] | other[1]
        if _ESCALATED not in (one[0], other[0]):
            return _ALLOWED, limits
        return _ESCALATED, frozenset(number for number in limits if not self._rules[number].escalates)

    def _simplified(self, said: Said, final: frozenset[int]) -> Said:
        """The same without what cannot matter: tiers below the one that decides, and guardrails if all is denied.

        Which tier decides does not matter either, so it is taken for the highest.
        """
        key = said, final
        if key not in self._simple:
            words = list(said)
            for *grants, guardrails in self._sides:
                decided = next((tier for tier in grants if tier not in final or words[tier] != _NOTHING), None)
                if decided is None:
                    words[guardrails] = _WHATEVER
                elif decided in final:
                    word = words[decided]
                    for tier in grants:
                        words[tier] = _WHATEVER
                    words[grants[0]] = word
                    if word == _DENIED:
                        words[guardrails] = _WHATEVER
            self._simple[key] = tuple(words)
        return self._simple[key]

    def _word(self, unit: Sequence[int], ranks: Sequence[Rank | None]) -> Any:
        """What a policy says: whether it matches, with which result, and which of its limits then matter."""
        effects = {number: self._effect(number, (ranks and ranks[number]) or (HOLDS, HOLDS)) for number in unit}
        failed = [number for number, effect in effects.items() if effect is Effect.FAILS]
        if any(not self._rules[number].escalates for number in failed):
            return _DENIED
        limits = frozenset(
            number for number, effect in effects.items() if effect is Effect.PASSES and _counts(self._rules[number])
        )
        if failed:
            return _ESCALATED, frozenset(number for number in limits if not self._rules[number].escalates)
        return (_ALLOWED, limits) if Effect.PASSES in effects.values() else _NOTHING

    def _effect(self, number: int, rank: Rank) -> Effect:
        rule, (demanded, asked) = self._rules[number], rank
        for word, circumstances in (("when", rule.when), ("unless", rule.unless)):
            if isinstance(circumstances, UnsetType):
                continue
            if asked == LACKS and not isinstance(circumstances.if_missing, UnsetType):
                applies = circumstances.if_missing is IfMissing.APPLY
            elif asked in (LACKS, UNJUDGED):
                return Effect.ABSTAINS if TYPE_OF[type(rule)].never_fails else Effect.FAILS
            else:
                applies = (asked == HOLDS) is (word == "when")
            if not applies:
                return Effect.ABSTAINS
        fails = demanded or rule.only_fails or not covers(rule.tools, self._tool)
        return Effect.FAILS if fails else Effect.PASSES


def _counts(rule: Rule) -> bool:
    """True if only the store can tell whether a call passes."""
    return rule.counter is not None or isinstance(rule, Sequenced | PinnedRequest)


def failures(said: Said) -> int:
    """How many tiers refuse."""
    return sum(each == _DENIED or each[0] == _ESCALATED for each in said)
