"""One example of everything that goes in or out, shown in the OpenAPI document and on /docs.

Tests decode those that go in and compare those that come out with what the service answers. It is data and no code, and
as long as the API has bodies and answers.
"""

from typing import Any

from app.http.api.agents import CreateAgent, UpdateAgent
from app.http.api.api_keys import CreateApiKey
from app.http.api.approvals import ApprovalNote, ApproveCall
from app.http.api.authorize_body import AuthorizeBody
from app.http.api.catalog import PutCatalog, PutTool
from app.http.api.claude_code_hook import HookAnswer, HookCall
from app.http.api.decisions import ReportOutcome
from app.http.api.explain import ExplainBody
from app.http.api.health import Health
from app.http.api.policies import CreatePolicy, UpdatePolicy
from app.http.api.policy_lint import LintPolicies, PolicyWarnings
from app.http.api.policy_sets import PutPolicies
from app.http.api.policy_versions import RollBack
from app.http.api.replay import ReplayBody
from app.http.api.webhooks import CreateWebhook, Retried, RetryEvents, RotateSecret, SendTest, UpdateWebhook
from app.model.approvals import Approval
from app.model.audit import AuditEntry, Backlog
from app.model.changes import Change
from app.model.explanations import Explanation, PastExplanation
from app.model.outcomes import CallOutcome
from app.model.replays import ReplayLine
from app.model.tool_access import AgentTools
from app.views.agents import AgentView
from app.views.api_keys import ApiKeyView, CreatedApiKey
from app.views.catalog import CatalogToolView, ChangedCatalogView
from app.views.decisions import DecisionView
from app.views.divergences import DivergenceView
from app.views.policies import PolicyView, WrittenPolicyView
from app.views.policy_sets import AppliedSetView, PolicySetView
from app.views.policy_versions import PolicyVersionView
from app.views.verification import VerificationView
from app.views.webhooks import WebhookView
from app.webhooks.delivery import Attempt
from app.webhooks.tries import UnsentView

_AGENT = "01931f2e-7a51-7cc0-9e55-3f6f6d1a2b01"
_POLICY = "01931f2e-9b10-7d42-8c11-5a0c2f9e4d02"
_KEY = "01931f2d-1c22-7f03-b7aa-0d4e8b6c1f03"
_ENTRY = "01931f30-04d5-7a64-a5d9-7b1e2c3d4e04"
_CREATED, _CHANGED, _DECIDED = "2026-11-20T12:00:00.000Z", "2026-11-20T12:05:00.000Z", "2026-11-20T12:34:56.789Z"

_READS = {"type": "tool_allowlist", "tools": ["booking.read", "flight.*"]}
_REFUND_RULES = [
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
_DECISION = {
    "id": _ENTRY,
    "allowed": False,
    "result": "escalated",
    "policyId": _POLICY,
    "rule": {"index": 1, "type": "parameter_constraint"},
    "reason": 'Parameter "amount" is 900, above the maximum 500',
    "code": "approval_required",
    "nextAction": "request_approval",
    "retryAfterSeconds": None,
    "latencyMs": 0.412,
    "timestamp": _DECIDED,
}
_SET_VERSION = "5f0c2a9e4d0281931f2e9b107d428c11"
_TOOL = {
    "title": "Refund a payment",
    "description": "Pays back all or a part of a payment.",
    "inputSchema": {
        "type": "object",
        "properties": {"booking": {"type": "string"}, "amount": {"type": "number"}, "currency": {"type": "string"}},
        "required": ["booking", "amount"],
    },
}
_POLICY_VIEW = {
    "id": _POLICY,
    "agentId": _AGENT,
    "group": None,
    "key": "refunds",
    "kind": "grant",
    "name": "refunds",
    "rules": _REFUND_RULES,
    "priority": 100,
    "enabled": True,
    "mode": "enforce",
    "agentMessage": "Refunds of more than 500 go to a colleague; say so to the passenger.",
    "version": 2,
    "createdAt": _CREATED,
    "updatedAt": _CHANGED,
}
_WARNING = {
    "code": "min_missing",
    "path": "$.rules[1].parameters.amount",
    "message": '"amount" may be negative, and -1000000 is below every maximum; give it a min',
}
_KEY_FIELDS = {
    "id": _KEY,
    "name": "booking agent, production",
    "prefix": "svc_5eed5eed",
    "scopes": ["authorize"],
    "agents": [_AGENT],
    "expiresAt": "2027-01-01T00:00:00.000Z",
}

_WHY: dict[str, Any] = {
    "agent": {
        "id": _AGENT,
        "name": "booking agent",
        "alias": "booking-agent",
        "status": "active",
        "groups": ["passengers"],
    },
    "policies": [
        {
            "id": _POLICY,
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

BODIES: dict[type, dict[str, Any]] = {
    ApproveCall: {"a yes for one such call": {"note": "The passenger was on the phone", "uses": 1}},
    ReportOutcome: {"never tried": {"status": "not_executed"}, "done": {"status": "executed"}},
    ApprovalNote: {"with a reason": {"note": "Ask the passenger first"}},
    AuthorizeBody: {
        "a refund": {
            "agent_id": _AGENT,
            "tool_name": "payment.refund",
            "action": "authorize",
            "parameters": {"booking": "ZFA04Y", "amount": 900, "currency": "EUR"},
        },
        "the least there can be": {"agent_id": _AGENT, "tool_name": "booking.read"},
        "by the agent's alias": {"agent_id": "booking", "tool_name": "booking.read"},
    },
    ExplainBody: {
        "a refund, next Monday at noon": {
            "agent_id": _AGENT,
            "tool_name": "payment.refund",
            "parameters": {"booking": "ZFA04Y", "amount": 900, "currency": "EUR"},
            "at": "2026-11-23T12:00:00Z",
        },
        "with a draft": {
            "agent_id": _AGENT,
            "tool_name": "booking.delete",
            "policies": [{"name": "deletions", "rules": [{"type": "tool_allowlist", "tools": ["booking.delete"]}]}],
        },
    },
    HookCall: {
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
    },
    CreateAgent: {
        "an agent": {"name": "booking agent", "description": "Answers passengers' mail"},
        "one of a group": {"name": "booking agent 2", "groups": ["passengers"]},
        "one that programs call by name": {"name": "booking agent 3", "alias": "booking"},
    },
    LintPolicies: {
        "a draft of an agent": {
            "agent_id": "booking",
            "policies": [{"key": "refunds", "name": "refunds", "rules": _REFUND_RULES, "priority": 100}],
        }
    },
    UpdateAgent: {"suspend it": {"status": "suspended"}, "give it another alias": {"alias": "booking/eu"}},
    CreatePolicy: {
        "reading is free": {"agent_id": _AGENT, "name": "reads", "rules": [_READS]},
        "refunds within bounds": {
            "agent_id": "booking",
            "key": "refunds",
            "name": "refunds",
            "rules": _REFUND_RULES,
            "priority": 100,
        },
        "certificates need approval": {
            "agent_id": _AGENT,
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
    PutPolicies: {
        "one policy and no other": {
            "policies": [{"name": "reads", "rules": [_READS]}],
        },
        "what an answer had, with a change": {
            "policies": [
                {"id": _POLICY, "name": "reads", "rules": [_READS], "priority": 10, "enabled": False},
            ],
        },
    },
    PutCatalog: {
        "the result of tools/list": {"tools": [{"name": "payment.refund", **_TOOL}]},
        "the whole message": {"jsonrpc": "2.0", "id": 2, "result": {"tools": [{"name": "payment.refund", **_TOOL}]}},
    },
    PutTool: {"a tool with its schema": _TOOL},
    ReplayBody: {
        "a stricter draft for one agent": {
            "agent_id": _AGENT,
            "from": "2026-11-13T00:00:00Z",
            "to": "2026-11-20T00:00:00Z",
            "policies": [{"name": "bookings", "rules": [_READS]}],
        },
        "are the decisions of the last week those of the policies?": {"agent_id": _AGENT},
    },
    UpdatePolicy: {
        "switch it off": {"enabled": False},
        "ask it first": {"priority": 1000},
        "try it without changing an answer": {"mode": "shadow"},
    },
    RollBack: {"as it was at first": {"version": 1}},
    CreateApiKey: {
        "for a PEP": {
            "name": "booking agent, production",
            "scopes": ["authorize"],
            "agents": [_AGENT],
            "expiresAt": "2027-01-01T00:00:00Z",
        },
        "an admin": {"name": "deploy pipeline", "scopes": ["admin"]},
    },
    CreateWebhook: {
        "approvals, for a service": {
            "url": "https://approvals.example.com/remit",
            "events": ["approval.requested", "approval.decided", "approval.expired"],
        },
        "approvals, for a channel of Slack": {
            "url": "https://hooks.slack.com/services/T000/B000/XXXX",
            "events": ["approval.requested"],
            "format": "slack",
        },
        "one denial in a hundred": {
            "url": "https://siem.example.com/denials",
            "events": ["decision.denied"],
            "denied": {"ruleTypes": ["tool_denylist", "parameter_constraint"], "sample": 0.01},
        },
    },
    UpdateWebhook: {"switch it off": {"enabled": False}, "hear of policies": {"events": ["policy.changed"]}},
    RotateSecret: {"at once": {"overlapSeconds": 0}, "within a week": {"overlapSeconds": 604800}},
    SendTest: {"a test": {}},
    RetryEvents: {"all": {}, "one": {"event": "msg_0c0ffee00c0ffee00c0ffee00c0ffee0"}},
}

ANSWERS: dict[type, Any] = {
    DecisionView: _DECISION,
    HookAnswer: {
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": "deny",
            "permissionDecisionReason": '"Bash" is on the denylist of policy "nothing leaves"',
        }
    },
    Explanation: {
        "allowed": False,
        "result": "escalated",
        "policyId": _POLICY,
        "policyName": "refunds",
        "rule": {"index": 1, "type": "parameter_constraint"},
        "reason": 'Parameter "amount" is 900, above the maximum 500',
        "code": "approval_required",
        "nextAction": "request_approval",
        "retryAfterSeconds": None,
        "at": _DECIDED,
        **_WHY,
    },
    PastExplanation: {
        "id": _ENTRY,
        "result": "escalated",
        "policyId": _POLICY,
        "policyName": "refunds",
        "rule": {"index": 1, "type": "parameter_constraint"},
        "reason": 'Parameter "amount" is 900, above the maximum 500',
        "code": "approval_required",
        "at": _DECIDED,
        **_WHY,
        "unknown": [],
    },
    AgentView: {
        "id": _AGENT,
        "name": "booking agent",
        "alias": "booking",
        "description": "Answers passengers' mail",
        "status": "active",
        "groups": ["passengers"],
        "version": 1,
        "createdAt": _CREATED,
        "updatedAt": _CREATED,
    },
    PolicyView: _POLICY_VIEW,
    PolicySetView: {"agentId": _AGENT, "group": None, "version": _SET_VERSION, "policies": [_POLICY_VIEW]},
    WrittenPolicyView: {**_POLICY_VIEW, "warnings": [_WARNING]},
    PolicyWarnings: {"warnings": [_WARNING]},
    AppliedSetView: {
        "agentId": _AGENT,
        "group": None,
        "version": _SET_VERSION,
        "policies": [_POLICY_VIEW],
        "created": [],
        "updated": [_POLICY],
        "deleted": [],
        "warnings": [],
    },
    DivergenceView: {
        "policyId": _POLICY,
        "version": 2,
        "mode": "shadow",
        "enabled": True,
        "since": _CHANGED,
        "total": 43,
        "counts": [
            {"result": "allowed", "shadowResult": "denied", "count": 41},
            {"result": "allowed", "shadowResult": "escalated", "count": 2},
        ],
    },
    PolicyVersionView: {
        "version": 2,
        "timestamp": _CHANGED,
        "actorId": _KEY,
        "actorName": "deploy pipeline",
        "reason": "Refunds wait for their bounds no longer",
        "changed": ["priority"],
        "policy": _POLICY_VIEW,
    },
    AgentTools: {
        "agent": _WHY["agent"],
        "at": _DECIDED,
        "total": 1,
        "tools": [
            {
                "name": "payment.refund",
                "catalogued": True,
                "status": "conditional",
                "reason": None,
                "conditions": [
                    {
                        "policyId": _POLICY,
                        "policyName": "refunds",
                        "rule": {"index": 1, "type": "parameter_constraint"},
                        "effect": "deny",
                        "text": 'parameter "amount" at least 1, at most 500',
                        "holds": None,
                    },
                    {
                        "policyId": _POLICY,
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
    },
    CatalogToolView: {
        "type": "tool",
        "name": "payment.refund",
        "catalogued": True,
        **_TOOL,
        "createdAt": _CREATED,
        "updatedAt": _CHANGED,
        "version": 2,
    },
    ChangedCatalogView: {
        "version": _SET_VERSION,
        "tools": 12,
        "added": [],
        "changed": ["payment.refund"],
        "removed": [],
    },
    WebhookView: {
        "id": _KEY,
        "url": "https://approvals.example.com/remit",
        "events": ["approval.requested", "approval.decided"],
        "format": "standard",
        "denied": None,
        "enabled": True,
        "secrets": [{"number": 1, "signsUntil": None}],
        "secret": "whsec_5P9fZm8mzHcWyRnD0Wk4nS2b3oJq0yXvVQ1l6T7uKcE=",
        "waiting": 0,
        "parked": 0,
        "delivered": 0,
        "lost": 0,
        "lastError": None,
        "createdAt": _CREATED,
        "updatedAt": _CREATED,
        "version": 1,
    },
    Attempt: {"delivered": True, "status": 204, "error": "", "milliseconds": 41},
    Retried: {"events": 3},
    UnsentView: {
        "id": "msg_0c0ffee00c0ffee00c0ffee00c0ffee0",
        "type": "approval.requested",
        "status": "waiting",
        "attempts": 4,
        "error": "the receiver answered 503",
        "since": _CREATED,
        "nextAttemptAt": _CHANGED,
    },
    CreatedApiKey: {**_KEY_FIELDS, "createdAt": _CREATED, "key": "svc_5eed5eed5eed5eed5eed5eed5eed5eed"},
    ApiKeyView: {**_KEY_FIELDS, "lastUsedAt": _DECIDED, "createdAt": _CREATED},
    AuditEntry: {
        "id": _ENTRY,
        "agentId": _AGENT,
        "keyId": _KEY,
        "action": "authorize",
        "toolName": "payment.refund",
        "parameters": {"booking": "ZFA04Y", "amount": 900, "currency": "EUR"},
        **{name: _DECISION[name] for name in ("result", "policyId", "rule", "reason", "latencyMs", "timestamp")},
        "context": {"user_id": "mia_li_3668", "environment": "production"},
        "policyVersion": 2,
        "code": "approval_required",
    },
    ReplayLine: {
        "report": {
            "from": "2026-11-13T00:00:00.000Z",
            "to": "2026-11-20T00:00:00.000Z",
            "judged": 41250,
            "unchanged": 41249,
            "flipped": 1,
            "flips": [
                {
                    "was": "allowed",
                    "becomes": "denied",
                    "toolName": "booking.refund",
                    "by": {
                        "policyId": _POLICY,
                        "policyName": "bookings",
                        "rule": {"index": 1, "type": "parameter_constraint"},
                    },
                    "nowBy": {"policyId": None, "policyName": None, "rule": None},
                    "count": 1,
                    "samples": [
                        {
                            "id": _ENTRY,
                            "agentId": _AGENT,
                            "timestamp": _DECIDED,
                            "reason": 'Policy "bookings" allows "booking.refund"',
                            "newReason": "No policy matches this call: default deny",
                        }
                    ],
                }
            ],
            "notListed": 0,
            "unjudged": {"hidden": 0, "limits": 0, "edited": 0, "unknown": 0, "unreadable": 0},
            "approved": 0,
            "inactive": 0,
            "trips": 0,
            "warmedUp": 0,
        }
    },
    CallOutcome: {
        "id": "01931f2d-0a00-7c11-8d22-6b5a4c3d2e0f",
        "decisionId": "01931f2d-0a00-7c11-8d22-6b5a4c3d2e05",
        "status": "not_executed",
        "refunded": 1,
        "timestamp": _DECIDED,
    },
    Approval: {
        "id": _ENTRY,
        "status": "pending",
        "version": 1,
        "agentId": _AGENT,
        "toolName": "payment.refund",
        "action": "authorize",
        "parameters": {"booking": "ZFA04Y", "amount": 900, "currency": "EUR"},
        "context": {"user": "ann", "session": "s-1"},
        "boundContext": ["session", "user"],
        "hides": False,
        "parametersDigest": "5eed" * 16,
        "policyId": _POLICY,
        "rule": {"index": 1, "type": "parameter_constraint"},
        "reason": 'Parameter "amount" is 900, above the maximum 500',
        "requestedBy": {"keyId": _KEY, "name": "booking runtime"},
        "requests": 1,
        "required": 1,
        "approvals": [],
        "createdAt": _DECIDED,
        "expiresAt": "2026-11-20T12:49:56.789Z",
        "usableUntil": None,
        "usesLeft": 1,
        "decisions": [_ENTRY],
    },
    Change: {
        "id": "1795176300000-0",
        "timestamp": _CHANGED,
        "actorId": _KEY,
        "actorName": "deploy pipeline",
        "kind": "updated",
        "resourceType": "policy",
        "resourceId": _POLICY,
        "before": {"priority": 0, "version": 1},
        "after": {"priority": 100, "version": 2},
        "sequence": 1155,
        "reason": "Refunds wait for their bounds no longer",
    },
    Backlog: {
        "unsealed": 131,
        "lagSeconds": 4.2,
        "lastSequence": 1155,
        "sealedSequence": 1024,
        "firstSequence": 1,
        "segments": 2,
        "poison": 0,
    },
    VerificationView: {
        "intact": True,
        "complete": True,
        "finding": None,
        "checkpoint": (
            f"01931f2d-0a00-7c11-8d22-6b5a4c3d2e05 2 1024 {'5eed' * 16} {_DECIDED} 1155 {'ca11' * 16} "
            f"40 41 {'c0de' * 16}"
        ),
        "firstSegment": 1,
        "segments": 2,
        "entries": 1024,
        "unsealed": 131,
        "changes": 41,
        "checked": [
            "segments 1 to 2: 1024 entries, links and index",
            "stream: 131 entries, that none is missing, added or unreadable",
            "changes: 41, of which 1 are not chained yet",
        ],
        "unchecked": [],
    },
    Health: {"status": "ok"},
}
