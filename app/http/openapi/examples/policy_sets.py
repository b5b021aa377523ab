"""All policies of an owner at once."""

from typing import Any

from app.http.api.policy_sets import PutPolicies
from app.http.openapi.examples.subjects import AGENT, POLICY, POLICY_VIEW, READS, SET_VERSION
from app.views.policy_sets import AppliedSetView, PolicySetView

BODIES: dict[type, dict[str, Any]] = {
    PutPolicies: {
        "one policy and no other": {
            "policies": [{"name": "reads", "rules": [READS]}],
        },
        "what an answer had, with a change": {
            "policies": [
                {"id": POLICY, "name": "reads", "rules": [READS], "priority": 10, "enabled": False},
            ],
        },
    },
}
ANSWERS: dict[type, Any] = {
    PolicySetView: {"agentId": AGENT, "group": None, "version": SET_VERSION, "policies": [POLICY_VIEW]},
    AppliedSetView: {
        "agentId": AGENT,
        "group": None,
        "version": SET_VERSION,
        "policies": [POLICY_VIEW],
        "created": [],
        "updated": [POLICY],
        "deleted": [],
        "warnings": [],
    },
}
