"""/v1/webhooks: destinations of a workspace's events."""

from typing import Annotated, Any, ClassVar

from litestar import Response
from msgspec import UNSET, Meta, Struct, UnsetType, structs

from app.errors import AgentNotFound, LimitReached, VersionConflict, WebhookEventNotFound, WebhookNotFound
from app.http.bodies import Body
from app.http.endpoint import NO_STORE, endpoint
from app.http.headers import version_header
from app.http.openapi.described_headers import ETAG
from app.http.references import agents_named, id_in_path
from app.http.views import as_view
from app.model.actors import ChangedBy
from app.model.api_keys import Caller, Scope
from app.model.fields import Count, CreatedAt, Id, Timestamp, UpdatedAt, VersionNumber
from app.model.requests import NewSecret, NewWebhook, WebhookChanges, given
from app.model.times import rfc3339
from app.model.webhooks import EventFilter, Webhook, WebhookEvent, WebhookFormat, WebhookState
from app.replica import Records, Services
from app.store.optimistic import Versions
from app.webhooks.attempts import DeliveryView, UnsentView
from app.webhooks.delivery import Attempt


class SecretView(Struct, frozen=True, rename="camel"):
    """A secret that signs, without its value.

    number: Its number, from 1.
    signs_until: When it stops signing; null = never.
    """

    number: Count
    signs_until: Timestamp | None


class WebhookView(Struct, frozen=True, kw_only=True, rename="camel"):
    """A webhook and its state.

    url: Where events go.
    events: The types of events it receives.
    format: How an event is written.
    only: Which of these events it receives; null = all.
    enabled: Whether it receives events.
    secrets: Those that sign, the newest last.
    secret: The newest secret. Shown only when the webhook is created and when its secret is rotated.
    waiting: Events that could not be delivered and will be retried.
    parked: Events that were retried for a day, and now wait for a manual retry.
    delivered: Events that were delivered since it was created.
    lost: Parked events that were dropped because a thousand newer ones were parked.
    last_error: The error of the last failed attempt; null if none has failed.
    """

    id: Id
    url: str
    events: list[WebhookEvent]
    format: WebhookFormat
    only: EventFilter | None
    enabled: bool
    secrets: list[SecretView]
    secret: Annotated[str, Meta(extra_json_schema={"pattern": "^whsec_"})] | UnsetType = UNSET
    waiting: Count
    parked: Count
    delivered: Count
    lost: Count
    last_error: str | None
    created_at: CreatedAt
    updated_at: UpdatedAt
    version: VersionNumber

    @classmethod
    def of(cls, webhook: Webhook, state: WebhookState, secret: str | UnsetType = UNSET) -> "WebhookView":
        secrets = [
            SecretView(signing.number, None if signing.until_ms is None else rfc3339(signing.until_ms))
            for signing in webhook.secrets
        ]
        return as_view(cls, webhook, **structs.asdict(state), secrets=secrets, secret=secret)


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
    errors=(AgentNotFound, LimitReached),
    headers=ETAG,
    litestar={"response_headers": NO_STORE},
)
async def create_webhook(
    data: CreateWebhook, caller: Caller, services: Services, by: ChangedBy
) -> Response[WebhookView]:
    """Create a webhook.

    It receives events from now on, each at least once, signed according to Standard Webhooks. The secret is only in
    this answer, and later in that of `rotate-secret`.
    """
    services.consequences.require_destination(data.url, "$.url")
    webhook, secret = await services.records.webhooks.create(
        caller.workspace_id,
        data.url,
        data.events,
        format=data.format,
        only=await _resolved(services.records, caller, data.only),
        secret=data.secret or None,
        by=by,
    )
    return await _shown(services.records, webhook, caller, secret)


@endpoint("GET", "/v1/webhooks", **_ADMIN)
async def list_webhooks(caller: Caller, records: Records) -> list[WebhookView]:
    """List webhooks and their state."""
    found = await records.webhooks.list_all(caller.workspace_id)
    states = await records.webhooks.states(caller.workspace_id, [each.id for each in found])
    return [WebhookView.of(webhook, state) for webhook, state in zip(found, states, strict=True)]


@endpoint("GET", "/v1/webhooks/{webhook_id}", **_ADMIN, errors=(WebhookNotFound,), headers=ETAG)
async def get_webhook(webhook_id: str, caller: Caller, records: Records) -> Response[WebhookView]:
    """Read a webhook and its state."""
    return await _shown(records, await records.webhooks.get(caller.workspace_id, _known(webhook_id)), caller)


@endpoint(
    "PATCH",
    "/v1/webhooks/{webhook_id}",
    **_ADMIN,
    errors=(AgentNotFound, WebhookNotFound, VersionConflict),
    headers=ETAG,
)
async def update_webhook(
    webhook_id: str, data: UpdateWebhook, caller: Caller, services: Services, if_match: Versions, by: ChangedBy
) -> Response[WebhookView]:
    """Change a webhook.

    Only the given fields change; `{}` changes nothing.
    """
    known, webhooks = _known(webhook_id), services.records.webhooks
    if data.url is not UNSET:
        services.consequences.require_destination(data.url, "$.url")
    changes = given(data)
    if data.only is not UNSET:
        changes["only"] = await _resolved(services.records, caller, data.only)
    changed = await webhooks.update(caller.workspace_id, known, **changes, if_match=if_match, by=by)
    return await _shown(services.records, changed, caller)


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
    webhook_id: str, data: RotateSecret, caller: Caller, records: Records, if_match: Versions, by: ChangedBy
) -> Response[WebhookView]:
    """Rotate a webhook's secret.

    During the overlap, each event carries a signature by the old secret and by the new one.
    """
    known, overlap_ms = _known(webhook_id), data.overlap_seconds * 1000
    webhook, secret = await records.webhooks.rotate(
        caller.workspace_id, known, overlap_ms, data.secret or None, if_match=if_match, by=by
    )
    return await _shown(records, webhook, caller, secret)


@endpoint("POST", "/v1/webhooks/{webhook_id}/test", **_ADMIN, errors=(WebhookNotFound,))
async def send_test(
    webhook_id: str,
    data: SendTest,  # noqa: ARG001 - read, so that what is unknown in it is refused
    caller: Caller,
    services: Services,
) -> Attempt:
    """Send one test event now.

    Its type is `webhook.test`. It is sent once, without retries.
    """
    return await services.records.webhooks.test(caller.workspace_id, _known(webhook_id), services.consequences.delivery)


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


async def _shown(
    records: Records, webhook: Webhook, caller: Caller, secret: str | UnsetType = UNSET
) -> Response[WebhookView]:
    """The webhook with its version as ETag, and how far its events have been sent."""
    [state] = await records.webhooks.states(caller.workspace_id, [webhook.id])
    return Response(WebhookView.of(webhook, state, secret), headers=version_header(webhook.version))


async def _resolved(records: Records, caller: Caller, only: EventFilter | None) -> EventFilter | None:
    """The filter with ids instead of aliases. Raises AgentNotFound."""
    if only is None or only.agents is UNSET:
        return only
    return structs.replace(only, agents=await agents_named(records, caller, only.agents))


def _known(webhook_id: str) -> str:
    """The id in lower case. Raises WebhookNotFound if it is not an id."""
    return id_in_path(webhook_id, WebhookNotFound("No webhook has this id"))
