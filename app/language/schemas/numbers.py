"""Estimates the cost of comparing numbers in a validator, in checks: one exact comparison can cost a thousand.

The library compares whole numbers of up to 64 bits directly. It compares all others exactly, digit by digit, one after
another. In lists whose items must differ, it compares those with the same hash, and a whole number is hashed as a
float.
"""

from collections import Counter
from collections.abc import Iterator
from math import ceil, frexp
from typing import Any, TypeGuard

import msgspec

_SMALL_BITS = 53
_LARGE_BITS = 64
_MOST_BITS = 1_100
"""Beyond these exponents, the comparison stops early: the number is larger than any float."""

_SMALL_EFFORT, _EFFORT = 10, 20
_PER_ENTRY = 8
_PAIR = 4
_BOUNDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
_encode = msgspec.json.Encoder(order="sorted").encode


class _Sum:
    """The count and the summed efforts of some numbers of a schema."""

    __slots__ = ("count", "effort")

    def __init__(self) -> None:
        self.count = self.effort = 0

    def add(self, number: float, times: int) -> None:
        self.count += times
        self.effort += times * _effort(number)

    def against(self, effort_of_value: int) -> int:
        """Checks to compare all of them with a value of this effort."""
        return self.effort + self.count * effort_of_value


class SchemaNumbers:
    """The numbers in parts of a schema that apply to the same value."""

    __slots__ = ("_all", "_bounds", "_entries", "_inside", "_small")

    def __init__(self) -> None:
        self._entries = 0
        self._all, self._small, self._bounds, self._inside = _Sum(), _Sum(), _Sum(), _Sum()

    def add(self, node: dict[str, Any], times: int) -> None:
        """Count the numbers of this part."""
        for number in filter(_is_number, map(node.get, _BOUNDS)):
            (self._bounds if _is_small(number) else self._all).add(number, times)
        enum = node.get("enum")
        entries = enum if isinstance(enum, list) else []
        self._entries += times * sum(map(_is_number, entries))
        for value in (*entries, node.get("const"), node.get("multipleOf")):
            if _is_number(value):
                (self._small if _is_small(value) else self._all).add(value, times)
            elif isinstance(value, dict | list):
                for number in _numbers_in(value):
                    self._inside.add(number, times)

    @property
    def count(self) -> int:
        return self._all.count + self._small.count + self._bounds.count + self._inside.count

    def checks(self, value: Any) -> int:
        """The cost of comparing them with this value."""
        if not _is_number(value):
            return self._inside.against(max(map(_effort, _numbers_in(value)), default=0)) if self._inside.count else 0
        own = _effort(value)
        checks = self._all.against(own)
        if _is_small(value):
            return checks + _PER_ENTRY * self._entries
        checks += self._small.against(own)
        return checks if own <= _EFFORT + _LARGE_BITS else checks + self._bounds.against(own)


def collisions(items: list[Any]) -> int:
    """The checks for finding two equal items, in addition to one for each item: pairs with the same hash."""
    bits = max((abs(number).bit_length() for number in _numbers_in(items) if type(number) is int), default=0)
    if bits <= _SMALL_BITS:
        return 0
    alike = Counter(_encode(_as_floats(item)) for item in items)
    per_pair = _PAIR * (1 + bits // _LARGE_BITS) * ceil(sum(1 for _ in _numbers_in(items)) / len(items))
    return per_pair * sum(count * count for count in alike.values() if count > 1)


def _as_floats(value: Any) -> Any:
    if _is_number(value):
        try:
            return float(value)
        except OverflowError:
            return None
    if type(value) is list:
        return [_as_floats(inner) for inner in value]
    return {name: _as_floats(inner) for name, inner in value.items()} if type(value) is dict else value


def _effort(number: float) -> int:
    """The number's contribution to the cost of comparing it exactly."""
    if isinstance(number, int):
        bits = abs(number).bit_length()
        return _SMALL_EFFORT if bits <= _SMALL_BITS else _EFFORT + min(bits, _MOST_BITS)
    return _EFFORT + abs(frexp(number)[1])


def _is_small(number: float) -> bool:
    return isinstance(number, int) and abs(number).bit_length() <= _SMALL_BITS


def _is_number(value: Any) -> TypeGuard[float]:
    return type(value) is int or type(value) is float


def _numbers_in(value: Any) -> Iterator[float]:
    """The numbers that it contains, at any depth."""
    left = [value]
    while left:
        inner = left.pop()
        if type(inner) is dict:
            left += inner.values()
        elif type(inner) is list:
            left += inner
        elif _is_number(inner):
            yield inner
