"""Shared by audit tests: entries as the commit writes them, and the answers of a brute-force filter."""

import asyncio
import glob
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import TypeVar

import msgspec

from app.audit.index import WITH_COLUMNS
from app.audit.merkle import inclusion_ranges, node_hash
from app.audit.seal.tree_growth import TreeGrower
from app.model.audit import AuditQuery
from app.model.times import rfc3339
from app.serve.jobs import background_jobs
from app.store.keyspace import Keyspace

AGENTS = [f"018bcfe5-6800-7000-8000-00000000000{digit}" for digit in range(4)]
KEY = "018bcfe5-6800-7000-8000-0000000000ff"
POLICY = "018bcfe5-6800-7000-8000-00000000cafe"
START_MS = 1_800_000_000_000
OPTIONAL = ("type", "code", "session", "policyVersion", "heardOfLater")
"""Further fields of which the API shows what the stream holds."""
APPEND = """
local at = 1
while ARGV[at] do
  local sequence, size = ARGV[at], tonumber(ARGV[at + 1])
  redis.call('XADD', KEYS[1], sequence .. '-0', unpack(ARGV, at + 2, at + 1 + size))
  redis.call('HSET', KEYS[2], 'sequence', sequence)
  at = at + 2 + size
end
"""
"""ARGV: for each entry its sequence, how many arguments its fields take, and these."""
AT_ONCE = 64


async def grow_trees(client, workspace_id):
    """Bring the Merkle trees of the workspace up to its chains, as the background process does."""
    grower = TreeGrower(client)
    while await grower.catch_up_log(workspace_id) or await grower.catch_up_trail(workspace_id):
        pass


T = TypeVar("T")


def batched(values: Iterable[T], size: int) -> Iterator[list[T]]:
    """The values in order, `size` at a time."""
    left = iter(values)
    while some := list(islice(left, size)):
        yield some


def fields_of(sequence: int, **given: object) -> dict[str, object]:
    """The stream fields of one entry; `given` replaces some."""
    return {
        "id": f"018bcfe5-6800-7000-8000-{sequence:012x}",
        "timeMs": START_MS + sequence,
        "agentId": AGENTS[0],
        "keyId": KEY,
        "action": "authorize",
        "toolName": "file.read",
        "parameters": '{"path":"/srv/a"}',
        "result": "allowed",
        "policyId": POLICY,
        "rule": "0 tool_allowlist",
        "reason": 'Policy "p" allows "file.read"',
        "latencyUs": 250,
    } | given


def entry_of(fields: dict[str, object]) -> dict[str, object]:
    """The same entry as the API shows it, made without any code of the service."""
    index, _, kind = str(fields["rule"]).partition(" ")
    return {
        "id": fields["id"],
        "agentId": fields["agentId"],
        "keyId": fields["keyId"],
        "action": fields["action"],
        "toolName": fields["toolName"],
        "parameters": msgspec.json.decode(str(fields["parameters"])),
        "result": fields["result"] or None,
        "policyId": fields["policyId"] or None,
        "rule": {"index": int(index), "type": kind} if kind else None,
        "reason": fields["reason"],
        "latencyMs": int(str(fields["latencyUs"])) / 1000,
        "timestamp": rfc3339(int(str(fields["timeMs"]))),
    } | {name: fields[name] for name in OPTIONAL if name in fields}


class Writer:
    """Appends to one workspace's stream as the commit does, and remembers everything it wrote."""

    def __init__(self, client, workspace_id: str) -> None:
        self.client = client
        self.keyspace = Keyspace(workspace_id)
        self.written: list[dict[str, object]] = []

    async def append(self, count: int = 1, **given: object) -> None:
        """Append `count` more entries with these stream fields."""
        await self.append_each([given] * count)

    async def append_each(self, entries: Iterable[dict[str, object]]) -> None:
        """Append one entry for each of these, with its stream fields."""
        for some in batched(enumerate(entries, len(self.written) + 1), AT_ONCE):
            await self._append([fields_of(sequence, **given) for sequence, given in some])

    async def append_fields(self, fields: dict[str, object]) -> None:
        """Append one more entry, with these stream fields and no others."""
        await self._append([fields])

    async def _append(self, entries: list[dict[str, object]]) -> None:
        arguments: list[object] = []
        for sequence, fields in enumerate(entries, len(self.written) + 1):
            arguments += [sequence, 2 * len(fields), *chain.from_iterable(fields.items())]
        self.written += entries
        keys = (self.keyspace.audit_stream, self.keyspace.commits)
        await self.client.call("EVAL", APPEND, len(keys), *keys, *arguments)

    def expected(self, query: AuditQuery) -> list[dict[str, object]]:
        """What a filter over everything that was written gives."""
        found = [
            entry_of(fields)
            for sequence, fields in reversed(list(enumerate(self.written, 1)))
            if (query.agent_id is None or fields["agentId"] == query.agent_id)
            and (query.tool_name is None or fields["toolName"] == query.tool_name)
            and (query.action is None or fields["action"] == query.action)
            and (query.result is None or fields["result"] == query.result)
            and (query.id is None or fields["id"] == query.id)
            and (query.key_id is None or fields["keyId"] == query.key_id)
            and (query.policy_id is None or fields["policyId"] == query.policy_id)
            and (query.rule_type is None or str(fields["rule"]).endswith(f" {query.rule_type}"))
            and (query.from_ms is None or fields["timeMs"] >= query.from_ms)
            and (query.to_ms is None or fields["timeMs"] <= query.to_ms)
            and (query.before is None or sequence < query.before)
        ]
        return found[query.offset : query.offset + query.limit]


def decoded(page) -> list[dict[str, object]]:
    """A page's lines as plain values."""
    return [msgspec.json.decode(line) for line in page.lines]


async def lose_columns(client, keyspace) -> None:
    """Delete the columns of all segments, and what is made of them or indexed only where there are some."""
    prefix = keyspace.audit_head.removesuffix("head")
    for key in await client.call("KEYS", glob.escape(prefix) + "*"):
        kind, *rest = key.removeprefix(prefix).split(":")
        if kind in ("columns", "names", "hours") or (kind == "by" and rest[0] in WITH_COLUMNS):
            await client.call("DEL", key)


async def repair_and_seal(client, settings):
    """What the background process does for the log in a second."""
    stopped = asyncio.Event()
    async with background_jobs(client, settings) as jobs:
        for name in ("repair streams and chain changes", "seal logs"):
            [job] = [job for job in jobs if job.name == name]
            await job.run(stopped)


def is_included(leaf, index, size, proof, root):
    """True if the proof leads from the leaf to the root (RFC 9162, 2.1.3.2)."""
    if not 0 <= index < size or len(proof) != len(inclusion_ranges(index, size)):
        return False
    result = leaf
    for (start, _), sibling in zip(inclusion_ranges(index, size), proof, strict=True):
        result = node_hash(sibling, result) if start < index else node_hash(result, sibling)
    return result == root


SAVE = """
local saved = {}
for _, key in ipairs(redis.call('KEYS', '*')) do
  table.insert(saved, key)
  table.insert(saved, redis.call('DUMP', key))
end
return saved
"""
LOAD = """
redis.call('FLUSHDB')
for at = 1, #ARGV, 2 do redis.call('RESTORE', ARGV[at], 0, ARGV[at + 1]) end
"""


def own_database(store):
    """The URL of a database of the store that no replica uses."""
    return store.url.removesuffix("/0") + "/1"


async def written_once(log, saved):
    """The log, written into its client's own database; if `saved` has all that was written before, by loading that."""
    if saved:
        values, log.writer.written[:] = saved
        await log.client.call("EVAL", LOAD, 0, *values)
    else:
        await log.client.call("FLUSHDB")
        await log.write()
        saved += [await log.client.call_bytes("EVAL", SAVE, 0), list(log.writer.written)]
    return log
