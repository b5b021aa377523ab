"""Queries as structs: `?name=value` in the API, `--name value` on the command line.

A struct says everything about its parameters: the names, the types with their limits, the defaults, and in the lines
`field: …` of its docstring their meaning. `http` decodes query strings with it and describes it in the OpenAPI
document; the command line makes options of it.
"""

from collections.abc import Callable
from enum import StrEnum
from functools import partial
from typing import Annotated, Any

from msgspec import Meta, Struct

from app.model.agents import CALLED, require_reference
from app.model.ids import uuid_of
from app.model.text import FieldError
from app.model.times import parse_time_ms, rfc3339

MAX_PAGE = 1000
MAX_OFFSET = 10**12


class QueryFields(Struct, frozen=True, kw_only=True):
    """A query. Every field has a default, and `agent_id` may also be written `agentId`."""


class Spelled(Struct, frozen=True, eq=False):
    """The spelling of a value in a query; without this annotation, the type alone determines it.

    read: parses the string; raises ValueError with a sentence. schema: of the string. words: those it consists of,
    separated by commas; empty = any.
    """

    read: Callable[[str], Any]
    schema: dict[str, Any]
    words: tuple[str, ...] = ()


def several(kind: type[StrEnum]) -> Spelled:
    """The spelling of one or several values of an enumeration, as a tuple of different ones: comma-separated."""

    def read(text: str) -> tuple[StrEnum, ...]:
        names = text.split(",")
        if not {*names} <= {*kind}:
            raise ValueError(f"must be one or several of {', '.join(kind)}, comma-separated")
        return tuple(dict.fromkeys(map(kind, names)))

    one = f"({'|'.join(kind)})"
    return Spelled(read, {"type": "string", "pattern": f"^{one}(,{one})*$"}, tuple(kind))


def uuid_in(text: str) -> str:
    """The id in lower case. Raises ValueError."""
    uuid = uuid_of(text)
    if uuid is None:
        raise ValueError("must be a UUID")
    return uuid


def require_span(from_ms: int | None, to_ms: int | None) -> None:
    """Raise FieldError if the span ends before it begins: an empty answer would say that nothing happened."""
    if from_ms is not None and to_ms is not None and from_ms > to_ms:
        raise FieldError("from", f"must not be after `to`, which is {rfc3339(to_ms)}")


EndMs = Annotated[int, Spelled(partial(parse_time_ms, end=True), {"type": "string", "format": "date-time"})]
"""A time up to which something is asked for, inclusive: a date means its end."""
TimeMs = Annotated[int, Spelled(parse_time_ms, {"type": "string", "format": "date-time"})]
IdFilter = Annotated[str, Spelled(uuid_in, {"type": "string", "format": "uuid"})]
AgentFilter = Annotated[str, Spelled(require_reference, {"type": "string", **CALLED})]
"""An agent's id or its alias."""

PageLimit = Annotated[int, Meta(ge=1, le=MAX_PAGE)]
Limit = Annotated[PageLimit, Meta(description="The most to return; all if left out.")]
Offset = Annotated[int, Meta(ge=0, le=MAX_OFFSET, description="How many to skip first.")]
