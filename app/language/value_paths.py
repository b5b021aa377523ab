"""Names of values in a call: `amount`, `payment.amount`, `recipients[*]`, `payments[*].amount`, `**`."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from app.language.ambiguous import Ambiguous
from app.language.spellings import other_spelling, spelled_once

MAX_PARTS = 10
"""The most dots in a name. Each may separate keys or belong to one, so ten parts make up to 512 objects to search."""

EACH = "[*]"
ANYWHERE = "**"
"""Stands for every text, number and member name, at any depth."""

_KINDS = {dict: "an object", list: "an array", str: "a text", bool: "true or false"}
_form = re.compile(r"[^\[\]*]+(?:(?:\[\*\])+\.[^\[\]*]+)*(?:\[\*\])*").fullmatch


def require_path(name: str) -> None:
    """Raise ValueError unless `ValuePath` reads the name the way it looks; the message says how to write it."""
    if not _form(name):
        raise ValueError(
            "`[`, `]` and `*` stand only in `[*]`, for each element of an array: `recipients[*]`, `payments[*].amount`"
        )
    if name.count(".") >= MAX_PARTS:
        raise ValueError(f"has {name.count('.') + 1} parts between dots; at most {MAX_PARTS} are allowed")


class ValuePath:
    """Finds every value that a name can mean.

    A dot leads into an object or belongs to a key: all ways of splitting a name count (decision 0004), so a caller
    cannot hide the value that a tool reads by adding one that it does not read. `[*]` is each element of an array. If a
    reading meets the wrong type (an array or a string where an object must be), the name cannot be judged, because some
    tools look inside it anyway; nor if an object on the way has another spelling of it. Null counts as missing.

    A name that is not a path, stored before paths existed, is only a key.
    """

    __slots__ = ("_segments", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        is_path = EACH in name and _form(name) is not None
        pieces = name.split(EACH) if is_path else [name]
        # `a[*].b[*]` becomes `a`, `.b` and an empty segment: each but the last leads to an array.
        self._segments = [_Segment(text.removeprefix(".") if index else text) for index, text in enumerate(pieces)]

    @property
    def is_plain(self) -> bool:
        """True if it can only be a key of the outermost object."""
        return len(self._segments) == 1 and self._segments[0].parts == 1

    def find(self, holder: dict[str, Any]) -> tuple[list[Any], bool]:
        """(values that the name can mean, the exact key first; True if a reading or an element has no value).

        Raises Ambiguous if a reading meets the wrong type or another spelling.
        """
        values = list(self._segments[0].values(holder))
        missing = not values
        for segment in self._segments[1:]:
            inside: list[Any] = []
            for array in values:
                for element in _elements(array):
                    if not segment.parts:
                        inside.append(element)
                        continue
                    before = len(inside)
                    inside += segment.values(_object(element))
                    missing |= len(inside) == before
                missing |= array is None
            values = inside
        return values, missing


class Anywhere:
    """Finds every text, number and member name in an object, at any depth, but in the members that are named."""

    __slots__ = ("_but",)

    is_plain = False

    def __init__(self, but: Iterable[str]) -> None:
        self._but = frozenset(but)

    def find(self, holder: dict[str, Any]) -> tuple[list[Any], bool]:
        """(values, False: nothing is missing)."""
        found: list[Any] = []
        inside: list[Any] = [{name: value for name, value in holder.items() if name not in self._but}]
        while inside:
            value = inside.pop()
            if type(value) is dict:
                found += value
                inside += value.values()
            elif type(value) is list:
                inside += value
            elif type(value) in (str, int, float):
                found.append(value)
        return found, False


class _Segment:
    """The part of a name between two `[*]`: keys, and dots that lead into an object or belong to a key."""

    __slots__ = ("_keys", "parts")

    def __init__(self, text: str) -> None:
        parts = text.split(".") if text else []
        self.parts = len(parts)
        # For each part: the keys that begin there, longest first, with the part after each and a test of its spelling.
        self._keys = [
            [
                (end, key, spelled_once(key))
                for end in range(self.parts, start, -1)
                for key in (".".join(parts[start:end]),)
            ]
            for start in range(self.parts)
        ]

    def values(self, holder: dict[str, Any], start: int = 0) -> Iterator[Any]:
        """Every value that the parts from `start` on can mean in this object."""
        for end, key, is_spelled_once in self._keys[start]:
            if not is_spelled_once(holder):
                raise Ambiguous(f"has {other_spelling(key)}")
            if key in holder:
                value = holder[key]
                if end == self.parts:
                    yield value
                elif type(value) is dict:
                    yield from self.values(value, end)
                elif value is not None:
                    raise Ambiguous(f'holds {kind_of(value)} at "{key}" where an object must be')


def _elements(array: Any) -> list[Any]:
    if type(array) is list:
        return array
    if array is None:
        return []
    raise Ambiguous(f"holds {kind_of(array)} where an array must be")


def _object(element: Any) -> dict[str, Any]:
    if type(element) is dict:
        return element
    if element is None:
        return {}
    raise Ambiguous(f"holds {kind_of(element)} where an object must be")


def kind_of(value: Any) -> str:
    """A value's JSON type, in words."""
    return "null" if value is None else _KINDS.get(type(value), "a number")
