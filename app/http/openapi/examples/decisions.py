"""Decisions, explanations and outcomes."""

from app.http.openapi.examples.subjects import AGENT, DECIDED, DECISION, ENTRY, POLICY, WHY

REPORT_OUTCOME = {"never tried": {"status": "not_executed"}, "done": {"status": "executed"}}
AUTHORIZE_BODY = {
    "a refund": {
        "agent_id": AGENT,
        "tool_name": "payment.refund",
        "action": "authorize",
        "parameters": {"booking": "ZFA04Y", "amount": 900, "currency": "EUR"},
    },
    "the least there can be": {"agent_id": AGENT, "tool_name": "booking.read"},
    "by the agent's alias": {"agent_id": "booking", "tool_name": "booking.read"},
    "once a person has approved it": {
        "agent_id": AGENT,
        "tool_name": "payment.refund",
        "parameters": {"booking": "ZFA04Y", "amount": 900, "currency": "EUR"},
        "approval_id": ENTRY,
    },
}
AUTHORIZE_BATCH = {
    "a plan of two steps": {
        "calls": [AUTHORIZE_BODY["the least there can be"], AUTHORIZE_BODY["by the agent's alias"]],
        "semantics": "deny_on_first_deny",
    },
    "several calls": {"calls": [AUTHORIZE_BODY["a refund"], AUTHORIZE_BODY["the least there can be"]]},
}
BATCH_RESULTS = {
    "results": [
        {"decision": DECISION},
        {"error": {"code": "AGENT_NOT_FOUND", "message": "No agent has this id or alias", "details": []}},
    ]
}
EXPLAIN_BODY = {
    "a refund, next Monday at noon": {
        "agent_id": AGENT,
        "tool_name": "payment.refund",
        "parameters": {"booking": "ZFA04Y", "amount": 900, "currency": "EUR"},
        "at": "2026-11-23T12:00:00Z",
    },
    "with a draft": {
        "agent_id": AGENT,
        "tool_name": "booking.delete",
        "policies": [{"name": "deletions", "rules": [{"type": "tool_grant", "tools": ["booking.delete"]}]}],
    },
}
HOOK_CALL = {
    "a command": {
        "session_id": "3f1c0d3e-6b1f-4b6e-9a55-0e6f6f7f0a11",
        "transcript_path": "/home/ann/.claude/projects/shop/3f1c0d3e.jsonl",
        "cwd": "/home/ann/shop",
        "permission_mode": "default",
        "hook_event_name": "PreToolUse",
        "tool_name": "Bash",
        "tool_input": {"command": "git push --force", "description": "Push the branch"},
        "tool_use_id": "toolu_01ABC",
    }
}
DECISION_VIEW = DECISION
HOOK_ANSWER = {
    "hookSpecificOutput": {
        "hookEventName": "PreToolUse",
        "permissionDecision": "deny",
        "permissionDecisionReason": '"Bash" is on the denylist of policy "nothing leaves"',
    }
}
EXPLANATION = {
    "allowed": False,
    "result": "escalated",
    "policyId": POLICY,
    "policyName": "refunds",
    "rule": {"index": 1, "type": "parameter_constraint"},
    "reason": 'Parameter "amount" is 900, above the maximum 500',
    "code": "approval_required",
    "nextAction": "request_approval",
    "retryAfterSeconds": None,
    "at": DECIDED,
    **WHY,
}
CALL_OUTCOME = {
    "id": "01931f2d-0a00-7c11-8d22-6b5a4c3d2e0f",
    "decisionId": "01931f2d-0a00-7c11-8d22-6b5a4c3d2e05",
    "status": "not_executed",
    "refunded": 1,
    "timestamp": DECIDED,
}
