"""Which values of calls always came together, such as a name and an account."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from app.model.call_values import general
from app.replay.calls import is_hidden

_PAIRED_MAX = 16
_PAIRED_TEXT, _NAME_WORDS = 256, 5
_PAIRED_MIN, _PAIRED_SURELY = 3, 8
"""A value is determined by another one if so many calls repeated a pair; more if the pair itself was not repeated."""
_ID_DIGITS = 7
"""Whole numbers from here on are names of something, such as accounts."""
_indices = re.compile(r"\[(\d+)\]").findall


class Partner(NamedTuple):
    """What always came with another value of a call: where and which that is, its partner, and how often."""

    place: str
    text: str
    usual: str
    calls: int


class Pairs:
    """Which values of earlier calls came together, for the values of one call."""

    def __init__(self, own: Sequence[tuple[str, Any]]) -> None:
        self._own = {path: text for path, value in own if (text := _identity(value)) is not None}
        self._places = [*dict.fromkeys(map(general, self._own))][:_PAIRED_MAX]
        self._joined = [
            (one, other, _shared_lists(one, other)) for one in self._places for other in self._places if one != other
        ]
        self._questions = [*self._together(self._own)]
        self._seen: dict[tuple[str, str], dict[str, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))

    def add(self, values: Sequence[tuple[str, Any]]) -> None:
        """Note the pairs of an earlier call."""
        for one, other, texts in self._together({path: text for path, v in values if (text := _identity(v))}):
            self._seen[one, other][texts[0]][texts[1]] += 1

    def other(self, path: str, value: Any) -> Partner | None:
        """What always came here with another value of the call, if that is not this value."""
        text, place = _identity(value), general(path)
        if text is None or place not in self._places:
            return None
        for one, other, texts in self._questions:
            if other != place or texts[1] != text or not (had := self._seen[one, other].get(texts[0])):
                continue
            if text not in had and self._determines(one, other, had.total()):
                return Partner(one, texts[0], *had.most_common(1)[0])
        return None

    def _determines(self, one: str, other: str, times: int) -> bool:
        """True if several values at one place each came with one at the other. times: how often this one came."""
        rows = self._seen[one, other].values()
        again = [row.total() - 1 for row in rows if row.total() > 1]
        return (
            len(again) > 1
            and sum(again) >= (_PAIRED_MIN if times > 1 else _PAIRED_SURELY)
            and all(len(row) == 1 for row in rows)
            and len({text for row in rows for text in row}) > 1
        )

    def _together(self, texts: Mapping[str, str]) -> Iterator[tuple[str, str, tuple[str, str]]]:
        """Yield the values of each two places that belong together: of one element, if they are in the same list."""
        by_place: dict[str, dict[tuple[str, ...], str]] = {place: {} for place in self._places}
        for path, text in texts.items():
            if (found := by_place.get(general(path))) is not None:
                found[tuple(_indices(path))] = text
        single = {
            each: _single(by_place[each[0]], each[1])
            for each in {(place, shared) for one, other, shared in self._joined for place in (one, other)}
        }
        for one, other, shared in self._joined:
            left, right = single[one, shared], single[other, shared]
            yield from ((one, other, (left[at], right[at])) for at in left.keys() & right.keys())


def _single(found: Mapping[tuple[str, ...], str], shared: int) -> dict[tuple[str, ...], str]:
    """For each element of the shared lists the value in it, if it has only one there."""
    by_element: dict[tuple[str, ...], set[str]] = defaultdict(set)
    for indices, text in found.items():
        by_element[indices[:shared]].add(text)
    return {at: texts.pop() for at, texts in by_element.items() if len(texts) == 1}


def _shared_lists(one: str, other: str) -> int:
    """How many lists both places are in."""
    shared = 0
    for left, right in zip(one.split("[*]"), other.split("[*]"), strict=False):
        if left != right:
            break
        shared += 1
    return min(shared, one.count("[*]"), other.count("[*]"))


def _identity(value: Any) -> str | None:
    """The text by which a value names something; None if it does not."""
    if type(value) is str:
        return (
            value
            if 0 < len(value) <= _PAIRED_TEXT and len(value.split()) <= _NAME_WORDS and not is_hidden(value)
            else None
        )
    return str(value) if type(value) is int and value >= 10 ** (_ID_DIGITS - 1) else None
