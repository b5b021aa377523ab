"""The parameters with which no rule denies a call, as a JSON Schema."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec import UNSET, UnsetType

from app.language.value_paths import ANYWHERE, EACH, require_path
from app.model.constraints import Circumstances, Constraint
from app.pdp.constraints import IsSecret
from app.pdp.value_schemas import NOTHING_PASSES, UNKNOWN, JsonSchema, SchemaPart, value_schema

_MAX_PARTS = 6
"""The most separators in a name, dots and `[*]` counted separately: each further one doubles the readings in the
schema.
"""


def together(parts: Iterable[SchemaPart]) -> SchemaPart:
    """The schema of what satisfies all of these."""
    parts = list(parts)
    is_exact = all(part.is_exact for part in parts)
    if any(part.schema is False for part in parts):
        return SchemaPart(schema=False, is_exact=is_exact)
    merged: dict[str, Any] = {}
    others: list[JsonSchema] = []
    for part in parts:
        if not isinstance(part.schema, dict) or part.schema in others:
            continue
        if not _merge(merged, part.schema):
            others.append(part.schema)
    if others:
        merged = {**merged, "allOf": others}
    return SchemaPart(merged or True, is_exact)


def either(parts: Iterable[SchemaPart]) -> SchemaPart:
    """The schema of what satisfies any of these."""
    parts = list(parts)
    if len(parts) == 1:
        return parts[0]
    if any(part.schema is True for part in parts):
        return UNKNOWN
    return SchemaPart({"anyOf": [part.schema for part in parts]} if parts else False, is_exact=False)


def _merge(into: dict[str, Any], schema: Mapping[str, Any]) -> bool:
    """Merge the schema's properties into another's; False if that is impossible."""
    named = schema.get("properties", {})
    if not schema.keys() <= {"properties", "required"} or named.keys() & into.get("properties", {}).keys():
        return False
    if named:
        into.setdefault("properties", {}).update(named)
    more = [name for name in schema.get("required", ()) if name not in into.get("required", ())]
    if more:
        into.setdefault("required", []).extend(more)
    return True


def named_schema(name: str, constraint: Constraint, is_secret: IsSecret) -> SchemaPart:
    """The parameters in which every value of the name passes. Constraints on secrets are left out."""
    wanted = UNKNOWN if is_secret(name) else value_schema(constraint)
    if name == ANYWHERE:
        return UNKNOWN
    required = constraint.required is not False
    segments = segments_of(name)
    if sum(map(len, segments)) + len(segments) > _MAX_PARTS:
        return UNKNOWN
    if constraint.absent is True:
        # A name with dots or `[*]` can reach a forbidden value in more ways than one.
        plain = len(segments) == 1 and len(segments[0]) == 1
        return SchemaPart({"properties": {name: False}}, is_exact=True) if plain else UNKNOWN
    if wanted.schema is False and required and len(segments) == 1:
        return NOTHING_PASSES
    return SchemaPart(_at(segments, wanted.schema, required=required), wanted.is_exact)


def segments_of(name: str) -> list[list[str]]:
    """The parts between a name's dots, for each piece before, between and after `[*]`."""
    try:
        require_path(name)
    except ValueError:  # stored before paths existed
        return [name.split(".")]
    texts = name.split(EACH)
    pieces = [text.removeprefix(".") if place else text for place, text in enumerate(texts)]
    return [piece.split(".") if piece else [] for piece in pieces]


def schema_at(name: str, wanted: JsonSchema) -> dict[str, Any]:
    """An object in which every value that the name can mean exists and fits `wanted`."""
    return _at(segments_of(name), wanted, required=True)


def _at(segments: list[list[str]], wanted: JsonSchema, *, required: bool) -> dict[str, Any]:
    """An object in which each value that the segments lead to fits `wanted`, and none is missing if it is required."""
    value = wanted
    for place in range(len(segments) - 1, -1, -1):
        last = place == len(segments) - 1
        if not last:
            array: dict[str, Any] = {"type": "array" if required else ["array", "null"]}
            value = array if value is True else {**array, "items": value}
        if not segments[place]:
            continue
        held = _object(segments[place], value, required=required)
        if place:
            held = {"type": "object" if required else ["object", "null"], **held}
        value = held
    return value if isinstance(value, dict) else {}


def _object(parts: list[str], value: JsonSchema, *, required: bool) -> dict[str, Any]:
    """An object in which every reading of the parts leads to such a value, and at least one exists if required."""
    found: dict[str, Any] = {"properties": _readings(parts, value)}
    if required:
        ways = list(_ways(parts))
        found |= ways[0] if len(ways) == 1 else {"anyOf": ways}
    if found["properties"] == {parts[0]: True} and len(parts) == 1:
        del found["properties"]
    return found


def _readings(parts: list[str], value: JsonSchema) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for end in range(len(parts), 0, -1):
        inner = {"type": ["object", "null"], "properties": _readings(parts[end:], value)} if end < len(parts) else value
        found[".".join(parts[:end])] = inner
    return found


def _ways(parts: list[str]) -> Iterator[dict[str, Any]]:
    """Each way in which the parts lead to a value."""
    for end in range(len(parts), 0, -1):
        key = ".".join(parts[:end])
        if end == len(parts):
            yield {"required": [key]}
            continue
        inner = list(_ways(parts[end:]))
        held = {"type": "object", **(inner[0] if len(inner) == 1 else {"anyOf": inner})}
        yield {"required": [key], "properties": {key: held}}


def circumstances_schema(circumstances: Circumstances, is_secret: IsSecret) -> JsonSchema | None:
    """The parameters for which all of it holds, exactly; None if that cannot be expressed or depends on more."""
    if circumstances.context is not UNSET or isinstance(circumstances.parameters, UnsetType):
        return None
    parts = [named_schema(name, each, is_secret) for name, each in circumstances.parameters.items()]
    whole = together(parts)
    return whole.schema if whole.is_exact else None
