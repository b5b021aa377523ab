"""One webhook's progress through the log, the trail and the notices."""

from collections.abc import AsyncIterator, Collection
from typing import Any

import msgspec

from app.approvals.approvals import Approvals
from app.audit.log import AuditLog
from app.errors import ApprovalNotFound
from app.model.access_requests import approvals_of, requests_endpoint, status_of, task_of
from app.model.approvals import Approval
from app.model.policies import WORKSPACE
from app.model.times import rfc3339
from app.model.webhooks import Webhook, WebhookEvent
from app.redis_client.client import Client, Value
from app.redis_client.clients import store_time_ms
from app.redis_client.replies import as_record, check_reply, decoding_record, number_of
from app.redis_client.scripts import ADVANCE_OUTBOX
from app.runtime.fairness.loop_turns import take_turn
from app.store.agent_records import groups_of
from app.store.changes import change_of, own_records
from app.store.keyspace import WEBHOOK_COUNTS, Keyspace
from app.webhooks.attempts import DELIVERIES_KEPT, Attempts, DeliveryView, attempts_of
from app.webhooks.delivery import Attempt, Delivery, type_of
from app.webhooks.events import (
    PLAN_MAX,
    Event,
    LogEvent,
    continues_plan,
    event_of_change,
    event_of_line,
    event_of_notice,
    event_of_task,
    is_in_groups,
    lost_event,
    owner_in,
)
from app.webhooks.records import sending_keys

WAITING_MAX = 256
"""The most events that may wait for a retry; at that number, the cursors stop."""
PARKED_MAX = 1_000
_RETRIED_AT_ONCE = 32
_AT_ONCE = 500
_ENTRIES_AT_ONCE = 20_000


class Outbox:
    """Sends a webhook's events; the cursor passes each in the same step that records its result."""

    def __init__(
        self,
        client: Client,
        audit: AuditLog,
        approvals: Approvals,
        delivery: Delivery,
        workspace_id: str,
        webhook: Webhook,
    ) -> None:
        self._client = client
        self._audit = audit
        self._approvals = approvals
        self._delivery = delivery
        self._workspace_id = workspace_id
        self._webhook = webhook
        self._keyspace = Keyspace(workspace_id)
        self._keys = sending_keys(self._keyspace, webhook.id)
        self._cursors: dict[str, str] = {}

    async def retry_due(self) -> bool:
        """Retry events that are due, until one fails. True if none failed and the receiver has not asked for a wait."""
        _, outbox, waiting, _, unsent, _ = self._keys
        now_ms = await store_time_ms(self._client)
        with decoding_record("The outbox of the webhook"):
            if now_ms < int(await self._client.call("HGET", outbox, "quiet_until_ms") or 0):
                return False
        ids = await self._client.call("ZRANGE", waiting, "-inf", now_ms, "BYSCORE", "LIMIT", 0, _RETRIED_AT_ONCE)
        for event_id in ids:
            body, attempts = await self._client.call("HMGET", unsent, event_id, f"{event_id} tries")
            if body is not None and not await self._try(event_id, body.encode(), attempts_of(attempts)):
                return False
        return True

    async def send_new(self) -> bool:
        """Send new events until an attempt fails; True if there may be more at once."""
        record = as_record(await self._client.call("HGETALL", self._keyspace.webhook_outbox(self._webhook.id)))
        self._cursors = {name: record.get(name, "") for name in ("log", "trail", "notices")}
        if "" in self._cursors.values():
            return False
        passed = 0
        for source, events in (("notices", self._notices()), ("trail", self._changes()), ("log", self._entries())):
            async for event, position in events:
                if not await self._pass(source, event, position):
                    return False
                passed += 1
        return passed > 0

    async def _notices(self) -> AsyncIterator[tuple[Event | None, str]]:
        for notice_id, record in await self._after(self._keyspace.notices, self._cursors["notices"]):
            event = event_of_notice(self._workspace_id, notice_id, record["finding"])
            yield event if event.type in self._webhook.events else None, notice_id

    async def _changes(self) -> AsyncIterator[tuple[Event | None, str]]:
        start = f"({self._cursors['trail']}"
        entries = await self._client.call_bytes("XRANGE", self._keyspace.changes, start, "+", "COUNT", _AT_ONCE)
        for change_id, record in own_records(entries):
            change = None if record is None else change_of(change_id, record)
            event = None if change is None else event_of_change(self._workspace_id, change, self._webhook.only)
            if change is not None and event is not None and (owner := owner_in(change)) != WORKSPACE:
                groups: Collection[str] = [owner.group] if owner.group is not None else ()
                if owner.agent_id is not None:
                    event.data["agentName"], groups = await self._agent(owner.agent_id)
                event = event if is_in_groups(self._webhook.only, groups) else None
            yield event if event is not None and event.type in self._webhook.events else None, change_id

    async def _entries(self) -> AsyncIterator[tuple[Event | None, str]]:
        with decoding_record("The outbox of the webhook"):
            cursor = number_of(self._cursors["log"])
        newest = await self._audit.newest(self._workspace_id)
        if newest > cursor and all(each.source != "log" for each in self._webhook.events):
            yield None, str(newest)
            return
        start, floor = await self._audit.resumed(self._workspace_id, cursor)
        if floor is not None:
            yield lost_event(self._workspace_id, cursor + 1, start, floor.time_ms), str(start)
        until = min(newest, start + _ENTRIES_AT_ONCE)
        async for chunk in self._audit.between(self._workspace_id, start, until):
            plan, position = list[tuple[LogEvent, Any]](), ""
            for sequence, line in zip(chunk.sequences, chunk.body.splitlines(), strict=True):
                event = event_of_line(line, self._webhook)
                if event is None:
                    continue
                approval = await self._approval(event.approval_id)
                if not await self._is_wanted(event, approval):
                    continue
                if plan and not (continues_plan(plan, event, approval) and len(plan) < PLAN_MAX):
                    yield await self._told(plan), position
                    plan = []
                if event.type is WebhookEvent.ACCESS_REQUEST_COMPLETED:
                    yield await self._callback(event), str(sequence)
                else:  # not told yet: the next event may be about the next call of the same plan
                    plan.append((event, approval))
                    position = str(sequence)
            if plan:
                yield await self._told(plan), position
            yield None, str(chunk.up_to)
            await take_turn()

    async def _after(self, stream: str, position: str) -> list[tuple[str, dict[str, str]]]:
        entries: Any = await self._client.call("XRANGE", stream, f"({position}", "+", "COUNT", _AT_ONCE)
        return [(entry_id, as_record(fields)) for entry_id, fields in entries]

    async def _told(self, plan: list[tuple[LogEvent, Any]]) -> Event:
        """The event about a call, or about several calls of one plan."""
        (event, approval), *others = plan
        name, _ = await self._agent(event.agent_id)
        return event.event(self._workspace_id, name, approval, [approval, *(each for _, each in others)])

    async def _is_wanted(self, event: LogEvent, approval: Approval | None) -> bool:
        only = self._webhook.only
        if event.type is WebhookEvent.ACCESS_REQUEST_COMPLETED:
            return True
        _, groups = await self._agent(event.agent_id) if only is not None and only.groups else (None, ())
        return event.is_about(only, approval, groups)

    async def _agent(self, agent_id: str) -> tuple[str | None, Collection[str]]:
        """The agent's name and groups; None and no groups if it no longer exists."""
        name, groups = await self._client.call("HMGET", self._keyspace.agent(agent_id), "name", "groups")
        return name, groups_of(groups)

    async def _approval(self, approval_id: str) -> Any:
        if not approval_id:
            return None
        try:
            return await self._approvals.get(self._workspace_id, approval_id)
        except ApprovalNotFound:
            return None

    async def _callback(self, event: LogEvent) -> Event | None:
        """The event that tells how an access request ended; None unless it was to be told here."""
        stored = await self._approvals.callback(self._workspace_id, event.approval_id)
        endpoint = requests_endpoint(self._delivery.public_url)
        if stored is None or endpoint is None or stored.callback.endpoint != self._webhook.url:
            return None
        approvals: list[Any] = [await self._approval(each) for each in approvals_of(stored.task)]
        statuses = {each.id: status_of(each) for each in approvals if each is not None}
        # What becomes of an approval after it was given, or of one that several people must give, ends no request.
        if len(statuses) < len(approvals) or event.code != f"approval_{statuses[event.approval_id]}":
            return None
        return event_of_task(self._workspace_id, event.timestamp, task_of(endpoint, approvals).task, stored.callback)

    async def _pass(self, source: str, event: Event | None, position: str) -> bool:
        """Move the cursor to the position; True if every event of that position was delivered."""
        cursor = self._cursors[source]
        if cursor == position:
            return True
        if event is None:
            passed = await self._advance(source, position)
        elif await self._client.call("ZCARD", self._keyspace.webhook_waiting(self._webhook.id)) >= WAITING_MAX:
            return False
        else:
            passed = await self._try(event.id, event.body, Attempts(0, 0, ""), source, position)
        self._cursors[source] = position
        return passed

    async def _try(self, event_id: str, body: bytes, attempts: Attempts, source: str = "", position: str = "") -> bool:
        """Try to send the event; True if it was delivered. If not, it waits or is parked, and is passed either way."""
        attempt = await self._delivery.send(self._workspace_id, self._webhook, event_id, body)
        now_ms = await store_time_ms(self._client)
        attempts = attempts.failed(now_ms, attempt.error)
        quiet_until_ms = now_ms + (attempt.retry_after_seconds or 0) * 1000
        next_ms = attempts.next_ms(now_ms, quiet_until_ms)
        outcome = "delivered" if attempt.delivered else "parked" if next_ms is None else "waits"
        stored: list[Value] = [next_ms or now_ms, body, attempts.written] if not attempt.delivered else [0, b"", ""]
        await self._count(outcome, attempt)
        waits_until = "" if attempt.retry_after_seconds is None else quiet_until_ms
        delivery = DeliveryView(
            event_id=event_id,
            type=type_of(body),
            at=rfc3339(now_ms),
            delivered=attempt.delivered,
            status=attempt.status,
            attempt=attempts.attempts,
            milliseconds=attempt.milliseconds,
            error=attempts.error,
        )
        event = [event_id, outcome, *stored, attempts.error, waits_until]
        passed = await self._advance(source, position, event, msgspec.json.encode(delivery))
        return passed and attempt.delivered

    async def _advance(
        self, source: str, position: str, event: list[Value] | None = None, delivery: bytes = b""
    ) -> bool:
        """Move the cursors; False if another process has done so first."""
        args: list[Value] = [source, self._cursors.get(source, ""), position]
        args += [*(event or ["", "", 0, b"", "", "", ""]), PARKED_MAX, delivery, DELIVERIES_KEPT]
        reply = check_reply(ADVANCE_OUTBOX, await self._client.run(ADVANCE_OUTBOX, self._keys, args))
        return bool(reply[0] == "done")

    async def _count(self, outcome: str, attempt: Attempt) -> None:
        """Count an attempt for /metrics. A crash may lose counts."""
        await self._client.call("HINCRBY", WEBHOOK_COUNTS, "delivered" if attempt.delivered else "failed", 1)
        if outcome == "parked":
            await self._client.call("HINCRBY", WEBHOOK_COUNTS, "parked", 1)


async def delivery_counts(client: Client) -> dict[str, int]:
    """The results of all attempts: delivered, failed, and parked for good."""
    return {name: int(count) for name, count in as_record(await client.call("HGETALL", WEBHOOK_COUNTS)).items()}
