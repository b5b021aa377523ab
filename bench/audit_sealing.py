"""What does it cost to seal an entry, and to build the plain layout?"""

import gc
import time
import uuid

import uvloop
from redis.asyncio import Redis

from app.audit.seal.sealer import Sealer
from app.audit.seal.tree_growth import TreeGrower
from app.redis_client.clients import open_client
from bench.harness.audit_data import PlainLog, append, entries
from bench.harness.bench import Bench
from bench.harness.processes import Store
from bench.harness.table import Goal, Sample, Table, take_turns_by_label

ENTRIES = 102_400
PLAIN = "hash of JSON + five sorted sets, pipelined"
SEALED = "the compactor's sealing"
WITHOUT_TREE = "the same without the Merkle tree"


def measure(bench: Bench) -> Table:
    """Seals a backlog, and counts the CPU time of this process and of the store."""

    def sample(label: str) -> Sample:
        with bench.running_store("sealing") as store:
            return uvloop.run(_sample(store, label))

    rows = take_turns_by_label((PLAIN, WITHOUT_TREE, SEALED), sample, bench.rounds)
    goals = [
        Goal(
            wanted="sealing, us of the compactor's core an entry",
            bound=8,
            at_least=False,
            measured=rows[2].median("CPU us an entry"),
        ),
        Goal(
            wanted="times as much as without the tree",
            bound=1.10,
            at_least=False,
            measured=rows[2].ratio("CPU us an entry", rows[1]),
            needs_quiet=False,
        ),
    ]
    return Table(
        name="audit_sealing",
        question=f"what does it cost to make an entry searchable? (a backlog of {ENTRIES:,} entries)",
        command=bench.command,
        columns={"CPU us an entry": ".2f", "store us an entry": ".2f", "entries/s": ",.0f"},
        rows=rows,
        baseline=PLAIN,
        compared="CPU us an entry",
        first_column="Layout",
        goals=goals,
        left_out=[
            (
                "`CPU us an entry` is the user and system time of the process that builds the layout, "
                "including the entry's JSON."
            ),
            (
                "Not measured: the append to the stream, which is part of the commit; the plain "
                "layout would be written there."
            ),
        ],
    )


async def _sample(store: Store, label: str) -> Sample:
    client = open_client(store.url, 10_000)
    redis: Redis = Redis.from_url(store.url)
    workspace_id = str(uuid.uuid4())
    prepared = list(entries(ENTRIES))
    if label != PLAIN:
        await append(client, workspace_id, iter(prepared))
    gc.collect()
    gc.freeze()  # as the compactor does after its start
    store_us = store.cpu_us()
    began, spent = time.perf_counter(), time.process_time()
    if label == PLAIN:
        await PlainLog(redis, "plain").append(iter(prepared))
    else:
        sealer, trees = Sealer(client, 512, 4096), TreeGrower(client)
        while (sealed := await sealer.seal_next(workspace_id)) is not None:
            if label == SEALED:
                await trees.take(workspace_id, sealed)
    spent, took = time.process_time() - spent, time.perf_counter() - began
    store_us = store.cpu_us() - store_us
    await client.close()
    await redis.aclose()
    return {
        "CPU us an entry": spent / ENTRIES * 1e6,
        "store us an entry": store_us / ENTRIES,
        "entries/s": ENTRIES / took,
    }
