"""What an agent may call: for each tool whether its calls are allowed, and on which conditions."""

from enum import StrEnum
from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct, UnsetType

from app.model.decisions import RuleRef
from app.model.explanations import ExplainedAgent, QuotaLevel
from app.model.fields import Count, DisplayName, Timestamp, Uuid
from app.model.rules import Effect
from app.model.text import ToolName


class ToolStatus(StrEnum):
    """What becomes of calls of a tool.

    `allowed`: every one, as things stand. `denied`: no call will be allowed, whatever its parameters, context and time,
    until policies change; nor is a person asked. `escalated`: none is allowed without a person. `conditional`: it
    depends.
    """

    ALLOWED = "allowed"
    CONDITIONAL = "conditional"
    ESCALATED = "escalated"
    DENIED = "denied"


class ToolCondition(Struct, frozen=True, kw_only=True, rename="camel"):
    """What one rule asks of the calls of a tool.

    policy_id: Its policy.
    policy_name: The policy's name.
    rule: The rule's place and type.
    effect: What its failure gives: the call is denied, or a person is asked.
    text: What it asks, in words.
    holds: Whether it is so now for every call: true, or false for none; null where it depends on the call.
    quota: How full its bucket is; only of limits that all calls of the tool by this agent share.
    """

    policy_id: Uuid
    policy_name: DisplayName
    rule: RuleRef
    effect: Effect
    text: str
    holds: bool | None
    quota: QuotaLevel | UnsetType = UNSET


class ToolAccess(Struct, frozen=True, kw_only=True, rename="camel"):
    """What becomes of an agent's calls of one tool.

    name: What calls have as their tool_name.
    catalogued: Whether the catalogue has it; else only the log does, or it was asked for by its name.
    status: What becomes of them.
    reason: Why every call is denied; null where not every one is.
    conditions: What the rules ask that can have a say, first the guardrails.
    parameter_schema: A JSON Schema that the parameters of every call fit which is not denied. A gateway can put it
    beside the tool's own.
    schema_is_exact: Whether it refuses the parameters of every call that is denied for its parameters.
    """

    name: ToolName
    catalogued: bool
    status: ToolStatus
    reason: str | None
    conditions: list[ToolCondition]
    parameter_schema: Annotated[
        dict[str, Any] | bool, Meta(extra_json_schema={"description": "JSON Schema of 2020-12, without `$ref`."})
    ]
    schema_is_exact: bool


class AgentTools(Struct, frozen=True, kw_only=True, rename="camel"):
    """What an agent may call.

    agent: Whom it is about.
    at: The time that counts: of time windows and limits.
    total: How many tools are known of.
    tools: In the order of their names.
    """

    agent: ExplainedAgent
    at: Timestamp
    total: Count
    tools: list[ToolAccess]
