"""Webhooks and the events that wait for them."""

from typing import Any

from app.errors import AppError, LimitReached, VersionConflict, WebhookEventNotFound, WebhookNotFound
from app.http.api.webhooks import CreateWebhook, Retried, RetryEvents, RotateSecret, SendTest, UpdateWebhook
from app.http.openapi.operation import ADMIN, Operation
from app.http.openapi.parameters import ETAG, IF_MATCH
from app.views.webhooks import WebhookView
from app.webhooks.attempts import UnsentView
from app.webhooks.delivery import Attempt


def _of_one(
    method: str,
    below: str,
    summary: str,
    *,
    changes: bool = False,
    errors: tuple[type[AppError], ...] = (),
    **rest: Any,
) -> Operation:
    """An operation on one webhook. below: the rest of its path. changes: whether it accepts If-Match."""
    if changes:
        errors, rest = (*errors, VersionConflict), {**rest, "request_headers": (IF_MATCH,)}
    path = f"/v1/webhooks/{{webhook_id}}{below}"
    return Operation(method, path, summary, ADMIN, "Webhooks", errors=(WebhookNotFound, *errors), **rest)


WEBHOOKS = (
    Operation(
        "POST",
        "/v1/webhooks",
        "Create a webhook",
        ADMIN,
        "Webhooks",
        body=CreateWebhook,
        status=201,
        answer=WebhookView,
        errors=(LimitReached,),
        headers=ETAG,
        description=(
            "It receives events from now on, each at least once, signed according to Standard Webhooks. The secret is "
            "only in this answer, and later in that of `rotate-secret`."
        ),
    ),
    Operation(
        "GET",
        "/v1/webhooks",
        "List webhooks and their state",
        ADMIN,
        "Webhooks",
        answer=list[WebhookView],
    ),
    _of_one("GET", "", "Read a webhook and its state", answer=WebhookView, headers=ETAG),
    _of_one(
        "PATCH",
        "",
        "Change a webhook",
        body=UpdateWebhook,
        answer=WebhookView,
        headers=ETAG,
        changes=True,
        description="Only the given fields change; `{}` changes nothing.",
    ),
    _of_one(
        "DELETE",
        "",
        "Delete a webhook",
        status=204,
        changes=True,
        description="Its waiting events are not sent.",
    ),
    _of_one(
        "POST",
        "/rotate-secret",
        "Rotate a webhook's secret",
        body=RotateSecret,
        answer=WebhookView,
        headers=ETAG,
        changes=True,
        description="During the overlap, each event carries a signature by the old secret and by the new one.",
    ),
    _of_one(
        "POST",
        "/test",
        "Send one test event now",
        body=SendTest,
        answer=Attempt,
        description="Its type is `webhook.test`. It is sent once, without retries.",
    ),
    _of_one("GET", "/events", "List events that could not be delivered", answer=list[UnsentView]),
    _of_one(
        "POST",
        "/retry",
        "Retry parked events",
        body=RetryEvents,
        answer=Retried,
        errors=(WebhookEventNotFound,),
    ),
)
