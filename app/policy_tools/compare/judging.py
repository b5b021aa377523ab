"""Calls of a tool, judged by two sides: one of each combination that the rules of both can come to.

At times on both sides of each window's edge, with limits free and full, and after each past of a session. Both sides
are the decision point's own answers.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import msgspec

from app.model.agents import Agent
from app.model.decisions import AuthorizeRequest, Outcome
from app.model.plans import Plan
from app.model.policies import Policy, off_in_shadow
from app.model.rule import Rule
from app.model.rules import Sequenced
from app.model.sequences import covers
from app.model.times import rfc3339
from app.pdp import compile_agent, decide
from app.pdp.compiled import CompiledAgent
from app.policy_tools.compare.calls import Call
from app.policy_tools.compare.combinations import Combinations, Effort, ReadRules, TooMuch
from app.policy_tools.compare.limits import answers, outcome_of
from app.policy_tools.compare.tiers import concerning
from app.policy_tools.compare.times import times_of

_AGENT = Agent(id="agent", name="agent", created_ms=0, updated_ms=0, version="")


class Judged(NamedTuple):
    """A call, and what both sides say about it.

    at: its time, if that matters. limits: which of them are full, and what the session was allowed or not.
    """

    call: Call
    at: str | None
    limits: tuple[str, ...]
    one: Outcome
    other: Outcome


class Judging:
    """Judges calls by two sides. classes: how many classes of calls there were; tried: how many calls were judged.

    because: by tool, why there may be other calls; empty for a tool of which all were judged.
    """

    def __init__(self, one: Sequence[Policy], other: Sequence[Policy], effort: Effort) -> None:
        self._policies = tuple([each for each in map(off_in_shadow, side) if each.enabled] for side in (one, other))
        self._agents = tuple(compile_agent(_AGENT, side, _no_secret) for side in self._policies)
        self._effort = effort
        self._read: ReadRules = {}
        self.because: dict[str, dict[str, None]] = {}
        self.tried = self.classes = 0

    @property
    def rules(self) -> Iterator[Rule]:
        """The rules of both sides that are in force."""
        return (rule for side in self._policies for policy in side for rule in policy.rules)

    def judged(self, tool: str) -> Iterator[Judged]:
        """Yield the calls of a tool, the usual and the smallest first."""
        because: dict[str, None] = {}
        try:
            yield from self._judged(tool, because)
        except TooMuch as reason:
            because[str(reason)] = None
        if because:
            self.because[tool] = because

    def _judged(self, tool: str, because: dict[str, None]) -> Iterator[Judged]:
        rules = (rule for side in self._policies for policy in side for rule in concerning(policy, tool))
        times, are_all = times_of(rules)
        combinations = Combinations(self._policies, tool, times, self._effort, self._read)
        for call in sorted(combinations.calls(), key=lambda each: (each.at_us != times[0], each.size)):
            self.tried += 1
            one, other = (_plan(agent, tool, call) for agent in self._agents)
            given = answers(one, other)
            self._effort.spend(len(given.fulls))
            if not given.are_all:
                because["sessions have more pasts than are compared"] = None
            at = rfc3339(call.at_us // 1000) if len(times) > 1 else None
            for full in given.fulls:
                yield Judged(call, at, full.words, outcome_of(one, full.old), outcome_of(other, full.new))
        self.classes += combinations.classes
        because |= dict.fromkeys(combinations.reasons)
        if not are_all:
            because["windows have more exceptions than are compared"] = None

    def is_same(self, tool: str) -> bool:
        """True if the same rules decide about the tool on both sides, as far as results go."""
        old, new = (
            [_deciding(policy, rules) for policy in side if (rules := concerning(policy, tool))]
            for side in self._policies
        )
        return sorted(old) == sorted(new)


def _deciding(policy: Policy, rules: Sequence[Rule]) -> bytes:
    """What of a policy can matter for a result."""
    fields = msgspec.structs.asdict(policy)
    for name in ("name", "agent_message", "managed_by", "key", "version", "updated_ms", "created_ms", "remembers"):
        fields.pop(name)
    return msgspec.json.encode([fields | {"rules": rules}], order="deterministic")


def _plan(side: CompiledAgent, tool: str, call: Call) -> Plan:
    """The plan of one side for a call of a tool."""
    session = call.context.get("session")
    request = AuthorizeRequest(
        "agent", tool, "authorize", call.parameters, b"", context=call.context,
        session=session if isinstance(session, str) else "",
    )  # fmt: skip
    return decide(side, request, call.at_us, "key")


def kinds_of_tools(rules: Iterable[Rule]) -> list[tuple[str, ...]]:
    """Names of tools in groups that all rules cover alike: each name, one inside each prefix, and one in none."""
    rules = list(rules)
    distinct = {tuple(rule.tools): None for rule in rules} | {
        each: None for rule in rules for each in _in_sequence(rule)
    }
    patterns = dict.fromkeys(pattern for some in distinct for pattern in some)
    groups: dict[tuple[bool, ...], list[str]] = {}
    for name in [*(each for each in patterns if not each.endswith("*")), *_inside(patterns)]:
        groups.setdefault(tuple(covers(some, name) for some in distinct), []).append(name)
    return [tuple(sorted(group, key=lambda each: (each not in patterns, len(each)))) for group in groups.values()]


def _in_sequence(rule: Rule) -> Iterator[tuple[str, ...]]:
    if isinstance(rule, Sequenced):
        yield (*rule.sequence.forbidden, *rule.sequence.required)


_ENDS = ("x", "other", "z_0")
_OUTSIDE = ("any_other_tool", "a_tool_in_no_rule", "0")


def _inside(patterns: Iterable[str]) -> Iterator[str]:
    """Yield a name inside each prefix, and one in none, that no longer prefix and no name of the others takes."""
    prefixes = [each[:-1] for each in patterns if each.endswith("*") and each != "*"]
    names = {each for each in patterns if not each.endswith("*")}
    for prefix in ["", *prefixes]:
        ends = _ENDS if prefix else _OUTSIDE
        longer = [each for each in prefixes if each.startswith(prefix) and each != prefix]
        for name in (prefix + end for end in ends):
            if name not in names and not any(name.startswith(each) for each in longer):
                yield name
                break


def _no_secret(_name: str) -> bool:
    return False
