"""What a value may be without asking a person: the tightest form that leaves out fewer units than are needed."""

import math
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from app.language.schemas.patterns import compile_regex
from app.model.constraints import MAX_COUNT
from app.propose.parameter_values import HIDDEN, Key, Place
from app.propose.text_patterns import pattern_of

_MAX_LISTED = 12
_MAX_ENUM = 100
"""Values that a list may have: one that is learned, and any."""
_UNITS_A_VALUE = 5
_UNITS_BESIDE_OTHERS = 10
"""Units that a list needs for each of its values; the second if there are others, which it leaves out."""
_EXACT = 20
"""Whole numbers up to this are taken as they are; others are rounded up to 1, 2 or 5 times a power of ten."""
_SCALARS = {"string", "number", "boolean", "null"}


class Form(NamedTuple):
    """A constraint as a rule writes it, how it was made, and the values at its place that it lets pass."""

    words: str
    constraint: dict[str, Any]
    passing: Collection[Key]


ASKS = Form("absent", {"absent": True}, ())
"""No form holds: a call with a value there asks."""


def form_of(place: Place, need: int, said: Mapping[str, Any]) -> Form | None:
    """The tightest form that leaves out fewer than `need` units, else the one that leaves out fewest.

    ASKS if the values have no form, None if the log hides them. said: what the catalogue's schema says about the place.
    """
    kinds = place.kinds(need)
    if HIDDEN in kinds:
        return None
    best, fewest = ASKS, len(place.units)
    for form in _forms(place, kinds, need, said):
        left_out = len({unit for by_unit in place.outside(form.passing).values() for unit in by_unit})
        if left_out < need:
            return form
        if left_out < fewest:
            best, fewest = form, left_out
    return best


def _forms(place: Place, kinds: list[str], need: int, said: Mapping[str, Any]) -> Iterator[Form]:
    """Yield forms, the tightest first; each lets pass nothing that fewer than `need` units did."""
    if not kinds:
        return
    said_list = said.get("enum")
    listed = said_list if isinstance(said_list, list) else []
    if 0 < len(listed) <= _MAX_ENUM and not any(isinstance(each, dict | list) for each in listed):
        yield Form("catalogue", {"enum": listed}, [key for key in place.values if _is_among(key, listed)])
    if set(kinds) <= _SCALARS and kinds != ["number"]:
        common = sorted((key for key, by_unit in place.values.items() if len(by_unit) >= need), key=_ordered)
        each = _UNITS_A_VALUE if len(common) == len(place.values) else _UNITS_BESIDE_OTHERS
        if 0 < len(common) <= _MAX_LISTED and (kinds == ["boolean"] or len(place.units) >= each * len(common)):
            yield Form("list", {"enum": [value for _, value in common]}, common)
    if len(kinds) > 1 or kinds == ["boolean"]:
        return
    by_value = place.of(kinds[0])
    match kinds[0]:
        case "number":
            yield _numbers(by_value, need, said)
        case "string":
            yield from _texts(by_value, need)
        case "array":
            low, high = _ends(by_value, lambda length: length, need)
            constraint = {"maxItems": high} | ({"minItems": 1} if low > 0 else {})
            yield Form("items", constraint, [("array", each) for each in by_value if min(low, 1) <= each <= high])
        case "object":
            yield Form("type", {"type": "object"}, [("object", None)])


def _numbers(by_value: Mapping[Any, Mapping[str, str]], need: int, said: Mapping[str, Any]) -> Form:
    low, high = _ends(by_value, lambda number: number, need)
    is_counted = all(float(each).is_integer() for each in by_value) and high <= _EXACT
    most = high if is_counted else max(high, _rounded(high))
    stated = said.get("maximum")
    if isinstance(stated, int | float) and high <= stated < most:
        most = stated
    least = min(0, low)
    return Form("bounds", {"min": least, "max": most}, [("number", each) for each in by_value if least <= each <= most])


def _texts(by_value: Mapping[str, Mapping[str, str]], need: int) -> Iterator[Form]:
    pattern = pattern_of(by_value, need)
    with suppress(ValueError):  # lengths that no pattern may repeat
        matches = compile_regex(pattern or "").search
        passing = [("string", each) for each in by_value if pattern and matches(each) is not None]
        if passing:
            yield Form("pattern", {"regex": pattern}, passing)
    spaced = {unit for text, by_unit in by_value.items() if len(text.split()) > 1 for unit in by_unit}
    if len(spaced) >= need:  # a name or a code is never merely some text
        _, high = _ends(by_value, len, need)
        most = min(MAX_COUNT, int(_rounded(2 * max(1, high))))
        passing = [("string", each) for each in by_value if len(each) <= most]
        yield Form("length", {"type": "string", "maxLength": most}, passing)


def _ends(by_value: Mapping[Any, Mapping[str, str]], size: Callable[[Any], Any], need: int) -> tuple[Any, Any]:
    """The `need`-th lowest and the `need`-th highest, one of each unit."""
    highest: dict[str, Any] = {}
    lowest: dict[str, Any] = {}
    for value, by_unit in by_value.items():
        measured = size(value)
        for unit in by_unit:
            highest[unit] = max(highest.get(unit, measured), measured)
            lowest[unit] = min(lowest.get(unit, measured), measured)
    return sorted(lowest.values())[need - 1], sorted(highest.values())[-need]


def _rounded(number: float) -> float:
    """The next of 1, 2, 5 times a power of ten; 0 for what is not above it."""
    if number <= 0:
        return 0
    power: float = 10 ** math.floor(math.log10(number))
    return next(each for each in (power, 2 * power, 5 * power, 10 * power) if each >= number)


def _is_among(key: Key, listed: list[Any]) -> bool:
    kind, value = key
    return kind in _SCALARS and any(type(each) is type(value) and each == value for each in listed)


def _ordered(key: Key) -> tuple[str, Any]:
    kind, value = key
    return kind, 0 if value is None else value
