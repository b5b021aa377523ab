"""How much memory does an audit entry take in the store, sealed, unsealed, and in the plain layout?"""

import uuid

from redis.asyncio import Redis

from app.redis_client.client import Client
from app.store.keyspace import Keyspace
from bench.harness.audit_data import PlainLog, append, append_and_seal, entries, mean_json_bytes, run_on, used_memory
from bench.harness.bench import Bench
from bench.harness.processes import Store
from bench.harness.table import Goal, Sample, Table, take_turns_by_label

ENTRIES = 200_000
PLAIN = "hash of JSON + five sorted sets of ids"
STREAM = "the stream, unsealed"
SEALED = "sealed segments with their index"


def measure(bench: Bench) -> Table:
    """INFO memory before and after, on a store that holds nothing else."""

    def sample(label: str) -> Sample:
        with bench.running_store("memory") as store:
            return _sample(store, label)

    rows = take_turns_by_label((PLAIN, STREAM, SEALED), sample, 1)
    goal = Goal(
        wanted="memory of a sealed entry, bytes, all in",
        bound=130,
        at_least=False,
        measured=rows[2].median("bytes an entry"),
    )
    return Table(
        name="audit_memory",
        question=f"how much memory does an audit entry take? ({ENTRIES:,} entries of {mean_json_bytes():.0f} bytes of "
        "JSON, 1,000 agents, 30 tools)",
        command=bench.command,
        columns={"bytes an entry": ".0f", "of them data": ".0f"},
        rows=rows,
        baseline=PLAIN,
        compared="bytes an entry",
        first_column="Layout",
        goals=[goal],
        left_out=[
            "`of them data` is the JSON itself, compressed or plain, without the store's overhead.",
            "The plain layout is built by hand, with nothing else in the store.",
        ],
    )


def _sample(store: Store, label: str) -> Sample:
    async def work(client: Client) -> Sample:
        before = await used_memory(client)
        workspace_id = str(uuid.uuid4())
        data = 0.0
        if label == PLAIN:
            redis: Redis = Redis.from_url(store.url)
            await PlainLog(redis, "plain").append(entries(ENTRIES))
            await redis.aclose()
            data = mean_json_bytes() * ENTRIES
        elif label == STREAM:
            await append(client, workspace_id, entries(ENTRIES))
        else:
            await append_and_seal(client, workspace_id, ENTRIES)
            keyspace = Keyspace(workspace_id)
            last = int(await client.call("HGET", keyspace.audit_head, "segment"))
            sizes = await client.read_pipelined(
                ("STRLEN", keyspace.audit_data(number)) for number in range(1, last + 1)
            )
            data = sum(sizes)
        used = await used_memory(client) - before
        sample = {"bytes an entry": used / ENTRIES}
        return sample | ({"of them data": data / ENTRIES} if data else {})

    result: Sample = run_on(store.url, work)
    return result
