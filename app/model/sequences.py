"""Sequence conditions: calls that a session must have been allowed before, and calls that it must not."""

from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from app.model.text import FieldError, require_tool_name
from app.model.tool_patterns import ToolPattern, require_patterns

MARK_SECONDS = 2_678_400
"""31 days: how long an allowed call counts if the rule does not say."""

MAX_SESSION_LENGTH = 128
_Patterns = Annotated[list[ToolPattern], Meta(min_length=1, max_length=100)]


class CallSequence(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """Calls that the session must have been allowed before, and calls that it must not; at least one of the two.

    forbidden_after: The rule fails once a call of one of these tools was allowed in the session, to whichever agent.
    requires_before: The rule fails until a call of one of these tools was allowed to this agent in the session.
    within_seconds: How long an allowed call counts, 1 to 2,678,400 seconds; 31 days if left out.
    """

    forbidden_after: _Patterns | UnsetType = UNSET
    requires_before: _Patterns | UnsetType = UNSET
    within_seconds: Annotated[int, Meta(ge=1, le=MARK_SECONDS)] | UnsetType = UNSET

    def __post_init__(self) -> None:
        if self.forbidden_after is UNSET and self.requires_before is UNSET:
            raise FieldError("forbiddenAfter", "give forbiddenAfter, requiresBefore or both")
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
        """How long an allowed call counts."""
        return MARK_SECONDS if self.within_seconds is UNSET else self.within_seconds
