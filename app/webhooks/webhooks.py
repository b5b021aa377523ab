"""Create, read, update and delete a workspace's webhooks, and report their state."""

from collections.abc import Sequence
from typing import Any, Unpack

import msgspec
from msgspec.structs import replace

from app.errors import WebhookEventNotFound, WebhookNotFound
from app.model.actors import ChangedBy
from app.model.ids import Ids
from app.model.snapshots import snapshots
from app.model.times import rfc3339
from app.model.webhooks import EventFilter, Webhook, WebhookEvent, WebhookFields, WebhookFormat, WebhookState
from app.redis_client.client import Client, Value
from app.redis_client.clients import store_time_ms
from app.redis_client.replies import as_record, check_reply, decoding_record, number_of
from app.redis_client.scripts import DELETE_WEBHOOK, PUT_WEBHOOK, RETRY_EVENTS
from app.store.changes import change_keys, require_actor
from app.store.keyspace import Keyspace
from app.store.optimistic import ATTEMPTS, Versions, contended, require_room, require_version
from app.webhooks.attempts import DELIVERIES_KEPT, DeliveryView, Unsent, attempts_of
from app.webhooks.delivery import Attempt, Delivery
from app.webhooks.events import TEST, Event
from app.webhooks.records import fields_of, outbox_keys, webhook_of
from app.webhooks.secrets import Secrets

_LISTED = 1000


class Webhooks:
    """The webhooks of a workspace; at most `webhooks_max`."""

    def __init__(self, client: Client, ids: Ids, secrets: Secrets, webhooks_max: int) -> None:
        self._client = client
        self._ids = ids
        self._secrets = secrets
        self._max = webhooks_max

    async def create(
        self,
        workspace_id: str,
        url: str,
        events: Sequence[WebhookEvent],
        *,
        format: WebhookFormat = WebhookFormat.STANDARD,  # noqa: A002 - the word of the API
        only: EventFilter | None = None,
        secret: str | None = None,
        by: ChangedBy,
    ) -> tuple[Webhook, str]:
        """Create a webhook that receives events from now on; return it and its signing secret. Raises LimitReached.

        secret: whsec_…; None = generate one.
        """
        now_ms = await store_time_ms(self._client)
        webhook = Webhook(
            id=self._ids.new(now_ms),
            url=url,
            events=tuple(dict.fromkeys(events)),
            format=format,
            only=only,
            secrets=(self._secrets.new(1, secret),),
        )
        made = await self._put(workspace_id, None, webhook, by, from_now=True) or contended()
        return made, self._newest_secret(workspace_id, made)

    async def get(self, workspace_id: str, webhook_id: str) -> Webhook:
        """The webhook as it is now. Raises WebhookNotFound."""
        record = as_record(await self._client.call("HGETALL", Keyspace(workspace_id).webhook(webhook_id)))
        if not record:
            raise WebhookNotFound("No webhook has this id")
        return webhook_of(record)

    async def list_all(self, workspace_id: str) -> list[Webhook]:
        """The workspace's webhooks, oldest first."""
        keyspace = Keyspace(workspace_id)
        ids = await self._client.call("ZRANGE", keyspace.webhooks, 0, -1)
        records = await self._client.read_pipelined(("HGETALL", keyspace.webhook(each)) for each in ids)
        return [webhook_of(record) for record in map(as_record, records) if record]

    async def states(self, workspace_id: str, ids: Sequence[str]) -> list[WebhookState]:
        """The states of these webhooks, in the order of the ids."""
        keyspace = Keyspace(workspace_id)
        replies: list[Any] = await self._client.read_pipelined(
            command
            for each in ids
            for command in (
                ("ZCARD", keyspace.webhook_waiting(each)),
                ("ZCARD", keyspace.webhook_parked(each)),
                ("HMGET", keyspace.webhook_outbox(each), "delivered", "lost", "last_error"),
            )
        )
        with decoding_record("The outbox of a webhook"):
            return [
                WebhookState(
                    waiting=waiting,
                    parked=parked,
                    delivered=number_of(outbox[0] or "0"),
                    lost=number_of(outbox[1] or "0"),
                    last_error=outbox[2],
                )
                for waiting, parked, outbox in zip(replies[::3], replies[1::3], replies[2::3], strict=True)
            ]

    async def update(
        self,
        workspace_id: str,
        webhook_id: str,
        *,
        if_match: Versions = None,
        by: ChangedBy,
        **changes: Unpack[WebhookFields],
    ) -> Webhook:
        """The webhook with these changes. A webhook that is enabled again receives events from then on.

        Raises WebhookNotFound, VersionConflict.
        """
        if "events" in changes:
            changes["events"] = tuple(dict.fromkeys(changes["events"]))
        for _ in range(ATTEMPTS):
            current = await self.get(workspace_id, webhook_id)
            require_version(current.version, if_match)
            if not changes:
                return current
            made = replace(current, **changes)
            from_now = made.enabled and not current.enabled
            changed = await self._put(workspace_id, current, made, by, from_now=from_now)
            if changed is not None:
                return changed
        return contended()

    async def rotate(
        self,
        workspace_id: str,
        webhook_id: str,
        overlap_ms: int,
        secret: str | None = None,
        *,
        if_match: Versions = None,
        by: ChangedBy,
    ) -> tuple[Webhook, str]:
        """Give the webhook a new secret and return both; the previous ones also sign for the overlap."""
        for _ in range(ATTEMPTS):
            current = await self.get(workspace_id, webhook_id)
            require_version(current.version, if_match)
            now_ms = await store_time_ms(self._client)
            ends = [min(now_ms + overlap_ms, each.until_ms or now_ms + overlap_ms) for each in current.secrets]
            old = [replace(each, until_ms=end) for each, end in zip(current.secrets, ends, strict=True) if end > now_ms]
            newest = self._secrets.new(current.secrets[-1].number + 1, secret)
            made = replace(current, secrets=(*old, newest))
            changed = await self._put(workspace_id, current, made, by)
            if changed is not None:
                return changed, self._newest_secret(workspace_id, changed)
        return contended()

    async def delete(self, workspace_id: str, webhook_id: str, *, if_match: Versions = None, by: ChangedBy) -> None:
        """Delete the webhook and its waiting and parked events. Raises WebhookNotFound, VersionConflict."""
        keyspace = Keyspace(workspace_id)
        for _ in range(ATTEMPTS):
            current = await self.get(workspace_id, webhook_id)
            require_version(current.version, if_match)
            keys = [*change_keys(keyspace, by.actor), keyspace.webhook(webhook_id), keyspace.webhooks]
            keys += [*outbox_keys(keyspace, webhook_id), keyspace.webhook_deliveries(webhook_id)]
            args: list[Value] = [by.actor.id, snapshots(current, None)[0], current.version, webhook_id, by.reason]
            status = check_reply(DELETE_WEBHOOK, await self._client.run(DELETE_WEBHOOK, keys, args))[0]
            require_actor(status)
            if status == "done":
                return
        contended()

    async def unsent(self, workspace_id: str, webhook_id: str) -> list[Unsent]:
        """Undelivered events: first those that will be retried, the next one first, then those that were given up."""
        await self.get(workspace_id, webhook_id)
        keyspace = Keyspace(workspace_id)
        rows: list[tuple[str, bool, int]] = []
        for name, is_parked in (
            (keyspace.webhook_waiting(webhook_id), False),
            (keyspace.webhook_parked(webhook_id), True),
        ):
            ids: list[str] = await self._client.call("ZRANGE", name, 0, _LISTED - 1)
            scores = await self._client.read_pipelined(("ZSCORE", name, each) for each in ids)
            with decoding_record("The unsent events of the webhook"):
                times = [number_of(f"{float(score or 0):.0f}") for score in scores]
            rows += [(each, is_parked, time_ms) for each, time_ms in zip(ids, times, strict=True)]
        bodies = await self._client.read_pipelined(
            ("HMGET", keyspace.webhook_unsent(webhook_id), each, f"{each} tries") for each, _, _ in rows
        )
        with decoding_record("The unsent events of the webhook"):
            return [
                Unsent(event_id, body, is_parked, at_ms, attempts_of(attempts))
                for (event_id, is_parked, at_ms), (body, attempts) in zip(rows, bodies, strict=True)
                if body is not None
            ]

    async def deliveries(self, workspace_id: str, webhook_id: str) -> list[DeliveryView]:
        """The latest attempts to deliver the webhook's events, newest first. Raises WebhookNotFound."""
        await self.get(workspace_id, webhook_id)
        kept = Keyspace(workspace_id).webhook_deliveries(webhook_id)
        lines = await self._client.call("LRANGE", kept, 0, DELIVERIES_KEPT - 1)
        with decoding_record("The deliveries of the webhook"):
            return [msgspec.json.decode(line, type=DeliveryView) for line in lines]

    async def retry(self, workspace_id: str, webhook_id: str, event_id: str | None = None) -> int:
        """Retry parked events at once and return how many; with an id only that one, parked or not.

        Raises WebhookNotFound, WebhookEventNotFound.
        """
        await self.get(workspace_id, webhook_id)
        keyspace = Keyspace(workspace_id)
        keys = [keyspace.webhook(webhook_id), *outbox_keys(keyspace, webhook_id)]
        now_ms = await store_time_ms(self._client)
        reply = check_reply(RETRY_EVENTS, await self._client.run(RETRY_EVENTS, keys, [event_id or "", now_ms]))
        if reply[0] != "done":
            raise WebhookEventNotFound("No event with this id waits for the webhook")
        return int(reply[1])

    async def test(self, workspace_id: str, webhook_id: str, delivery: Delivery) -> Attempt:
        """Send one test event now, once; return the result. Raises WebhookNotFound."""
        webhook = await self.get(workspace_id, webhook_id)
        now_ms = await store_time_ms(self._client)
        event = Event(f"msg_{self._ids.new(now_ms)}", TEST, rfc3339(now_ms), {"workspaceId": workspace_id})
        return await delivery.send(workspace_id, webhook, event.id, event.body)

    async def read_up_to(self, workspace_id: str) -> int | None:
        """The lowest cursor of all entry webhooks: everything up to it has been sent. None without one."""
        enabled = [each.id for each in await self.list_all(workspace_id) if each.enabled]
        names = [Keyspace(workspace_id).webhook_outbox(each) for each in enabled]
        cursors = await self._client.read_pipelined(("HGET", name, "log") for name in names)
        with decoding_record("The outbox of a webhook"):
            return min((number_of(each or "0") for each in cursors), default=None)

    def _newest_secret(self, workspace_id: str, webhook: Webhook) -> str:
        return self._secrets.signing(workspace_id, webhook, 0)[0]

    async def _put(
        self, workspace_id: str, current: Webhook | None, webhook: Webhook, by: ChangedBy, *, from_now: bool = False
    ) -> Webhook | None:
        """Store the webhook and return it; None if the stored one is no longer `current`."""
        keyspace = Keyspace(workspace_id)
        before, after = snapshots(current, replace(webhook, version=webhook.version + 1))
        keys = [*change_keys(keyspace, by.actor), keyspace.webhook(webhook.id), keyspace.webhooks]
        keys += [keyspace.webhook_outbox(webhook.id), keyspace.commits, keyspace.notices]
        args: list[Value] = [by.actor.id, before, after, webhook.version, webhook.id, self._max, int(from_now)]
        args += (by.reason, *fields_of(webhook))
        reply = check_reply(PUT_WEBHOOK, await self._client.run(PUT_WEBHOOK, keys, args))
        status, created_ms, updated_ms, version = reply
        require_actor(status)
        require_room(status, "workspace", "webhooks", self._max)
        if status == "stale":
            return None
        return replace(webhook, created_ms=created_ms, updated_ms=updated_ms, version=version)
