"""Checks that the types of fields name, for what a bound cannot express: `Meta(extra={"check": …})`."""

from collections.abc import Callable, Iterator
from functools import cache
from types import UnionType
from typing import Any, Union, get_args, get_origin

from msgspec import UNSET, Struct
from msgspec.structs import fields

Check = Callable[[str, Any], None]
"""Raises FieldError if the value is not allowed in the field with this name."""


def require_valid_fields(struct: Struct) -> None:
    """Raise FieldError at the first field whose type's check refuses its value; those that are UNSET or None pass.

    For the `__post_init__` of what people write; what is stored may predate a check.
    """
    for name, spelling, check in _checks(type(struct)):
        value = getattr(struct, name)
        if value is not UNSET and value is not None:
            check(spelling, value)


@cache
def _checks(struct: type[Struct]) -> tuple[tuple[str, str, Check], ...]:
    """The fields that have checks: name, spelling in the struct, check."""
    return tuple((field.name, field.encode_name, check) for field in fields(struct) for check in _checks_in(field.type))


def _checks_in(kind: Any) -> Iterator[Check]:
    """The checks of the type, or of the members of a union."""
    members = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
    for member in members:
        for meta in getattr(member, "__metadata__", ()):
            if meta.extra and "check" in meta.extra:
                yield meta.extra["check"]
