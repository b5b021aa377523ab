"""What a change of policies means: for each kind of tool, calls whose result differs, each judged by both sides.

The calls are made from the terms of the rules of both sides (`calls`), the times from their windows, and each limit is
taken as free and as full. Whatever is shown as a flip is one: the decision point gave both results. That nothing is
found is no proof that nothing changes.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import chain
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

from msgspec import Struct, UnsetType

from app.model.agents import Agent
from app.model.decisions import AuthorizeRequest, Outcome, Result
from app.model.plans import DenialCount, Plan, Quota
from app.model.policies import Policy, off_in_shadow
from app.model.rule import Rule
from app.model.rules import Sequenced, TimeBased
from app.model.sequences import covers
from app.model.time_windows import DAY_MINUTES, TimeWindow
from app.model.times import MINUTE_US
from app.pdp import compile_agent, decide
from app.pdp.compiled import CompiledAgent
from app.pdp.rules.time_based import compile_time_window
from app.policy_tools.compare.calls import Call, Calls

MAX_TRIED = 60_000
"""The most calls that are judged; then the comparison ends, and says so."""

_NOON_US = 1_795_608_000 * 1_000_000
"""A Wednesday at noon, UTC."""

_WEEK_MINUTES = 7 * DAY_MINUTES
_STEP_MINUTES = 15
_MOST_EXCEPTIONS = 10
_AGENT = Agent(id="agent", name="agent", created_ms=0, updated_ms=0, version="")
_ORDER = (Result.DENIED, Result.ESCALATED, Result.ALLOWED)


class Side(NamedTuple):
    """A result, and the reason."""

    result: Result
    reason: str


class Flip(Struct, frozen=True):
    """A call whose result differs.

    like: other names of tools for which the same holds. at_us: the time of the call.
    full: the limit that has no room in this case; "" = all have room.
    """

    tool: str
    like: tuple[str, ...]
    call: Call
    at_us: int
    full: str
    before: Side
    after: Side

    @property
    def is_loosened(self) -> bool:
        """True if the call is newly allowed, no longer denied, or no longer asked about."""
        return _ORDER.index(self.after.result) > _ORDER.index(self.before.result)


class Meaning(Struct, frozen=True):
    """The flips, loosened ones first. kinds, tried: of tools, and of calls. is_whole: False if it ended early."""

    flips: tuple[Flip, ...]
    kinds: int
    tried: int
    is_whole: bool


def compare_meaning(before: Sequence[Policy], after: Sequence[Policy]) -> Meaning:
    """The calls that the policies after a change answer otherwise; they are all that govern an agent, on each side.

    Policies in shadow mode change no answer, so they are left out. A policy keeps its limits if it keeps its id.
    """
    old, new = ([off_in_shadow(each) for each in side] for side in (before, after))
    rules = [rule for policy in (*old, *new) if policy.enabled for rule in policy.rules]
    comparison = _Comparison(compile_agent(_AGENT, old, _no_secret), compile_agent(_AGENT, new, _no_secret), rules)
    kinds = _kinds(rules)
    times = _times(rules)
    flips: list[Flip] = []
    for names in kinds:
        flips += comparison.flips(names, times)
    flips.sort(key=lambda each: (not each.is_loosened, -_ORDER.index(each.after.result), each.tool))
    return Meaning(tuple(flips), len(kinds), comparison.tried, comparison.is_whole)


class _Comparison:
    def __init__(self, old: CompiledAgent, new: CompiledAgent, rules: Sequence[Rule]) -> None:
        self._sides = (old, new)
        self._rules = rules
        self.tried = 0
        self.is_whole = True

    def flips(self, names: tuple[str, ...], times: Sequence[int]) -> Iterator[Flip]:
        """The smallest call of each kind of flip of the tools, which all rules treat alike."""
        tool, *like = names
        calls = Calls(self._rules, tool)
        found: set[tuple[Result, Result]] = set()
        for call in calls.made():
            shown: set[bool] = set()  # what flips at one time, or with room, also does at others, or without
            for at_us in times:
                if self.tried >= MAX_TRIED:
                    self.is_whole = False
                    return
                self.tried += 1
                for full, before, after in self._judged(tool, call, at_us):
                    flip = Flip(tool, tuple(like), call, at_us=at_us, full=full, before=before, after=after)
                    kind = before.result, after.result
                    if before.result is after.result or kind in found or flip.is_loosened in shown:
                        continue
                    shown.add(flip.is_loosened)
                    found.add(kind)
                    yield flip
        self.is_whole = self.is_whole and calls.is_whole

    def _judged(self, tool: str, call: Call, at_us: int) -> Iterator[tuple[str, Side, Side]]:
        """Both results: while all limits have room, and while each one has none."""
        request = AuthorizeRequest(
            "agent", tool, "authorize", call.parameters, b"", context=call.context,
            session=str(call.context.get("session", "")),
        )  # fmt: skip
        before, after = (decide(side, request, at_us, "key") for side in self._sides)
        yield "", _side(before, frozenset()), _side(after, frozenset())
        for name, full in _states(before, after):
            yield name, _side(before, full[0]), _side(after, full[1])


def _side(plan: Plan, full: frozenset[int]) -> Side:
    """The plan's result if these of its limits, by place, have no room."""
    places = sorted(full)
    outcome: Outcome = plan.quotas[places[0]].when_full if places else plan.outcome
    return Side(outcome.result, outcome.reason)


def _states(before: Plan, after: Plan) -> Iterator[tuple[str, tuple[frozenset[int], frozenset[int]]]]:
    """Yield each limit's reason while it is full, and its places in both plans.

    A counter that both sides have is full in both; if one admits more, it is also full in the other alone.
    """
    counters: dict[Any, tuple[list[int], list[int]]] = {}
    for side, plan in enumerate((before, after)):
        for place, quota in enumerate(plan.quotas):
            counters.setdefault(_counter(quota), ([], []))[side].append(place)
    for old, new in counters.values():
        reason = (before.quotas[old[0]] if old else after.quotas[new[0]]).when_full.reason
        yield reason, (frozenset(old), frozenset(new))
        if old and new and (more := _most(after, new) - _most(before, old)):
            less = before.quotas[old[0]] if more > 0 else after.quotas[new[0]]
            yield less.when_full.reason, (frozenset(old if more > 0 else ()), frozenset(new if more < 0 else ()))


def _most(plan: Plan, places: Sequence[int]) -> int:
    """The most that the counter at these places admits."""
    quotas = (plan.quotas[place] for place in places)
    return max((quota.max_calls for quota in quotas if isinstance(quota, Quota)), default=0)


def _counter(quota: Any) -> Any:
    """What is equal for the same counter on both sides."""
    if isinstance(quota, Quota | DenialCount):
        return quota.policy_id, quota.fingerprint, quota.bucket
    return type(quota).__name__, quota.when_full.rule and quota.when_full.rule.type, getattr(quota, "marks", ())


def _kinds(rules: Sequence[Rule]) -> list[tuple[str, ...]]:
    """Names of tools in groups that all rules cover alike: each name, one inside each prefix, and one in none."""
    patterns = dict.fromkeys(pattern for rule in rules for pattern in (*rule.tools, *_in_sequence(rule)))
    names = dict.fromkeys(_inside(pattern) for pattern in patterns)
    outside = next(name for name in ("any_other_tool", "a_tool_in_no_rule", "0") if name not in patterns)
    groups: dict[tuple[bool, ...], list[str]] = {}
    for name in (*names, outside):
        covered = tuple(covers(rule.tools, name) for rule in rules)
        groups.setdefault(covered, []).append(name)
    return [tuple(sorted(group, key=lambda each: (each not in patterns, len(each)))) for group in groups.values()]


def _in_sequence(rule: Rule) -> tuple[str, ...]:
    return (*rule.sequence.forbidden, *rule.sequence.required) if isinstance(rule, Sequenced) else ()


def _inside(pattern: str) -> str:
    """A name that the pattern covers."""
    return pattern if not pattern.endswith("*") else f"{pattern[:-1]}x" if pattern != "*" else "any_tool"


def _times(rules: Sequence[Rule]) -> list[int]:
    """One time for each combination of windows that are open and closed in a week, the most open ones first."""
    windows = [rule.time_window for rule in rules if isinstance(rule, TimeBased)]
    if not windows:
        return [_NOON_US]
    checks = [compile_time_window(window) for window in windows]
    found: dict[tuple[bool, ...], int] = {}
    for minute in chain.from_iterable(_minutes_for(each) for each in windows):
        found.setdefault(tuple(check(minute) is None for check in checks), minute * MINUTE_US)
    return [time for _, time in sorted(found.items(), key=lambda each: -sum(each[0]))]


def _minutes_for(window: TimeWindow) -> Iterator[int]:
    """Minutes of a week, and of the days around each exception: among them all at which the window opens or closes."""
    spans = () if isinstance(window.windows, UnsetType) else window.windows
    edges = {
        0,
        *(edge % _STEP_MINUTES for each in spans for edge in (each.first_minute, each.first_minute + each.minutes)),
    }
    begin = _NOON_US // MINUTE_US
    spells = [(begin, begin + _WEEK_MINUTES)]
    for first, last in window.excepted_dates[:_MOST_EXCEPTIONS]:
        for day in (first, last):
            midnight = int(datetime(day.year, day.month, day.day, tzinfo=ZoneInfo(window.zone)).timestamp()) // 60
            spells.append((midnight - DAY_MINUTES, midnight + 2 * DAY_MINUTES))
    for start, end in spells:
        for edge in sorted(edges):
            yield from range(start + edge, end, _STEP_MINUTES)


def _no_secret(_name: str) -> bool:
    return False
