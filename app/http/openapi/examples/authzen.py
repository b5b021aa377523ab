"""AuthZEN's questions and their answers."""

from app.http.openapi.examples.subjects import DECIDED, DECISION

ALICE = {"type": "user", "id": "alice@example.com", "properties": {"department": "sales"}}
REFUND = {"type": "tool", "id": "payment.refund", "properties": {"booking": "ZFA04Y", "amount": 900}}
EVALUATION_BODY = {
    "a record": {
        "subject": ALICE,
        "action": {"name": "read"},
        "resource": {"type": "record", "id": "record-1", "properties": {"status": "active"}},
        "context": {"session": "s-17"},
    },
    "a tool": {"subject": {"type": "agent", "id": "booking"}, "action": {"name": "call"}, "resource": REFUND},
}
EVALUATION_DENIED = {
    "decision": False,
    "context": {
        "evaluation_id": DECISION["id"],
        "evaluated_at": DECIDED,
        "reason": "parameter_invalid",
        "reason_admin": {"403": 'Parameter "amount" is 900, above the maximum 500'},
    },
}
EVALUATION_VIEW = {
    "decision": True,
    "context": {"evaluation_id": DECISION["id"], "evaluated_at": DECIDED, "reason": "allowed"},
}
EVALUATIONS_BODY = {
    "two records": {
        "subject": ALICE,
        "action": {"name": "read"},
        "evaluations": [
            {"resource": {"type": "record", "id": "record-1"}},
            {"resource": {"type": "record", "id": "record-2"}, "context": {"session": "s-17"}},
        ],
        "options": {"evaluations_semantic": "deny_on_first_deny"},
    },
    "a single one": EVALUATION_BODY["a tool"],
}
EVALUATIONS_VIEW = {
    "evaluations": [
        EVALUATION_DENIED,
        {
            "decision": False,
            "context": {"error": {"status": 400, "message": "$.resource: is missing; it must be an object"}},
        },
    ]
}
SUBJECT_SEARCH = {
    "who may read": {
        "subject": {"type": "user"},
        "action": {"name": "read"},
        "resource": {"type": "record", "id": "record-1"},
        "page": {"limit": 100},
    }
}
RESOURCE_SEARCH = {
    "what may be read": {"subject": ALICE, "action": {"name": "read"}, "resource": {"type": "record"}},
}
ACTION_SEARCH = {"what may be done": {"subject": ALICE, "resource": {"type": "record", "id": "record-1"}}}
_PAGE = {"next_token": "", "count": 1}
FOUND_ENTITIES = {"page": _PAGE, "results": [{"type": "record", "id": "record-1"}]}
FOUND_ACTIONS = {"page": _PAGE, "results": [{"name": "read"}]}
METADATA = {
    "policy_decision_point": "https://pdp.example.com",
    "access_evaluation_endpoint": "https://pdp.example.com/access/v1/evaluation",
    "access_evaluations_endpoint": "https://pdp.example.com/access/v1/evaluations",
    "access_request_endpoint": "https://pdp.example.com/access/v1/requests",
    "capabilities": ["urn:openid:authzen:capability:access-request"],
}
ACCESS_REQUEST_BODY = {
    "a denied refund": {
        "subject": {"type": "agent", "id": "booking"},
        "action": {"name": "call"},
        "resource": REFUND,
        "context": {"business_justification": "The flight was cancelled"},
        "denial": {"evaluation_id": DECISION["id"], "expires_at": "2026-11-20T12:49:56.789Z"},
    }
}
CANCEL_TASK = {"the passenger has withdrawn": {"reason": "withdrawn", "comment": "The passenger called again"}}
_STATUS = f"https://pdp.example.com/access/v1/requests/{DECISION['id']}"
TASK_VIEW = {
    "task": {
        "id": DECISION["id"],
        "status": "pending",
        "status_endpoint": _STATUS,
        "expires_at": "2026-11-20T12:49:56.789Z",
        "links": {"cancel": f"{_STATUS}/cancel"},
    }
}
