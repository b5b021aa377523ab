"""JSON Schemas that refuse names which calls did not have, at every depth."""

from collections.abc import Container, Iterable
from typing import Any

from app.language.value_paths import EACH
from app.propose.parameter_values import Steps


def closed_schema(places: Iterable[Steps], objects: Container[Steps]) -> dict[str, Any]:
    """A schema of parameters that have these places and no other names. objects: places that may hold an object."""
    schema: dict[str, Any] = {"properties": {}, "additionalProperties": False}
    for steps in sorted(places):
        inside = schema
        for step in steps:
            within = inside if step == EACH else inside.setdefault("properties", {})
            inside = within.setdefault("items" if step == EACH else step, {})
        if steps in objects:
            inside.setdefault("properties", {})
            inside["additionalProperties"] = False
    plain: dict[str, Any] = _plain(schema)
    return plain


def _plain(schema: Any) -> Any:
    """The schema, with `true` for what it says nothing about."""
    if not isinstance(schema, dict):
        return schema
    made = {
        word: {name: _plain(each) for name, each in inside.items()} if word == "properties" else _plain(inside)
        for word, inside in schema.items()
    }
    return made or True
