"""The values of a call one by one, each with its path as the console writes it, and where they come from."""

import json
import re
from collections.abc import Iterator
from enum import StrEnum
from typing import Any

from msgspec import UNSET, Struct, UnsetType

from app.model.fields import Count, Uuid

_plain_name = re.compile(r"[\w$-]+").fullmatch
_place = re.compile(r"\[\d+\]")
SHORTENED = frozenset({"beginning", "length"})
"""What an object that the log has in place of a longer text has at least."""


class Origin(StrEnum):
    """Where a value comes from: the user's request, a call that people approved, or anywhere."""

    REQUEST = "request"
    APPROVED_BEFORE = "approved_before"
    UNVERIFIED = "unverified"


class CallValue(Struct, frozen=True, rename="camel"):
    """A value of the call's parameters.

    path: Its place, such as `payment.amount` or `recipients[0]`.
    origin: `request` = it stands in the user's request, in any ASCII case and white space; `approved_before` = people
    approved it, as a rule asks; `unverified` = neither.
    not_in_request: Of a longer text: its links, addresses and words with digits that are not in the user's request.
    """

    path: str
    origin: Origin
    not_in_request: list[str] | UnsetType = UNSET


class PlanPlace(Struct, frozen=True):
    """The place of a call among those that were sent together, as the plan of an agent.

    id: The plan.
    index: The call's place, from 0.
    calls: How many calls the plan has; those that needed nobody have no approval.
    """

    id: Uuid
    index: Count
    calls: Count


def values_in(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every value inside an object or a list with its path; of what is shortened or empty, the whole."""
    if type(value) is dict and value and not value.keys() >= SHORTENED:
        for name, inner in value.items():
            yield from values_in(inner, _member(path, name))
    elif type(value) is list and value:
        for index, inner in enumerate(value):
            yield from values_in(inner, f"{path}[{index}]")
    elif path:
        yield path, value


def general(path: str) -> str:
    """The path without the places in lists, so that all elements are one."""
    return _place.sub("[*]", path)


def _member(path: str, name: str) -> str:
    if not _plain_name(name):
        return f"{path}[{json.dumps(name, ensure_ascii=False)}]"
    return f"{path}.{name}" if path else name
