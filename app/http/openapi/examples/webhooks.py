"""Webhooks."""

from typing import Any

from app.http.openapi.examples.subjects import CHANGED, CREATED, KEY

CREATE_WEBHOOK = {
    "approvals, for a service": {
        "url": "https://approvals.example.com/remit",
        "events": ["approval.requested", "approval.decided", "approval.expired"],
    },
    "approvals, for a channel of Slack": {
        "url": "https://hooks.slack.com/services/T000/B000/XXXX",
        "events": ["approval.requested"],
        "format": "slack",
    },
    "payments that wait, for those who look after them": {
        "url": "https://hooks.slack.com/services/T000/B000/YYYY",
        "events": ["approval.requested", "approval.decided"],
        "format": "slack",
        "only": {"groups": ["production"], "tools": ["payment.*"]},
    },
    "one denial in a hundred": {
        "url": "https://siem.example.com/denials",
        "events": ["decision.denied"],
        "only": {"ruleTypes": ["tool_denylist", "parameter_constraint"], "sample": 0.01},
    },
}
UPDATE_WEBHOOK = {"switch it off": {"enabled": False}, "hear of policies": {"events": ["policy.changed"]}}
ROTATE_SECRET = {"at once": {"overlapSeconds": 0}, "within a week": {"overlapSeconds": 604800}}
SEND_TEST: dict[str, Any] = {"a test": {}}
RETRY_EVENTS = {"all": {}, "one": {"event": "msg_0c0ffee00c0ffee00c0ffee00c0ffee0"}}
WEBHOOK_VIEW = {
    "id": KEY,
    "url": "https://approvals.example.com/remit",
    "events": ["approval.requested", "approval.decided"],
    "format": "standard",
    "only": None,
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
}
ATTEMPT = {"delivered": True, "status": 204, "error": "", "milliseconds": 41, "retryAfterSeconds": None}
RETRIED = {"events": 3}
DELIVERY_VIEW = {
    "eventId": "msg_0c0ffee00c0ffee00c0ffee00c0ffee0",
    "type": "approval.requested",
    "at": CHANGED,
    "delivered": False,
    "status": 503,
    "attempt": 4,
    "milliseconds": 38,
    "error": "the receiver answered 503",
}
UNSENT_VIEW = {
    "id": "msg_0c0ffee00c0ffee00c0ffee00c0ffee0",
    "type": "approval.requested",
    "status": "waiting",
    "attempts": 4,
    "error": "the receiver answered 503",
    "since": CREATED,
    "nextAttemptAt": CHANGED,
}
