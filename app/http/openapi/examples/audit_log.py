"""The audit log, its explanations and replays."""

from typing import Any

from app.http.openapi.examples.subjects import (
    AGENT,
    CHANGED,
    CREATED,
    DECIDED,
    DECISION,
    ENTRY,
    KEY,
    POLICY,
    READS,
    WHY,
)

REPLAY_BODY = {
    "a stricter draft for one agent": {
        "agent_id": AGENT,
        "from": "2026-11-13T00:00:00Z",
        "to": "2026-11-20T00:00:00Z",
        "policies": [{"name": "bookings", "rules": [READS]}],
    },
    "are the decisions of the last week those of the policies?": {"agent_id": AGENT},
}
PAST_EXPLANATION = {
    "id": ENTRY,
    "result": "escalated",
    "policyId": POLICY,
    "policyName": "refunds",
    "rule": {"index": 1, "type": "parameter_constraint"},
    "reason": 'Parameter "amount" is 900, above the maximum 500',
    "code": "approval_required",
    "at": DECIDED,
    **WHY,
    "unknown": [],
}
AUDIT_ENTRY = {
    "id": ENTRY,
    "agentId": AGENT,
    "keyId": KEY,
    "action": "authorize",
    "toolName": "payment.refund",
    "parameters": {"booking": "ZFA04Y", "amount": 900, "currency": "EUR"},
    **{name: DECISION[name] for name in ("result", "policyId", "rule", "reason", "latencyMs", "timestamp")},
    "context": {"user_id": "mia_li_3668", "environment": "production"},
    "policyVersion": 2,
    "code": "approval_required",
}
REPLAY_LINE = {
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
                    "policyId": POLICY,
                    "policyName": "bookings",
                    "rule": {"index": 1, "type": "parameter_constraint"},
                },
                "nowBy": {"policyId": None, "policyName": None, "rule": None},
                "count": 1,
                "samples": [
                    {
                        "id": ENTRY,
                        "agentId": AGENT,
                        "timestamp": DECIDED,
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
}
BACKLOG = {
    "unsealed": 131,
    "lagSeconds": 4.2,
    "lastSequence": 1155,
    "sealedSequence": 1024,
    "firstSequence": 1,
    "segments": 2,
    "poison": 0,
    "verification": {"beganAt": CREATED, "upTo": 1024, "finding": None},
    "intactAt": CREATED,
    "intactUpTo": 1024,
    "forks": [],
}
FORK = {
    "tree": "log",
    "since": DECIDED,
    "message": "at 1155 leaves, it does not continue the checkpoint of 1200 leaves that was signed before",
}
ACCEPT_FORK: dict[str, Any] = {"all that has forked": {}}
ARCHIVE_MANIFEST = {
    "archivedUpTo": 2,
    "archivedAt": DECIDED,
    "sealedUpTo": 2,
    "firstSegment": 2,
    "segments": [
        {
            "segment": 2,
            "file": "2.jsonl.zst",
            "firstSequence": 513,
            "lastSequence": 1024,
            "firstTime": CREATED,
            "lastTime": DECIDED,
            "count": 512,
            "previous": "ca11" * 16,
            "sha256": "5eed" * 16,
            "fileSha256": "c0de" * 16,
        }
    ],
}
VERIFICATION_VIEW = {
    "intact": True,
    "complete": True,
    "finding": None,
    "checkpoint": (
        f"01931f2d-0a00-7c11-8d22-6b5a4c3d2e05 2 1024 {'5eed' * 16} {DECIDED} 1155 {'ca11' * 16} 40 41 {'c0de' * 16}"
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
}


CHANGE = {
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
}
COUNTS = {
    "by": "result",
    "total": 1155,
    "values": [
        {"value": "allowed", "count": 1100, "counts": [600, 500]},
        {"value": "denied", "count": 55, "counts": [40, 15]},
    ],
    "others": 0,
    "from": "2026-11-20T12:00:00.000Z",
    "stepSeconds": 3600,
}
AGENT_HISTORY = {
    "agentId": AGENT,
    "counts": [
        {"result": "allowed", "code": "allowed", "count": 1100},
        {"result": "denied", "code": "parameter_invalid", "count": 55},
    ],
    "changes": [CHANGE],
    "nextCursor": None,
    "complete": True,
}
