"""Upkeep of every workspace besides sealing: makes room, repairs streams, chains changes."""

import asyncio
import logging

from app.approvals.reaper import ApprovalReaper
from app.audit.seal.retention import Retention
from app.audit.seal.sealer import Sealer
from app.audit.seal.stream_repair import displaced, free_stream
from app.audit.trail_chain import seal_changes, unsealed_trails
from app.redis_client.client import Client
from app.redis_client.clients import store_time_ms
from app.runtime.fault_isolation import failures_logged
from app.store.spent_counts import counted_keys, drop_spent_counts
from app.store.workspaces import workspace_ids

log = logging.getLogger(__name__)
_REPAIRED_AT_ONCE = 256
"""The number of workspaces that each run checks for foreign stream entries; the next run checks the next ones."""


async def end_approvals(client: Client, reaper: ApprovalReaper) -> None:
    """End the approvals of all workspaces that have expired or lost their basis."""
    await reaper.end_approvals(await workspace_ids(client))


async def drop_old_segments(client: Client, retention: Retention, keep_ms: int, stopped: asyncio.Event) -> int:
    """Drop the segments that retention no longer keeps, in all workspaces; return how many."""
    dropped = 0
    before_ms = await store_time_ms(client) - keep_ms
    for workspace_id in await workspace_ids(client):
        with failures_logged(log, f"drop from workspace {workspace_id}"):
            while not stopped.is_set() and await retention.drop_next(workspace_id, before_ms):
                dropped += 1
    if dropped:
        log.info("retention dropped %d segments", dropped)
    return dropped


async def drop_all_spent_counts(client: Client, stopped: asyncio.Event) -> int:
    """Drop what rules of any workspace counted and count no more; return how many keys that was."""
    dropped = 0
    async for workspace_id, counted in counted_keys(client):
        if stopped.is_set():
            break
        with failures_logged(log, f"drop spent counts of workspace {workspace_id}"):
            dropped += await drop_spent_counts(client, workspace_id, counted)
    return dropped


class Repairs:
    """Makes sure that commits can append, and chains the trail's new changes, for some workspaces in each run.

    Commits fail to append only where something else has written to the stream.
    """

    def __init__(self, client: Client, sealer: Sealer) -> None:
        self._client = client
        self._sealer = sealer
        self._next = 0

    async def run(self, stopped: asyncio.Event) -> None:
        """Repair the workspaces whose turn it is."""
        workspaces = await workspace_ids(self._client)
        start = self._next if self._next < len(workspaces) else 0
        self._next = start + _REPAIRED_AT_ONCE
        turn = workspaces[start : self._next]
        for workspace_id in await displaced(self._client, turn):
            with failures_logged(log, f"free the stream of workspace {workspace_id}"):
                await free_stream(self._client, self._sealer, workspace_id)
        for workspace_id in await unsealed_trails(self._client, turn):
            if stopped.is_set():
                return
            with failures_logged(log, f"chain the changes of workspace {workspace_id}"):
                await seal_changes(self._client, workspace_id)
