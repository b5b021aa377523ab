"""The subjects of the examples: one agent, its policy, and a call that people have to approve."""

from typing import Any

import msgspec

from app.http.views.policies import PolicyView
from app.model.policies import Policy
from app.model.rules import Rules
from app.model.times import parse_time_ms

AGENT = "01931f2e-7a51-7cc0-9e55-3f6f6d1a2b01"
POLICY = "01931f2e-9b10-7d42-8c11-5a0c2f9e4d02"
KEY = "01931f2d-1c22-7f03-b7aa-0d4e8b6c1f03"
ENTRY = "01931f30-04d5-7a64-a5d9-7b1e2c3d4e04"
CREATED, CHANGED, DECIDED = "2026-11-20T12:00:00.000Z", "2026-11-20T12:05:00.000Z", "2026-11-20T12:34:56.789Z"

READS = {"type": "tool_grant", "tools": ["booking.read", "flight.*"]}
REFUND_RULES = [
    {"type": "tool_denylist", "tools": ["booking.delete"]},
    {
        "type": "parameter_constraint",
        "tools": ["payment.refund"],
        "parameters": {"amount": {"min": 1, "max": 500}, "currency": {"enum": ["EUR", "USD"]}},
        "effect": "escalate",
    },
    {"type": "rate_limit", "tools": ["payment.*"], "rateLimit": {"maxCalls": 10, "windowSeconds": 3600}},
    {
        "type": "time_based",
        "tools": ["payment.*"],
        "timeWindow": {
            "allowedHours": [9, 10, 11, 14, 15, 16],
            "allowedDays": [1, 2, 3, 4, 5],
            "timezone": "Europe/Paris",
        },
    },
]
DECISION = {
    "id": ENTRY,
    "allowed": False,
    "result": "escalated",
    "policyId": POLICY,
    "rule": {"index": 1, "type": "parameter_constraint"},
    "reason": 'Parameter "amount" is 900, above the maximum 500',
    "code": "approval_required",
    "nextAction": "request_approval",
    "retryAfterSeconds": None,
    "latencyMs": 0.412,
    "timestamp": DECIDED,
}
SET_VERSION = "5f0c2a9e4d0281931f2e9b107d428c11"
POLICY_VIEW = msgspec.to_builtins(
    PolicyView.of(
        Policy(
            id=POLICY,
            agent_id=AGENT,
            key="refunds",
            name="refunds",
            rules=msgspec.convert(REFUND_RULES, Rules),
            priority=100,
            agent_message="Refunds of more than 500 go to a colleague; say so to the passenger.",
            version=2,
            created_ms=parse_time_ms(CREATED),
            updated_ms=parse_time_ms(CHANGED),
        )
    )
)
WARNING = {
    "code": "min_missing",
    "path": "$.rules[1].parameters.amount",
    "message": '"amount" may be negative, and -1000000 is below every maximum; give it a min',
}
WHY: dict[str, Any] = {
    "agent": {
        "id": AGENT,
        "name": "booking agent",
        "alias": "booking-agent",
        "status": "active",
        "groups": ["passengers"],
    },
    "policies": [
        {
            "id": POLICY,
            "name": "refunds",
            "version": 2,
            "kind": "grant",
            "priority": 100,
            "mode": "enforce",
            "governs": "agent",
            "group": None,
            "part": "failed",
            "rules": [
                {
                    "index": 1,
                    "type": "parameter_constraint",
                    "part": "failed",
                    "onFailure": "escalated",
                    "pattern": "payment.refund",
                    "reason": 'Parameter "amount" is 900, above the maximum 500',
                    "values": [
                        {"name": "parameters.amount", "value": 900},
                        {"name": "parameters.currency", "value": "EUR"},
                    ],
                },
                {
                    "index": 2,
                    "type": "rate_limit",
                    "part": "passed",
                    "onFailure": "denied",
                    "pattern": "payment.*",
                    "reason": None,
                    "values": [],
                    "quota": {
                        "most": 10,
                        "taken": 3,
                        "left": 7,
                        "windowSeconds": 3600,
                        "freesInSeconds": 1260.5,
                    },
                },
            ],
        }
    ],
}
