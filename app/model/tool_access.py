"""The tools an agent may call, and the conditions on each."""

from enum import StrEnum
from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct, UnsetType

from app.model.catalog import Consequence
from app.model.decisions import RuleRef
from app.model.explanations import ExplainedAgent, QuotaLevel
from app.model.fields import Count, DisplayName, Timestamp, Uuid
from app.model.rule import Effect
from app.model.text import ToolName


class ToolStatus(StrEnum):
    """The result of a tool's calls.

    `allowed`: every call is allowed at present. `denied`: no call is, whatever its parameters, context and time, until
    policies change, and no person is asked. `escalated`: no call is, unless a person approves it. `conditional`: it
    depends on the call.
    """

    ALLOWED = "allowed"
    CONDITIONAL = "conditional"
    ESCALATED = "escalated"
    DENIED = "denied"


class ToolCondition(Struct, frozen=True, kw_only=True, rename="camel"):
    """What one rule requires of a tool's calls.

    policy_id: Its policy.
    policy_name: The policy's name.
    rule: The rule's place and type.
    effect: What happens if it fails: the call is denied, or a person is asked.
    text: What it requires, in words.
    holds: Whether it is met now: true for every call, false for none; null if it depends on the call.
    quota: How full its bucket is; only for limits that all calls of the tool by this agent share.
    """

    policy_id: Uuid
    policy_name: DisplayName
    rule: RuleRef
    effect: Effect
    text: str
    holds: bool | None
    quota: QuotaLevel | UnsetType = UNSET


class ToolAccess(Struct, frozen=True, kw_only=True, rename="camel"):
    """The result of an agent's calls of one tool.

    name: The tool_name of its calls.
    catalogued: Whether it is in the catalogue; if not, it was seen in the log, or asked for by name.
    consequence: What its calls do to the world, as a person says in the catalogue; null if nobody does.
    status: The result of its calls.
    reason: Why every call is denied; null unless all are.
    conditions: What the rules that may affect the result require, guardrails first.
    parameter_schema: A JSON Schema that accepts the parameters of every call that is not denied. A gateway can combine
    it with the tool's own.
    schema_is_exact: Whether it rejects the parameters of every call that is denied for its parameters, except for the
        spelling of their names.
    """

    name: ToolName
    catalogued: bool
    consequence: Consequence | None
    status: ToolStatus
    reason: str | None
    conditions: list[ToolCondition]
    parameter_schema: Annotated[
        dict[str, Any] | bool, Meta(extra_json_schema={"description": "JSON Schema of 2020-12, without `$ref`."})
    ]
    schema_is_exact: bool


class AgentTools(Struct, frozen=True, kw_only=True, rename="camel"):
    """What an agent may call.

    agent: The agent that would call.
    at: The time used for time windows and limits.
    total: How many tools are known.
    tools: The tools, sorted by name.
    """

    agent: ExplainedAgent
    at: Timestamp
    total: Count
    tools: list[ToolAccess]
