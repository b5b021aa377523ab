"""Cross-field requirements of whole bodies, as JSON Schema. The structs enforce them."""

from typing import Any

from app.http.api.api_keys import CreateApiKey
from app.http.api.catalog import PutCatalog
from app.http.api.policies import CreatePolicy
from app.http.api.policy_lint import LintPolicies
from app.http.api.replay import ReplayBody
from app.model.policies import PolicyKind
from app.policy_tools.struct_schemas.cross_field_requirements import (
    AGENT_ENTRIES,
    GROUP_ENTRIES,
    RULES_OF_A_KIND,
    WORKSPACE_ENTRIES,
)

_ASKS, _ASKS_FOR_ALL = {"const": "authorize"}, {"enum": ["read", "admin"]}
_NONE, _TEXT = {"type": "null"}, {"type": "string"}
_OWNED_ENTRIES = [
    {"required": ["agent_id"], "properties": {"agent_id": _TEXT, "group": _NONE, "policies": AGENT_ENTRIES}},
    {"required": ["group"], "properties": {"agent_id": _NONE, "group": _TEXT, "policies": GROUP_ENTRIES}},
    {"properties": {"agent_id": _NONE, "group": _NONE, "policies": WORKSPACE_ENTRIES}},
]
"""Policies of the agent or the group named beside them; with neither, of the workspace."""
CROSS_FIELD_OF_BODIES: dict[str, dict[str, Any]] = {
    CreateApiKey.__name__: {
        "anyOf": [
            {"properties": {"agents": {"type": "null"}, "sessionFrom": {"type": "null"}}},
            {"properties": {"scopes": {"contains": _ASKS, "items": {"not": _ASKS_FOR_ALL}}}},
        ]
    },
    CreatePolicy.__name__: {
        **RULES_OF_A_KIND,
        "oneOf": [
            {"required": ["agent_id"], "properties": {"agent_id": _TEXT, "group": _NONE}},
            {"required": ["group"], "properties": {"agent_id": _NONE, "group": _TEXT}},
            {
                "required": ["kind"],
                "properties": {
                    "kind": {"const": PolicyKind.GUARDRAIL.value},
                    "agent_id": _NONE,
                    "group": _NONE,
                },
            },
        ],
    },
    LintPolicies.__name__: {"oneOf": _OWNED_ENTRIES},
    ReplayBody.__name__: {"oneOf": _OWNED_ENTRIES},
    PutCatalog.__name__: {"oneOf": [{"required": ["tools"]}, {"required": ["result"]}]},
}
"""Requirements by the name of the struct."""
