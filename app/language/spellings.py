"""Names that some readers take for one another, such as `amount` and `Amount`."""

import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from sys import getsizeof
from threading import Lock
from typing import Any, Protocol


def folded(name: str) -> str:
    """The same text for all names that differ only in letter case or in compatible letters, such as `k` and `\u212a`.

    Go's `encoding/json` and Java's `equalsIgnoreCase` differ in what they fold; this folds what any of them does.
    """
    if name.isascii():
        return name.lower()
    # Java and Turkish locales read both i without a dot and capital I with a dot as i.
    plain = unicodedata.normalize("NFKC", name).upper().casefold().replace("i\u0307", "i")
    return unicodedata.normalize("NFKC", plain)


def all_folded(names: Collection[str]) -> list[str]:
    """Each name, folded."""
    return [*map(str.lower if "".join(names).isascii() else folded, names)]


class Spellings(Protocol):
    """How an object spells its names: `get(folded(name), name) == name` if it has no other spelling of the name."""

    def get(self, fold: str, name: str, /) -> str | None: ...


_FEW = 16
"""The most names of an object that are folded one by one, and whose folds are remembered."""


def spellings_of(holder: dict[str, Any]) -> Spellings:
    """How the object spells its names. All rules that judge a call share one answer."""
    if len(holder) > _FEW:
        return _ManyNames(holder)
    names = tuple(holder)
    known = SPELLED.known.get(names)
    return SPELLED.add(names) if known is None else known


def spelled_once(name: str) -> Callable[[dict[str, Any]], bool]:
    """Return a test that is True for objects with no other spelling of the name, whether or not they have the name."""
    fold = folded(name)
    return lambda holder: spellings_of(holder).get(fold, name) == name


class _ManyNames:
    """Spellings of an object with many names, which are not kept."""

    __slots__ = ("_folded", "_holder")

    def __init__(self, holder: dict[str, Any]) -> None:
        self._holder, self._folded = holder, folded("\n".join(holder))

    def get(self, fold: str, name: str) -> str | None:
        given = name in self._holder
        # Usually the letters of the name occur in no other name. Folding changes nothing across line ends.
        if self._folded.count(fold) == given or all_folded(self._holder.keys()).count(fold) == given:
            return name
        return None


_LARGEST = 4096
"""The most bytes of one set of names that is remembered."""


class RememberedSpellings:
    """The spellings of sets of names that occurred lately, up to `max_bytes` of memory, whoever chose the names.

    known: by the names, in an object's order, of each fold the name; None if several names have it.
    """

    def __init__(self, max_bytes: int = 1024 * 1024) -> None:
        self._max_bytes = max_bytes
        self._lock = Lock()
        self.known: dict[tuple[str, ...], dict[str, str | None]] = {}
        self.size = 0

    def add(self, names: tuple[str, ...]) -> dict[str, str | None]:
        """Their spellings, which are remembered unless they would displace many others."""
        found: dict[str, str | None] = {}
        for name, fold in zip(names, all_folded(names), strict=True):
            found[fold] = None if fold in found else name
        size = _size(names, found)
        with self._lock:  # threads judge calls, too
            if names not in self.known and size <= _LARGEST:
                self.known[names] = found
                self.size += size
                while self.size > self._max_bytes:
                    oldest = next(iter(self.known))
                    self.size -= _size(oldest, self.known.pop(oldest))
        return found


def _size(names: tuple[str, ...], found: Mapping[str, str | None]) -> int:
    """The memory of an entry in bytes, with its part of the dictionary's own."""
    return getsizeof(names) + getsizeof(found) + sum(map(getsizeof, (*names, *found))) + 200


SPELLED = RememberedSpellings()
"""One memory for all that this process judges."""


def other_spelling(name: str) -> str:
    """What an object has that is not spelled once, in words."""
    return f'another spelling of "{name}", which some programs read as that name'


class SchemaNames:
    """The names in a JSON Schema, which reads every object of a value."""

    def __init__(self, schema: Any) -> None:
        names = frozenset(_names(schema))
        self._names = names
        self._spelled = dict(zip(all_folded(names), names, strict=True))

    def other_spelling(self, value: Any) -> str | None:
        """A name that some object in the value has in another spelling than the schema, or in two; None if none."""
        inside: Iterable[Any]
        if type(value) is dict:
            if (name := self._twin(value)) is not None:
                return name
            inside = value.values()
        elif type(value) is list:
            inside = value
        else:
            return None
        for each in inside:
            if type(each) in (dict, list) and (name := self.other_spelling(each)) is not None:
                return name
        return None

    def _twin(self, holder: dict[str, Any]) -> str | None:
        folds = all_folded(holder.keys())
        if len(set(folds)) < len(folds):
            first = dict(zip(reversed(folds), reversed(holder), strict=True))
            twice = next((fold, name) for name, fold in zip(holder, folds, strict=True) if first[fold] != name)
            return self._spelled.get(*twice)
        if self._spelled.keys().isdisjoint(folds):
            return None
        known = (self._spelled.get(fold) for name, fold in zip(holder, folds, strict=True) if name not in self._names)
        return next(filter(None, known), None)


_LISTED = frozenset({"required", "dependentRequired", "propertyNames"})
_IN_VALUES = frozenset({"const", "enum", "dependentRequired"})
_BY_NAME = frozenset({"properties", "dependentSchemas", "dependencies"})
_OTHERS = frozenset({"$defs", "definitions", "patternProperties"})


def _names(schema: Any) -> Iterator[str]:
    """Yield the names of parameters in a schema."""
    if type(schema) is list:
        for each in schema:
            yield from _names(each)
    for keyword, value in schema.items() if type(schema) is dict else ():
        if keyword in _LISTED:
            yield from _texts(value)
        if keyword in _IN_VALUES:
            yield from _keys(value)
        if keyword in _BY_NAME and type(value) is dict:
            yield from value
        elif keyword not in _OTHERS:
            yield from _names(value)
            continue
        if type(value) is dict:
            yield from _names([*value.values()])


def _texts(value: Any) -> Iterator[str]:
    """Yield every string in a value, except the names of objects."""
    if type(value) is str:
        yield value
    elif type(value) in (dict, list):
        for each in value.values() if type(value) is dict else value:
            yield from _texts(each)


def _keys(value: Any) -> Iterator[str]:
    """Yield every name of an object in a value."""
    if type(value) is dict:
        yield from value
    if type(value) in (dict, list):
        for each in value.values() if type(value) is dict else value:
            yield from _keys(each)
