"""The endpoints of webhooks, as functions that make their requests; also available in `calls`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from remit_client.wire import SILENCE_S, Call, as_it_is, given, listed, nothing, segment


def create_webhook(url: str, events: Sequence[str], **fields: Any) -> Call[Any]:
    """Create a webhook; only this answer contains its secret."""
    return Call("POST", "/v1/webhooks", as_it_is, body={"url": url, "events": list(events), **fields})


def list_webhooks() -> Call[list[Any]]:
    """The workspace's webhooks, without their secrets."""
    return Call("GET", "/v1/webhooks", listed(as_it_is), repeatable=True)


def get_webhook(webhook_id: str) -> Call[Any]:
    """One webhook, and how far its events have been sent."""
    return Call("GET", _webhook(webhook_id), as_it_is, repeatable=True)


def update_webhook(webhook_id: str, **changes: Any) -> Call[Any]:
    """Change these fields of the webhook."""
    return Call("PATCH", _webhook(webhook_id), as_it_is, body=changes)


def delete_webhook(webhook_id: str) -> Call[None]:
    """Delete the webhook and its undelivered events."""
    return Call("DELETE", _webhook(webhook_id), nothing)


def rotate_webhook_secret(webhook_id: str, overlap_seconds: int | None = None, secret: str | None = None) -> Call[Any]:
    """Replace the signing secret; the old one also signs for this long."""
    body = given(overlapSeconds=overlap_seconds, secret=secret)
    return Call("POST", f"{_webhook(webhook_id)}/rotate-secret", as_it_is, body=body)


def send_webhook_test(webhook_id: str) -> Call[Any]:
    """Send a test event once, and return the result."""
    return Call("POST", f"{_webhook(webhook_id)}/test", as_it_is, body={}, wait_seconds=SILENCE_S)


def list_unsent_events(webhook_id: str) -> Call[list[Any]]:
    """Events that have not been delivered yet."""
    return Call("GET", f"{_webhook(webhook_id)}/events", listed(as_it_is), repeatable=True)


def list_webhook_deliveries(webhook_id: str) -> Call[list[Any]]:
    """The latest attempts to deliver the webhook's events, newest first."""
    return Call("GET", f"{_webhook(webhook_id)}/deliveries", listed(as_it_is), repeatable=True)


def retry_webhook_events(webhook_id: str, event: str | None = None) -> Call[Any]:
    """Retry one event, or all parked ones."""
    return Call("POST", f"{_webhook(webhook_id)}/retry", as_it_is, body=given(event=event))


def _webhook(webhook_id: str) -> str:
    return f"/v1/webhooks/{segment(webhook_id)}"
