"""The endpoints of webhooks, each as the request that it takes; `calls` has them, too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from remit_client.wire import SILENCE_S, Call, as_it_is, given, listed, nothing, segment


def create_webhook(url: str, events: Sequence[str], **fields: Any) -> Call[Any]:
    """A new webhook; its secret is in this answer and nowhere else."""
    return Call("POST", "/v1/webhooks", as_it_is, body={"url": url, "events": list(events), **fields})


def list_webhooks() -> Call[list[Any]]:
    """The workspace's webhooks, without their secrets."""
    return Call("GET", "/v1/webhooks", listed(as_it_is), repeatable=True)


def get_webhook(webhook_id: str) -> Call[Any]:
    """One webhook, and how far it is."""
    return Call("GET", _webhook(webhook_id), as_it_is, repeatable=True)


def update_webhook(webhook_id: str, **changes: Any) -> Call[Any]:
    """The webhook has these fields from now on."""
    return Call("PATCH", _webhook(webhook_id), as_it_is, body=changes)


def delete_webhook(webhook_id: str) -> Call[None]:
    """The webhook is gone, and what waited for it."""
    return Call("DELETE", _webhook(webhook_id), nothing)


def rotate_webhook_secret(webhook_id: str, overlap_seconds: int | None = None, secret: str | None = None) -> Call[Any]:
    """Another secret signs; the one before it goes on beside it for so long."""
    body = given(overlapSeconds=overlap_seconds, secret=secret)
    return Call("POST", f"{_webhook(webhook_id)}/rotate-secret", as_it_is, body=body)


def send_webhook_test(webhook_id: str) -> Call[Any]:
    """What came of one attempt to deliver an event of its own."""
    return Call("POST", f"{_webhook(webhook_id)}/test", as_it_is, body={}, wait_seconds=SILENCE_S)


def list_unsent_events(webhook_id: str) -> Call[list[Any]]:
    """Events that could not be delivered yet."""
    return Call("GET", f"{_webhook(webhook_id)}/events", listed(as_it_is), repeatable=True)


def retry_webhook_events(webhook_id: str, event: str | None = None) -> Call[Any]:
    """One event, or all that are parked, are tried again."""
    return Call("POST", f"{_webhook(webhook_id)}/retry", as_it_is, body=given(event=event))


def _webhook(webhook_id: str) -> str:
    return f"/v1/webhooks/{segment(webhook_id)}"
