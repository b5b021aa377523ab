"""How fast is the log exported, and how much memory does that take?"""

import resource
import time
import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import uvloop
from redis.asyncio import Redis

from app.audit.read.export import export
from app.http.api.audit_export import gzipped
from app.model.audit import AuditQuery, Format
from app.redis_client.client import Client
from app.redis_client.clients import open_client
from bench.harness.audit_data import AGENTS, write_both
from bench.harness.bench import Bench
from bench.harness.processes import Store
from bench.harness.table import Goal, Sample, Table, take_turns_by_label

ENTRIES = 200_000
PLAIN = "plain layout: HSCAN of the hash of JSON"
NDJSON, CSV, GZIP, AGENT = "NDJSON", "CSV", "NDJSON, gzip", "NDJSON of one agent"


def measure(bench: Bench) -> Table:
    """Generates the chunks and discards them, like a client that reads fast."""
    workspace_id = str(uuid.uuid4())
    with bench.running_store("export") as store:
        uvloop.run(write_both(store.url, workspace_id, ENTRIES))

        def sample(label: str) -> Sample:
            return uvloop.run(_sample(store, workspace_id, label))

        rows = take_turns_by_label((PLAIN, NDJSON, CSV, GZIP, AGENT), sample, bench.rounds)
    goals = [
        Goal(
            wanted="export, entries/s of one core",
            bound=200_000,
            at_least=True,
            measured=rows[1].median("entries/CPU s"),
        ),
        Goal(wanted="memory an export adds, MB", bound=16, at_least=False, measured=rows[1].median("MB added")),
    ]
    return Table(
        name="audit_export",
        question=f"how fast is the export of a log of {ENTRIES:,} entries, and how much memory does it take?",
        command=bench.command,
        columns={"entries/CPU s": ",.0f", "entries/s": ",.0f", "MB sent": ".0f", "MB added": ".1f"},
        rows=rows,
        baseline=PLAIN,
        compared="entries/CPU s",
        first_column="Export",
        goals=goals,
        left_out=[
            "The HTTP server and its socket.",
            "`entries/CPU s` counts only this process's CPU time, and every entry read, not only those that match.",
            "`MB added` is the growth of the peak resident memory.",
            "The plain layout's export is unordered and may contain an entry twice.",
        ],
    )


async def _sample(store: Store, workspace_id: str, label: str) -> Sample:
    client = open_client(store.url, 10_000)
    redis: Redis = Redis.from_url(store.url)
    pieces = _scanned(redis) if label == PLAIN else _exported(client, workspace_id, label)
    _forget_peak()
    before, began, spent, sent = _peak_mb(), time.perf_counter(), time.process_time(), 0
    async for piece in pieces:
        sent += len(piece)
    spent, took = time.process_time() - spent, time.perf_counter() - began
    added = _peak_mb() - before
    await client.close()
    await redis.aclose()
    return {
        "entries/CPU s": ENTRIES / spent,
        "entries/s": ENTRIES / took,
        "MB sent": sent / 1e6,
        "MB added": added,
    }


def _exported(client: Client, workspace_id: str, label: str) -> AsyncIterator[bytes]:
    query = AuditQuery(agent_id=AGENTS[3]) if label == AGENT else AuditQuery()
    pieces = export(client, workspace_id, query, Format.CSV if label == CSV else Format.NDJSON)
    return gzipped(pieces) if label == GZIP else pieces


async def _scanned(redis: Redis) -> AsyncIterator[bytes]:
    cursor = 0
    while True:
        found: Any = await redis.hscan("plain:entries", cursor, count=500)
        cursor, some = found
        yield b"\n".join(some.values())
        if cursor == 0:
            return


def _forget_peak() -> None:
    """Reset the kernel's record of peak resident memory."""
    Path("/proc/self/clear_refs").write_text("5")


def _peak_mb() -> float:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
