"""/v1/webhooks: destinations of a workspace's events."""

from typing import Annotated, Any, ClassVar

from litestar import Response
from msgspec import UNSET, Meta, Struct, UnsetType

from app.model.requests import NewSecret, NewWebhook, WebhookChanges
from app.errors import LimitReached, VersionConflict, WebhookEventNotFound, WebhookNotFound
from app.http.bodies import Body
from app.http.endpoint import NO_STORE, endpoint
from app.http.headers import version_header
from app.http.openapi.described_headers import ETAG
from app.http.references import id_in_path
from app.model.actors import ChangedBy
from app.model.api_keys import Caller, Scope
from app.model.fields import Count
from app.replica import Admin, Records
from app.store.optimistic import Versions
from app.views.webhooks import WebhookView
from app.webhooks.attempts import DeliveryView, UnsentView
from app.webhooks.delivery import Attempt


class CreateWebhook(Body, NewWebhook, frozen=True):
    """A new webhook. It receives events from now on."""


class UpdateWebhook(Body, WebhookChanges, frozen=True):
    """What to change; fields that are left out stay."""


class RotateSecret(Body, NewSecret, frozen=True):
    """Another secret for a webhook."""

    aliases: ClassVar[dict[str, str]] = {"overlap_seconds": "overlapSeconds"}


class SendTest(Body, frozen=True):
    """An empty body: `{}`."""


class RetryEvents(Body, frozen=True):
    """Which events to retry.

    event: The id of one event, parked or not; all parked ones if left out.
    """

    event: Annotated[str, Meta(min_length=1, max_length=64)] | UnsetType = UNSET


class Retried(Struct, frozen=True):
    """What will be tried again now.

    events: How many events.
    """

    events: Count


_ADMIN: dict[str, Any] = {"tag": "Webhooks", "scopes": (Scope.ADMIN,)}


@endpoint(
    "POST",
    "/v1/webhooks",
    **_ADMIN,
    status=201,
    errors=(LimitReached,),
    headers=ETAG,
    litestar={"response_headers": NO_STORE},
)
async def create_webhook(data: CreateWebhook, caller: Caller, admin: Admin, by: ChangedBy) -> Response[WebhookView]:
    """Create a webhook.

    It receives events from now on, each at least once, signed according to Standard Webhooks. The secret is only in
    this answer, and later in that of `rotate-secret`.
    """
    return _answer(await admin.webhooks.create(caller.workspace_id, data, by))


@endpoint("GET", "/v1/webhooks", **_ADMIN)
async def list_webhooks(caller: Caller, admin: Admin) -> list[WebhookView]:
    """List webhooks and their state."""
    return await admin.webhooks.list_all(caller.workspace_id)


@endpoint("GET", "/v1/webhooks/{webhook_id}", **_ADMIN, errors=(WebhookNotFound,), headers=ETAG)
async def get_webhook(webhook_id: str, caller: Caller, admin: Admin) -> Response[WebhookView]:
    """Read a webhook and its state."""
    return _answer(await admin.webhooks.get(caller.workspace_id, _known(webhook_id)))


@endpoint("PATCH", "/v1/webhooks/{webhook_id}", **_ADMIN, errors=(WebhookNotFound, VersionConflict), headers=ETAG)
async def update_webhook(
    webhook_id: str, data: UpdateWebhook, caller: Caller, admin: Admin, if_match: Versions, by: ChangedBy
) -> Response[WebhookView]:
    """Change a webhook.

    Only the given fields change; `{}` changes nothing.
    """
    known = _known(webhook_id)
    return _answer(await admin.webhooks.update(caller.workspace_id, known, data, by, if_match))


@endpoint("DELETE", "/v1/webhooks/{webhook_id}", **_ADMIN, errors=(WebhookNotFound, VersionConflict))
async def delete_webhook(webhook_id: str, caller: Caller, records: Records, if_match: Versions, by: ChangedBy) -> None:
    """Delete a webhook.

    Its waiting events are not sent.
    """
    await records.webhooks.delete(caller.workspace_id, _known(webhook_id), if_match=if_match, by=by)


@endpoint(
    "POST",
    "/v1/webhooks/{webhook_id}/rotate-secret",
    **_ADMIN,
    errors=(WebhookNotFound, VersionConflict),
    headers=ETAG,
    litestar={"response_headers": NO_STORE},
)
async def rotate_webhook_secret(
    webhook_id: str, data: RotateSecret, caller: Caller, admin: Admin, if_match: Versions, by: ChangedBy
) -> Response[WebhookView]:
    """Rotate a webhook's secret.

    During the overlap, each event carries a signature by the old secret and by the new one.
    """
    known = _known(webhook_id)
    return _answer(await admin.webhooks.rotate(caller.workspace_id, known, data, by, if_match))


@endpoint("POST", "/v1/webhooks/{webhook_id}/test", **_ADMIN, errors=(WebhookNotFound,))
async def send_test(
    webhook_id: str,
    data: SendTest,  # noqa: ARG001 - read, so that what is unknown in it is refused
    caller: Caller,
    admin: Admin,
) -> Attempt:
    """Send one test event now.

    Its type is `webhook.test`. It is sent once, without retries.
    """
    return await admin.webhooks.test(caller.workspace_id, _known(webhook_id))


@endpoint("GET", "/v1/webhooks/{webhook_id}/events", **_ADMIN, errors=(WebhookNotFound,))
async def list_unsent_events(webhook_id: str, caller: Caller, records: Records) -> list[UnsentView]:
    """List events that could not be delivered."""
    found = await records.webhooks.unsent(caller.workspace_id, _known(webhook_id))
    return [UnsentView.of(each) for each in found]


@endpoint("GET", "/v1/webhooks/{webhook_id}/deliveries", **_ADMIN, errors=(WebhookNotFound,))
async def list_deliveries(webhook_id: str, caller: Caller, records: Records) -> list[DeliveryView]:
    """List the latest attempts to deliver events, newest first.

    The last 50, delivered or not, until the webhook is deleted; test events are not among them. Neither events nor
    answers are kept.
    """
    return await records.webhooks.deliveries(caller.workspace_id, _known(webhook_id))


@endpoint("POST", "/v1/webhooks/{webhook_id}/retry", **_ADMIN, errors=(WebhookNotFound, WebhookEventNotFound))
async def retry_events(webhook_id: str, data: RetryEvents, caller: Caller, records: Records) -> Retried:
    """Retry parked events."""
    event = None if data.event is UNSET else data.event
    return Retried(await records.webhooks.retry(caller.workspace_id, _known(webhook_id), event))


def _answer(webhook: WebhookView) -> Response[WebhookView]:
    return Response(webhook, headers=version_header(webhook.version))


def _known(webhook_id: str) -> str:
    """The id in its canonical form. Raises WebhookNotFound if it is not an id."""
    return id_in_path(webhook_id, WebhookNotFound("No webhook has this id"))
