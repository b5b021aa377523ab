"""Explains why a body was refused: where, which value was expected, and what was there instead.

msgspec names the place; the expected value is derived from the struct's type, so no sentence here can drift from what
is accepted. Values are described, not repeated, unless they are short words or numbers:
a key that was put into the wrong field must not come back in an error.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

import msgspec
from msgspec import inspect

from app.errors import Detail, Invalid
from app.model.text import FieldError, counted, with_hidden_shown

_PLACE = re.compile(r"^(?P<fault>.*?)(?: - at (?:`(?P<key>key)` in )?`(?P<path>\$[^`]*)`)?$", re.DOTALL)
_STEP = re.compile(r"\.(?P<field>\w+)|\[(?P<index>\d+)\]|\[\.\.\.\]")
_FIELD = re.compile(r"^Object (?P<fault>contains unknown|missing required) field `(?P<name>.*)`$", re.DOTALL)
_WORD = re.compile(r"[\w. :/*-]{1,32}", re.ASCII)
_MAX_SHOWN = 64
_SCALARS: dict[type, tuple[type, ...]] = {
    inspect.StrType: (str,),
    inspect.IntType: (int,),
    inspect.FloatType: (int, float),
    inspect.BoolType: (bool,),
    inspect.NoneType: (type(None),),
}
_LISTS = (inspect.ListType, inspect.VarTupleType)


@contextmanager
def refusing_fields(prefix: str = "$.") -> Iterator[None]:
    """Raise Invalid in place of a FieldError. prefix: the beginning of its path; "" outside a body."""
    try:
        yield
    except FieldError as error:
        raise Invalid.at(f"{prefix}{error.field}", error.message) from None


def explain(error: msgspec.ValidationError, kind: type, value: Any) -> Detail:
    """The place in `value` that made `msgspec.convert(value, kind)` raise `error`, and a sentence about it."""
    parts = _PLACE.match(str(error))
    fault, path = (parts["fault"], parts["path"] or "$") if parts else (str(error), "$")
    spot = _walk(_info(kind), value, path)
    if isinstance(error.__cause__, FieldError):
        field_path = f".{visible(error.__cause__.field, 300)}" if error.__cause__.field else ""
        return Detail(f"{spot.path}{field_path}", visible(error.__cause__.message, 1000))
    if parts and parts["key"]:
        return Detail(spot.path, f"has a name in it that is not {_expected(spot.key_info)}")
    if field := _FIELD.match(fault):
        path, holder = f"{spot.path}.{visible(field['name'])}", _chosen(spot.info, spot.value)
        if field["fault"] == "contains unknown":
            return Detail(path, f"is not a field here; {_all_of(_field_names(holder))}")
        return Detail(path, f"is missing; it must be {_expected(_field_info(holder, field['name']))}")
    return Detail(spot.path, f"must be {_expected(spot.info)}, not {_described(spot.value)}")


def visible(text: str, most: int = _MAX_SHOWN) -> str:
    """`text` with every hidden character written as its code, cut to `most` characters."""
    return with_hidden_shown(text if len(text) <= most else f"{text[: most - 1]}…")


class _Spot(msgspec.Struct):
    """A place in a value: the type expected there, the actual value, and the path to it."""

    info: Any
    value: Any
    path: str

    @property
    def key_info(self) -> Any:
        return _bare(getattr(self.info, "key_type", None))


def _walk(info: Any, value: Any, path: str) -> _Spot:
    spot = _Spot(_bare(info), value, "$")
    for step in _STEP.finditer(path):
        holder = _chosen(spot.info, spot.value)
        if step["field"] is not None:
            inner = _field_info(holder, step["field"])
            inner_value = spot.value.get(step["field"]) if isinstance(spot.value, dict) else None
            spot = _Spot(_bare(inner), inner_value, f"{spot.path}.{step['field']}")
        elif step["index"] is not None:
            index = int(step["index"])
            inner_value = spot.value[index] if isinstance(spot.value, list) and index < len(spot.value) else None
            spot = _Spot(_bare(getattr(holder, "item_type", None)), inner_value, f"{spot.path}[{index}]")
        else:
            name, inner_value = _first_refused(holder, spot.value)
            spot = _Spot(_bare(getattr(holder, "value_type", None)), inner_value, f"{spot.path}.{visible(name)}")
    return spot


def _first_refused(info: Any, value: Any) -> tuple[str, Any]:
    """The entry of an object that cannot be converted; msgspec does not name it."""
    kind = _bare(getattr(info, "value_type", None))
    held = value.items() if isinstance(value, dict) else ()
    return next(((name, inner) for name, inner in held if not _takes(kind, inner)), ("*", None))


def _takes(info: Any, value: Any) -> bool:
    """False if a value of an object can certainly not be converted."""
    match info:
        case inspect.DictType():
            return isinstance(value, dict) and all(_takes(_bare(info.value_type), each) for each in value.values())
        case inspect.UnionType():
            return any(_takes(_bare(each), value) for each in info.types)
        case _ if type(info) in _SCALARS:
            return type(value) in _SCALARS[type(info)]
    try:
        msgspec.convert(value, getattr(info, "cls", Any))
    except msgspec.ValidationError:
        return False
    return True


def _chosen(info: Any, value: Any) -> Any:
    """The member of a union that `value` is meant to be; `info` itself if it is not a union or no member matches."""
    if isinstance(info, inspect.UnionType) and isinstance(value, list):
        return next((each for each in map(_bare, info.types) if isinstance(each, _LISTS)), info)
    if isinstance(info, inspect.UnionType) and isinstance(value, dict):
        for member in _structs(info):
            if member.tag_field is None or value.get(member.tag_field) == member.tag:
                return member
    return info


def _structs(info: Any) -> Iterator[inspect.StructType]:
    members = map(_bare, info.types if isinstance(info, inspect.UnionType) else (info,))
    return (member for member in members if isinstance(member, inspect.StructType))


def _field_names(info: Any) -> Sequence[str]:
    info = next(_structs(info), None)
    if info is None:
        return ()
    tag = () if info.tag_field is None else (info.tag_field,)
    return (*tag, *(field.encode_name for field in info.fields))


def _field_info(info: Any, name: str) -> Any:
    """The type of a field. The field that tells the structs of a union apart may have any of their tags."""
    for struct in _structs(info):
        for field in struct.fields:
            if field.encode_name == name:
                return _bare(field.type)
    return inspect.LiteralType(tuple(struct.tag for struct in _structs(info) if struct.tag_field == name))


def _bare(info: Any) -> Any:
    """The type without its schema metadata."""
    while isinstance(info, inspect.Metadata):
        info = info.type
    return info


@cache
def _info(kind: type) -> Any:
    return inspect.type_info(kind)


_EXPECTED: dict[type, str] = {inspect.BoolType: "true or false", inspect.NoneType: "null"}


def _expected(info: Any) -> str:
    match _bare(info):
        case inspect.StrType(min_length=least, max_length=most):
            return f"text{_span(least, most, 'character')}"
        case inspect.IntType(ge=least, le=most):
            return "a whole number" + _range(least, most)
        case inspect.FloatType(gt=above, ge=least, le=most):
            return "a number" + _range(least, most, above)
        case inspect.EnumType(cls=choices):
            return f"one of {', '.join(member.value for member in choices)}"
        case inspect.LiteralType(values=values):
            return f'"{values[0]}"' if len(values) == 1 else f"one of {', '.join(map(str, values))}"
        case (
            inspect.ListType(min_length=least, max_length=most)
            | inspect.VarTupleType(min_length=least, max_length=most)
        ):
            return f"a list{_span(least, most, 'item')}"
        case inspect.DictType(min_length=least, max_length=most):
            return f"an object{_span(least, most, 'field')}"
        case inspect.UnionType(types=types):
            members = list(dict.fromkeys(_expected(member) for member in types))
            numbers = {each for each in members if each.startswith("a number")}
            members = [each for each in members if each.replace("a whole number", "a number") not in numbers - {each}]
            return ", ".join(members[:-1]) + (" or " if members[:-1] else "") + members[-1]
        case inspect.StructType(tag_field=None, fields=fields) if required := [
            field for field in fields if field.required
        ]:
            return f"an object with {', '.join(f'`{field.encode_name}`' for field in required)}"
        case _:
            return _EXPECTED.get(type(_bare(info)), "an object")


def _all_of(names: Sequence[str]) -> str:
    return f"there is only `{names[0]}`" if len(names) == 1 else f"there are {', '.join(names)}"


def _range(least: float | None, most: float | None, above: float | None = None) -> str:
    if above is not None:
        return f" above {above:g}" + ("" if most is None else f" and at most {most:g}")
    if least is None:
        return ""
    return f" of at least {least}" if most is None else f" from {least} to {most}"


def _span(least: int | None, most: int | None, unit: str) -> str:
    if least and most:
        return f" of {least} to {most} {unit}s"
    if most:
        return f" of up to {counted(most, unit)}"
    return f" of at least {counted(least, unit)}" if least else ""


def _described(value: Any) -> str:
    match value:
        case None | bool():
            return msgspec.json.encode(value).decode()
        case int() | float():
            return visible(repr(value))
        case str():
            if _WORD.fullmatch(value):
                return f'"{value}"'
            return f"text of {counted(len(value), 'character')}" if value else "empty text"
        case list():
            return f"a list of {counted(len(value), 'item')}" if value else "an empty list"
        case _:
            return "an object" if value else "an empty object"
