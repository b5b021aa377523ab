"""The parameters of a query, derived from its struct."""

import re
import types
from enum import Enum
from functools import cache
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec import NODEFAULT, Struct

from app.model.query_fields import QueryFields, Spelled
from app.policy_tools.struct_schemas.docstrings import field_lines

FLAG = ("false", "true")


class Parameter(Struct, frozen=True):
    """A parameter of a query.

    name: in query strings. also: its other spelling there. attribute: its name in the struct.
    kind: the type of its values, without None. spelled: their spelling, if the type alone does not determine it.
    """

    name: str
    also: str | None
    attribute: str
    kind: Any
    spelled: Spelled | None
    schema: dict[str, Any]
    description: str


@cache
def parameters_of(query: type[QueryFields]) -> tuple[Parameter, ...]:
    """The parameters in the order of the struct's fields."""
    hints, lines = get_type_hints(query, include_extras=True), field_lines(query)
    return tuple(
        _parameter(field, hints[field.name], lines.get(field.name, "")) for field in msgspec.structs.fields(query)
    )


def _parameter(field: msgspec.structs.FieldInfo, hint: Any, description: str) -> Parameter:
    if field.default is NODEFAULT:
        raise TypeError(f"{field.name} has no default, and every parameter of a query may be left out")
    kind = _without_none(hint)
    annotations = get_args(kind)[1:] if get_origin(kind) is Annotated else ()
    bare = get_args(kind)[0] if annotations else kind
    spelled = next((note for note in annotations if isinstance(note, Spelled)), None)
    name = field.encode_name
    camel = re.sub(r"_(\w)", lambda match: match[1].upper(), name)
    return Parameter(
        name=name,
        also=camel if camel != name else None,
        attribute=field.name,
        kind=bare,
        spelled=spelled,
        schema=_schema(bare, kind, spelled, field.default),
        description=description or next(filter(None, (getattr(note, "description", "") for note in annotations)), ""),
    )


def _without_none(hint: Any) -> Any:
    if get_origin(hint) in (types.UnionType, Union):
        [hint] = [kind for kind in get_args(hint) if kind is not types.NoneType]
    return hint


def _schema(bare: Any, kind: Any, spelled: Spelled | None, default: Any) -> dict[str, Any]:
    if spelled is not None:
        return spelled.schema
    if bare is bool:
        return {"type": "string", "enum": list(reversed(FLAG)), "default": FLAG[default]}
    if issubclass(bare, Enum):
        schema: dict[str, Any] = {"type": "string", "enum": [member.value for member in bare]}
    else:
        schema = msgspec.json.schema(kind)
        schema.pop("description", None)
    return schema if default is None else {**schema, "default": default}
