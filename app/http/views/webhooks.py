"""Webhooks as the API and the command line show them."""

from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType, structs

from app.http.views import as_view
from app.model.fields import Count, CreatedAt, Id, Timestamp, UpdatedAt, VersionNumber
from app.model.times import rfc3339
from app.model.webhooks import DeniedFilter, Webhook, WebhookEvent, WebhookFormat, WebhookState


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
    denied: Which denials it receives; null = all.
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
    denied: DeniedFilter | None
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
