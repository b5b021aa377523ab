"""Fields of a request in another spelling, such as `Parameters`, which some programs read in place of ours."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from app.errors import Invalid
from app.language.spellings import folded, other_spelling


class OwnFields(NamedTuple):
    """What an object of a request may contain, besides what nothing reads.

    names: its own fields, by their folded names. inside: the fields of those that are objects, or lists of objects.
    """

    names: Mapping[str, frozenset[str]]
    inside: Mapping[str, "OwnFields"]


def own_fields(*names: str, **inside: OwnFields) -> OwnFields:
    """The fields of an object: plain ones, and those that have fields of their own."""
    spelled: dict[str, frozenset[str]] = {}
    for name in (*names, *inside):
        spelled[folded(name)] = spelled.get(folded(name), frozenset()) | {name}
    return OwnFields(spelled, inside)


def require_spelled(given: Any, fields: OwnFields, path: str = "$") -> None:
    """Raise Invalid if an object has one of the fields in another spelling. given: the decoded request."""
    if isinstance(given, list):
        for index, each in enumerate(given):
            require_spelled(each, fields, f"{path}[{index}]")
    if not isinstance(given, dict):
        return
    for name in given:
        own = fields.names.get(folded(name))
        if own is not None and name not in own:
            raise Invalid.at(path, f"has {other_spelling(min(own))}")
    for name, inner in fields.inside.items():
        require_spelled(given.get(name), inner, f"{path}.{name}")
