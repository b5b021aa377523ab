"""/v1/webhooks: destinations of a workspace's events."""

from typing import Annotated, ClassVar

from litestar import Response, delete, get, patch, post
from litestar.di import NamedDependency as Handed
from litestar.params import FromPath, JSONBody
from msgspec import UNSET, Meta, Struct, UnsetType, field

from app.errors import Invalid, WebhookNotFound
from app.http.authentication import requires
from app.http.bodies import Body
from app.http.etag import version_header
from app.http.litestar_bodies import BodyDTO
from app.http.paths import id_in_path
from app.model.api_keys import Caller, Scope
from app.model.fields import Count
from app.model.webhooks import URL_MAX, DeniedFilter, Webhook, WebhookEvent, WebhookFormat, require_secret
from app.replica import Services
from app.store.optimistic import Versions
from app.views.webhooks import WebhookView
from app.webhooks.attempts import UnsentView
from app.webhooks.delivery import Attempt
from app.webhooks.destinations import Refused

OVERLAP_S = 24 * 3600
_LONGEST_OVERLAP_S = 30 * 24 * 3600
Url = Annotated[str, Meta(min_length=1, max_length=URL_MAX, extra_json_schema={"pattern": "^https?://[!-~]+$"})]
Events = Annotated[list[WebhookEvent], Meta(min_length=1, max_length=20)]
GivenSecret = Annotated[str, Meta(extra_json_schema={"pattern": "^whsec_[A-Za-z0-9+/]{32,88}={0,2}$"})]


class CreateWebhook(Body, frozen=True):
    """A new webhook. It receives events from now on.

    url: Where events go: https, and not an address of a private network unless a setting allows it.
    events: The types of events to send.
    format: `standard` = JSON with type, timestamp and data; `slack` = a message for a Slack channel.
    denied: Which denials to send with `decision.denied`; null or left out = all.
    secret: The signing secret: whsec_ and 24 to 64 bytes in base64. Generated if left out.
    """

    url: Url
    events: Events
    format: WebhookFormat = WebhookFormat.STANDARD
    denied: DeniedFilter | None = None
    secret: GivenSecret | UnsetType = UNSET

    def __post_init__(self) -> None:
        if self.secret is not UNSET:
            require_secret(self.secret)


class UpdateWebhook(Body, frozen=True):
    """What to change; fields that are left out stay.

    url: Where events go, including those already waiting.
    events: The types of events to send.
    format: How an event is written.
    denied: Which denials to send; null = all.
    enabled: Whether it receives events. When enabled again, it receives events from then on.
    """

    url: Url | UnsetType = UNSET
    events: Events | UnsetType = UNSET
    format: WebhookFormat | UnsetType = UNSET
    denied: DeniedFilter | None | UnsetType = UNSET
    enabled: bool | UnsetType = UNSET


class RotateSecret(Body, frozen=True):
    """Another secret for a webhook.

    overlap_seconds: How long the previous secrets also sign; a day if left out.
    secret: The new one; generated if left out.
    """

    aliases: ClassVar[dict[str, str]] = {"overlap_seconds": "overlapSeconds"}

    overlap_seconds: Annotated[int, Meta(ge=0, le=_LONGEST_OVERLAP_S)] = field(default=OVERLAP_S, name="overlapSeconds")
    secret: GivenSecret | UnsetType = UNSET

    def __post_init__(self) -> None:
        if self.secret is not UNSET:
            require_secret(self.secret)


class SendTest(Body, frozen=True):
    """An empty body: `{}`."""


class RetryEvents(Body, frozen=True):
    """Which events to retry.

    event: The id of one event, parked or not; all parked ones if left out.
    """

    event: Annotated[str, Meta(min_length=1, max_length=64)] | UnsetType = UNSET


class Retried(Struct, frozen=True):
    """events: How many events will be tried again now."""

    events: Count


@post("/v1/webhooks", guards=[requires(Scope.ADMIN)], dto=BodyDTO, response_headers={"Cache-Control": "no-store"})
async def create_webhook(
    data: JSONBody[CreateWebhook], caller: Handed[Caller], services: Handed[Services]
) -> Response[WebhookView]:
    """Create a webhook. It receives events from now on; its secret is shown only here."""
    _require_destination(services, data.url)
    webhook, secret = await services.webhooks.create(
        caller.workspace_id,
        data.url,
        data.events,
        format=data.format,
        denied=data.denied,
        secret=None if data.secret is UNSET else data.secret,
        by=caller.actor,
    )
    return await _answer(services, caller, webhook, secret)


@get("/v1/webhooks", guards=[requires(Scope.ADMIN)])
async def list_webhooks(caller: Handed[Caller], services: Handed[Services]) -> list[WebhookView]:
    """The workspace's webhooks, oldest first, and the state of each."""
    found = await services.webhooks.list_all(caller.workspace_id)
    states = await services.webhooks.states(caller.workspace_id, [each.id for each in found])
    return [WebhookView.of(webhook, state) for webhook, state in zip(found, states, strict=True)]


@get("/v1/webhooks/{webhook_id:str}", guards=[requires(Scope.ADMIN)])
async def get_webhook(
    webhook_id: FromPath[str], caller: Handed[Caller], services: Handed[Services]
) -> Response[WebhookView]:
    """One webhook and its state."""
    return await _answer(services, caller, await services.webhooks.get(caller.workspace_id, _known(webhook_id)))


@patch("/v1/webhooks/{webhook_id:str}", guards=[requires(Scope.ADMIN)], dto=BodyDTO)
async def update_webhook(
    webhook_id: FromPath[str],
    data: JSONBody[UpdateWebhook],
    caller: Handed[Caller],
    services: Handed[Services],
    if_match: Handed[Versions],
) -> Response[WebhookView]:
    """Change the given fields of the webhook."""
    if data.url is not UNSET:
        _require_destination(services, data.url)
    webhook = await services.webhooks.update(
        caller.workspace_id,
        _known(webhook_id),
        url=data.url,
        events=data.events,
        format=data.format,
        denied=data.denied,
        enabled=data.enabled,
        if_match=if_match,
        by=caller.actor,
    )
    return await _answer(services, caller, webhook)


@delete("/v1/webhooks/{webhook_id:str}", guards=[requires(Scope.ADMIN)])
async def delete_webhook(
    webhook_id: FromPath[str], caller: Handed[Caller], services: Handed[Services], if_match: Handed[Versions]
) -> None:
    """Delete the webhook and its waiting events."""
    await services.webhooks.delete(caller.workspace_id, _known(webhook_id), if_match=if_match, by=caller.actor)


@post(
    "/v1/webhooks/{webhook_id:str}/rotate-secret",
    guards=[requires(Scope.ADMIN)],
    dto=BodyDTO,
    status_code=200,
    response_headers={"Cache-Control": "no-store"},
)
async def rotate_webhook_secret(
    webhook_id: FromPath[str],
    data: JSONBody[RotateSecret],
    caller: Handed[Caller],
    services: Handed[Services],
    if_match: Handed[Versions],
) -> Response[WebhookView]:
    """Replace the webhook's secret; it is shown only here. The previous ones also sign for the overlap."""
    webhook, secret = await services.webhooks.rotate(
        caller.workspace_id,
        _known(webhook_id),
        data.overlap_seconds * 1000,
        None if data.secret is UNSET else data.secret,
        if_match=if_match,
        by=caller.actor,
    )
    return await _answer(services, caller, webhook, secret)


@post("/v1/webhooks/{webhook_id:str}/test", guards=[requires(Scope.ADMIN)], dto=BodyDTO, status_code=200)
async def send_test(
    webhook_id: FromPath[str],
    data: JSONBody[SendTest],  # noqa: ARG001 - read, so that what is unknown in it is refused
    caller: Handed[Caller],
    services: Handed[Services],
) -> Attempt:
    """Send one test event now, once, and return the outcome."""
    return await services.webhooks.test(caller.workspace_id, _known(webhook_id), services.delivery)


@get("/v1/webhooks/{webhook_id:str}/events", guards=[requires(Scope.ADMIN)])
async def list_unsent_events(
    webhook_id: FromPath[str], caller: Handed[Caller], services: Handed[Services]
) -> list[UnsentView]:
    """Events that could not be delivered: those that will be retried, and those that are parked."""
    found = await services.webhooks.unsent(caller.workspace_id, _known(webhook_id))
    return [UnsentView.of(each) for each in found]


@post("/v1/webhooks/{webhook_id:str}/retry", guards=[requires(Scope.ADMIN)], dto=BodyDTO, status_code=200)
async def retry_events(
    webhook_id: FromPath[str], data: JSONBody[RetryEvents], caller: Handed[Caller], services: Handed[Services]
) -> Retried:
    """Retry parked events now, and for another day."""
    event = None if data.event is UNSET else data.event
    return Retried(await services.webhooks.retry(caller.workspace_id, _known(webhook_id), event))


async def _answer(
    services: Services, caller: Caller, webhook: Webhook, secret: str | UnsetType = UNSET
) -> Response[WebhookView]:
    [state] = await services.webhooks.states(caller.workspace_id, [webhook.id])
    return Response(WebhookView.of(webhook, state, secret), headers=version_header(webhook.version))


def _known(webhook_id: str) -> str:
    """The id in its canonical form. Raises WebhookNotFound if it is not an id."""
    return id_in_path(webhook_id, WebhookNotFound("No webhook has this id"))


def _require_destination(services: Services, url: str) -> None:
    try:
        services.delivery.check(url)
    except Refused as refused:
        raise Invalid.at("$.url", str(refused)) from None
