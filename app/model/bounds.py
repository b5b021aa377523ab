"""Bounds: what an agent can ever do under its policies, whatever it calls."""

from enum import StrEnum
from typing import Any

from msgspec import Struct

from app.model.comparisons import Doubt
from app.model.decisions import Result
from app.model.fields import Count, Timestamp
from app.model.policies import Policy
from app.model.rule import Effect


class Reachable(StrEnum):
    """What calls of a tool can get: `never` = all are denied; `asks` = none is allowed without a person; `bounded` =
    some are allowed; `any` = all are allowed; `undecided` = what was tried is no proof.
    """

    NEVER = "never"
    ASKS = "asks"
    BOUNDED = "bounded"
    ANY = "any"
    UNDECIDED = "undecided"


class Bound(Struct, frozen=True):
    """A rule that bounds the calls of a tool.

    policy: The policy's name.
    effect: What happens to a call that fails it: `deny` or `escalate`.
    text: What a call must satisfy so that it does not fail.
    """

    policy: str
    effect: Effect
    text: str


class ExampleCall(Struct, frozen=True):
    """A call with a result that calls of the tool can get.

    result: The result.
    parameters: The parameters of the call.
    context: What the caller vouches for.
    at: The time of the call; null if it does not matter.
    limits: Which limits are full in this case, and what the session was allowed or not; empty if it is as usual.
    reason: Why it gets the result.
    """

    result: Result
    parameters: dict[str, Any]
    context: dict[str, Any]
    at: Timestamp | None
    limits: list[str]
    reason: str


class ToolBounds(Struct, frozen=True):
    """What the calls of a tool can get.

    tool: The tool.
    like: Other tools for which the same holds.
    calls: What its calls can get.
    bounds: The rules that bound them.
    examples: A call for each result.
    """

    tool: str
    like: list[str]
    calls: Reachable
    bounds: list[Bound]
    examples: list[ExampleCall]


class IdleRule(Struct, frozen=True, rename="camel"):
    """A rule without which nothing would be answered otherwise.

    policy: The policy's name.
    rule_index: The place of the rule, from 0.
    rule_type: Its type.
    """

    policy: str
    rule_index: Count
    rule_type: str


class AgentBounds(Struct, frozen=True, rename="camel"):
    """What an agent can ever do under the policies in force.

    tools: Each kind of tool that the rules tell apart; names that no rule covers are one of them.
    idle_rules: Rules without which no call would be answered otherwise.
    not_judged: Rules of which that could not be decided.
    complete: True if no call of any tool gets another result than those that are listed.
    because: Why it is not complete, by tool; empty if it is.
    """

    tools: list[ToolBounds]
    idle_rules: list[IdleRule]
    not_judged: list[IdleRule]
    complete: bool
    because: list[Doubt]


class BoundsTask(Struct, frozen=True, kw_only=True, tag="bounds"):
    """A request for an agent's bounds. policies: all that govern it."""

    workspace_id: str
    policies: list[Policy]
