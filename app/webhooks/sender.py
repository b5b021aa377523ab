"""The sender delivers webhook events from the background process, one process per webhook at a time."""

import asyncio
import logging
import secrets
from contextlib import suppress
from functools import partial

from app.approvals.approvals import Approvals
from app.audit.log import AuditLog
from app.errors import AppError
from app.model.ids import Ids
from app.model.webhooks import Webhook
from app.redis_client.client import Client
from app.redis_client.replies import as_record
from app.runtime.fairness.loop_turns import WorkspaceSlots
from app.store.keyspace import Keyspace
from app.store.leases import take_lease
from app.store.workspaces import workspace_ids
from app.webhooks.delivery import Delivery
from app.webhooks.outbox import Outbox
from app.webhooks.records import webhook_of

log = logging.getLogger(__name__)
_LEASE_MS = 60_000
"""The lease's time: longer than any attempt. It is renewed for each round, and a round ends with the first failure."""
_RENEWED_S = 20.0
_AT_ONCE, _WAITING = 8, 10_000
_WORKSPACES_AT_ONCE = 256


class Sender:
    """Serves each webhook in a separate task, and up to eight of a workspace at a time: slow receivers of one workspace
    delay no other's events.
    """

    def __init__(self, client: Client, delivery: Delivery, backlog_max: int) -> None:
        self._client = client
        self._delivery = delivery
        self._audit = AuditLog(client)
        self._approvals = Approvals(client, Ids(), backlog_max)
        self._name = secrets.token_hex(8)
        self._served: dict[str, asyncio.Task[None]] = {}
        self._slots = WorkspaceSlots(_AT_ONCE, _WAITING, "deliveries")

    async def look(self, stopped: asyncio.Event) -> None:
        """Begin to serve every webhook that is enabled and not being served."""
        workspaces = await workspace_ids(self._client)
        for start in range(0, len(workspaces), _WORKSPACES_AT_ONCE):
            some = workspaces[start : start + _WORKSPACES_AT_ONCE]
            webhooks_of_each = await self._client.read_each(("ZRANGE", Keyspace(each).webhooks, 0, -1) for each in some)
            for workspace_id, ids in zip(some, webhooks_of_each, strict=True):
                for webhook_id in (each.decode(errors="replace") for each in ids or ()):
                    if webhook_id not in self._served:
                        task = asyncio.create_task(self._serve(workspace_id, webhook_id, stopped))
                        self._served[webhook_id] = task
                        task.add_done_callback(partial(self._forget, webhook_id))

    def _forget(self, webhook_id: str, _: asyncio.Task[None]) -> None:
        self._served.pop(webhook_id, None)

    async def stop(self) -> None:
        """Abandon the rounds. The next sender may repeat events that are on their way at this moment."""
        for task in self._served.values():
            task.cancel()
        await asyncio.gather(*self._served.values(), return_exceptions=True)

    async def _serve(self, workspace_id: str, webhook_id: str, stopped: asyncio.Event) -> None:
        """Serve one round: until nothing is left to send, or an attempt fails."""
        keyspace = Keyspace(workspace_id)
        try:
            async with self._slots.slot(workspace_id):
                record = as_record(await self._client.call("HGETALL", keyspace.webhook(webhook_id)))
                if not record or record["enabled"] != "1":
                    return
                lease = keyspace.webhook_lease(webhook_id)
                if await take_lease(self._client, lease, self._name, _LEASE_MS):
                    await self._send(workspace_id, webhook_of(record), lease, stopped)
        except AppError as error:
            log.warning("webhook %s: %s; serving it again in a second", webhook_id, error)
        except Exception:  # one webhook's fault must not stop the others
            log.exception("webhook %s: serving it again in a second", webhook_id)

    async def _send(self, workspace_id: str, webhook: Webhook, lease: str, stopped: asyncio.Event) -> None:
        outbox = Outbox(self._client, self._audit, self._approvals, self._delivery, workspace_id, webhook)
        renewing = asyncio.create_task(self._renew(lease))
        try:
            if await outbox.retry_due():
                while not stopped.is_set() and await outbox.send_new():
                    pass
        finally:
            renewing.cancel()

    async def _renew(self, lease: str) -> None:
        while True:
            await asyncio.sleep(_RENEWED_S)
            with suppress(AppError):
                await take_lease(self._client, lease, self._name, _LEASE_MS)
