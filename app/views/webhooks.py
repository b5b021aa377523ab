"""Webhooks as API and console show them."""

from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from app.model.fields import Count, CreatedAt, Id, Timestamp, UpdatedAt, VersionNumber
from app.model.times import rfc3339
from app.model.webhooks import DeniedFilter, Webhook, WebhookEvent, WebhookFormat, WebhookState


class SecretView(Struct, frozen=True, rename="camel"):
    """A secret that signs, without itself.

    number: Which one, from 1.
    signs_until: When it stops signing; null = never.
    """

    number: Count
    signs_until: Timestamp | None


class WebhookView(Struct, frozen=True, kw_only=True, rename="camel"):
    """A webhook, and how far it is.

    url: Where events go.
    events: What it is told of.
    format: How an event is written.
    denied: Which denials it is told of; null = all.
    enabled: Whether it is told at all.
    secrets: Those that sign, the newest last.
    secret: The newest secret. Shown this once: when the webhook is made, and when its secret is replaced.
    waiting: Events that could not be delivered and are tried again.
    parked: Events that were tried for a day, and wait for a retry by hand.
    delivered: Events that were delivered since it was made.
    lost: Parked events that were dropped because a thousand came after them.
    last_error: What was wrong with the last attempt that failed; null = none has.
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
        return cls(
            id=webhook.id,
            url=webhook.url,
            events=list(webhook.events),
            format=webhook.format,
            denied=webhook.denied,
            enabled=webhook.enabled,
            secrets=[
                SecretView(each.number, None if each.until_ms is None else rfc3339(each.until_ms))
                for each in webhook.secrets
            ],
            secret=secret,
            waiting=state.waiting,
            parked=state.parked,
            delivered=state.delivered,
            lost=state.lost,
            last_error=state.last_error,
            created_at=rfc3339(webhook.created_ms),
            updated_at=rfc3339(webhook.updated_ms),
            version=webhook.version,
        )
