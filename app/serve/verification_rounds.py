"""Background verification: every log once per interval, in steps that leave most of a core to other work."""

import asyncio
import logging
import secrets
import time
from collections.abc import Awaitable, Callable

import msgspec

from app.audit.log_state import head_of
from app.audit.verify.verifier import Verifier
from app.model.checkpoints import Checkpoint, Finding
from app.redis_client.client import Client, Value
from app.redis_client.clients import store_time_ms
from app.redis_client.replies import count_of
from app.runtime.fault_isolation import failures_logged
from app.serve.schedule import wait
from app.settings import Settings
from app.store.keyspace import Keyspace
from app.store.leases import take_lease
from app.store.workspaces import workspace_ids

log = logging.getLogger(__name__)
SHARE = 0.1
"""The share of a core that reading logs may take."""

_STEP_SEGMENTS = 16
"""Read between two pauses: some 8,000 entries, about 40 milliseconds."""

_LEASE_MS = 120_000
"""Longer than a step and its pause; if the holder dies, another process verifies the log from the beginning."""

OnFinding = Callable[[str, Finding], Awaitable[None]]


class VerificationRounds:
    """Verifies every workspace's log once per interval, one log after the other.

    A round reads a log from its beginning. If it is intact, that is recorded for monitors, with the time at which the
    round began. on_finding: called with every finding, in every round. Of several processes, one verifies a log.
    """

    def __init__(self, client: Client, settings: Settings, on_finding: OnFinding) -> None:
        self._client = client
        self._every_ms = settings.audit_verify_every_seconds * 1000
        self._drops_unarchived = settings.drops_unarchived
        self._on_finding = on_finding
        self._name = secrets.token_hex(8)

    async def verify_due(self, stopped: asyncio.Event) -> None:
        """Verify every log that is due, except those another process is verifying."""
        for workspace_id in await workspace_ids(self._client):
            if stopped.is_set():
                return
            with failures_logged(log, f"verify the log of workspace {workspace_id}"):
                await self._verify_if_due(workspace_id, stopped)

    async def _verify_if_due(self, workspace_id: str, stopped: asyncio.Event) -> None:
        keyspace = Keyspace(workspace_id)
        now_ms = await store_time_ms(self._client)
        noted = await self._client.call_bytes("HMGET", keyspace.workspace, "verified_ms", "created_ms")
        last_ms = count_of(noted[0]) or count_of(noted[1])
        # A time in the future was recorded before the clock stepped back.
        if not 0 <= now_ms - last_ms < self._every_ms and await self._has_lease(keyspace):
            await self._verify(workspace_id, keyspace, now_ms, stopped)

    async def _verify(self, workspace_id: str, keyspace: Keyspace, began_ms: int, stopped: asyncio.Event) -> None:
        """Run one round. It is recorded as done unless it was stopped, or another process took the lease."""
        since: Checkpoint | None = None
        while True:
            spent_s = time.thread_time()
            verification = await Verifier(self._client, workspace_id, drops_unarchived=self._drops_unarchived).verify(
                since, _STEP_SEGMENTS, continues=since is not None
            )
            if verification.finding is not None and since is not None and await self._was_dropped(keyspace, since):
                since = None  # retention has dropped the segment read last, so the round continues at the floor
                continue
            if verification.finding is not None or verification.complete:
                break
            since = verification.checkpoint
            await wait(stopped, (time.thread_time() - spent_s) * (1 / SHARE - 1))
            if stopped.is_set() or not await self._has_lease(keyspace):
                return
        reached = verification.checkpoint or since
        noted: dict[str, Value] = {"verified_ms": began_ms, "verified_up_to": _newest(reached), "verified_finding": ""}
        if verification.finding is not None:
            noted["verified_finding"] = msgspec.json.encode(verification.finding)
            log.error(
                "the log of workspace %s: %s at %s",
                workspace_id,
                verification.finding.fault,
                verification.finding.place,
            )
            await self._on_finding(workspace_id, verification.finding)
        else:
            noted["intact_ms"] = began_ms
        await self._client.call("HSET", keyspace.workspace, *(part for each in noted.items() for part in each))

    async def _was_dropped(self, keyspace: Keyspace, since: Checkpoint) -> bool:
        head = head_of(await self._client.call("HGETALL", keyspace.audit_head))
        return since.segment < head.first_segment

    async def _has_lease(self, keyspace: Keyspace) -> bool:
        return await take_lease(self._client, keyspace.verification_lease, self._name, _LEASE_MS)


def _newest(reached: Checkpoint | None) -> int:
    """The newest entry up to which the log was found intact."""
    if reached is None:
        return 0
    return reached.sequence if reached.rest is None else reached.rest.newest
