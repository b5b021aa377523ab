"""Webhooks and the events that wait for them."""

from typing import Any

from app.errors import AppError, LimitReached, VersionConflict, WebhookEventNotFound, WebhookNotFound
from app.http.api.webhooks import CreateWebhook, Retried, RetryEvents, RotateSecret, SendTest, UpdateWebhook
from app.http.openapi.operation import ADMIN, Operation
from app.http.openapi.parameters import ETAG, IF_MATCH
from app.views.webhooks import WebhookView
from app.webhooks.delivery import Attempt
from app.webhooks.tries import UnsentView


def _of_one(
    method: str,
    below: str,
    summary: str,
    *,
    changes: bool = False,
    errors: tuple[type[AppError], ...] = (),
    **rest: Any,
) -> Operation:
    """An operation on one webhook, or on what is below it. changes: one version of it, if that is the current one."""
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
            "It is told of what happens from now on, at least once, signed as Standard Webhooks says. The secret is in "
            "this answer, and in that to `rotate-secret`."
        ),
    ),
    Operation(
        "GET",
        "/v1/webhooks",
        "List webhooks, and how far each is",
        ADMIN,
        "Webhooks",
        answer=list[WebhookView],
    ),
    _of_one("GET", "", "Read a webhook, and how far it is", answer=WebhookView, headers=ETAG),
    _of_one(
        "PATCH",
        "",
        "Change a webhook",
        body=UpdateWebhook,
        answer=WebhookView,
        headers=ETAG,
        changes=True,
        description="Only the fields that are given change; `{}` changes nothing.",
    ),
    _of_one(
        "DELETE",
        "",
        "Delete a webhook",
        status=204,
        changes=True,
        description="What waits for it is not sent any more.",
    ),
    _of_one(
        "POST",
        "/rotate-secret",
        "Give a webhook another secret",
        body=RotateSecret,
        answer=WebhookView,
        headers=ETAG,
        changes=True,
        description="Until the overlap has passed each event carries a signature by each.",
    ),
    _of_one(
        "POST",
        "/test",
        "Send one event at once",
        body=SendTest,
        answer=Attempt,
        description="Its type is `webhook.test`. It is sent once, and not again.",
    ),
    _of_one("GET", "/events", "List events that could not be delivered", answer=list[UnsentView]),
    _of_one(
        "POST",
        "/retry",
        "Try parked events again",
        body=RetryEvents,
        answer=Retried,
        errors=(WebhookEventNotFound,),
    ),
)
