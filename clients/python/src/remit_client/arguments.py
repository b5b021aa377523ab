"""A call's arguments as JSON, by rules that lose nothing, or an error that names the parameter."""

from __future__ import annotations

import dataclasses
import datetime as dt
import decimal
import enum
import json
import math
import pathlib
import unicodedata
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

from remit_client.errors import NotJson

MAX_DIGITS = 300


def frozen(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters as new JSON values, which nothing else can change.

    Texts, numbers, booleans, None, lists, tuples and dicts with texts as keys are taken as they are. An enum is its
    value, a UUID or a path its text, a date or time its ISO 8601 text, a dataclass or pydantic model an object of its
    fields. A Decimal is a number if a whole or floating-point number equals it exactly.
    Raises NotJson, a TypeError, for anything else, and names the parameter.
    """
    return _object(parameters, "parameters")


def strict_json(text: str) -> Any:
    """The value of a JSON text that no parser can read as another, except for numbers with more digits than a double.

    Raises ValueError for NaN, numbers too large for a double, and two names in one object that are equal, or that some
    parsers take for one: those that differ in letter case only, or from a NUL on. Whole numbers are exact, as they are
    for every reader in Python; before others get them, those that no double equals must be refused.
    """
    return _strict(text)


def folded(name: str) -> str:
    """The same text for all names that differ only in letter case or in compatible letters."""
    if name.isascii():
        return name.lower()
    plain = unicodedata.normalize("NFKC", name).upper().casefold().replace("i\u0307", "i")
    return unicodedata.normalize("NFKC", plain)


def _value(value: Any, where: str) -> Any:
    if isinstance(value, enum.Enum):
        return _value(value.value, where)
    for kinds, rule in _RULES:
        if isinstance(value, kinds):
            return rule(value, where)
    fields = _fields(value, where)
    if fields is None:
        _refuse(where, f"is a {type(value).__name__}, for which there is no rule; pass what JSON has instead")
    return _object(fields, where)


def _object(value: Mapping[Any, Any], where: str) -> dict[str, Any]:
    made = {}
    for name, inner in value.items():
        if not isinstance(name, str):
            _refuse(where, f"has the key {name!r:.50}, and JSON's names are texts")
        text = _value(name, where)
        if text in made:
            _refuse(where, f'has "{text}" twice')
        made[text] = _value(inner, f"{where}.{text}")
    return made


def _array(value: Sequence[Any], where: str) -> list[Any]:
    return [_value(each, f"{where}[{place}]") for place, each in enumerate(value)]


def _number(value: float | decimal.Decimal, where: str) -> int | float:
    if not math.isfinite(value):
        _refuse(where, f"is {value}, which JSON does not have")
    if isinstance(value, float):
        return float(value)
    if value == value.to_integral_value():
        return int(value) if value.adjusted() < MAX_DIGITS else _refuse(where, f"has more than {MAX_DIGITS} digits")
    if decimal.Decimal(repr(float(value))) != value:
        _refuse(where, "is a Decimal that no floating-point number equals; pass it as a text, and judge it as one")
    return float(value)


def _fields(value: Any, where: str) -> dict[str, Any] | None:
    """The fields of a dataclass or pydantic model, as its code reads them; None for any other object."""
    if isinstance(value, type):
        return None
    if dataclasses.is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    names = getattr(type(value), "model_fields", None)
    if isinstance(names, dict) and hasattr(value, "model_dump"):
        extra = getattr(value, "model_extra", None) or {}
        if twice := sorted(extra.keys() & names.keys()):  # a field with an alias leaves its own name to an extra value
            _refuse(where, f'has "{twice[0]}" twice')
        return {**extra, **{name: getattr(value, name) for name in names}}
    return None


def _refuse(where: str, why: str) -> NoReturn:
    raise NotJson(f'Parameter "{where.removeprefix("parameters.")}" {why}.')


_RULES: tuple[tuple[tuple[type, ...], Callable[[Any, str], Any]], ...] = (
    ((bool, type(None)), lambda value, _: value),
    ((str,), lambda value, _: str.__str__(value)),
    ((int,), lambda value, _: int(value)),
    ((float, decimal.Decimal), _number),
    ((dt.date, dt.time), lambda value, _: value.isoformat()),
    ((uuid.UUID, pathlib.PurePath), lambda value, _: str(value)),
    ((Mapping,), _object),
    ((list, tuple), _array),
)


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("an object has two members of the same name")
    if len(set(map(folded, found))) != len(found):
        raise ValueError("an object has two members whose names differ only in letter case")
    if "\0" in "".join(found):
        raise ValueError("a name contains NUL, where some programs end it")
    return found


def _refuse_constant(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError("a number is too large")
    return number


_strict = json.JSONDecoder(object_pairs_hook=_distinct, parse_constant=_refuse_constant, parse_float=_finite).decode
