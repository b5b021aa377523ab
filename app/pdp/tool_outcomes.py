"""The possible results of an agent's calls of a tool, whatever their parameters and context.

The possible results follow from the possible effects of each rule, now and at any time. Because rules are treated as
independent of each other, a result may seem possible that is not, but never the reverse. So `allowed` and `denied` are
returned only if they are certain.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import groupby

from msgspec import UNSET, Struct

from app.model.decisions import Result
from app.model.plans import Quota
from app.model.policies import PolicyKind
from app.pdp.call_schemas import either, together
from app.pdp.compiled import CompiledAgent
from app.pdp.constraints import IsSecret
from app.pdp.rules import rule_in_words, rule_schema
from app.pdp.rules.limits import shared_quota
from app.pdp.rules.rule_type import ABSTAIN, FAIL, PASS, BeforeCalls, CompiledRule, HasRoom
from app.pdp.value_schemas import SchemaPart

_OF_ALL_CALLS = frozenset({"tool", "agent"})
Likeness = tuple[int, str]


class Reach(Struct, frozen=True):
    """The possible effects of a rule on calls of one tool: as things stand now, and at any time."""

    rule: "ToolRule"
    now: int
    ever: int
    covered: bool


class ToolRule:
    """A rule of an agent, and what can be said about it before there is a call."""

    def __init__(self, compiled: CompiledRule, is_secret: IsSecret) -> None:
        self.policy, self.compiled = compiled.policy, compiled
        self._is_secret = is_secret
        limit = compiled.rule.limit
        per = frozenset() if limit is None or limit.per is UNSET else frozenset(limit.per)
        self.is_shared = limit is not None and per <= _OF_ALL_CALLS
        self.is_per_tool = "tool" in per and self.is_shared

    def words(self, *, covered: bool) -> str:
        """What the rule asks, in words."""
        return self._words if covered else rule_in_words(self.compiled.rule, covered=False, is_secret=self._is_secret)

    def parameters(self, *, covered: bool) -> SchemaPart:
        """What the parameters must be for it not to fail."""
        return self._parameters if covered else self._parameters_elsewhere

    def quota(self, agent_id: str, tool: str) -> Quota | None:
        """The bucket that all of the agent's calls of the tool share; None if there is none."""
        return shared_quota(self.compiled, agent_id, tool) if self.is_shared else None

    def reach(self, minute: int, quota: Quota | None, has_room: HasRoom, *, covered: bool) -> Reach:
        """Its possible effects. minute: since the epoch."""
        now = ever = FAIL
        if covered:
            known = BeforeCalls(minute, quota, has_room, self._asked)
            now, ever = self.compiled.type.reach(self.compiled, known)
        if self.compiled.judge is not None:
            other = ABSTAIN if self.compiled.type.never_fails else ABSTAIN | FAIL
            now, ever = now | other, ever | other
        return Reach(self, now, ever, covered)

    @cached_property
    def _words(self) -> str:
        return rule_in_words(self.compiled.rule, covered=True, is_secret=self._is_secret)

    @cached_property
    def _asked(self) -> SchemaPart:
        """The requirements on the parameters of calls to which the rule applies."""
        return rule_schema(self.compiled.rule, covered=True, is_secret=self._is_secret, applies=True)

    @cached_property
    def _parameters(self) -> SchemaPart:
        return rule_schema(self.compiled.rule, covered=True, is_secret=self._is_secret)

    @cached_property
    def _parameters_elsewhere(self) -> SchemaPart:
        return rule_schema(self.compiled.rule, covered=False, is_secret=self._is_secret)


class Possible(Struct, frozen=True):
    """The possible results of calls of one tool.

    now, ever: the possible results. reaches: of the rules that can affect the result, guardrails first.
    parameters: a schema that accepts the parameters of every call that is not denied.
    """

    now: frozenset[Result]
    ever: frozenset[Result]
    reaches: tuple[Reach, ...]
    parameters: SchemaPart


class ToolRules:
    """The rules of an agent, from which the results for any tool follow.

    Tools that every rule treats alike have the same likeness: a bit for each rule that covers the tool, and its name if
    a rule counts its calls separately. The possible results are the same for all tools of one likeness.
    """

    def __init__(self, agent: CompiledAgent, is_secret: IsSecret) -> None:
        self.agent = agent.agent
        self._names: dict[str, int] = {}
        self._prefixes: dict[str, int] = {}
        self._all: list[ToolRule] = []
        grants: list[tuple[int, list[int]]] = []
        self._guardrails: list[int] = []
        for policy, compiled in agent.compiled_policies:
            # A breaker that suspends does not affect the call itself.
            asked = (rule for rule in compiled if not _only_counts(rule))
            places = [self._add(ToolRule(rule, is_secret)) for rule in asked]
            if policy.kind is PolicyKind.GUARDRAIL:
                self._guardrails += places
            else:
                grants.append((policy.priority, places))
        self._tiers = [
            [place for _, places in tier for place in places] for _, tier in groupby(grants, key=lambda each: each[0])
        ]
        self._lengths = sorted({len(prefix) for prefix in self._prefixes})
        self._per_tool = sum(1 << place for place, rule in enumerate(self._all) if rule.is_per_tool)
        self._shared = sum(1 << place for place, rule in enumerate(self._all) if rule.is_shared)
        self._for_all = sum(1 << place for place, rule in enumerate(self._all) if rule.compiled.type.covers_all)

    def likeness(self, tool: str) -> Likeness:
        """A key that is equal for two tools if all rules treat them alike."""
        covered = self._names.get(tool, 0)
        # `prefix*` covers only names that go on after the prefix.
        for length in self._lengths:
            if length >= len(tool) and length:
                break
            covered |= self._prefixes.get(tool[:length], 0)
        return covered, tool if covered & self._per_tool else ""

    def quotas(self, tool: str) -> list[Quota]:
        """The buckets that all of the agent's calls of the tool share."""
        shared = self.likeness(tool)[0] & self._shared
        quotas = (self._all[place].quota(self.agent.id, tool) for place in _bits(shared))
        return [quota for quota in quotas if quota is not None]

    def possible(self, tool: str, minute: int, has_room: HasRoom) -> Possible:
        """The possible results of the agent's calls of the tool, while it is active.

        has_room: whether a rate limit that such calls share admits one more.
        """
        covered = self.likeness(tool)[0]
        concerned = covered | self._for_all

        def reaches(places: Sequence[int]) -> list[Reach]:
            found = []
            for place in places:
                if concerned >> place & 1:
                    rule, covers = self._all[place], bool(covered >> place & 1)
                    quota = rule.quota(self.agent.id, tool) if covers else None
                    found.append(rule.reach(minute, quota, has_room, covered=covers))
            return found

        guardrails = reaches(self._guardrails)
        asked: list[list[Reach]] = []
        for tier in self._tiers:
            said = reaches(tier)
            if said:
                asked.append(said)
                if not can_be_silent([each.ever for each in said]):
                    break
        now, ever = (possible_results(asked, guardrails, is_now=is_now) for is_now in (True, False))
        shown = [*guardrails, *(each for tier in asked for each in tier)] if asked else []
        return Possible(now, ever, tuple(shown), possible_parameters(asked, guardrails))

    def _add(self, rule: ToolRule) -> int:
        place = len(self._all)
        self._all.append(rule)
        for pattern in rule.compiled.rule.tools:
            held, name = (self._prefixes, pattern[:-1]) if pattern.endswith("*") else (self._names, pattern)
            held[name] = held.get(name, 0) | 1 << place
        return place


def _only_counts(rule: CompiledRule) -> bool:
    return rule.demands.breaker is not None and not rule.demands.quotas


def _bits(mask: int) -> Iterator[int]:
    """The indexes of the bits that are set."""
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest


def can_be_silent(outcomes: Sequence[int]) -> bool:
    return all(each & ABSTAIN for each in outcomes)


def possible_results(
    tiers: Sequence[Sequence[Reach]], guardrails: Sequence[Reach], *, is_now: bool
) -> frozenset[Result]:
    """The results that are possible."""
    found: set[Result] = set()
    restricted = _PossibleResults(guardrails, is_now=is_now)
    for tier in tiers:
        possible = _PossibleResults(tier, is_now=is_now)
        if possible.can_allow and not restricted.must_fail:
            found.add(Result.ALLOWED)
        can_ask = possible.can_escalate or (possible.can_allow and restricted.can_fail_escalating)
        if can_ask and not restricted.must_deny:
            found.add(Result.ESCALATED)
        if possible.can_deny or restricted.can_deny:
            found.add(Result.DENIED)
        if not possible.can_be_silent:
            return frozenset(found)
    return frozenset(found | {Result.DENIED})


class _PossibleResults:
    """The possible results of rules that are evaluated together."""

    def __init__(self, reaches: Sequence[Reach], *, is_now: bool) -> None:
        outcomes = [(each.now if is_now else each.ever, each.rule.compiled.when_failed) for each in reaches]
        denying = [outcome for outcome, when_failed in outcomes if when_failed is Result.DENIED]
        self.can_be_silent = all(outcome & ABSTAIN for outcome, _ in outcomes)
        self.must_fail = any(outcome == FAIL for outcome, _ in outcomes)
        self.must_deny = FAIL in denying
        # What a rule says of lines that cannot be read may differ from what it says of others.
        apart = [each.rule.compiled.results() for each in reaches]
        self.can_deny = any(
            outcome & FAIL and Result.DENIED in results for (outcome, _), results in zip(outcomes, apart, strict=True)
        )
        self.can_fail_escalating = any(
            outcome & FAIL and Result.ESCALATED in results
            for (outcome, _), results in zip(outcomes, apart, strict=True)
        )
        self.can_allow = not self.must_fail and any(outcome & PASS for outcome, _ in outcomes)
        self.can_escalate = self.can_fail_escalating and not self.must_deny


def possible_parameters(tiers: Sequence[Sequence[Reach]], guardrails: Sequence[Reach]) -> SchemaPart:
    """The schema of the parameters of a call that is not denied."""
    by_tier = [together(_denying(tier)) for tier in tiers]
    possible = either([part for part in by_tier if part.schema is not False])
    is_certain = len(tiers) == 1 and not can_be_silent([each.ever for each in tiers[0]])
    whole = together([possible, *_denying(guardrails)])
    return SchemaPart(whole.schema, whole.is_exact and (is_certain or not tiers or whole.schema is False))


def _denying(reaches: Sequence[Reach]) -> Iterator[SchemaPart]:
    return (
        each.rule.parameters(covered=each.covered)
        for each in reaches
        if each.rule.compiled.when_failed is Result.DENIED
    )
