"""Webhooks."""

from typing import Any

from app.http.api.webhooks import CreateWebhook, Retried, RetryEvents, RotateSecret, SendTest, UpdateWebhook
from app.http.openapi.examples.subjects import CHANGED, CREATED, KEY
from app.views.webhooks import WebhookView
from app.webhooks.attempts import UnsentView
from app.webhooks.delivery import Attempt

BODIES: dict[type, dict[str, Any]] = {
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
    WebhookView: {
        "id": KEY,
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
        "createdAt": CREATED,
        "updatedAt": CREATED,
        "version": 1,
    },
    Attempt: {"delivered": True, "status": 204, "error": "", "milliseconds": 41, "retryAfterSeconds": None},
    Retried: {"events": 3},
    UnsentView: {
        "id": "msg_0c0ffee00c0ffee00c0ffee00c0ffee0",
        "type": "approval.requested",
        "status": "waiting",
        "attempts": 4,
        "error": "the receiver answered 503",
        "since": CREATED,
        "nextAttemptAt": CHANGED,
    },
}
