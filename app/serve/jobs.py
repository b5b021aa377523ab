"""The background process, `remit compact`, which `remit serve` also starts: its jobs, and how they are repeated."""

import asyncio
import gc
import logging
import os
import secrets
import signal
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import uvloop
from msgspec.structs import replace

from app.approvals.reaper import ApprovalReaper
from app.audit.log_state import head_of
from app.audit.seal.compactor import Compactor
from app.audit.seal.retention import Retention
from app.audit.seal.sealer import Sealer
from app.audit.seal.stream_repair import displaced, free_stream
from app.audit.seal.tree_growth import TreeGrower
from app.audit.trail_chain import seal_changes, unsealed_trails
from app.audit.verify.verifier import Verifier
from app.identity.key_refresh import KeyRefresh
from app.model.checkpoints import Checkpoint, Finding
from app.model.ids import Ids
from app.redaction.signer import Signer
from app.redis_client.client import Client, Value
from app.redis_client.clients import open_client, store_time_ms
from app.redis_client.replies import count_of
from app.runtime.fault_isolation import failures_logged
from app.serve.embedded_store import reachable_store
from app.settings import Settings, SettingsError
from app.store.keyspace import Keyspace
from app.store.leases import take_lease
from app.store.limits import WEBHOOKS_MAX
from app.store.spent_counts import counted_keys, drop_spent_counts
from app.store.workspaces import workspace_ids
from app.webhooks.delivery import Delivery
from app.webhooks.records import note_finding
from app.webhooks.secrets import Secrets
from app.webhooks.sender import Sender
from app.webhooks.webhooks import Webhooks

if TYPE_CHECKING:
    from app.transparency.rounds import CheckpointRounds

log = logging.getLogger(__name__)
_SIGN_S = 60.0
_DAY_MS = 24 * 3600 * 1000
_HELD_DAYS = 7
"""Days for which retention additionally keeps entries that a webhook has not been sent yet."""

_VERIFY_S = 30.0
_SPENT_COUNTS_S = 300.0
"""Looking through a million keys costs the store half a second, in parts of less than a millisecond."""
_NICENESS = 10
"""Niceness: sealing can wait, unlike callers who wait for a decision on the same cores."""
_REPAIRED_AT_ONCE = 256
"""The number of workspaces that each run checks for foreign stream entries; the next run checks the next ones."""
SHARE = 0.1
"""The share of a core that reading logs may take."""
_STEP_SEGMENTS = 16
"""Read between two pauses: some 8,000 entries, about 40 milliseconds."""
_LEASE_MS = 120_000
"""Longer than a step and its pause; if the holder dies, another process verifies the log from the beginning."""
OnFinding = Callable[[str, Finding], Awaitable[None]]


class Job(NamedTuple):
    """Work that is repeated until the process ends.

    name: completes the sentence "cannot …". interval_s: from the end of one run to the start of the next.
    run: finishes what it has begun and returns soon once the event is set. It returns True if more is waiting, which is
    then done at once.
    waits_first: the first run comes an interval after the start, too.
    """

    name: str
    interval_s: float
    run: Callable[[asyncio.Event], Awaitable[object]]
    waits_first: bool = False


@asynccontextmanager
async def background_jobs(client: Client, settings: Settings) -> AsyncIterator[list[Job]]:
    """The jobs for these settings. On leaving, events that are on their way to receivers are abandoned."""
    secrets = Secrets(Signer(settings.secrets))
    webhooks = Webhooks(client, Ids(), secrets, WEBHOOKS_MAX)
    sender = Sender(client, Delivery(settings, secrets), settings.audit_backlog_max)
    reaper = ApprovalReaper(client, Ids(), settings.audit_backlog_max)
    repairs = Repairs(client, Sealer(client, settings.audit_segment_entries))
    jobs = [
        Job("seal logs", 1.0, Compactor(client, settings).sweep),
        Job("end approvals", 1.0, lambda _stopped: end_approvals(client, reaper)),
        Job("repair streams and chain changes", 1.0, repairs.run),
        Job("grow Merkle trees", 1.0, TreeGrower(client).catch_up),
        Job("send to webhooks", 1.0, sender.look),
        Job("read the keys of issuers", 5.0, KeyRefresh(client, settings).run),
        Job("drop spent counts", _SPENT_COUNTS_S, partial(drop_all_spent_counts, client), waits_first=True),
    ]
    if days := settings.audit_retention_days:
        retention = Retention(
            client,
            webhooks.read_up_to,
            _HELD_DAYS * _DAY_MS,
            unarchived=settings.audit_drop_unarchived,
        )
        jobs.append(Job("apply retention", 60.0, partial(drop_old_segments, client, retention, days * _DAY_MS)))
    if every_s := settings.audit_verify_every_seconds:
        rounds = VerificationRounds(client, settings, partial(note_finding, client))
        jobs.append(Job("verify logs", min(_VERIFY_S, every_s / 2), rounds.verify_due))
    if settings.checkpoint_key_file is not None:
        jobs.append(Job("sign checkpoints", _SIGN_S, _checkpoint_rounds(client, settings).run))
    try:
        yield jobs
    finally:
        await sender.stop()


def _checkpoint_rounds(client: Client, settings: Settings) -> "CheckpointRounds":
    """Signs with the keys of the settings. Raises SettingsError."""
    try:
        from app.transparency.keys import read_keys  # noqa: PLC0415 - only who signs needs its library
        from app.transparency.rounds import CheckpointRounds  # noqa: PLC0415
        from app.transparency.witnesses import witnesses_in  # noqa: PLC0415
    except ImportError as error:
        raise SettingsError(
            "REMIT_CHECKPOINT_KEY_FILE needs the extra `checkpoints`: pip install -e '.[checkpoints]' in a checkout "
            f"({error})"
        ) from None
    try:
        keys = read_keys(Path(settings.checkpoint_key_file or ""))
    except ValueError as error:
        raise SettingsError(f"REMIT_CHECKPOINT_KEY_FILE: {error}") from None
    try:
        return CheckpointRounds(client, keys, witnesses_in(settings.checkpoint_witnesses))
    except ValueError as error:
        raise SettingsError(f"REMIT_CHECKPOINT_WITNESSES: {error}") from None


def run_background(settings: Settings) -> None:
    """Run the background jobs until SIGINT or SIGTERM; a segment being sealed is finished first."""
    with reachable_store(settings) as url:
        uvloop.run(_run_until_told(replace(settings, redis_url=url)))


async def _run_until_told(settings: Settings) -> None:
    os.nice(_NICENESS)
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.set)
    client = open_client(settings.redis_url or "", settings.store_timeout_ms)
    gc.collect()
    gc.freeze()  # objects made at the start stay, and need not be walked again and again
    try:
        async with background_jobs(client, settings) as jobs:
            await run_jobs(jobs, stopped)
    finally:
        await client.close()


async def run_jobs(jobs: Sequence[Job], stopped: asyncio.Event) -> None:
    """Run the jobs until `stopped` is set, each in a separate task, so that none waits for another or stops with it.

    A run that fails is logged, and the job runs again after its interval.
    """
    await asyncio.gather(*(_repeat(job, stopped) for job in jobs))


async def _repeat(job: Job, stopped: asyncio.Event) -> None:
    if job.waits_first:
        await wait(stopped, job.interval_s)
    while not stopped.is_set():
        has_more: object = False
        with failures_logged(log, job.name, level=logging.WARNING):
            has_more = await job.run(stopped)
        if has_more is not True:
            await wait(stopped, job.interval_s)


async def wait(stopped: asyncio.Event, seconds: float) -> None:
    """Wait this long, or until `stopped` is set."""
    try:
        await asyncio.wait_for(stopped.wait(), seconds)
    except TimeoutError:
        return


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


class VerificationRounds:
    """Verifies every workspace's log once per interval, one log after the other, and leaves most of a core to others.

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
        up_to = 0 if reached is None else reached.newest
        noted: dict[str, Value] = {"verified_ms": began_ms, "verified_up_to": up_to, "verified_finding": ""}
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
            noted |= {"intact_ms": began_ms, "intact_up_to": up_to}
        await self._client.call("HSET", keyspace.workspace, *(part for each in noted.items() for part in each))

    async def _was_dropped(self, keyspace: Keyspace, since: Checkpoint) -> bool:
        head = head_of(await self._client.call("HGETALL", keyspace.audit_head))
        return since.segment < head.first_segment

    async def _has_lease(self, keyspace: Keyspace) -> bool:
        return await take_lease(self._client, keyspace.verification_lease, self._name, _LEASE_MS)
