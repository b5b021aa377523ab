"""Comparisons of policies: which calls a change would answer otherwise."""

from typing import Any

from msgspec import Struct

from app.model.decisions import Result
from app.model.fields import Count, Timestamp
from app.model.policies import Policy


class PolicyFlip(Struct, frozen=True, rename={"was": "from", "becomes": "to"}):
    """A call that is answered otherwise: made from what the rules say, and judged by both sides.

    was: The result before the change.
    becomes: The result after it.
    tool: The tool that is called.
    like: Other tools for which the same holds.
    parameters: The parameters of the call.
    context: What the caller vouches for.
    at: The time of the call; null if it does not matter.
    limits: Which limits are full in this case, and what the session has been allowed or not; empty if it is as usual.
    before: The reason before the change.
    after: The reason after it.
    """

    was: Result
    becomes: Result
    tool: str
    like: list[str]
    parameters: dict[str, Any]
    context: dict[str, Any]
    at: Timestamp | None
    limits: list[str]
    before: str
    after: str

    @property
    def is_loosened(self) -> bool:
        """True if the call is newly allowed, no longer denied, or no longer asked about."""
        return _FROM_STRICTEST.index(self.becomes) > _FROM_STRICTEST.index(self.was)


_FROM_STRICTEST = (Result.DENIED, Result.ESCALATED, Result.ALLOWED)


class Doubt(Struct, frozen=True):
    """Why there may be other flips.

    tool: The tool, or one of those that all rules treat alike.
    reason: What of its rules is tried, but not compared completely.
    """

    tool: str
    reason: str


class PolicyComparison(Struct, frozen=True):
    """What a change means for calls.

    flips: For each tool and each kind of flip a call, those that are loosened first.
    limits: The same for kinds that only occur once a limit is full, or after what a session was or was not allowed.
    tools: How many kinds of tools the rules tell apart.
    classes: How many classes of calls they tell apart.
    tried: How many calls were judged.
    complete: True if no other call is answered otherwise.
    because: Why it is not complete, by tool; empty if it is.
    """

    flips: list[PolicyFlip]
    limits: list[PolicyFlip]
    tools: Count
    classes: Count
    tried: Count
    complete: bool
    because: list[Doubt]

    @property
    def is_loosened(self) -> bool:
        """True if some call is newly allowed, no longer denied, or no longer asked about."""
        return any(each.is_loosened for each in (*self.flips, *self.limits))


class CompareTask(Struct, frozen=True, kw_only=True, tag="compare"):
    """A request to compare all policies that govern an agent, before a change and after it.

    is_shared: they are those of a group or of the workspace, and their agents may have any others.
    """

    workspace_id: str
    before: list[Policy]
    after: list[Policy]
    is_shared: bool = False
