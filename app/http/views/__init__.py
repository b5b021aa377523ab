"""Resources as answers show them: one shape for the API and for `remit … --json`."""

from functools import cache
from typing import Any, TypeVar

from msgspec import UNSET, Struct, structs

from app.model.times import rfc3339

_ViewT = TypeVar("_ViewT", bound=Struct)


def as_view(view: type[_ViewT], record: Any, **differing: Any) -> _ViewT:
    """The record as the view shows it: fields of the same name, and times, of which a record has `x_ms` for `x_at`.

    A field that an answer may lack is left out if the record has nothing there. differing: fields that are not in the
    record, or shown in another way.
    """
    for name, source in _sources(view):
        if name not in differing and (value := getattr(record, source, UNSET)) is not UNSET:
            differing[name] = _shown(value, is_time=name != source)
    return view(**{name: value for name, value in differing.items() if value or name not in _optional(view)})


def _shown(value: Any, *, is_time: bool) -> Any:
    if is_time:
        return None if value is None else rfc3339(value)
    return list(value) if isinstance(value, tuple) else value


@cache
def _sources(view: type[Struct]) -> list[tuple[str, str]]:
    names = view.__struct_fields__
    return [(name, f"{name.removesuffix('_at')}_ms" if name.endswith("_at") else name) for name in names]


@cache
def _optional(view: type[Struct]) -> frozenset[str]:
    """The fields that answers may lack."""
    return frozenset(field.name for field in structs.fields(view) if field.default is UNSET)
