"""Cross-field requirements of the model's structs, as JSON Schema. The structs enforce them."""

from typing import Any

from app.model.constraints import EITHER_KIND, Circumstances, Constraint, Operand
from app.model.meaning_constraints import HostConstraint
from app.model.policies import PolicyKind, PolicyMode
from app.model.policy_sets import PolicyEntry
from app.model.quotas import Budget, RateLimit
from app.model.rule import Effect, Rule
from app.model.rules import TYPES
from app.model.sequences import CallSequence
from app.model.time_windows import TimeWindow

_RULES = {each.__name__: each for each in TYPES}
_ONE_OF_TWO = {"not": {"required": ["when", "unless"]}}
_TERMS = {
    "anyOf": [
        {"not": {"required": ["approval"]}},
        {"required": ["effect"], "properties": {"effect": {"const": Effect.ESCALATE.value}}},
    ]
}
"""Only a rule that escalates may have `approval`."""


def _without(*tags: str) -> dict[str, Any]:
    """None of the rules has one of these types."""
    of_these = {"required": ["type"], "properties": {"type": {"enum": list(tags)}}}
    return {"properties": {"rules": {"items": {"not": of_these}}}}


RULES_OF_A_KIND: dict[str, Any] = {
    "allOf": [
        {
            "anyOf": [
                {
                    "required": ["kind"],
                    "properties": {
                        "kind": {"const": PolicyKind.GUARDRAIL.value},
                        "mode": {"const": PolicyMode.ENFORCE.value},
                    },
                },
                _without(*(kind.tag() for kind in TYPES if kind.not_in_grants)),
            ]
        },
        {
            "anyOf": [
                {"properties": {"kind": {"const": PolicyKind.GRANT.value}}},
                _without(*(kind.tag() for kind in TYPES if kind.not_in_guardrails)),
            ]
        },
    ]
}
"""The rules that only guardrails can have, and those that only grants can have."""

_IS_GUARDRAIL = {"required": ["kind"], "properties": {"kind": {"const": PolicyKind.GUARDRAIL.value}}}
_NO_GROUP, _NO_AGENT = ({"properties": {name: {"type": "null"}}} for name in ("group", "agentId"))
AGENT_ENTRIES: dict[str, Any] = {"items": _NO_GROUP}
GROUP_ENTRIES: dict[str, Any] = {"items": _NO_AGENT}
WORKSPACE_ENTRIES: dict[str, Any] = {"items": {"allOf": [_IS_GUARDRAIL, _NO_GROUP, _NO_AGENT]}}
"""The policies of an agent, of a group and of the workspace: none names an owner of another kind, and the last are
guardrails.
"""


def _of_rule(kind: type[Rule]) -> dict[str, Any]:
    """The cross-field requirements of a type of rule."""
    conditional = (_ONE_OF_TWO,) if kind.is_conditional else ()
    terms = (_TERMS,) if "effect" in kind.__struct_fields__ else ()
    return {"allOf": [*kind.requirements, *conditional, *terms]}


_NO_REFUND: dict[str, Any] = {"not": {"enum": [True]}}
_ONE_SPAN: dict[str, Any] = {
    "oneOf": [
        {"required": ["windowSeconds"], "properties": {"timezone": False, "windowSeconds": {"type": "integer"}}},
        {"required": ["calendar"], "properties": {"refundable": _NO_REFUND}},
        {
            "required": ["windowSeconds"],
            "properties": {
                "timezone": False,
                "windowSeconds": {"enum": ["forever"]},
                "per": False,
                "refundable": _NO_REFUND,
            },
        },
    ]
}
_ONE_AMOUNT: dict[str, Any] = {
    "anyOf": [
        {"required": ["parameter"], "properties": {"context": False}},
        {"required": ["context"], "properties": {"parameter": False}},
    ]
}


CROSS_FIELD: dict[str, dict[str, Any]] = {
    Constraint.__name__: {
        "minProperties": 1,
        "anyOf": [
            {"not": {"required": ["absent"]}},
            # Not `const: true`, of which a generator of clients makes code that cannot be read.
            {"properties": {"absent": {"not": {"enum": [False]}}}, "maxProperties": 1},
        ],
    },
    **{kind.__name__: _of_rule(kind) for kind in TYPES},
    PolicyEntry.__name__: RULES_OF_A_KIND,
    Operand.__name__: {"minProperties": 1, "maxProperties": 1},
    Circumstances.__name__: EITHER_KIND,
    HostConstraint.__name__: {"anyOf": [{"required": [name]} for name in ("in", "networks", "notNetworks")]},
    CallSequence.__name__: {
        "anyOf": [
            {"required": ["forbiddenAfter"], "properties": {"once": {"not": {"enum": [True]}}}},
            {"required": ["requiresBefore"]},
        ]
    },
    RateLimit.__name__: _ONE_SPAN,
    Budget.__name__: _ONE_SPAN | _ONE_AMOUNT,
    TimeWindow.__name__: {
        "anyOf": [{"required": [name]} for name in ("allowedHours", "allowedDays", "windows", "except")],
        "not": {
            "required": ["windows"],
            "anyOf": [{"required": ["allowedHours"]}, {"required": ["allowedDays"]}],
        },
    },
}
"""Requirements by the name of the struct."""


def without_terms(name: str, schema: dict[str, Any]) -> None:
    """Remove properties that a rule cannot use, such as `approval` on one that never asks people."""
    kind = _RULES.get(name)
    if kind is None:
        return
    if "effect" not in kind.__struct_fields__ and kind.escalates is Rule.escalates:
        del schema["properties"]["approval"]
    if not kind.is_conditional:
        del schema["properties"]["when"], schema["properties"]["unless"]
