"""Many audit entries, written to the service's log and to the plain layout that it is compared with."""

import asyncio
import random
import uuid
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from redis.asyncio import Redis

from app.audit.entry_format import line_of
from app.audit.seal.sealer import Sealer
from app.audit.seal.tree_growth import TreeGrower
from app.model.ids import Ids
from app.redis_client.client import Client
from app.redis_client.clients import open_client
from app.store.keyspace import Keyspace

_some = random.Random(11)
AGENTS = [str(uuid.UUID(int=_some.getrandbits(128), version=4)) for _ in range(1_000)]
RARE = "01931f2e-7a51-7cc0-9e55-3f6f6d1a2b01"
"""An agent with three entries, spread over the log."""
TOOLS = [f"group{number % 6}.action_{number}" for number in range(30)]
RESULTS, WEIGHTS = ("allowed", "denied", "escalated"), (85, 12, 3)
START_MS = 1_800_000_000_000
STEP_MS = 20
POLICIES = [str(uuid.UUID(int=_some.getrandbits(128), version=4)) for _ in range(1_000)]
_KEY = "01931f2d-1c22-7f03-b7aa-0d4e8b6c1f03"
_TOGETHER = _SEGMENT = 512
_APPEND = """
local names = tonumber(ARGV[2])
local first, fields = 3 + names, {}
for field = 1, names do fields[2 * field - 1] = ARGV[2 + field] end
for start = first, #ARGV, names do
  for field = 1, names do fields[2 * field] = ARGV[start + field - 1] end
  redis.call('XADD', KEYS[1], string.format('%.0f-0', ARGV[1] + (start - first) / names + 1), unpack(fields))
end
redis.call('HSET', KEYS[2], 'sequence', string.format('%.0f', ARGV[1] + (#ARGV - first + 1) / names))
"""
"""Appends all entries of a call at once: a command for each would take most of the time to make a large log."""
Fields = dict[str, str]


def entries(
    count: int, agents: Sequence[str] = AGENTS, after: int = 0, total: int = 0, step_ms: int = STEP_MS
) -> Iterator[Fields]:
    """Stream fields of `count` entries: 1,000 agents, unless others are given, and 30 tools in random order.

    Each has about 405 bytes of JSON. after: so many of `total` come before them. step_ms: between two of them.
    """
    chosen, ids, total = random.Random(7 + after), Ids(), total or count
    rare = {total // 10, total // 2, total - total // 10}
    for number in range(after, after + count):
        agent = chosen.randrange(len(agents))
        result = chosen.choices(RESULTS, WEIGHTS)[0]
        time_ms = START_MS + number * step_ms
        yield {
            "id": ids.new(time_ms),
            "timeMs": str(time_ms),
            "agentId": RARE if number in rare else agents[agent],
            "keyId": _KEY,
            "action": "authorize",
            "toolName": chosen.choice(TOOLS),
            "parameters": f'{{"id":"{chosen.randrange(10**14):014d}"}}',
            "result": result,
            "policyId": POLICIES[agent % len(POLICIES)],
            "rule": f"{chosen.randrange(4)} rate_limit",
            "reason": "",
            "latencyUs": str(chosen.randrange(100, 900)),
        }


def json_of(fields: Fields) -> bytes:
    """The entry as the API shows it."""
    return line_of({name.encode(): value.encode() for name, value in fields.items()})


async def append(client: Client, workspace_id: str, some: Iterable[Fields], after: int = 0) -> int:
    """Append entries to the workspace's stream, after those that it has had; return how many it has had then."""
    keyspace = Keyspace(workspace_id)
    source = iter(some)
    while block := list(islice(source, _TOGETHER)):
        names, values = list(block[0]), [value for fields in block for value in fields.values()]
        keys = (keyspace.audit_stream, keyspace.commits)
        await client.call("EVAL", _APPEND, 2, *keys, after, len(names), *names, *values)
        after += len(block)
    return after


async def append_and_seal(
    client: Client, workspace_id: str, count: int, agents: Sequence[str] = AGENTS, trees: TreeGrower | None = None
) -> None:
    """Write and seal `count` entries; the stream stays short all the time. trees: also grows the Merkle tree."""
    sealer, source, sequence = Sealer(client, _SEGMENT, 4096), entries(count, agents), 0
    while sequence < count:
        sequence = await append(client, workspace_id, islice(source, _SEGMENT), sequence)
        sealed = await sealer.seal_next(workspace_id)
        if trees is not None and sealed is not None:
            await trees.take(workspace_id, sealed)


class PlainLog:
    """A hash of JSON and one sorted set of ids per dimension: what most services would build."""

    def __init__(self, redis: Redis, name: str) -> None:
        self._redis = redis
        self._entries = f"{name}:entries"
        self._name = name

    async def append(self, some: Iterator[Fields]) -> None:
        """Put every entry into the hash and into five sorted sets."""
        pipeline = self._redis.pipeline(transaction=False)
        for number, fields in enumerate(some, 1):
            entry_id, time_ms = fields["id"], int(fields["timeMs"])
            pipeline.hset(self._entries, entry_id, json_of(fields))
            for key in (
                self._key("all"),
                self._key("agent", fields["agentId"]),
                self._key("tool", fields["toolName"]),
                self._key("action", fields["action"]),
                self._key("result", fields["result"]),
            ):
                pipeline.zadd(key, {entry_id: time_ms})
            if number % _TOGETHER == 0:
                await pipeline.execute()
        await pipeline.execute()

    async def query(
        self, keys: Sequence[tuple[str, ...]], *, offset: int = 0, from_ms: int | None = None, to_ms: int | None = None
    ) -> list[bytes]:
        """The newest 100 entries that are in all of these sets, as JSON."""
        if len(keys) == 1:
            low = "-inf" if from_ms is None else from_ms
            high = "+inf" if to_ms is None else to_ms
            ids: Any = await self._redis.zrevrangebyscore(self._key(*keys[0]), high, low, offset, 100)
        else:
            names = [self._key(*key) for key in keys]
            both: Any = await self._redis.zinter(names, withscores=True, aggregate="MAX")
            ids = [entry_id for entry_id, _ in sorted(both, key=lambda pair: -pair[1])[offset : offset + 100]]
        found: Any = await self._redis.hmget(self._entries, ids) if ids else []
        return list(found)

    def _key(self, *parts: str) -> str:
        return ":".join((self._name, *parts))


async def used_memory(client: Client) -> int:
    """Bytes that the store has allocated for what it keeps."""
    info = await client.call("INFO", "memory")
    if isinstance(info, dict):
        return int(info["used_memory"])
    return int(next(line.split(":")[1] for line in str(info).splitlines() if line.startswith("used_memory:")))


def run_on(url: str, work: Any) -> Any:
    """The result of the coroutine function, called with a client of the store."""

    async def act() -> Any:
        client = open_client(url, 10_000)
        try:
            return await work(client)
        finally:
            await client.close()

    return asyncio.run(act())


def mean_json_bytes(count: int = 1_000) -> float:
    """The average length of an entry as JSON, in bytes."""
    return sum(len(json_of(fields)) for fields in entries(count)) / count


async def write_both(url: str, workspace_id: str, count: int) -> None:
    """Write the same entries to the service's log, sealed, and to the plain layout."""
    client = open_client(url, 10_000)
    redis: Redis = Redis.from_url(url)
    await append_and_seal(client, workspace_id, count)
    await PlainLog(redis, "plain").append(entries(count))
    await client.close()
    await redis.aclose()
