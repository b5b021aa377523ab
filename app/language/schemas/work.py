"""Bounds the work of a validation before it starts, because the library cannot be interrupted."""

from collections.abc import Collection, Iterator
from typing import Any

from msgspec import Struct

from app.language.schemas.locations import MAX_CHECKS, Node, Place, named
from app.language.schemas.numbers import SchemaNumbers, collisions
from app.language.schemas.patterns import compile_regex

MAX_SEARCH_STEPS = 1 << 20
"""Limit of bytes times pattern instructions in one validation, which takes up to thirty milliseconds."""

_LITTLE = 1 << 14
_UNKNOWN_PATTERN = 4_096
_CHECKS_TO_HASH = 12
_PLACES_KEPT = 512
_NUMBER_CHECKS = 1_000
"""The least that comparing two numbers costs."""

_FEW_UNIQUE = 32
_NESTED = (dict, list)


class Demand(Struct, frozen=True):
    """An upper bound of the work of one validation: checks of schema places against values, and steps of searches."""

    checks: int
    steps: int

    @property
    def is_too_much(self) -> bool:
        return self.checks > MAX_CHECKS or self.steps > MAX_SEARCH_STEPS


class SchemaWork:
    """The work a schema can cause. parts: its places, counting the target of each `$ref` again."""

    __slots__ = (
        "_parts",
        "_per_value",
        "_places",
        "_root",
        "_sizes",
        "_sizes_in_all",
        "_tells_all",
        "_unique",
        "numbers",
    )

    def __init__(self, root: dict[str, Any], parts: int) -> None:
        self._root = root
        self._parts = parts
        self._sizes = {pattern: _size(pattern) for pattern in _patterns(root)}
        self._sizes_in_all = sum(self._sizes.values())
        keywords = _keywords(root)
        self._unique = "uniqueItems" in keywords
        self._tells_all = not keywords.isdisjoint(("anyOf", "oneOf"))
        numbers = SchemaNumbers()
        for node in _objects(root):
            numbers.add(node, 1)
        self.numbers = numbers.count
        self._per_value = parts + _NUMBER_CHECKS * numbers.count * (parts if "$ref" in keywords else 1)
        self._places: dict[tuple[tuple[int, int], ...], Place] = {}

    def demand(self, value: Any) -> Demand:
        """The most work that validating this value takes. Counting stops above the limits."""
        values, characters = extent(value)
        checks, steps = values * self._per_value, 4 * characters * self._sizes_in_all
        if checks <= _LITTLE and steps <= _LITTLE and not (self._unique and values > _FEW_UNIQUE):
            return Demand(checks, steps)
        count = _Count(self)
        count.arrive([(self._root, 1)], (value,))
        while count.left and not count.demand().is_too_much:
            count.look_inside(*count.left.pop())
        return count.demand()

    def tells_little(self, value: Any) -> bool:
        """True if locating the first failure is cheap, too.

        The library creates an error, with a copy of the value, for every branch that does not fit.
        """
        values, characters = extent(value)
        return not self._tells_all or (values + characters // 8) * self._parts <= _LITTLE

    def place_for(self, nodes: list[Node]) -> Place:
        """The Place of these parts, which are applied to the same values; computed once."""
        key = tuple((id(node), times) for node, times in nodes)
        place = self._places.get(key)
        if place is None:
            if len(self._places) >= _PLACES_KEPT:
                self._places.clear()
            place = self._places[key] = Place(nodes, self._root, self._sizes)
        return place


class _Count:
    """The work counted so far, and the containers that remain to be looked into."""

    __slots__ = ("checks", "left", "steps", "work")

    def __init__(self, work: SchemaWork) -> None:
        self.work = work
        self.checks, self.steps = -1, 0  # checking the whole value against the whole schema is not counted
        self.left: list[tuple[Place, Any]] = []

    def demand(self) -> Demand:
        return Demand(self.checks, self.steps)

    def arrive(self, nodes: list[Node], values: Collection[Any]) -> None:
        """Count the application of these parts to each of these values."""
        if not nodes or not values:
            return
        place = self.work.place_for(nodes)
        self.checks += place.checks * len(values)
        if self.demand().is_too_much:
            return
        self.left += [(place, value) for value in values if type(value) in _NESTED]
        if place.numbers.count:
            self.checks += sum(map(place.numbers.checks, values))
        if place.size:
            self.steps += place.size * sum(len(value.encode()) for value in values if type(value) is str)

    def look_inside(self, place: Place, container: Any) -> None:
        """Add the cost of validating a container's members."""
        self.checks += place.enums
        if type(container) is list:
            if place.uniques:
                self.checks += place.uniques * (_CHECKS_TO_HASH * extent(container)[0] + collisions(container))
            for index, nodes in place.positions.items():
                self.arrive(nodes, container[index : index + 1])
            self.arrive(place.item, container)
            return
        if place.names_size:
            self.steps += place.names_size * sum(len(name.encode()) for name in container)
        for name in place.by_name.keys() & container.keys():
            self.arrive(place.by_name[name], (container[name],))
        self.arrive(place.member, container.values())
        self.arrive(place.name, container)


def extent(value: Any) -> tuple[int, int]:
    """The number of values in it, including itself, and of characters in their strings and names."""
    values, characters, left = 0, 0, [value]
    while left:
        inner = left.pop()
        values += 1
        if type(inner) is str:
            characters += len(inner)
        elif type(inner) is dict:
            characters += sum(map(len, inner))
            left += inner.values()
        elif type(inner) is list:
            left += inner
    return values, characters


def _keywords(root: Any) -> set[str]:
    """Every name in the schema, at any depth."""
    return {name for node in _objects(root) for name in node}


def _patterns(root: Any) -> Iterator[str]:
    for node in _objects(root):
        if isinstance(node.get("pattern"), str):
            yield node["pattern"]
        yield from named(node, "patternProperties")


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
        value = list(value.values())
    if isinstance(value, list):
        for inner in value:
            yield from _objects(inner)


def _size(pattern: str) -> int:
    """The pattern's size in RE2's instructions; the two engines are similar, and so are their programs."""
    try:
        return compile_regex(pattern).program_size
    except ValueError:
        return _UNKNOWN_PATTERN
