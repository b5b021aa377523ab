"""Approvals."""

from app.http.openapi.examples.subjects import AGENT, DECIDED, ENTRY, KEY, POLICY

APPROVE_CALL = {"a yes for one such call": {"note": "The passenger was on the phone", "uses": 1}}
APPROVAL_NOTE = {"with a reason": {"note": "Ask the passenger first"}}
APPROVAL = {
    "id": ENTRY,
    "status": "pending",
    "version": 1,
    "agentId": AGENT,
    "agentName": "booking agent",
    "toolName": "payment.refund",
    "consequence": "irreversible",
    "action": "authorize",
    "parameters": {"booking": "ZFA04Y", "amount": 900, "currency": "EUR"},
    "context": {"user": "ann", "session": "s-1"},
    "boundContext": ["session", "user"],
    "hides": False,
    "parametersDigest": "5eed" * 16,
    "policyId": POLICY,
    "policyName": "refunds",
    "policies": [POLICY],
    "rule": {"index": 1, "type": "parameter_constraint"},
    "reason": 'Parameter "amount" is 900, above the maximum 500',
    "requestedBy": {"keyId": KEY, "name": "booking runtime"},
    "requests": 1,
    "required": 1,
    "needs": "a person",
    "approvals": [],
    "accessRequest": {
        "context": {"business_justification": "The flight was cancelled"},
        "requestedAccess": {"requested_until": "2026-11-20T12:49:00Z"},
        "client": {"id": "booking-portal"},
    },
    "createdAt": DECIDED,
    "expiresAt": "2026-11-20T12:49:56.789Z",
    "usableUntil": None,
    "usesLeft": 1,
    "decisions": [ENTRY],
    "values": [
        {"path": "booking", "origin": "request"},
        {"path": "amount", "origin": "unverified"},
        {"path": "currency", "origin": "unverified"},
    ],
    "commands": [],
    "agentSays": {},
    "records": [],
}
APPROVAL_SUMMARY = {
    "waiting": 3,
    "oldest": [
        {
            "id": ENTRY,
            "agentId": AGENT,
            "agentName": "booking agent",
            "toolName": "payment.refund",
            "createdAt": DECIDED,
        }
    ],
    "decided": 50,
    "halfWithinSeconds": 142.5,
}
USUAL = {
    "calls": 50,
    "asked": 0,
    "values": [
        {"path": "booking", "calls": 50, "top": [{"value": "ZEAJW1", "count": 1}]},
        {
            "path": "amount",
            "calls": 50,
            "unusual": "220 times the usual 40; the most so far was 95",
            "difference": "other_unit",
            "least": 12,
            "median": 40,
            "most": 95,
        },
        {
            "path": "currency",
            "calls": 48,
            "unusual": "48 calls had USD here",
            "difference": "other_unit",
            "nearest": {"value": "USD", "count": 48},
            "top": [{"value": "USD", "count": 48}],
        },
    ],
    "omitted": 0,
}
DECIDE_TOGETHER = {
    "a no to two calls": {
        "approvals": [{"id": ENTRY, "version": 1}, {"id": KEY, "version": 2}],
        "decision": "deny",
        "note": "Not before Monday",
    }
}
DECIDED_APPROVAL = {
    "id": KEY,
    "error": {
        "code": "APPROVAL_CHANGED",
        "message": "The approval has changed since it was read; read it again, then decide",
        "details": [],
    },
}
