"""Patterns of tools, and sequence conditions: calls that must, or must not, have come earlier in the session."""

import hashlib
from collections.abc import Iterable, Sequence
from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from app.model.text import NOT_IN_TOOLS, FieldError, require_tool_name

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
    """Raise FieldError at the first pattern with a star in the wrong place. field: the list's name."""
    if "*" not in "".join(patterns):
        return  # there may be a thousand plain names, which need not be checked one by one
    for index, pattern in enumerate(patterns):
        if "*" in pattern[:-1]:
            message = f'"{pattern}": `*` stands alone or last, as in `file.*` and `get_*`; nowhere else'
            raise FieldError(f"{field}[{index}]", message)
        if pattern == ".*":
            raise FieldError(f"{field}[{index}]", '".*" covers names that begin with a dot; write `*` for every tool')


def covers(patterns: Iterable[str], tool: str) -> bool:
    """True if any pattern covers the tool: its exact name, `prefix*` for names that continue the prefix, or `*`."""
    for pattern in patterns:
        if pattern in (tool, "*"):
            return True
        if pattern.endswith("*") and tool.startswith(pattern[:-1]) and len(tool) >= len(pattern):
            return True
    return False


def covering(patterns: Iterable[str], tool: str) -> str | None:
    """The first pattern that covers the tool; None if none does."""
    return next((pattern for pattern in patterns if covers((pattern,), tool)), None)


MARK_SECONDS = 2_678_400
"""31 days: the time for which an allowed call counts by default."""

MAX_SESSION_LENGTH = 128


def session_digest(name: str) -> str:
    """The name that a session has in the store."""
    return hashlib.sha256(name.encode()).hexdigest()[:32]


_Patterns = Annotated[list[ToolPattern], Meta(min_length=1, max_length=100)]


class CallSequence(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """Tools that must, or must not, have been called earlier in the session; give at least one list.

    forbidden_after: The rule fails once a call of one of these tools was allowed in the session, to whichever agent.
    requires_before: The rule fails until a call of one of these tools was allowed to this agent in the session.
    once: True = each call that the rule lets pass uses up what came before it: the next needs another one.
    within_seconds: How long an allowed call counts, 1 to 2,678,400 seconds; 31 days if left out.
    """

    forbidden_after: _Patterns | UnsetType = UNSET
    requires_before: _Patterns | UnsetType = UNSET
    within_seconds: Annotated[int, Meta(ge=1, le=MARK_SECONDS)] | UnsetType = UNSET
    once: bool | UnsetType = UNSET

    def __post_init__(self) -> None:
        if self.forbidden_after is UNSET and self.requires_before is UNSET:
            raise FieldError("forbiddenAfter", "give forbiddenAfter, requiresBefore or both")
        if self.once is True and self.requires_before is UNSET:
            raise FieldError("once", "it is about what requiresBefore names; give that, or leave once out")
        for field, patterns in (("forbiddenAfter", self.forbidden), ("requiresBefore", self.required)):
            require_patterns(field, patterns)
            for index, pattern in enumerate(patterns):
                require_tool_name(f"{field}[{index}]", pattern)

    @property
    def forbidden(self) -> list[str]:
        """The patterns of `forbiddenAfter`."""
        return [] if self.forbidden_after is UNSET else self.forbidden_after

    @property
    def required(self) -> list[str]:
        """The patterns of `requiresBefore`."""
        return [] if self.requires_before is UNSET else self.requires_before

    @property
    def seconds(self) -> int:
        """The time for which an allowed call counts, in seconds."""
        return MARK_SECONDS if self.within_seconds is UNSET else self.within_seconds
