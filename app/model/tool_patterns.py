"""Patterns of tools: exact names, `prefix*`, and `*` for all."""

from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta

from app.model.text import NOT_IN_TOOLS, FieldError

_CHARACTER = f"[^*{NOT_IN_TOOLS}]"
ToolPattern = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=255,
        extra_json_schema={"pattern": rf"^(\*|{_CHARACTER}( ?{_CHARACTER})*( ?\*)?)$", "not": {"const": ".*"}},
    ),
]


def require_patterns(field: str, patterns: Sequence[str]) -> None:
    """Raise FieldError at the first pattern with a star in the wrong place. field: the list that holds the patterns."""
    if "*" not in "".join(patterns):
        return  # plain names, of which there may be a thousand, need not be checked one by one
    for index, pattern in enumerate(patterns):
        if "*" in pattern[:-1]:
            message = f'"{pattern}": `*` stands alone or last, as in `file.*` and `get_*`; nowhere else'
            raise FieldError(f"{field}[{index}]", message)
        if pattern == ".*":
            raise FieldError(f"{field}[{index}]", '".*" covers names that begin with a dot; write `*` for every tool')
