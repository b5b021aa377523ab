"""A webhook's record in the store and its struct; keys; and events that come from neither an entry nor a change."""

import msgspec

from app.model.checkpoints import Finding
from app.model.webhooks import EventFilter, Webhook, WebhookEvent, WebhookFormat, WebhookSecret
from app.redis_client.client import Client, Value
from app.redis_client.replies import decoding_record, number_of
from app.redis_client.scripts import NOTE_FINDING
from app.store.keyspace import Keyspace

_secrets = msgspec.json.Decoder(tuple[WebhookSecret, ...])
_only = msgspec.json.Decoder(EventFilter)


def outbox_keys(keyspace: Keyspace, webhook_id: str) -> list[str]:
    """Outbox, waiting, parked, unsent, in the order in which the scripts take them."""
    return [
        keyspace.webhook_outbox(webhook_id),
        keyspace.webhook_waiting(webhook_id),
        keyspace.webhook_parked(webhook_id),
        keyspace.webhook_unsent(webhook_id),
    ]


def sending_keys(keyspace: Keyspace, webhook_id: str) -> list[str]:
    """The webhook, its outbox keys, and its deliveries, in the order of `advance_outbox`."""
    deliveries = keyspace.webhook_deliveries(webhook_id)
    return [keyspace.webhook(webhook_id), *outbox_keys(keyspace, webhook_id), deliveries]


def webhook_of(record: dict[str, str]) -> Webhook:
    """The webhook that a record describes. Raises ForeignData."""
    with decoding_record(f"The record of webhook {record.get('id', '')}"):
        return Webhook(
            id=record["id"],
            url=record["url"],
            events=tuple(WebhookEvent(each) for each in record["events"].split()),
            format=WebhookFormat(record["format"]),
            only=_only.decode(record["only"]) if "only" in record else None,
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
    return fields if webhook.only is None else [*fields, "only", msgspec.json.encode(webhook.only)]


_KEPT = 1_000


async def note_finding(client: Client, workspace_id: str, finding: Finding) -> None:
    """Notify webhooks that the log is not what was sealed; once, however often the same finding recurs."""
    await client.run(NOTE_FINDING, [Keyspace(workspace_id).notices], [msgspec.json.encode(finding), _KEPT])
