"""Webhooks and the events that wait for them."""

from app.errors import LimitReached, VersionConflict, WebhookEventNotFound, WebhookNotFound
from app.http.api.webhooks import CreateWebhook, Retried, RetryEvents, RotateSecret, SendTest, UpdateWebhook
from app.http.openapi.operation import ADMIN, Operation
from app.http.openapi.parameters import ETAG, IF_MATCH
from app.views.webhooks import WebhookView
from app.webhooks.delivery import Attempt
from app.webhooks.tries import UnsentView

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
    Operation(
        "GET",
        "/v1/webhooks/{webhook_id}",
        "Read a webhook, and how far it is",
        ADMIN,
        "Webhooks",
        answer=WebhookView,
        errors=(WebhookNotFound,),
        headers=ETAG,
    ),
    Operation(
        "PATCH",
        "/v1/webhooks/{webhook_id}",
        "Change a webhook",
        ADMIN,
        "Webhooks",
        body=UpdateWebhook,
        answer=WebhookView,
        errors=(WebhookNotFound, VersionConflict),
        headers=ETAG,
        request_headers=(IF_MATCH,),
        description="Only the fields that are given change; `{}` changes nothing.",
    ),
    Operation(
        "DELETE",
        "/v1/webhooks/{webhook_id}",
        "Delete a webhook",
        ADMIN,
        "Webhooks",
        status=204,
        errors=(WebhookNotFound, VersionConflict),
        request_headers=(IF_MATCH,),
        description="What waits for it is not sent any more.",
    ),
    Operation(
        "POST",
        "/v1/webhooks/{webhook_id}/rotate-secret",
        "Give a webhook another secret",
        ADMIN,
        "Webhooks",
        body=RotateSecret,
        answer=WebhookView,
        errors=(WebhookNotFound, VersionConflict),
        headers=ETAG,
        request_headers=(IF_MATCH,),
        description="Until the overlap has passed each event carries a signature by each.",
    ),
    Operation(
        "POST",
        "/v1/webhooks/{webhook_id}/test",
        "Send one event at once",
        ADMIN,
        "Webhooks",
        body=SendTest,
        answer=Attempt,
        errors=(WebhookNotFound,),
        description="Its type is `webhook.test`. It is sent once, and not again.",
    ),
    Operation(
        "GET",
        "/v1/webhooks/{webhook_id}/events",
        "List events that could not be delivered",
        ADMIN,
        "Webhooks",
        answer=list[UnsentView],
        errors=(WebhookNotFound,),
    ),
    Operation(
        "POST",
        "/v1/webhooks/{webhook_id}/retry",
        "Try parked events again",
        ADMIN,
        "Webhooks",
        body=RetryEvents,
        answer=Retried,
        errors=(WebhookNotFound, WebhookEventNotFound),
    ),
)
