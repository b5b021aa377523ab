"""The schemas of structs: msgspec's own, with field descriptions and conditions that types cannot express."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

import msgspec

from app.policy_tools.struct_schemas.cross_field_requirements import CROSS_FIELD, without_terms
from app.policy_tools.struct_schemas.docstrings import field_lines, first_lines, structs_of


def described(
    kinds: Iterable[type], ref_template: str, cross_field: Mapping[str, dict[str, Any]] = MappingProxyType({})
) -> dict[str, Any]:
    """The schemas of these structs and of all structs in them, by name, with descriptions and further requirements.

    ref_template: the reference from one schema to another, with `{name}` in it. cross_field: requirements by
    struct name, in addition to those of the model's structs.
    """
    kinds = tuple(kinds)
    _, schemas = msgspec.json.schema_components(kinds, ref_template=ref_template)
    structs = {struct.__name__: struct for kind in kinds for struct in structs_of(msgspec.inspect.type_info(kind))}
    for name, schema in schemas.items():
        schema.pop("title", None)
        schema["description"] = first_lines(schema.get("description", ""))
        if "enum" in schema:
            schema["type"] = "string"
        schema.update({**CROSS_FIELD, **cross_field}.get(name, {}))
        without_terms(name, schema)
        if name in structs:
            _describe_fields(structs[name], schema)
        _open_objects(schema)
    return schemas


def _open_objects(schema: Any) -> None:
    """Say of every object without properties that it may have any; otherwise, generated types would have none."""
    if isinstance(schema, list):
        for each in schema:
            _open_objects(each)
    elif isinstance(schema, dict):
        if schema.get("type") == "object" and not schema.keys() & {"properties", "additionalProperties"}:
            schema["additionalProperties"] = True
        for word in schema.keys() - {"default", "enum", "const", "examples"}:
            _open_objects(schema[word])


def _describe_fields(struct: type, schema: dict[str, Any]) -> None:
    """Describe every property and its other accepted spelling, which is not listed as a separate property."""
    aliases: dict[str, str] = getattr(struct, "aliases", {})
    properties = schema["properties"]
    for alias in aliases:
        properties.pop(alias, None)
    if names := getattr(struct, "required_fields", None):
        schema["required"] = list(names)
    lines = field_lines(struct)
    own_names = {field.encode_name: field.name for field in msgspec.structs.fields(struct)}
    for field, property_schema in properties.items():
        plain = _plain(property_schema)
        meaning = lines.get(own_names.get(field, field)) or plain.get("description", "")
        also = "".join(f" `{alias}` is accepted, too." for alias, meant in aliases.items() if meant == field)
        properties[field] = {**plain, "description": meaning + also}
    if tag := struct.__struct_config__.tag_field:  # type: ignore[attr-defined]
        properties[tag]["description"] = "Which kind it is."


def _plain(schema: dict[str, Any]) -> dict[str, Any]:
    """Write `anyOf` over simple types as a list of types."""
    members = schema.get("anyOf", ())
    if not members or not all(
        isinstance(member.get("type"), str) and not member.keys() & {"items", "properties"} for member in members
    ):
        return dict(schema)
    merged = {word: value for member in members for word, value in member.items()}
    types = dict.fromkeys(member["type"] for member in members)
    if "number" in types:
        types.pop("integer", None)
    merged["type"] = list(types) if len(types) > 1 else next(iter(types))
    others = {word: value for word, value in schema.items() if word != "anyOf"}
    return {**others, **merged}
