"""Denial breakers: they act on too many denials of one agent's calls within a span."""

from enum import StrEnum
from typing import Annotated

from msgspec import Meta, Struct

MAX_DENIALS = 1_000
"""The most denials a breaker can count; as many of an agent's newest denials are kept."""

MAX_WINDOW_SECONDS = 86_400


class BreakerAction(StrEnum):
    """What a full breaker does: `suspend` the agent, or `escalate` calls that would be allowed to a person."""

    SUSPEND = "suspend"
    ESCALATE = "escalate"


class DenialBreaker(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """Full once `max_denials` calls of one agent were denied in the last `window_seconds`, for whatever reason.

    max_denials: Denied calls of one agent, 1 to 1,000.
    window_seconds: The span, 1 to 86,400 seconds (a day); it ends now and does not start on the minute.
    action: Whether the denial that fills it suspends the agent, or people are asked while it is full.
    """

    max_denials: Annotated[int, Meta(ge=1, le=MAX_DENIALS)]
    window_seconds: Annotated[int, Meta(ge=1, le=MAX_WINDOW_SECONDS)]
    action: BreakerAction

    @property
    def reached(self) -> str:
        """The reason given when it is full."""
        denials = "1 denial" if self.max_denials == 1 else f"{self.max_denials} denials"
        return f"Denial breaker: {denials} in {self.window_seconds} s"
