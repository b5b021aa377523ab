"""Requirements on whole bodies that no single field can express, as JSON Schema. The structs enforce them."""

from typing import Any

from app.http.api.api_keys import CreateApiKey
from app.http.api.catalog import PutCatalog
from app.http.api.policies import CreatePolicy
from app.model.policies import PolicyKind
from app.struct_schemas.beyond_fields import BREAKERS_IN_GUARDRAILS

_ASKS, _ASKS_FOR_ALL = {"const": "authorize"}, {"enum": ["read", "admin"]}
BODIES_BEYOND_FIELDS: dict[str, dict[str, Any]] = {
    CreateApiKey.__name__: {
        "anyOf": [
            {"properties": {"agents": {"type": "null"}, "sessionFrom": {"type": "null"}}},
            {"properties": {"scopes": {"contains": _ASKS, "items": {"not": _ASKS_FOR_ALL}}}},
        ]
    },
    CreatePolicy.__name__: {
        "allOf": [BREAKERS_IN_GUARDRAILS],
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
        ],
    },
    PutCatalog.__name__: {"oneOf": [{"required": ["tools"]}, {"required": ["result"]}]},
}
"""Requirements by the name of the struct."""
