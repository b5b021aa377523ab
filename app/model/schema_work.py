"""The most work that validating a value can take, estimated beforehand, because the library cannot be interrupted."""

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

from app.model.patterns import compile_regex

MAX_CHECKS = 1 << 18
"""The most checks of schema places against values; they take up to ten milliseconds."""

MAX_SEARCH_STEPS = 1 << 20
"""The most bytes searched times pattern instructions; they take up to thirty milliseconds."""

_LITTLE = 1 << 14
_UNKNOWN_PATTERN = 4_096
_CHECKS_TO_HASH = 12
_OF_THE_SAME = ("allOf", "anyOf", "oneOf")
_BRANCHES = ("not", "if", "then", "else")
_BY_NAME = ("dependentSchemas", "dependencies")
_OF_EACH_MEMBER = ("additionalProperties", "unevaluatedProperties")
_OF_EACH_ITEM = ("items", "contains", "unevaluatedItems")

_Visit = tuple[Any, Any]
"""A schema and the value to validate."""


class SchemaWork:
    """The work a schema can cause. parts: its places, counting the target of each `$ref` again."""

    __slots__ = ("_parts", "_root", "_sizes", "_sizes_in_all", "_tells_all")

    def __init__(self, root: dict[str, Any], parts: int) -> None:
        self._root = root
        self._parts = parts
        self._sizes = {pattern: _size(pattern) for pattern in _patterns(root)}
        self._sizes_in_all = sum(self._sizes.values())
        self._tells_all = not _keywords(root).isdisjoint(("anyOf", "oneOf"))

    def is_too_much(self, value: Any) -> bool:
        """Whether a validation may exceed the limit of checks or of steps."""
        values, characters = extent(value)
        if values * self._parts <= _LITTLE and 4 * characters * self._sizes_in_all <= _LITTLE:
            return False
        checks, steps = MAX_CHECKS, MAX_SEARCH_STEPS
        left: deque[_Visit] = deque([(self._root, value)])
        while left:
            # What came first, first: what many values are held against is counted before anything in it.
            node, held = left.popleft()
            if type(node) is not dict:
                continue
            checks -= _comparisons(node, held)
            steps -= sum(self._sizes[pattern] * len(text.encode()) for pattern, text in _searches(node, held))
            for each in self._inside(node, held):
                checks -= 1
                if checks < 0 or steps < 0:
                    return True
                left.append(each)
        return checks < 0 or steps < 0

    def tells_little(self, value: Any) -> bool:
        """Whether finding where a value does not fit is little work, too.

        The library creates an error, with a copy of the value, for every branch that does not fit.
        """
        values, characters = extent(value)
        return not self._tells_all or (values + characters // 8) * self._parts <= _LITTLE

    def _inside(self, node: dict[str, Any], held: Any) -> Iterator[_Visit]:
        """The pairs of schema and value that remain to be checked inside this pair."""
        if isinstance(node.get("$ref"), str):
            yield place(self._root, node["$ref"]), held
        for keyword in _OF_THE_SAME:
            yield from ((each, held) for each in _listed(node, keyword))
        yield from ((node[keyword], held) for keyword in _BRANCHES if keyword in node)
        for keyword in _BY_NAME:
            yield from ((each, held) for each in _named(node, keyword).values())
        if type(held) is dict:
            yield from ((each, held[name]) for name, each in _named(node, "properties").items() if name in held)
            for each in _named(node, "patternProperties").values():
                yield from ((each, inner) for inner in held.values())
            yield from _each(node, ("propertyNames",), held)
            yield from _each(node, _OF_EACH_MEMBER, held.values())
        elif type(held) is list:
            yield from zip(_listed(node, "prefixItems"), held, strict=False)
            yield from _each(node, _OF_EACH_ITEM, held)


def _named(node: dict[str, Any], keyword: str) -> dict[str, Any]:
    """What the keyword holds by name; a `$ref` may lead to something that is no schema, where it can hold anything."""
    found = node.get(keyword)
    return found if type(found) is dict else {}


def _listed(node: dict[str, Any], keyword: str) -> list[Any]:
    found = node.get(keyword)
    return found if type(found) is list else []


def _each(node: dict[str, Any], keywords: Iterable[str], values: Iterable[Any]) -> Iterator[_Visit]:
    for keyword in keywords:
        if keyword in node:
            yield from ((node[keyword], value) for value in values)


def _searches(node: dict[str, Any], held: Any) -> Iterator[tuple[str, str]]:
    """The patterns of this place, and the strings searched for each."""
    if type(held) is str and isinstance(node.get("pattern"), str):
        yield node["pattern"], held
    elif type(held) is dict:
        for pattern in _named(node, "patternProperties"):
            yield from ((pattern, name) for name in held)


def _comparisons(node: dict[str, Any], held: Any) -> int:
    """The checks that examine a container value as a whole."""
    if type(held) not in (dict, list):
        return 0
    hashed = _CHECKS_TO_HASH * extent(held)[0] if type(held) is list and node.get("uniqueItems") else 0
    return hashed + len(_listed(node, "enum"))


def extent(value: Any) -> tuple[int, int]:
    """How many values it contains, including itself, and how many characters are in their strings and names."""
    values, characters, left = 0, 0, [value]
    while left:
        each = left.pop()
        values += 1
        if type(each) is str:
            characters += len(each)
        elif type(each) is dict:
            characters += sum(map(len, each))
            left += each.values()
        elif type(each) is list:
            left += each
    return values, characters


def place(root: Any, reference: str) -> Any:
    """The target of a `$ref`. Raises KeyError."""
    value = root
    for step in reference.removeprefix("#/").split("/"):
        if not isinstance(value, dict):
            raise KeyError(step)
        value = value[step.replace("~1", "/").replace("~0", "~")]
    return value


def _keywords(root: Any) -> set[str]:
    """Every name in it, at any depth."""
    return {name for node in _objects(root) for name in node}


def _patterns(root: Any) -> Iterator[str]:
    for node in _objects(root):
        if isinstance(node.get("pattern"), str):
            yield node["pattern"]
        yield from _named(node, "patternProperties")


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
        value = list(value.values())
    if isinstance(value, list):
        for inner in value:
            yield from _objects(inner)


def _size(pattern: str) -> int:
    """Its size in RE2's instructions; the two engines are similar, and so are their programs."""
    try:
        return compile_regex(pattern).program_size
    except ValueError:
        return _UNKNOWN_PATTERN
