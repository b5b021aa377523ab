"""The compactor turns streams into segments, in a process of its own (`remit compact`)."""

import asyncio
import logging
import secrets
import time
from collections.abc import Awaitable, Callable, Sequence

from app.audit.entry_format import time_ms_of
from app.audit.lease import take_lease
from app.audit.retention import ReadUpTo, Retention
from app.audit.sealer import Sealed, Sealer
from app.audit.stream import stream_entries
from app.audit.stream_repair import displaced, free_stream
from app.audit.trail import seal_changes, unsealed_trails
from app.errors import AppError
from app.fault_isolation import failures_logged
from app.health.readiness import is_nearly_full
from app.redis_client.client import Client
from app.redis_client.clients import store_time_ms
from app.settings import Settings
from app.store.keyspace import WORKSPACES, Keyspace
from app.store.spent_quotas import drop_spent_quotas

log = logging.getLogger(__name__)
SWEEP_S = 1.0
_LEASE_ASKED_S = 1.0
_MAINTAINED_AT_ONCE = 256
"""How many workspaces each sweep checks for stream entries that no commit made; the next sweep checks the next ones."""
_WORKSPACES_AT_ONCE = 256
_PART_OF_SEGMENT = 8
"""Once the store is nearly out of memory, a stream that would fill this share of a segment (an eighth) is sealed."""

_RETENTION_S = 60.0
_SPENT_QUOTAS_S = 3600.0
"""Reading all policies costs the store a millisecond for every few hundred."""
_DAY_MS = 24 * 3600 * 1000


class Compactor:
    """Seals what is due in every workspace, once a second.

    It polls the length of every stream, so replicas need not announce entries: the hot path pays nothing, and a crash
    loses no announcement. The lease only saves compactors from building the same segment twice; correctness rests on
    the script.
    """

    def __init__(
        self,
        client: Client,
        settings: Settings,
        on_sealed: Callable[[str, Sealed], None] | None = None,
        end_approvals: Callable[[Sequence[str]], Awaitable[None]] | None = None,
        read_up_to: ReadUpTo | None = None,
    ) -> None:
        self._client = client
        self._entries = settings.audit_segment_entries
        self._seal_after_ms = settings.audit_seal_after_seconds * 1000
        self._sealer = Sealer(client, settings.audit_segment_entries, settings.audit_names_max)
        self._end_approvals = end_approvals
        self._on_sealed = on_sealed or (lambda _workspace_id, _sealed: None)
        hold_ms = settings.webhook_hold_days * _DAY_MS
        self._retention = Retention(client, read_up_to, hold_ms, unarchived=settings.audit_drop_unarchived)
        self._retention_ms = settings.audit_retention_days * _DAY_MS
        self._maintained = 0
        self._name = secrets.token_hex(8)

    async def run(self, stopped: asyncio.Event) -> None:
        """Sweep until `stopped` is set; a segment that is being sealed is finished first."""
        dropped_at, looked_at = -_RETENTION_S, time.monotonic()
        while not stopped.is_set():
            busy = False
            try:
                busy = await self.sweep(stopped)
                if self._retention_ms and time.monotonic() - dropped_at >= _RETENTION_S:
                    await self.drop_what_is_too_old(stopped)
                    dropped_at = time.monotonic()
                if time.monotonic() - looked_at >= _SPENT_QUOTAS_S:
                    looked_at = time.monotonic()
                    await self.drop_spent_quotas(stopped)
            except AppError as error:
                log.warning("%s; trying again", error)
            if not busy:
                try:
                    await asyncio.wait_for(stopped.wait(), SWEEP_S)
                except TimeoutError:
                    continue

    async def sweep(self, stopped: asyncio.Event | None = None) -> bool:
        """Seal what is due now; True if anything was sealed, as there may be more."""
        reply = await self._client.call("HVALS", WORKSPACES)
        workspaces = sorted(reply)
        if self._end_approvals is not None:
            await self._end_approvals(workspaces)
        sealed = False
        await self._maintain(workspaces)
        enough = max(1, self._entries // _PART_OF_SEGMENT) if await is_nearly_full(self._client) else self._entries
        for start in range(0, len(workspaces), _WORKSPACES_AT_ONCE):
            for workspace_id in await self._due(workspaces[start : start + _WORKSPACES_AT_ONCE], enough):
                if stopped is not None and stopped.is_set():
                    return sealed
                with failures_logged(log, "seal", workspace_id):
                    sealed |= await self._seal(workspace_id, enough, stopped)
        return sealed

    async def drop_what_is_too_old(self, stopped: asyncio.Event | None = None) -> int:
        """Drop the segments that retention no longer keeps, in all workspaces; return how many."""
        dropped = 0
        before_ms = await store_time_ms(self._client) - self._retention_ms
        for workspace_id in sorted(await self._client.call("HVALS", WORKSPACES)):
            with failures_logged(log, "drop from", workspace_id):
                while (stopped is None or not stopped.is_set()) and await self._retention.drop_next(
                    workspace_id, before_ms
                ):
                    dropped += 1
        if dropped:
            log.info("retention dropped %d segments", dropped)
        return dropped

    async def drop_spent_quotas(self, stopped: asyncio.Event | None = None) -> int:
        """Drop rate-limit buckets that no longer count anything, in all workspaces; return how many."""
        dropped = 0
        for workspace_id in sorted(await self._client.call("HVALS", WORKSPACES)):
            if stopped is not None and stopped.is_set():
                break
            with failures_logged(log, "drop spent quotas of", workspace_id):
                dropped += await drop_spent_quotas(self._client, workspace_id)
        return dropped

    async def _maintain(self, workspaces: list[str]) -> None:
        """For the workspaces whose turn it is, make sure that commits can append, and chain the trail's new changes.

        Commits fail to append only where something else has written to the stream.
        """
        start = self._maintained if self._maintained < len(workspaces) else 0
        self._maintained = start + _MAINTAINED_AT_ONCE
        try:
            some = workspaces[start : start + _MAINTAINED_AT_ONCE]
            for workspace_id in await displaced(self._client, some):
                with failures_logged(log, "free the stream of", workspace_id):
                    await free_stream(self._client, self._sealer, workspace_id)
            for workspace_id in await unsealed_trails(self._client, some):
                with failures_logged(log, "chain the changes of", workspace_id):
                    await seal_changes(self._client, workspace_id)
        except AppError as error:
            log.error("cannot maintain streams and trails: %s", error)  # noqa: TRY400 - a sentence says it

    async def _due(self, workspaces: list[str], enough: int) -> list[str]:
        """The workspaces whose stream holds enough entries, or an entry that has waited long enough."""
        streams = [Keyspace(workspace_id).audit_stream for workspace_id in workspaces]
        lengths = [reply or 0 for reply in await self._client.read_each(("XLEN", stream) for stream in streams)]
        due = [each for each, length in zip(workspaces, lengths, strict=True) if length >= enough]
        short = [each for each, length in zip(workspaces, lengths, strict=True) if 0 < length < enough]
        if short:
            now_ms = await store_time_ms(self._client)
            replies = await self._client.read_each(
                ("XRANGE", Keyspace(each).audit_stream, "-", "+", "COUNT", 1) for each in short
            )
            for workspace_id, reply in zip(short, replies, strict=True):
                for _, fields in stream_entries(reply or ()):
                    # A clock that steps back must not hold up sealing, so entries in the future are due as well.
                    if abs(now_ms - time_ms_of(fields)) >= self._seal_after_ms:
                        due.append(workspace_id)
        return due

    async def _seal(self, workspace_id: str, enough: int, stopped: asyncio.Event | None) -> bool:
        """Seal a segment, and more while enough entries are left; True if anything was sealed."""
        keyspace = Keyspace(workspace_id)
        any_sealed = False
        asked_at = -_LEASE_ASKED_S
        while True:
            # Once a second, not per segment: renewing takes a tenth of the time to build one, and losing the lease does
            # no harm.
            if time.monotonic() - asked_at >= _LEASE_ASKED_S:
                asked_at = time.monotonic()
                if not await take_lease(self._client, keyspace.audit_lease, self._name):
                    break
            sealed = await self._sealer.seal_next(workspace_id)
            if sealed is None:
                break
            any_sealed = True
            self._on_sealed(workspace_id, sealed)
            if stopped is not None and stopped.is_set():
                break
            if await self._client.call("XLEN", keyspace.audit_stream) < enough:
                break
        return any_sealed
