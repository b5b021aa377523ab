"""What a struct of the API asks for that no field of it can say, as JSON Schema; the structs are what decides."""

from typing import Any

from app.http.api.api_keys import CreateApiKey
from app.http.api.policies import CreatePolicy
from app.model.constraints import Circumstances, Constraint, Operand
from app.model.policies import (
    ApprovalRequired,
    Budgeted,
    Effect,
    ParameterConstraint,
    ParameterSchema,
    PolicyKind,
    RateLimited,
    Sequenced,
    TimeBased,
    TimeWindow,
    ToolAllowlist,
    ToolDenylist,
)
from app.model.sequences import CallSequence

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

_ASKS, _ASKS_FOR_ALL = {"const": "authorize"}, {"enum": ["read", "admin"]}
_EITHER = {"anyOf": [{"required": ["parameters"]}, {"required": ["context"]}]}
BEYOND_FIELDS: dict[str, dict[str, Any]] = {
    Constraint.__name__: {
        "minProperties": 1,
        "anyOf": [
            {"not": {"required": ["absent"]}},
            {"properties": {"absent": {"const": True}}, "maxProperties": 1},
        ],
    },
    **{each.__name__: {"allOf": [_ONE_OF_TWO]} for each in (ApprovalRequired, *_NEVER_ESCALATE)},
    **{each.__name__: {"allOf": [_ONE_OF_TWO, _TERMS]} for each in _MAY_ESCALATE},
    CreateApiKey.__name__: {
        "anyOf": [
            {"properties": {"agents": {"type": "null"}, "sessionFrom": {"type": "null"}}},
            {"properties": {"scopes": {"contains": _ASKS, "items": {"not": _ASKS_FOR_ALL}}}},
        ]
    },
    CreatePolicy.__name__: {
        "oneOf": [
            {"required": ["agent_id"], "properties": {"agent_id": {"type": "string"}, "group": {"type": "null"}}},
            {"required": ["group"], "properties": {"agent_id": {"type": "null"}, "group": {"type": "string"}}},
            {
                "required": ["kind"],
                "properties": {
                    "kind": {"const": PolicyKind.GUARDRAIL.value},
                    "agent_id": {"type": "null"},
                    "group": {"type": "null"},
                },
            },
        ]
    },
    Operand.__name__: {"minProperties": 1, "maxProperties": 1},
    Circumstances.__name__: _EITHER,
    ParameterConstraint.__name__: {"allOf": [_EITHER, _ONE_OF_TWO, _TERMS]},
    CallSequence.__name__: {"anyOf": [{"required": ["forbiddenAfter"]}, {"required": ["requiresBefore"]}]},
    TimeWindow.__name__: {"anyOf": [{"required": ["allowedHours"]}, {"required": ["allowedDays"]}]},
}
"""By the name of the struct."""


def without_terms(name: str, schema: dict[str, Any]) -> None:
    """`approval` is no property of a rule that never asks people."""
    if name in {each.__name__ for each in _NEVER_ESCALATE}:
        del schema["properties"]["approval"]
