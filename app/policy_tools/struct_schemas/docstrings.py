"""Field descriptions from struct docstrings: lines of the form `field: …` or `field, other: …`."""

import inspect
import re
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

_FIELD_LINE = re.compile(r"^(\w+(?:, \w+)*): (.+)$")


def structs_of(kind: msgspec.inspect.Type | msgspec.inspect.Field) -> Iterator[type]:
    """Every struct that a value of this type may contain, including the type itself."""
    if isinstance(kind, msgspec.inspect.StructType):
        yield kind.cls
        inside: Iterable[Any] = kind.fields
    else:
        inside = [
            getattr(kind, name) for name in ("type", "item_type", "key_type", "value_type") if hasattr(kind, name)
        ]
        inside = [*inside, *getattr(kind, "types", ())]
    for inner in inside:
        yield from structs_of(inner)


def field_lines(struct: type) -> dict[str, str]:
    """The description of each field in the docstring of a struct or of its bases."""
    meanings: dict[str, str] = {}
    for base in reversed(struct.__mro__):
        names: list[str] = []
        for line in inspect.cleandoc(base.__doc__ or "").splitlines() if base.__module__.startswith("app.") else ():
            if match := _FIELD_LINE.match(line):
                names = match[1].split(", ")
                meanings.update(dict.fromkeys(names, match[2]))
            elif line:
                meanings.update({name: f"{meanings[name]} {line}" for name in names})
            else:
                names = []
    return meanings


def first_lines(text: str) -> str:
    """A docstring without the lines that describe fields."""
    lines = [line.strip() for line in text.splitlines()]
    kept = []
    for line in lines:
        if _FIELD_LINE.match(line):
            break
        kept.append(line)
    return "\n".join(kept).strip()
