"""The log that benchmarks write at once is the one that compactors would have made."""

import pytest

from app.audit.seal.tree_growth import TreeGrower
from app.store.keyspace import Keyspace
from bench.harness import audit_data
from bench.harness.audit_data import AGENTS, append_and_seal, entries
from bench.harness.sealed_log import write_sealed


async def dumped(client, workspace_id):
    """Every key of the workspace but the stream, which counts the entries that it has had."""
    names = await client.call("KEYS", f"*{{{workspace_id}}}*")
    others = sorted(set(names) - {Keyspace(workspace_id).audit_stream})
    return dict(zip(others, [await client.call_bytes("DUMP", each) for each in others], strict=True))


@pytest.mark.slow
async def test_a_log_written_at_once_is_the_one_that_a_compactor_makes(valkey_client, ids, monkeypatch):
    """Byte for byte, over the border between two parts and with a last segment that is not full."""
    workspace_id, count = ids.new(1), 2 * 512 + 100
    monkeypatch.setattr("app.audit.segments.PART_SEGMENTS", 2)
    monkeypatch.setattr("bench.harness.sealed_log.PART_SEGMENTS", 2)
    made = list(entries(count))
    monkeypatch.setattr(audit_data, "entries", lambda *_: iter(made))
    await append_and_seal(valkey_client, workspace_id, count, AGENTS, TreeGrower(valkey_client))
    compacted = await dumped(valkey_client, workspace_id)
    for key in (*compacted, Keyspace(workspace_id).audit_stream):
        await valkey_client.call("DEL", key)

    await write_sealed(valkey_client, workspace_id, count, lambda after, some: made[after : after + some])
    assert await dumped(valkey_client, workspace_id) == compacted
    assert len([key for key in compacted if ":audit:columns:" in key]) == 2
