"""The possible results of an agent's calls of a tool, whatever their parameters and context.

The possible results follow from the possible effects of each rule, now and at any time. Because rules are treated as
independent of each other, a result may seem possible that is not, but never the reverse. So `allowed` and `denied` are
returned only if they are certain.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby

from msgspec import Struct

from app.model.decisions import Quota, Result
from app.model.policies import PolicyKind
from app.pdp.compiled import CompiledAgent
from app.pdp.constraints import IsSecret
from app.pdp.rule_reach import HasRoom, Reach, ToolRule
from app.pdp.tool_results import can_be_silent, possible_parameters, possible_results
from app.pdp.value_schemas import SchemaPart

Likeness = tuple[int, str]


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


def _bits(mask: int) -> Iterator[int]:
    """The indexes of the bits that are set."""
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest
