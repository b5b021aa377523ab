"""What a change of policies means: for each kind of tool, calls whose result differs, each judged by both sides.

The calls are those of each combination that the rules of both sides can come to (`combinations`), at times on both
sides of each window's edge, with limits free and full and each past of a session. Whatever is shown as a flip is one:
the decision point gave both results. `because` says why others may have been missed; if it is empty, there are none.
"""

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from app.model.agents import Agent
from app.model.comparisons import Doubt, PolicyComparison, PolicyFlip
from app.model.decisions import AuthorizeRequest, Result
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
_KINDS = [
    *((Result.DENIED, Result.ALLOWED), (Result.DENIED, Result.ESCALATED), (Result.ESCALATED, Result.ALLOWED)),
    *((Result.ALLOWED, Result.ESCALATED), (Result.ALLOWED, Result.DENIED), (Result.ESCALATED, Result.DENIED)),
]
"""The kinds of flips as they are shown: newly allowed, no longer denied, no longer asked, newly asked, newly denied."""


def compare_meaning(
    before: Sequence[Policy], after: Sequence[Policy], effort: Effort | None = None
) -> PolicyComparison:
    """The calls that the policies after a change answer otherwise; they are all that govern an agent, on each side.

    Policies in shadow mode change no answer, so they are left out. A policy keeps its limits if it keeps its id.
    """
    sides = tuple([each for each in map(off_in_shadow, side) if each.enabled] for side in (before, after))
    comparison = _Comparison(sides[0], sides[1], effort or Effort())
    kinds = kinds_of_tools(rule for side in sides for policy in side for rule in policy.rules)
    because: dict[tuple[str, str], None] = {}
    for tool, *like in kinds:
        try:
            reasons = comparison.compare(tool, like)
        except TooMuch as reason:
            reasons = [str(reason)]
        because |= dict.fromkeys((tool, reason) for reason in reasons)
    flips = sorted(comparison.flips, key=lambda each: (_KINDS.index((each.was, each.becomes)), each.tool))
    return PolicyComparison(
        [each for each in flips if not each.limits],
        [each for each in flips if each.limits],
        len(kinds),
        comparison.classes,
        comparison.tried,
        not because,
        [Doubt(*each) for each in because],
    )


class _Comparison:
    def __init__(self, old: Sequence[Policy], new: Sequence[Policy], effort: Effort) -> None:
        self._policies = (old, new)
        self._sides = (compile_agent(_AGENT, old, _no_secret), compile_agent(_AGENT, new, _no_secret))
        self._effort = effort
        self._read: ReadRules = {}
        self.flips: list[PolicyFlip] = []
        self.tried = self.classes = 0

    def compare(self, tool: str, like: list[str]) -> list[str]:
        """Add the smallest call of each kind of flip of the tool; why there may be others. Raises TooMuch."""
        if self._is_same(tool):
            self.classes += 1
            return []
        concerned = [policy for side in self._policies for policy in side if concerning(policy, tool)]
        times, are_all = times_of(rule for policy in concerned for rule in concerning(policy, tool))
        combinations = Combinations(self._policies, tool, times, self._effort, self._read)
        reasons = {} if are_all else {"windows have more exceptions than are compared": None}
        found: set[tuple[Result, Result]] = set()
        calls = sorted(combinations.calls(), key=lambda each: (each.at_us != times[0], each.size))
        for call in calls:
            self.tried += 1
            before, after = (plan_for(side, tool, call) for side in self._sides)
            given = answers(before, after)
            self._effort.spend(len(given.fulls))
            if not given.are_all:
                reasons["sessions have more pasts than are compared"] = None
            for full in given.fulls:
                one, other = outcome_of(before, full.old), outcome_of(after, full.new)
                kind = one.result, other.result
                if kind[0] is not kind[1] and kind not in found:
                    found.add(kind)
                    at = rfc3339(call.at_us // 1000) if len(times) > 1 else None
                    values, limits = (call.parameters, call.context), list(full.words)
                    self.flips.append(PolicyFlip(*kind, tool, like, *values, at, limits, one.reason, other.reason))
        self.classes += combinations.classes
        return [*combinations.reasons, *reasons]

    def _is_same(self, tool: str) -> bool:
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


def plan_for(side: CompiledAgent, tool: str, call: Call) -> Plan:
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
