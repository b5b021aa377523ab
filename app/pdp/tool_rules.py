"""What can become of an agent's calls of a tool, whatever their parameters and context.

Each rule is known by what it can come to, now and at any time. From that follows which results are possible. It may
seem that more are than there are, since rules are taken for independent of each other; never fewer. So `allowed` and
`denied` are said only where they are certain.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import groupby

from msgspec import UNSET, Struct

from app.model.counting import limit_of
from app.model.decisions import Quota, Result
from app.model.policies import Policy, PolicyKind
from app.model.rules import (
    ApprovalRequired,
    ParameterConstraint,
    ParameterSchema,
    RateLimited,
    TimeBased,
    ToolAllowlist,
    ToolDenylist,
)
from app.pdp.call_schemas import either, rule_schema, together
from app.pdp.compiled import CompiledAgent
from app.pdp.compiled_rules import CompiledRule
from app.pdp.constraints import IsSecret
from app.pdp.in_words import NOT_LISTED, rule_in_words
from app.pdp.limits import VaryingQuota
from app.pdp.value_schemas import SchemaPart

PASS, FAIL, ABSTAIN = 1, 2, 4
"""What a rule can come to; together they are sets of these."""

EITHER = PASS | FAIL
_OF_ALL_CALLS = frozenset({"tool", "agent"})
Likeness = tuple[int, str]
HasRoom = Callable[[Quota], bool]


class Reach(Struct, frozen=True):
    """What a rule can come to for calls of one tool: as things stand, and ever."""

    rule: "ToolRule"
    now: int
    ever: int
    covered: bool


class Possible(Struct, frozen=True):
    """What can become of calls of one tool.

    now, ever: the results that are possible. reaches: of the rules that can have a say, guardrails first.
    parameters: a schema that the parameters fit of every call that is not denied.
    """

    now: frozenset[Result]
    ever: frozenset[Result]
    reaches: tuple[Reach, ...]
    parameters: SchemaPart


class ToolRule:
    """A rule of an agent, and what can be said of it before there is a call."""

    def __init__(self, policy: Policy, compiled: CompiledRule, is_secret: IsSecret) -> None:
        self.policy, self.compiled = policy, compiled
        self._is_secret = is_secret
        self.is_allowlist = isinstance(compiled.rule, ToolAllowlist)
        limit = limit_of(compiled.rule)
        per = frozenset() if limit is None or limit.per is UNSET else frozenset(limit.per)
        self.is_shared = limit is not None and per <= _OF_ALL_CALLS
        self.is_per_tool = "tool" in per and self.is_shared

    def words(self, *, covered: bool) -> str:
        """What the rule asks, in words."""
        return self._words if covered else NOT_LISTED

    def parameters(self, *, covered: bool) -> SchemaPart:
        """What the parameters must be for it not to fail."""
        return self._parameters if covered else self._parameters_elsewhere

    def quota(self, agent_id: str, tool: str) -> Quota | None:
        """The bucket that all of the agent's calls of the tool share; None where there is none."""
        if not self.is_shared:
            return None
        [quota] = self.compiled.quotas
        return quota.shared(agent_id, tool) if isinstance(quota, VaryingQuota) else quota  # type: ignore[return-value]

    def reach(self, minute: int, quota: Quota | None, has_room: HasRoom, *, covered: bool) -> Reach:
        """What it can come to. minute: since the epoch."""
        now, ever = self._bare(minute, quota, has_room) if covered else (FAIL, FAIL)
        if self.compiled.judge is not None:
            now, ever = now | ABSTAIN | FAIL, ever | ABSTAIN | FAIL
        return Reach(self, now, ever, covered)

    def _bare(self, minute: int, quota: Quota | None, has_room: HasRoom) -> tuple[int, int]:
        match self.compiled.rule:
            case ToolAllowlist():
                return PASS, PASS
            case ToolDenylist() | ApprovalRequired():
                return FAIL, FAIL
            case TimeBased():
                condition = self.compiled.condition
                is_open = condition is not None and condition.failed({}, {}, minute) is None
                return PASS if is_open else FAIL, EITHER
            case RateLimited() if quota is not None:
                return PASS if has_room(quota) else FAIL, EITHER
            case ParameterConstraint() | ParameterSchema():
                return self._by_parameters
            case _:
                return EITHER, EITHER

    @cached_property
    def _by_parameters(self) -> tuple[int, int]:
        rule, part = self.compiled.rule, self._asked
        if part.schema is False:
            return FAIL, FAIL
        reads_no_more = isinstance(rule, ParameterSchema) or getattr(rule, "context", UNSET) is UNSET
        if part.schema is True and part.is_exact and reads_no_more:
            return PASS, PASS
        return EITHER, EITHER

    @cached_property
    def _words(self) -> str:
        return rule_in_words(self.compiled.rule, covered=True, is_secret=self._is_secret)

    @cached_property
    def _asked(self) -> SchemaPart:
        """Of the parameters of calls to which it applies."""
        return rule_schema(self.compiled.rule, covered=True, is_secret=self._is_secret, applies=True)

    @cached_property
    def _parameters(self) -> SchemaPart:
        return rule_schema(self.compiled.rule, covered=True, is_secret=self._is_secret)

    @cached_property
    def _parameters_elsewhere(self) -> SchemaPart:
        return rule_schema(self.compiled.rule, covered=False, is_secret=self._is_secret)


class ToolRules:
    """The rules of an agent, by which any tool can be looked at.

    A tool's likeness is the same for tools that every rule treats alike: which rules cover it, a bit for each, and its
    name if one of them counts its calls by themselves. What is possible for one of them is for all.
    """

    def __init__(self, agent: CompiledAgent, is_secret: IsSecret) -> None:
        self.agent = agent.agent
        self._names: dict[str, int] = {}
        self._prefixes: dict[str, int] = {}
        self._all: list[ToolRule] = []
        grants: list[tuple[int, list[int]]] = []
        self._guardrails: list[int] = []
        for policy, compiled in agent.compiled_policies:
            # A breaker that suspends says nothing about a call.
            asked = (rule for rule in compiled if rule.breaker is None or not rule.breaker.suspends)
            places = [self._add(ToolRule(policy, rule, is_secret)) for rule in asked]
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
        self._allowlists = sum(1 << place for place, rule in enumerate(self._all) if rule.is_allowlist)

    def likeness(self, tool: str) -> Likeness:
        """The same for two tools if all rules treat them alike."""
        covered = self._names.get(tool, 0)
        # `prefix*` covers what goes on from there.
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
        """What can become of the agent's calls of the tool, while it is active.

        has_room: of a rate limit that such calls share, whether it admits one more.
        """
        covered = self.likeness(tool)[0]
        concerned = covered | self._allowlists

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
                if not _can_be_silent([each.ever for each in said]):
                    break
        now, ever = (_results(asked, guardrails, is_now=is_now) for is_now in (True, False))
        shown = [*guardrails, *(each for tier in asked for each in tier)] if asked else []
        return Possible(now, ever, tuple(shown), _parameters(asked, guardrails))

    def _add(self, rule: ToolRule) -> int:
        place = len(self._all)
        self._all.append(rule)
        for pattern in rule.compiled.rule.tools:
            held, name = (self._prefixes, pattern[:-1]) if pattern.endswith("*") else (self._names, pattern)
            held[name] = held.get(name, 0) | 1 << place
        return place


def _bits(mask: int) -> Iterator[int]:
    """The places of the bits that are set."""
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest


def _can_be_silent(outcomes: Sequence[int]) -> bool:
    return all(each & ABSTAIN for each in outcomes)


def _results(tiers: Sequence[Sequence[Reach]], guardrails: Sequence[Reach], *, is_now: bool) -> frozenset[Result]:
    """The results that are possible."""
    found: set[Result] = set()
    restricted = _Said(guardrails, is_now=is_now)
    for tier in tiers:
        said = _Said(tier, is_now=is_now)
        if said.can_allow and not restricted.must_fail:
            found.add(Result.ALLOWED)
        can_ask = said.can_escalate or (said.can_allow and restricted.can_fail_escalating)
        if can_ask and not restricted.must_deny:
            found.add(Result.ESCALATED)
        if said.can_deny or restricted.can_deny:
            found.add(Result.DENIED)
        if not said.can_be_silent:
            return frozenset(found)
    return frozenset(found | {Result.DENIED})


class _Said:
    """What rules that are asked together can say."""

    def __init__(self, reaches: Sequence[Reach], *, is_now: bool) -> None:
        outcomes = [(each.now if is_now else each.ever, each.rule.compiled.when_failed) for each in reaches]
        denying = [outcome for outcome, when_failed in outcomes if when_failed is Result.DENIED]
        self.can_be_silent = all(outcome & ABSTAIN for outcome, _ in outcomes)
        self.must_fail = any(outcome == FAIL for outcome, _ in outcomes)
        self.must_deny = FAIL in denying
        self.can_deny = any(outcome & FAIL for outcome in denying)
        self.can_fail_escalating = any(
            outcome & FAIL for outcome, when_failed in outcomes if when_failed is Result.ESCALATED
        )
        self.can_allow = not self.must_fail and any(outcome & PASS for outcome, _ in outcomes)
        self.can_escalate = self.can_fail_escalating and not self.must_deny


def _parameters(tiers: Sequence[Sequence[Reach]], guardrails: Sequence[Reach]) -> SchemaPart:
    """What the parameters of a call must be that is not denied."""
    by_tier = [together(_denying(tier)) for tier in tiers]
    possible = either([part for part in by_tier if part.schema is not False])
    is_certain = len(tiers) == 1 and not _can_be_silent([each.ever for each in tiers[0]])
    whole = together([possible, *_denying(guardrails)])
    return SchemaPart(whole.schema, whole.is_exact and (is_certain or not tiers or whole.schema is False))


def _denying(reaches: Sequence[Reach]) -> Iterator[SchemaPart]:
    return (
        each.rule.parameters(covered=each.covered)
        for each in reaches
        if each.rule.compiled.when_failed is Result.DENIED
    )
