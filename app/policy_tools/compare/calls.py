"""Calls as a comparison makes them: values at places, put together to the parameters and the context of a call."""

from collections.abc import Iterable, Mapping
from copy import deepcopy
from typing import Any

import msgspec
from msgspec import Struct

from app.language.spellings import folded
from app.language.value_paths import EACH
from app.policy_tools.compare.values import MISSING

Place = tuple[str, str]
"""`parameters` or `context`, and the name of a value there."""

TIME: Place = ("time", "")
"""The place of the call's time, in µs since the epoch."""

_encode = msgspec.json.encode


class Call(Struct, frozen=True):
    """The values of a call, and its time."""

    parameters: dict[str, Any]
    context: dict[str, Any]
    at_us: int

    @property
    def size(self) -> int:
        return len(_encode(self.parameters)) + len(_encode(self.context))


class Many(tuple[Any, ...]):
    """Values that one name has in a call: those of an array's elements, or one in each way to read its dots."""

    __slots__ = ()


class Respelled:
    """Stands for a name that is given in another spelling."""


RESPELLED = Respelled()
FULL_WIDTH = 0xFEE0
"""What lies between a visible character of ASCII and its full-width form, which some readers take for it."""


def respelled(name: str) -> str | None:
    """A name that some readers take for this one; None if there is none that is known."""
    wide = (
        name[:at] + chr(ord(name[at]) + FULL_WIDTH) + name[at + 1 :]
        for at in range(len(name))
        if "!" <= name[at] <= "~"
    )
    return next(
        (each for each in (name.upper(), name.lower(), *wide) if each != name and folded(each) == folded(name)), None
    )


def call_of(given: Mapping[Place, Any], at_us: int) -> Call:
    """The call in which these places have these values; those that lie inside others are put into them."""
    call = Call({}, {}, int(given.get(TIME, at_us)))
    for (of, name), value in sorted(given.items(), key=lambda each: len(each[0][1])):
        if value is not MISSING and of in ("parameters", "context"):
            _put(call.parameters if of == "parameters" else call.context, name, deepcopy(value))
    return call


def readings(name: str) -> int:
    """The most values that a name without `[*]` can have in one call."""
    return 1 << name.count(".")


def _put(holder: dict[str, Any], name: str, value: Any) -> None:
    """Put the value where the name leads: into objects at dots, into each element of an array at `[*]`."""
    head, each, rest = name.partition(EACH)
    if isinstance(value, Respelled) and not rest:
        holder[respelled(head) or head] = None
    elif each:
        _put_each(holder, head, rest.removeprefix("."), value if isinstance(value, Many) else Many([value]))
    elif isinstance(value, Many):
        for one, way in zip(value, _ways(head.split(".")), strict=False):
            inside = _inside(holder, way[:-1])
            inside[way[-1]] = one
    else:
        *steps, last = head.split(".")
        _inside(holder, steps)[last] = value


def _ways(parts: list[str]) -> Iterable[list[str]]:
    """The ways to split a name into keys, first at every dot."""
    if len(parts) == 1:
        return [parts]
    splits = [[parts[0], *rest] for rest in _ways(parts[1:])]
    return [*splits, *([".".join([parts[0], rest[0]]), *rest[1:]] for rest in _ways(parts[1:]))]


def _inside(holder: dict[str, Any], steps: Iterable[str]) -> dict[str, Any]:
    for step in steps:
        inner = holder.get(step)
        holder[step] = holder = inner if isinstance(inner, dict) else {}
    return holder


def _put_each(holder: dict[str, Any], head: str, rest: str, values: Many) -> None:
    """Put the values into the elements of an array, in turn; it gets as many elements as there are values, at least."""
    *steps, last = head.split(".")
    holder = _inside(holder, steps)
    held = holder.get(last)
    elements = list(held) if isinstance(held, list) and values else []
    for index in range(max(len(elements), len(values))):
        value = values[index % len(values)]
        if index == len(elements):
            elements.append(None)
        if not rest:
            elements[index] = value
            continue
        inside = elements[index] if isinstance(elements[index], dict) else {}
        elements[index] = inside
        if value is not MISSING:
            _put(inside, rest, value)
    holder[last] = elements
