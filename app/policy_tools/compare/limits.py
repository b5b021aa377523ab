"""What only the store can tell about a call, on both sides of a change: which limits are full, and what came before."""

from collections.abc import Iterator, Sequence
from itertools import combinations, product
from typing import Any, NamedTuple

from msgspec import Struct

from app.model.decisions import Outcome
from app.model.plans import Check, DenialCount, HistoryCheck, Plan, Quota

MAX_PASTS = 256
"""The most pasts of a session that are compared."""


class Full(NamedTuple):
    """The questions, by their places in both plans, whose answer is no; and in words what that is."""

    old: frozenset[int]
    new: frozenset[int]
    words: tuple[str, ...]

    def __or__(self, other: "Full") -> "Full":
        words = dict.fromkeys((*self.words, *other.words))
        return Full(self.old | other.old, self.new | other.new, tuple(words))


NONE_FULL = Full(frozenset(), frozenset(), ())


class Answers(Struct, frozen=True):
    """The answers that the store can give. are_all: False if some are left out."""

    fulls: tuple[Full, ...]
    are_all: bool


def answers(before: Plan, after: Plan) -> Answers:
    """All answers that can give two different results: the usual one first.

    A result needs at most one full limit on each side, so of limits no more than two are full at a time. A counter
    that both sides have is full in both; if one admits more, it is also full in the other alone.
    """
    pasts = list(_pasts(before, after))
    full = [state for states in _counters(before, after) for state in states]
    some = [NONE_FULL, *full, *(one | other for one, other in combinations(full, 2) if not _same(one, other))]
    fulls = [past | each for past in pasts[:MAX_PASTS] for each in some]
    return Answers(tuple(sorted(fulls, key=lambda each: len(each.words))), len(pasts) <= MAX_PASTS)


def outcome_of(plan: Plan, full: frozenset[int]) -> Outcome:
    """The plan's outcome if these of its questions, by place, have the answer no."""
    never_fits = {
        place
        for place, each in enumerate(plan.quotas)
        if isinstance(each, Quota) and (each.amount or 0) > each.max_calls
    }
    places = sorted(full | never_fits)
    return plan.quotas[places[0]].when_full if places else plan.outcome


def _same(one: Full, other: Full) -> bool:
    """True if they are about the same counter."""
    return bool(one.old & other.old or one.new & other.new)


def _counters(before: Plan, after: Plan) -> Iterator[list[Full]]:
    """Yield, for each counter of either plan, the ways in which it can be full."""
    counters: dict[Any, tuple[list[int], list[int]]] = {}
    for side, plan in enumerate((before, after)):
        for place, each in enumerate(plan.quotas):
            if not isinstance(each, HistoryCheck):
                counters.setdefault(_counter(each), ([], []))[side].append(place)
    for old, new in counters.values():
        words = (before.quotas[old[0]] if old else after.quotas[new[0]]).when_full.reason
        states = [Full(frozenset(old), frozenset(new), (words,))]
        if old and new and (more := _most(after, new) - _most(before, old)):
            less = before.quotas[old[0]] if more > 0 else after.quotas[new[0]]
            alone = (old, ()) if more > 0 else ((), new)
            states.insert(0, Full(frozenset(alone[0]), frozenset(alone[1]), (less.when_full.reason,)))
        yield states


def _most(plan: Plan, places: Sequence[int]) -> int:
    """The most that the counter at these places admits."""
    return max(
        getattr(each, "max_calls", getattr(each, "max_denials", 0)) for each in (plan.quotas[at] for at in places)
    )


def _counter(check: Check) -> Any:
    """What is equal for the same counter on both sides."""
    if isinstance(check, Quota | DenialCount):
        return check.policy_id, check.fingerprint, check.bucket
    return type(check).__name__, check.when_full.rule and check.when_full.rule.type, getattr(check, "pinned_for", "")


def _pasts(before: Plan, after: Plan) -> Iterator[Full]:
    """Yield what a session can have been allowed so far: nothing is wanting first, then what is."""
    looks = [
        (side, place, each)
        for side, plan in enumerate((before, after))
        for place, each in enumerate(plan.quotas)
        if isinstance(each, HistoryCheck)
    ]
    marks = list(dict.fromkeys(mark for _, _, each in looks for mark in each.marks))
    windows = sorted({each.window_us for _, _, each in looks})
    found: dict[tuple[frozenset[int], frozenset[int]], tuple[str, ...]] = {}
    for index, ages in enumerate(product(range(len(windows), -1, -1), repeat=len(marks))):
        if index > MAX_PASTS * 4:
            break
        age = dict(zip(marks, ages, strict=True))  # the number of windows in which the mark no longer counts
        full: tuple[set[int], set[int]] = (set(), set())
        words: dict[str, None] = {}
        for side, place, look in looks:
            is_marked = any(age[mark] <= windows.index(look.window_us) for mark in look.marks)
            if is_marked is look.forbids:
                full[side].add(place)
                words[look.when_full.reason] = None
        found.setdefault((frozenset(full[0]), frozenset(full[1])), tuple(words))
    yield from sorted(
        (Full(old, new, words) for (old, new), words in found.items()), key=lambda each: len(each.old | each.new)
    )
