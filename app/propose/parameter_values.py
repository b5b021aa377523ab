"""What the calls of a tool had at each place, and whose calls these were."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from app.language.value_paths import EACH, require_path
from app.model.text import MAX_NAME, FieldError, require_visible
from app.propose.observed_calls import ObservedCall

Steps = tuple[str, ...]
"""Keys from the parameters inwards; EACH is any element of an array."""

Key = tuple[str, Any]
"""The JSON type of a value, and the value itself; of an array its length, of an object nothing."""

HIDDEN = "hidden"
_DEEPEST = 8


class Place:
    """The values at one place: for each the units that had it, and the entry in which each had it first."""

    __slots__ = ("_units", "values")

    def __init__(self) -> None:
        self.values: dict[Key, dict[str, str]] = {}
        self._units: set[str] | None = None

    def add(self, key: Key, unit: str, entry: str) -> None:
        by_unit = self.values.get(key)
        if by_unit is None:
            self.values[key] = {unit: entry}
        elif unit not in by_unit:
            by_unit[unit] = entry

    @property
    def units(self) -> set[str]:
        """Whose calls had a value here."""
        if self._units is None:
            self._units = {unit for by_unit in self.values.values() for unit in by_unit}
        return self._units

    def kinds(self, need: int) -> list[str]:
        """The JSON types that `need` units had, sorted."""
        found: dict[str, set[str]] = defaultdict(set)
        for (kind, _), by_unit in self.values.items():
            found[kind].update(by_unit)
        return sorted(kind for kind, units in found.items() if len(units) >= need)

    def of(self, kind: str) -> dict[Any, dict[str, str]]:
        """The values of one type."""
        return {value: by_unit for (each, value), by_unit in self.values.items() if each == kind}

    def outside(self, keys: Iterable[Key]) -> dict[Key, dict[str, str]]:
        """All values but these."""
        inside = set(keys)
        return {key: by_unit for key, by_unit in self.values.items() if key not in inside}


class SeenTool:
    """The calls of one tool, oldest first. places: by their steps. units: how many calls each unit made."""

    def __init__(self, calls: Iterable[ObservedCall]) -> None:
        self.calls = list(calls)
        self.units: dict[str, int] = defaultdict(int)
        self.places: dict[Steps, Place] = defaultdict(Place)
        self._shapes: dict[Steps, dict[frozenset[str], set[str]]] = defaultdict(lambda: defaultdict(set))
        for call in self.calls:
            self.units[call.unit] += 1
            self._add((), call.parameters, call)

    def may_lack(self, steps: Steps, need: int) -> bool:
        """True if `need` units made a call in which the object that has this place has nothing there."""
        *outer, name = steps
        lacking = (units for names, units in self._shapes[tuple(outer)].items() if name not in names)
        return len(set[str]().union(*lacking)) >= need

    def _add(self, steps: Steps, value: Any, call: ObservedCall) -> None:
        if steps and call.hidden and name_of(steps) in call.hidden:
            self.places[steps].add((HIDDEN, None), call.unit, call.id)
        elif isinstance(value, dict):
            if steps:
                self.places[steps].add(("object", None), call.unit, call.id)
            self._shapes[steps][frozenset(value)].add(call.unit)
            for name, inner in value.items() if len(steps) < _DEEPEST else ():
                self._add((*steps, name), inner, call)
        elif isinstance(value, list):
            self.places[steps].add(("array", len(value)), call.unit, call.id)
            for inner in value if len(steps) < _DEEPEST else ():
                self._add((*steps, EACH), inner, call)
        else:
            self.places[steps].add(key_of(value), call.unit, call.id)


def key_of(value: Any) -> Key:
    """The key of a scalar."""
    if value is None:
        return "null", None
    if isinstance(value, bool):
        return "boolean", value
    return ("string", value) if isinstance(value, str) else ("number", value)


def name_of(steps: Steps) -> str:
    """The place as rules name it: `payments[*].amount`."""
    return ".".join(steps).replace(f".{EACH}", EACH)


def is_sayable(steps: Steps) -> bool:
    """True if a rule can name this place, and no other is named so."""
    if len(steps) >= _DEEPEST or any("." in each or (each != EACH and EACH in each) for each in steps):
        return False
    name = name_of(steps)
    try:
        require_visible("name", name)
        require_path(name)
    except (FieldError, ValueError):
        return False
    return 0 < len(name) <= MAX_NAME


def schema_at(schema: Any, steps: Steps) -> Mapping[str, Any]:
    """What a JSON Schema says about this place; nothing where it says it in another way than by names."""
    for step in steps:
        inside = schema.get("items") if isinstance(schema, dict) and step == EACH else None
        if isinstance(schema, dict) and step != EACH:
            properties = schema.get("properties")
            inside = properties.get(step) if isinstance(properties, dict) else None
        schema = inside
    return schema if isinstance(schema, dict) else {}


def texts_of(value: Any, steps: Steps = ()) -> Iterator[Steps]:
    """The places that hold a text."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from texts_of(inner, (*steps, name))
    elif isinstance(value, list):
        for inner in value:
            yield from texts_of(inner, (*steps, EACH))
    elif isinstance(value, str):
        yield steps
