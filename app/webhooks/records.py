"""Converts between a webhook's record in the store and its struct, and names its keys."""

import msgspec

from app.model.webhooks import DeniedFilter, Webhook, WebhookEvent, WebhookFormat, WebhookSecret
from app.redis_client.client import Value
from app.redis_client.foreign_data import number_of, reading
from app.store.keyspace import Keyspace

_secrets = msgspec.json.Decoder(tuple[WebhookSecret, ...])
_denied = msgspec.json.Decoder(DeniedFilter)


def outbox_keys(keyspace: Keyspace, webhook_id: str) -> list[str]:
    """Outbox, waiting, parked, unsent, in the order in which the scripts take them."""
    return [
        keyspace.webhook_outbox(webhook_id),
        keyspace.webhook_waiting(webhook_id),
        keyspace.webhook_parked(webhook_id),
        keyspace.webhook_unsent(webhook_id),
    ]


def webhook_of(record: dict[str, str]) -> Webhook:
    """The webhook that a record holds."""
    with reading(f"The record of webhook {record.get('id', '')}"):
        return Webhook(
            id=record["id"],
            url=record["url"],
            events=tuple(WebhookEvent(each) for each in record["events"].split()),
            format=WebhookFormat(record["format"]),
            denied=_denied.decode(record["denied"]) if "denied" in record else None,
            enabled={"1": True, "0": False}[record["enabled"]],
            secrets=_secrets.decode(record["secrets"]),
            created_ms=number_of(record["created_ms"]),
            updated_ms=number_of(record["updated_ms"]),
            version=number_of(record["version"]),
        )


def fields_of(webhook: Webhook) -> list[Value]:
    fields: list[Value] = ["id", webhook.id, "url", webhook.url, "events", " ".join(webhook.events)]
    fields += ["format", webhook.format.value, "enabled", int(webhook.enabled)]
    fields += ["secrets", msgspec.json.encode(webhook.secrets)]
    return fields if webhook.denied is None else [*fields, "denied", msgspec.json.encode(webhook.denied)]
