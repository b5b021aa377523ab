"""Agents, and what they may call."""

from app.http.openapi.examples.subjects import AGENT, CREATED, DECIDED, ENTRY, POLICY, WHY

CREATE_AGENT = {
    "an agent": {"name": "booking agent", "description": "Answers passengers' mail"},
    "one of a group": {"name": "booking agent 2", "groups": ["passengers"]},
    "a user of an AuthZEN gateway": {"name": "Alice", "alias": "alice@example.com", "type": "user"},
    "one that programs call by name": {"name": "booking agent 3", "alias": "booking"},
}
UPDATE_AGENT = {"suspend it": {"status": "suspended"}, "give it another alias": {"alias": "booking/eu"}}
AGENT_VIEW = {
    "id": AGENT,
    "name": "booking agent",
    "alias": "booking",
    "type": "agent",
    "description": "Answers passengers' mail",
    "status": "active",
    "groups": ["passengers"],
    "version": 1,
    "createdAt": CREATED,
    "updatedAt": CREATED,
}
REMEMBERED = {
    "policyId": POLICY,
    "rule": {"index": 1, "type": "parameter_constraint"},
    "parameter": "recipient",
    "digest": "0b6f0c4f0bd0f6c54f3f7a9d5f0e5f62d3a0f5f0c6a1e8a5a2f4d8d3bb7c0a11",
    "approvalId": ENTRY,
    "approvedAt": DECIDED,
    "expiresAt": DECIDED,
}
AGENT_QUOTAS = {
    "agent": WHY["agent"],
    "at": DECIDED,
    "quotas": [
        {
            "policyId": POLICY,
            "policyName": "refunds",
            "rule": {"index": 2, "type": "rate_limit"},
            "effect": "deny",
            "text": "at most 10 calls in 3600 s, for each parameters.customer",
            "tools": ["payment.*"],
            "per": ["parameters.customer"],
            "values": {
                "total": 1,
                "fullest": [
                    {
                        "quota": {
                            "most": 10.0,
                            "taken": 9.0,
                            "left": 1.0,
                            "windowSeconds": 3600,
                            "freesInSeconds": 301.004,
                        },
                        "values": [{"name": "parameters.customer", "value": "ann"}],
                    }
                ],
            },
        }
    ],
}
NAMED_TOOLS = {"those of a server": {"names": ["payment.refund", "booking.read"]}}
AGENT_TOOLS = {
    "agent": WHY["agent"],
    "at": DECIDED,
    "total": 1,
    "tools": [
        {
            "name": "payment.refund",
            "catalogued": True,
            "consequence": "irreversible",
            "status": "conditional",
            "reason": None,
            "conditions": [
                {
                    "policyId": POLICY,
                    "policyName": "refunds",
                    "rule": {"index": 1, "type": "parameter_constraint"},
                    "effect": "deny",
                    "text": 'parameter "amount" is at least 1, at most 500',
                    "holds": None,
                },
                {
                    "policyId": POLICY,
                    "policyName": "refunds",
                    "rule": {"index": 2, "type": "rate_limit"},
                    "effect": "deny",
                    "text": "at most 10 calls in 3600 s",
                    "holds": True,
                    "quota": {
                        "most": 10.0,
                        "taken": 3.0,
                        "left": 7.0,
                        "windowSeconds": 3600,
                        "freesInSeconds": 1204.511,
                    },
                },
            ],
            "parameterSchema": {
                "type": "object",
                "properties": {"amount": {"type": "number", "minimum": 1, "maximum": 500}},
                "required": ["amount"],
            },
            "schemaIsExact": True,
        }
    ],
}
