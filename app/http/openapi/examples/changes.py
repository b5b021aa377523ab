"""The trail of changes."""

from typing import Any

from app.http.openapi.examples.subjects import CHANGED, KEY, POLICY
from app.model.changes import Change

BODIES: dict[type, dict[str, Any]] = {}
ANSWERS: dict[type, Any] = {
    Change: {
        "id": "1795176300000-0",
        "timestamp": CHANGED,
        "actorId": KEY,
        "actorName": "deploy pipeline",
        "kind": "updated",
        "resourceType": "policy",
        "resourceId": POLICY,
        "before": {"priority": 0, "version": 1},
        "after": {"priority": 100, "version": 2},
        "sequence": 1155,
        "reason": "Refunds wait for their bounds no longer",
    },
}
