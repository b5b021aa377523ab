"""Policy files as a JSON Schema, so that editors complete and check them."""

from functools import cache
from typing import Any

from app.policy_tools.files.policy_file import PolicySetFile
from app.policy_tools.struct_schemas.cross_field_requirements import AGENT_ENTRIES, GROUP_ENTRIES, WORKSPACE_ENTRIES
from app.policy_tools.struct_schemas.described import described

_REF = "#/$defs/{name}"
_NO_OWNER: dict[str, Any] = {"group": {"type": "null"}, "agentId": {"type": "null"}, "workspace": {"const": False}}
"""The values of the owner fields in a set without an owner; `agent` must be missing."""
_OWNERS: list[dict[str, Any]] = [
    {"required": ["agent"], "properties": {**_NO_OWNER, "policies": {"allOf": [AGENT_ENTRIES, GROUP_ENTRIES]}}},
    {
        "required": ["agentId"],
        "properties": {**_NO_OWNER, "agent": False, "agentId": {"type": "string"}, "policies": AGENT_ENTRIES},
    },
    {
        "required": ["group"],
        "properties": {**_NO_OWNER, "agent": False, "group": {"type": "string"}, "policies": GROUP_ENTRIES},
    },
    {
        "anyOf": [
            {"required": ["workspace"], "properties": {"workspace": {"const": True}}},
            {"required": ["agentId", "group"]},
        ],
        "properties": {**_NO_OWNER, "agent": False, "workspace": True, "policies": WORKSPACE_ENTRIES},
    },
]
"""The possible owners of a file's policies: an agent (in two spellings), a group, the workspace."""


@cache
def schema() -> dict[str, Any]:
    """The schema of a policy file, generated from the structs that read it."""
    schemas = described([PolicySetFile], _REF, {PolicySetFile.__name__: {"oneOf": _OWNERS}})
    own = schemas.pop(PolicySetFile.__name__)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Policies of Remit",
        **own,
        "$defs": schemas,
    }
