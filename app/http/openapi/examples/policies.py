"""Policies."""

from typing import Any

from app.http.openapi.examples.subjects import (
    AGENT,
    CHANGED,
    ENTRY,
    KEY,
    POLICY,
    POLICY_VIEW,
    READS,
    REFUND_RULES,
    SET_VERSION,
    WARNING,
)

LINT_POLICIES = {
    "a draft of an agent": {
        "agent_id": "booking",
        "policies": [{"key": "refunds", "name": "refunds", "rules": REFUND_RULES, "priority": 100}],
    }
}
TEST_POLICIES = {
    "what is in force": {
        "agent_id": "booking",
        "tests": [
            {
                "name": "the third refund in an hour is denied",
                "before": [{"tool": "payment.refund", "parameters": {"amount": 5}, "times": 2}],
                "call": {"tool": "payment.refund", "parameters": {"amount": 5}, "at": "5m"},
                "want": "denied",
            }
        ],
        "never": [
            {
                "name": "nobody is paid more than 10000",
                "call": {"tool": "payment.refund", "parameters": {"amount": {"above": 10000}}},
                "result": ["allowed", "escalated"],
            }
        ],
    }
}
POLICY_TEST_RESULTS = {
    "passed": 1,
    "failed": 0,
    "tests": [
        {
            "name": "the third refund in an hour is denied",
            "passed": True,
            "problem": None,
            "got": {
                "result": "denied",
                "policy": "refunds",
                "ruleIndex": 2,
                "ruleType": "rate_limit",
                "reason": "Rate limit reached: 2 calls in 3600 s",
                "at": "2026-11-20T12:05:00.000Z",
                "untimed": [],
            },
        }
    ],
    "never": [
        {"name": "nobody is paid more than 10000", "holds": True, "broken_by": None, "tried": 12, "because": []},
    ],
}
COMPARE_POLICIES = {
    "a draft with what is in force": {
        "agent_id": "booking",
        "after": [
            {
                "key": "refunds",
                "name": "refunds",
                "rules": [
                    {
                        "type": "parameter_constraint",
                        "tools": ["payment.refund"],
                        "parameters": {"amount": {"max": 900}},
                    }
                ],
            }
        ],
    }
}
_NEWLY_ALLOWED: dict[str, Any] = {
    "from": "denied",
    "to": "allowed",
    "tool": "payment.refund",
    "like": [],
    "parameters": {"amount": 501},
    "context": {"session": "s", "request": "please send blue to me"},
    "at": None,
    "limits": [],
    "before": 'Parameter "amount" is 501, above the maximum 500',
    "after": 'Policy "refunds" allows "payment.refund"',
}
POLICY_COMPARISON = {
    "flips": [_NEWLY_ALLOWED],
    "limits": [
        {
            **_NEWLY_ALLOWED,
            "parameters": {"amount": 500},
            "limits": ["Rate limit reached: 2 calls in 3600 s"],
            "before": "Rate limit reached: 2 calls in 3600 s",
        }
    ],
    "tools": 2,
    "classes": 9,
    "tried": 8,
    "complete": False,
    "because": [{"tool": "payment.refund", "reason": '"order" is compared by meaning'}],
}
AGENT_BOUNDS = {
    "tools": [
        {
            "tool": "payment.refund",
            "like": [],
            "calls": "bounded",
            "bounds": [{"policy": "refunds", "effect": "deny", "text": 'parameter "amount" is at most 500'}],
            "examples": [
                {
                    "result": "allowed",
                    "parameters": {"amount": 500},
                    "context": {"session": "s", "request": "please send blue to me"},
                    "at": None,
                    "limits": [],
                    "reason": 'Policy "refunds" allows "payment.refund"',
                }
            ],
        }
    ],
    "idleRules": [{"policy": "refunds", "ruleIndex": 0, "ruleType": "tool_grant"}],
    "notJudged": [{"policy": "refunds", "ruleIndex": 3, "ruleType": "parameter_schema"}],
    "complete": False,
    "because": [{"tool": "payment.refund", "reason": "a schema is compared by meaning"}],
}
CREATE_POLICY = {
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
}
UPDATE_POLICY = {
    "switch it off": {"enabled": False},
    "ask it first": {"priority": 1000},
    "try it without changing an answer": {"mode": "shadow"},
}
ROLL_BACK = {"as it was at first": {"version": 1}}
WRITTEN_POLICY_VIEW = {**POLICY_VIEW, "warnings": [WARNING]}
POLICY_WARNINGS = {"warnings": [WARNING]}
DIVERGENCE_VIEW = {
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
}
POLICY_VERSION_VIEW = {
    "version": 2,
    "timestamp": CHANGED,
    "actorId": KEY,
    "actorName": "deploy pipeline",
    "reason": "Refunds wait for their bounds no longer",
    "changed": ["priority"],
    "policy": POLICY_VIEW,
}


PUT_POLICIES = {
    "one policy and no other": {
        "policies": [{"name": "reads", "rules": [READS]}],
    },
    "what an answer had, with a change": {
        "policies": [
            {"id": POLICY, "name": "reads", "rules": [READS], "priority": 10, "enabled": False},
        ],
    },
}
POLICY_SET_VIEW = {"agentId": AGENT, "group": None, "version": SET_VERSION, "policies": [POLICY_VIEW]}
APPLIED_SET_VIEW = {
    "agentId": AGENT,
    "group": None,
    "version": SET_VERSION,
    "policies": [POLICY_VIEW],
    "created": [],
    "updated": [POLICY],
    "deleted": [],
    "warnings": [],
}
PROPOSE_BODY = {
    "the sessions of one key in October": {
        "agent_id": AGENT,
        "from": "2026-10-01T00:00:00Z",
        "to": "2026-10-31T00:00:00Z",
        "filter": {"keyId": [KEY]},
    },
    "the last 30 days, and every tool that only reads": {"agent_id": AGENT, "reads": "all"},
}
PROPOSAL_LINE = {
    "proposal": {
        "from": "2026-10-01T00:00:00.000Z",
        "to": "2026-10-31T00:00:00.000Z",
        "policies": [{"name": "Reading", "rules": [{"type": "tool_grant", "tools": ["booking.read"]}]}],
        "evidence": [
            {
                "path": "policies[0].rules[0]",
                "calls": 451,
                "units": 48,
                "form": "seen",
                "examples": [{"value": "booking.read", "units": 48, "entry": ENTRY}],
                "leftOut": [],
            }
        ],
        "tools": [{"name": "booking.read", "use": "free", "calls": 451, "units": 48, "why": None}],
        "learned": {
            "calls": 451,
            "units": 48,
            "sessions": 89,
            "unnamed": 0,
            "failed": 4,
            "sessionsLeftOut": 0,
            "callsLeftOut": 0,
            "unreadable": 0,
        },
        "replay": {"allowed": 451, "escalated": 0, "denied": 0},
        "unseen": {"allowed": 451, "escalated": 0, "denied": 0},
        "hostile": {"calls": 0, "kinds": 0, "allowed": 0, "examples": []},
        "tests": [
            {
                "name": "booking.read, as users made it, is allowed",
                "call": {"tool": "booking.read", "parameters": {}, "context": {"session": "one"}},
                "want": "allowed",
            }
        ],
        "never": [],
        "warnings": [],
        "changes": None,
    }
}
_OWN = ("id", "agentId", "group", "version", "createdAt", "updatedAt")
_PLANNED = {"id": POLICY, **{name: value for name, value in POLICY_VIEW.items() if name not in _OWN}, "priority": 200}
POLICY_REVIEW_VIEW = {
    "id": ENTRY,
    "status": "pending",
    "agentId": AGENT,
    "group": None,
    "policies": [{"kind": "updated", "policyId": POLICY, "name": "refunds"}],
    "reason": "before the other policies",
    "askedBy": {"keyId": KEY, "name": "ann", "via": "key"},
    "createdAt": CHANGED,
    "expiresAt": "2026-11-27T12:05:00.000Z",
    "endedAt": None,
    "decidedBy": None,
    "note": "",
}
WHOLE_POLICY_REVIEW_VIEW = {
    **POLICY_REVIEW_VIEW,
    "policies": [{"kind": "updated", "policyId": POLICY, "name": "refunds", "before": POLICY_VIEW, "after": _PLANNED}],
    "after": [_PLANNED],
}
REVIEW_NOTE = {"with a note": {"note": "Compared with last week's calls"}, "without": {}}
