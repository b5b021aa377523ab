"""Names that some readers take for one another, such as `amount` and `Amount`."""

import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any


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


_FEW = 16
"""Comparing names one by one is faster up to about this many."""


def spelled_once(name: str) -> Callable[[dict[str, Any]], bool]:
    """Return a test that is True for objects with no other spelling of the name, whether or not they have the name."""
    fold = folded(name)
    size = len(fold)

    def test(holder: dict[str, Any]) -> bool:
        if len(holder) > _FEW:
            return _is_once(holder, name, fold)
        for key in holder:  # a loop of its own, because every rule that reads a name runs it for every call
            # Folding changes the length of no ASCII name.
            if key != name and (len(key) == size or not key.isascii()) and folded(key) == fold:
                return False
        return True

    return test


def _is_once(holder: dict[str, Any], name: str, fold: str) -> bool:
    # Usually the letters of the name occur in no other name. Folding changes nothing across line ends.
    if folded("\n".join(holder)).count(fold) == (name in holder):
        return True
    return all_folded(holder.keys()).count(fold) == (name in holder)


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
