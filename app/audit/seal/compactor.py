"""The compactor turns streams into segments, as a job of the background process (`remit compact`)."""

import asyncio
import logging
import secrets
import time

from app.audit.entry_format import time_ms_of
from app.audit.seal.sealer import Sealer
from app.audit.seal.tree_growth import TreeGrower
from app.audit.unsealed import stream_entries
from app.redis_client.client import Client
from app.redis_client.clients import store_time_ms
from app.runtime.fault_isolation import failures_logged
from app.settings import Settings
from app.store.keyspace import Keyspace
from app.store.leases import take_lease
from app.store.readiness import is_nearly_full
from app.store.workspaces import workspace_ids

log = logging.getLogger(__name__)
_LEASE_ASKED_S = 1.0
_WORKSPACES_AT_ONCE = 256
_SEGMENTS_AT_ONCE = 16
"""The most that are sealed of a workspace before others have their turn; its log may grow as fast as it is sealed."""
_PART_OF_SEGMENT = 8
"""Once the store is nearly out of memory, a stream that would fill this share of a segment (an eighth) is sealed."""


class Compactor:
    """Seals what is due in every workspace.

    It polls the length of every stream, so replicas need not announce entries: the hot path pays nothing, and a crash
    loses no announcement. The lease only saves compactors from building the same segment twice; correctness rests on
    the script.
    """

    def __init__(self, client: Client, settings: Settings) -> None:
        self._client = client
        self._entries = settings.audit_segment_entries
        self._seal_after_ms = settings.audit_seal_after_seconds * 1000
        self._sealer = Sealer(client, settings.audit_segment_entries)
        self._trees = TreeGrower(client)
        self._name = secrets.token_hex(8)

    async def sweep(self, stopped: asyncio.Event | None = None) -> bool:
        """Seal what is due now; True if anything was sealed, as there may be more.

        A segment that is being sealed is finished, even if `stopped` is set.
        """
        workspaces = await workspace_ids(self._client)
        sealed = False
        enough = max(1, self._entries // _PART_OF_SEGMENT) if await is_nearly_full(self._client) else self._entries
        for start in range(0, len(workspaces), _WORKSPACES_AT_ONCE):
            for workspace_id in await self._due(workspaces[start : start + _WORKSPACES_AT_ONCE], enough):
                if stopped is not None and stopped.is_set():
                    return sealed
                with failures_logged(log, f"seal workspace {workspace_id}"):
                    sealed |= await self._seal(workspace_id, enough, stopped)
        return sealed

    async def _due(self, workspaces: list[str], enough: int) -> list[str]:
        """The workspaces whose stream has enough entries, or an entry that has waited long enough."""
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
                    # A clock that steps back must not delay sealing, so entries in the future are due as well.
                    if abs(now_ms - time_ms_of(fields)) >= self._seal_after_ms:
                        due.append(workspace_id)
        return due

    async def _seal(self, workspace_id: str, enough: int, stopped: asyncio.Event | None) -> bool:
        """Seal a segment, and some more while enough entries are left; True if anything was sealed."""
        keyspace = Keyspace(workspace_id)
        any_sealed = False
        asked_at = -_LEASE_ASKED_S
        for _ in range(_SEGMENTS_AT_ONCE):
            # Once a second, not per segment: renewing takes a tenth of the time to build one, and losing the lease does
            # no harm.
            if time.monotonic() - asked_at >= _LEASE_ASKED_S:
                asked_at = time.monotonic()
                if not await take_lease(self._client, keyspace.audit_lease, self._name):
                    break
            sealed = await self._sealer.seal_next(workspace_id)
            if sealed is None:
                break
            await self._trees.take(workspace_id, sealed)
            any_sealed = True
            if stopped is not None and stopped.is_set():
                break
            if await self._client.call("XLEN", keyspace.audit_stream) < enough:
                break
        return any_sealed
