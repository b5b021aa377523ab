"""Cross-field requirements of the model's structs, as JSON Schema. The structs enforce them."""

from typing import Any

from app.model.constraints import Circumstances, Constraint, Operand
from app.model.policies import PolicyKind, PolicyMode
from app.model.policy_sets import PolicyEntry
from app.model.quotas import BreakerAction
from app.model.rules import (
    ApprovalRequired,
    Budgeted,
    DenialCounted,
    Effect,
    ParameterConstraint,
    ParameterSchema,
    RateLimited,
    Sequenced,
    TimeBased,
    ToolAllowlist,
    ToolDenylist,
)
from app.model.sequences import CallSequence
from app.model.time_windows import TimeWindow

_MAY_ESCALATE = (ParameterSchema, RateLimited, Budgeted, Sequenced, TimeBased)
_NEVER_ESCALATE = (ToolAllowlist, ToolDenylist)
_ONE_OF_TWO = {"not": {"required": ["when", "unless"]}}
_TERMS = {
    "anyOf": [
        {"not": {"required": ["approval"]}},
        {"required": ["effect"], "properties": {"effect": {"const": Effect.ESCALATE.value}}},
    ]
}
"""Only a rule that escalates says what is asked of people."""

_BREAKER_TERMS = {
    "anyOf": [
        {"not": {"required": ["approval"]}},
        {"properties": {"denialBreaker": {"properties": {"action": {"const": BreakerAction.ESCALATE.value}}}}},
    ]
}
_BREAKER = {"required": ["type"], "properties": {"type": {"const": "denial_breaker"}}}
BREAKERS_IN_GUARDRAILS = {
    "anyOf": [
        {
            "required": ["kind"],
            "properties": {"kind": {"const": PolicyKind.GUARDRAIL.value}, "mode": {"const": PolicyMode.ENFORCE.value}},
        },
        {"properties": {"rules": {"items": {"not": _BREAKER}}}},
    ]
}

_IS_GUARDRAIL = {"required": ["kind"], "properties": {"kind": {"const": PolicyKind.GUARDRAIL.value}}}
_NO_GROUP, _NO_AGENT = ({"properties": {name: {"type": "null"}}} for name in ("group", "agentId"))
AGENT_ENTRIES: dict[str, Any] = {"items": _NO_GROUP}
GROUP_ENTRIES: dict[str, Any] = {"items": _NO_AGENT}
WORKSPACE_ENTRIES: dict[str, Any] = {"items": {"allOf": [_IS_GUARDRAIL, _NO_GROUP, _NO_AGENT]}}
"""The policies of an agent, of a group and of the workspace: none names an owner of another kind, and the last are
guardrails.
"""

_EITHER = {"anyOf": [{"required": ["parameters"]}, {"required": ["context"]}]}
CROSS_FIELD: dict[str, dict[str, Any]] = {
    Constraint.__name__: {
        "minProperties": 1,
        "anyOf": [
            {"not": {"required": ["absent"]}},
            {"properties": {"absent": {"const": True}}, "maxProperties": 1},
        ],
    },
    **{each.__name__: {"allOf": [_ONE_OF_TWO]} for each in (ApprovalRequired, *_NEVER_ESCALATE)},
    **{each.__name__: {"allOf": [_ONE_OF_TWO, _TERMS]} for each in _MAY_ESCALATE},
    DenialCounted.__name__: {"allOf": [_BREAKER_TERMS]},
    PolicyEntry.__name__: {"allOf": [BREAKERS_IN_GUARDRAILS]},
    Operand.__name__: {"minProperties": 1, "maxProperties": 1},
    Circumstances.__name__: _EITHER,
    ParameterConstraint.__name__: {"allOf": [_EITHER, _ONE_OF_TWO, _TERMS]},
    CallSequence.__name__: {"anyOf": [{"required": ["forbiddenAfter"]}, {"required": ["requiresBefore"]}]},
    TimeWindow.__name__: {"anyOf": [{"required": ["allowedHours"]}, {"required": ["allowedDays"]}]},
}
"""Requirements by the name of the struct."""


def without_terms(name: str, schema: dict[str, Any]) -> None:
    """Remove properties that a rule cannot use, such as `approval` on one that never asks people."""
    if name in {each.__name__ for each in _NEVER_ESCALATE}:
        del schema["properties"]["approval"]
    if name == DenialCounted.__name__:
        del schema["properties"]["when"], schema["properties"]["unless"]
