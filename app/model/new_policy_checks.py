"""Checks on the fields of a policy that is being written; stored policies need not pass them."""

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, get_args

from msgspec import UNSET
from msgspec.structs import fields

from app.model.policies import DEFAULTS, PolicyChanges, PolicyFields, field_types, struct_of

Check = Callable[[str, Any], None]


def require_writable_fields(policy: PolicyFields | PolicyChanges) -> None:
    """Raise FieldError at the first field whose type's check refuses its value; those that are UNSET or None pass.

    A type names its check: `Meta(extra={"check": …})`.
    """
    struct: type = type(policy)
    for name, spelling, check in _checks(struct):
        value = getattr(policy, name)
        if value is not UNSET and value is not None:
            check(spelling, value)


_New: Any = struct_of("_New", field_types(bounds=True), DEFAULTS, rename="camel", forbid_unknown_fields=True)


class NewPolicy(_New):  # type: ignore[misc]  # its fields are those of PolicyFields
    """A whole policy without its owner, as files and sets have it."""

    def __post_init__(self) -> None:
        require_writable_fields(self)


@cache
def _checks(struct: type) -> tuple[tuple[str, str, Check], ...]:
    """The fields that have checks: name, spelling in the struct, check."""
    return tuple(
        (field.name, field.encode_name, check)
        for field in fields(struct)
        if field.name in PolicyFields.__struct_fields__
        for check in _checks_in(field.type)
    )


def _checks_in(kind: Any) -> Iterator[Check]:
    """The checks of the type, or of the members of a union."""
    for member in (kind, *get_args(kind)):
        for meta in getattr(member, "__metadata__", ()):
            if meta.extra and "check" in meta.extra:
                yield meta.extra["check"]
