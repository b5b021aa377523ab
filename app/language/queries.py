"""What the names in a query mean to programs that read them differently: PHP, Rack, Node's qs, those that fold case.

PHP reads `a.b` and `a b` as `a_b`. All three read `a[b]` as a part of `a`, and qs may read `a.b` as one, too.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from app.language.ambiguous import Ambiguous

MAX_PARAMETERS = 1000
"""PHP and qs read no more, and say nothing about the rest."""
MAX_NESTED = 5
"""The most parts of a name after the first: to qs, any more of them are text."""

_is_name = re.compile(r"([^\[\]]*)((?:\[[^\[\]]*\])*)").fullmatch
_indexes = re.compile(r"\[([^\[\]]*)\]").findall
_as_php = str.maketrans(" .", "__")
_VALUE = "a value"


def query_parameters(pairs: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """The values by name, as it is written and as programs read it; a name that is given several times has a list.

    Whatever a program reads as another name, or as a part of it, stands under that name, too, always in a list. So a
    rule sees all that any of them takes for the value of a name, and fails if it expects one text.

    Raises Ambiguous if some programs read a name in a way that cannot be shown so, or two names as one: they differ
    only in letter case, one is a part of the other's value (`a`, and `a[b]` or `a.b`), or one has a number of its
    program's choice (`a[]` and `a[0]`).
    """
    written: dict[str, list[str]] = {}
    for count, (name, value) in enumerate(pairs):
        if count == MAX_PARAMETERS:
            raise Ambiguous(f"has more than {MAX_PARAMETERS} parameters; some programs read only the first of them")
        written.setdefault(name, []).append(value)
    read: dict[str, list[str]] = {}
    meanings: dict[str, tuple[str, str, str]] = {}
    for name, given in written.items():
        readings = dict(_readings(name))
        for spelling, kind in readings.items():
            meant = (kind, spelling, name if kind == _VALUE else "")
            if (other := meanings.setdefault(spelling.casefold(), meant)) != meant:
                raise Ambiguous(f"has {other[2] or other[1]!r} and {name!r}, which are one name to some programs")
        for spelling in readings.keys() - {name}:
            read.setdefault(spelling, []).extend(given)
    return {name: given[0] if len(given) == 1 else given for name, given in written.items()} | read


def _readings(name: str) -> Iterator[tuple[str, str]]:
    """The names that programs read it as, or as a part of, each with what it is there. Raises Ambiguous."""
    found = _is_name(name)
    if found is None or (found[2] and not found[1]):
        raise Ambiguous(f"the name {name!r} has brackets that are not around an index at its end; some ignore them")
    root, indexes = found[1], _indexes(found[2])
    dotted = root.split(".")
    if indexes.count("") > 1 or (name and not all(dotted)):
        raise Ambiguous(f"the name {name!r} has an empty part, which some programs drop")
    if "." in found[2]:
        raise Ambiguous(f"the name {name!r} has a dot within brackets, at which some programs split it")
    # Each path is a name and the indexes within it; `[]` has the index "", for which programs choose a number.
    for path in {(root, *indexes), (root.translate(_as_php), *indexes), (*dotted, *indexes)}:
        if len(path) > MAX_NESTED + 1:
            raise Ambiguous(f"the name {name!r} has more than {MAX_NESTED + 1} parts; some programs read no more")
        if any(part != part.strip() for part in path):
            raise Ambiguous(f"the name {name!r} has a blank at the end of a part, which some programs drop")
        yield _spelled(path), _VALUE
        for depth in range(1, len(path)):
            yield _spelled(path[:depth]), "parts by number" if path[depth] == "" else "parts by name"


def _spelled(path: tuple[str, ...]) -> str:
    root, *indexes = path
    return root + "".join(f"[{index}]" for index in indexes)
