"""How long do audit queries take on a large log, and how long do they hold the event loop and the store?"""

import asyncio
import gc
import os
import statistics
import time
import uuid
from collections.abc import Awaitable, Callable
from typing import Any

import uvloop
from redis.asyncio import Redis

from app.audit.log import AuditLog
from app.model.audit import AuditQuery
from app.model.decisions import Result
from app.redis_client.client import Client
from app.redis_client.clients import open_client
from bench.harness.audit_data import (
    AGENTS,
    RARE,
    START_MS,
    STEP_MS,
    TOOLS,
    PlainLog,
    write_both,
)
from bench.harness.bench import Bench
from bench.harness.processes import Store
from bench.harness.table import Goal, Row, Sample, Table

ENTRIES = int(os.environ.get("BENCH_AUDIT_ENTRIES", "1000000"))
CALLS = 20
PLAIN, SEALED = "plain layout", "segments"
_MIDDLE = START_MS + ENTRIES // 2 * STEP_MS
_DAY = START_MS + (ENTRIES // 2 + ENTRIES // 50) * STEP_MS
NOBODY = "01931f2e-0000-7000-8000-000000000000"

Ask = Callable[[], Awaitable[Any]]
QUERIES: dict[str, tuple[AuditQuery, dict[str, Any]]] = {
    "newest 100": (AuditQuery(), {"keys": [("all",)]}),
    "by agent": (AuditQuery(agent_id=AGENTS[3]), {"keys": [("agent", AGENTS[3])]}),
    "by agent + result": (
        AuditQuery(agent_id=AGENTS[3], result=Result.DENIED),
        {"keys": [("agent", AGENTS[3]), ("result", "denied")]},
    ),
    "by tool + time range": (
        AuditQuery(tool_name=TOOLS[5], from_ms=_MIDDLE, to_ms=_DAY),
        {"keys": [("tool", TOOLS[5])], "from_ms": _MIDDLE, "to_ms": _DAY},
    ),
    "an agent with 3 entries": (AuditQuery(agent_id=RARE), {"keys": [("agent", RARE)]}),
    "a filter that matches nothing": (AuditQuery(agent_id=NOBODY), {"keys": [("agent", NOBODY)]}),
    "offset of half the log": (AuditQuery(offset=ENTRIES // 2), {"keys": [("all",)], "offset": ENTRIES // 2}),
    "agent + tool that never met": (
        AuditQuery(agent_id=RARE, tool_name=TOOLS[0], result=Result.ESCALATED),
        {"keys": [("agent", RARE), ("tool", TOOLS[0]), ("result", "escalated")]},
    ),
    "two that often occur, seldom together": (
        AuditQuery(tool_name=TOOLS[5], result=Result.ESCALATED, offset=2_000),
        {"keys": [("tool", TOOLS[5]), ("result", "escalated")], "offset": 2_000},
    ),
}
ASKED = list(QUERIES)[:7]
"""The queries that have goals; the rest show where the index helps less."""


def measure(bench: Bench) -> Table:
    """One replica's query code on one core, the store on the other, one query at a time."""
    rows = [Row(label=layout, group=name) for name in QUERIES for layout in (PLAIN, SEALED)]
    workspace_id = str(uuid.uuid4())
    with bench.running_store("query") as store:
        uvloop.run(write_both(store.url, workspace_id, ENTRIES))
        for _ in range(bench.rounds):
            for row in rows:
                row.samples.append(uvloop.run(_sample(store, workspace_id, row)))
    goals = []
    for name in ASKED:
        row = next(row for row in rows if (row.label, row.group) == (SEALED, name))
        goals.append(Goal(wanted=f"{name}: p50 ms", bound=10, at_least=False, measured=row.median("p50 ms")))
    for column in ("loop held ms", "store held ms"):
        worst = max(row.median(column) or 0 for row in rows if row.label == SEALED)
        goals.append(Goal(wanted=f"any of them: {column}", bound=5, at_least=False, measured=worst))
    return Table(
        name="audit_query",
        question=f"how long do queries take in a log of {ENTRIES:,} entries, and for how long do they "
        f"block the loop and the store?",
        command=bench.command,
        columns={"p50 ms": ".2f", "max ms": ".2f", "CPU ms": ".2f", "loop held ms": ".2f", "store held ms": ".2f"},
        rows=rows,
        baseline=PLAIN,
        compared="p50 ms",
        first_column="Layout",
        group_column="Query",
        goals=goals,
        left_out=[
            f"Each of {CALLS} calls one after the other.",
            (
                "`CPU ms` is this process's CPU time per call; `loop held` is the longest CPU time "
                "between two turns of another task;"
            ),
            "`store held` is the longest command.",
            "Not measured: HTTP. The agents are spread evenly over the log, which is the hardest case for segments.",
        ],
    )


async def _sample(store: Store, workspace_id: str, row: Row) -> Sample:
    client = open_client(store.url, 10_000)
    redis: Redis = Redis.from_url(store.url)
    query, plainly = QUERIES[row.group]
    log, plain = AuditLog(client), PlainLog(redis, "plain")

    async def ask() -> Any:
        if row.label == PLAIN:
            return await plain.query(plainly["keys"], **{name: plainly[name] for name in plainly if name != "keys"})
        return await log.query(workspace_id, query)

    await ask()
    gc.collect()
    gc.freeze()  # as a replica does after its start
    await client.call("CONFIG", "SET", "slowlog-log-slower-than", "0")
    await client.call("CONFIG", "SET", "slowlog-max-len", "100000")
    await client.call("SLOWLOG", "RESET")
    times = []
    spent = time.process_time()
    for _ in range(CALLS):
        await ask()
    spent = time.process_time() - spent
    held = asyncio.create_task(_longest_wait(stop := asyncio.Event()))
    for _ in range(CALLS):
        began = time.perf_counter()
        await ask()
        times.append((time.perf_counter() - began) * 1e3)
    stop.set()
    loop_ms = await held
    store_ms = await _longest_command(client)
    await client.close()
    await redis.aclose()
    return {
        "p50 ms": statistics.median(times),
        "max ms": max(times),
        "CPU ms": spent / CALLS * 1e3,
        "loop held ms": loop_ms,
        "store held ms": store_ms,
    }


async def _longest_wait(stop: asyncio.Event) -> float:
    """The longest time in ms between two turns of a task that is always ready to run."""
    # CPU time of this thread: on a shared machine, a wall clock would also measure other processes.
    longest, before = 0.0, time.thread_time()
    while not stop.is_set():
        await asyncio.sleep(0)
        now = time.thread_time()
        longest, before = max(longest, now - before), now
    return longest * 1e3


async def _longest_command(client: Client) -> float:
    await client.call("CONFIG", "SET", "slowlog-log-slower-than", "-1")
    entries_of_log = await client.call("SLOWLOG", "GET", "100000")
    longest = 0
    for entry in entries_of_log:
        longest = max(longest, entry["duration"] if isinstance(entry, dict) else int(entry[2]))
    return longest / 1e3
