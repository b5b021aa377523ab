"""How long do verification and an archive of a large log take, and how much memory?"""

import multiprocessing
import os
import resource
import shutil
import time
import uuid
from collections.abc import Awaitable, Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import uvloop
from redis.asyncio import Redis

from app.audit.log import AuditLog
from app.redis_client.client import Client
from app.redis_client.clients import open_client
from app.store.keyspace import Keyspace
from bench.harness.audit_data import entries, run_on
from bench.harness.bench import Bench
from bench.harness.processes import Store
from bench.harness.sealed_log import write_sealed
from bench.harness.table import Goal, Row, Sample, Table

ENTRIES = int(os.environ.get("BENCH_LARGE_LOG_ENTRIES", "5000000"))
VERIFY, ARCHIVE, AGAIN = "verify", "archive", "verify, with one bit of a middle segment changed"
_TIMEOUT_MS = 60_000
Act = Callable[[AuditLog, str, Path], Awaitable[int]]
"""What is measured; how many entries it has read."""


def measure(bench: Bench) -> Table:
    """Each in a process of its own, whose peak memory counts from its start; then one bit is changed in the store."""
    workspace_id, folder = str(uuid.uuid4()), bench.folder / "archive"
    with bench.running_store("large") as store:
        run_on(store.url, lambda client: _fill(client, workspace_id))
        rows = [
            Row(label=VERIFY, samples=[_apart(store, workspace_id, folder, _require_intact)]),
            Row(label=ARCHIVE, samples=[_apart(store, workspace_id, folder, _archive)]),
        ]
        shutil.rmtree(folder)
        changed = run_on(store.url, lambda client: _flip_bit(client, store, workspace_id))

        async def require_found(log: AuditLog, workspace: str, _: Path) -> int:
            found = await log.verify(workspace)
            if found.finding is None or found.finding.segment != changed:
                raise RuntimeError(f"the bit in segment {changed} was not found: {found.finding}")
            return found.entries

        rows.append(Row(label=AGAIN, samples=[_apart(store, workspace_id, folder, require_found)]))
    most = max(row.median("MB added") or 0.0 for row in rows)
    return Table(
        name="large_log",
        question=f"how long do verification and an archive of {ENTRIES:,} sealed entries take, and how much memory?",
        command=f"BENCH_LARGE_LOG_ENTRIES={ENTRIES} {bench.command}",
        columns={"s": ",.1f", "CPU s": ",.1f", "entries/CPU s": ",.0f", "MB added": ",.1f"},
        rows=rows,
        baseline="",
        compared="s",
        first_column="What",
        goals=[Goal(wanted="memory that any of them adds, MB", bound=64, at_least=False, measured=most)],
        left_out=[
            "Each runs once, in a process of its own; `MB added` is the growth of its peak resident memory.",
            "Verification ends at the first fault, so the third row reads about half of the log.",
        ],
    )


async def _fill(client: Client, workspace_id: str) -> None:
    await write_sealed(client, workspace_id, ENTRIES, lambda after, count: entries(count, after=after, total=ENTRIES))


async def _require_intact(log: AuditLog, workspace_id: str, _: Path) -> int:
    verification = await log.verify(workspace_id)
    if verification.finding is not None or not verification.complete:
        raise RuntimeError(f"the log is not intact: {verification.finding}")
    return verification.entries


async def _archive(log: AuditLog, workspace_id: str, folder: Path) -> int:
    await log.archive(folder, workspace_id)
    return ENTRIES


async def _flip_bit(client: Client, store: Store, workspace_id: str) -> int:
    """Change one bit in the middle of a segment in the middle of the log; the segment's number."""
    number = int(await client.call("HGET", Keyspace(workspace_id).audit_head, "segment")) // 2
    redis: Redis = Redis.from_url(store.url)
    key = Keyspace(workspace_id).audit_data(number)
    place = await redis.strlen(key) // 2
    was: Any = await redis.getrange(key, place, place)
    await redis.setrange(key, place, bytes([was[0] ^ 1]))
    await redis.aclose()
    return number


def _apart(store: Store, workspace_id: str, folder: Path, act: Act) -> Sample:
    """Seconds, CPU seconds and memory of the act in another process. Raises RuntimeError if it fails."""
    context = multiprocessing.get_context("fork")
    receiving, sending = context.Pipe(duplex=False)
    process = context.Process(target=_measure, args=(sending, store.url, workspace_id, folder, act))
    process.start()
    sending.close()
    try:
        sample: Sample = receiving.recv()
    except EOFError:
        raise RuntimeError("the process ended without an answer; its messages stand above") from None
    process.join()
    return sample


def _measure(sending: Connection, url: str, workspace_id: str, folder: Path, act: Act) -> None:
    async def run() -> Sample:
        client = open_client(url, _TIMEOUT_MS)
        log = AuditLog(client)
        await client.call("PING")
        before, began, spent = _peak_mb(), time.perf_counter(), time.process_time()
        read = await act(log, workspace_id, folder)
        took, spent = time.perf_counter() - began, time.process_time() - spent
        await client.close()
        return {"s": took, "CPU s": spent, "entries/CPU s": read / spent, "MB added": _peak_mb() - before}

    sending.send(uvloop.run(run()))


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
