"""One example of every request and answer body, shown in the OpenAPI document and on /docs.

Each file has the examples of one resource. Tests decode the requests, and compare the answers with the service's own.
"""

from types import ModuleType
from typing import Any

from app.http.openapi.examples import (
    agents,
    api_keys,
    approvals,
    audit_log,
    catalog,
    changes,
    decisions,
    policies,
    policy_sets,
    service,
    webhooks,
)

_RESOURCES: tuple[ModuleType, ...] = (
    agents,
    api_keys,
    approvals,
    audit_log,
    catalog,
    changes,
    decisions,
    policies,
    policy_sets,
    service,
    webhooks,
)

BODIES: dict[type, dict[str, Any]] = {kind: named for each in _RESOURCES for kind, named in each.BODIES.items()}
ANSWERS: dict[type, Any] = {kind: example for each in _RESOURCES for kind, example in each.ANSWERS.items()}
