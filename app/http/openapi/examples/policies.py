"""Policies."""

from typing import Any

from app.http.api.policies import CreatePolicy, UpdatePolicy
from app.http.api.policy_lint import LintPolicies, PolicyWarnings
from app.http.api.policy_versions import RollBack
from app.http.openapi.examples.subjects import AGENT, CHANGED, KEY, POLICY, POLICY_VIEW, READS, REFUND_RULES, WARNING
from app.views.divergences import DivergenceView
from app.views.policies import PolicyView, WrittenPolicyView
from app.views.policy_versions import PolicyVersionView

BODIES: dict[type, dict[str, Any]] = {
    LintPolicies: {
        "a draft of an agent": {
            "agent_id": "booking",
            "policies": [{"key": "refunds", "name": "refunds", "rules": REFUND_RULES, "priority": 100}],
        }
    },
    CreatePolicy: {
        "reading is free": {"agent_id": AGENT, "name": "reads", "rules": [READS]},
        "refunds within bounds": {
            "agent_id": "booking",
            "key": "refunds",
            "name": "refunds",
            "rules": REFUND_RULES,
            "priority": 100,
        },
        "certificates need approval": {
            "agent_id": AGENT,
            "name": "certificates",
            "rules": [{"type": "approval_required", "tools": ["certificate.issue"]}],
            "priority": 200,
            "enabled": True,
        },
        "no agent deletes anything": {
            "kind": "guardrail",
            "name": "no deletions",
            "rules": [{"type": "tool_denylist", "tools": ["booking.delete"]}],
        },
    },
    UpdatePolicy: {
        "switch it off": {"enabled": False},
        "ask it first": {"priority": 1000},
        "try it without changing an answer": {"mode": "shadow"},
    },
    RollBack: {"as it was at first": {"version": 1}},
}
ANSWERS: dict[type, Any] = {
    PolicyView: POLICY_VIEW,
    WrittenPolicyView: {**POLICY_VIEW, "warnings": [WARNING]},
    PolicyWarnings: {"warnings": [WARNING]},
    DivergenceView: {
        "policyId": POLICY,
        "version": 2,
        "mode": "shadow",
        "enabled": True,
        "since": CHANGED,
        "total": 43,
        "counts": [
            {"result": "allowed", "shadowResult": "denied", "count": 41},
            {"result": "allowed", "shadowResult": "escalated", "count": 2},
        ],
    },
    PolicyVersionView: {
        "version": 2,
        "timestamp": CHANGED,
        "actorId": KEY,
        "actorName": "deploy pipeline",
        "reason": "Refunds wait for their bounds no longer",
        "changed": ["priority"],
        "policy": POLICY_VIEW,
    },
}
