"""One key of the log is lost: the rest is neither overwritten nor taken for foreign."""

import pytest
from audit_entries import Writer, decoded, repair_and_seal

from app.audit.log import AuditLog
from app.audit.seal.sealer import Sealer
from app.audit.verify.verifier import Verifier
from app.errors import AuditLogDamaged
from app.model.audit import AuditQuery
from app.settings import Settings
from app.store.keyspace import WORKSPACES

SETTINGS = Settings(audit_segment_entries=5, audit_seal_after_seconds=0)


@pytest.fixture
async def writer(client, workspace_id):
    """Twelve entries, of which ten are sealed in two segments."""
    await client.call("HSET", WORKSPACES, workspace_id, workspace_id)
    writer = Writer(client, workspace_id)
    await writer.append(12)
    sealer = Sealer(client, 5, 100)
    for _ in range(2):
        await sealer.seal_next(workspace_id)
    yield writer
    await client.call("HDEL", WORKSPACES, workspace_id)


async def segments(client, keyspace):
    """Everything stored of the two segments."""
    return [
        await client.call_bytes(*command)
        for number in (1, 2)
        for command in (("HGETALL", keyspace.audit_segment(number)), ("GET", keyspace.audit_data(number)))
    ]


@pytest.mark.parametrize("loss", ["gone", "set back"])
@pytest.mark.parametrize("knows_it", [True, False], ids=["the same sealer", "another sealer"])
async def test_without_its_head_no_segment_is_written_over(client, writer, workspace_id, loss, knows_it, caplog):
    """Sealing stops and says why; once the head is restored, it continues, and nothing is missing."""
    keyspace, sealer = writer.keyspace, Sealer(client, 5, 100)
    before = await segments(client, keyspace)
    if knows_it:
        await sealer.seal_next(workspace_id)
        await writer.append(3)
    head = await client.call("HGETALL", keyspace.audit_head)
    if loss == "gone":
        await client.call("DEL", keyspace.audit_head)
    else:
        sha256 = await client.call("HGET", keyspace.audit_segment(1), "sha256")
        await client.call("HSET", keyspace.audit_head, "segment", 1, "sequence", 5, "sha256", sha256)
    with pytest.raises(AuditLogDamaged, match="nothing is sealed over it"):
        await sealer.seal_next(workspace_id)
    await repair_and_seal(client, SETTINGS)
    assert workspace_id in caplog.text
    assert await segments(client, keyspace) == before
    assert await client.call("HLEN", keyspace.audit_poison) == 0
    assert (await Verifier(client, workspace_id).verify()).finding is not None

    await client.call("HSET", keyspace.audit_head, *(part for pair in head.items() for part in pair))
    await writer.append(3)
    await repair_and_seal(client, SETTINGS)
    assert (await Verifier(client, workspace_id).verify()).finding is None
    assert decoded(await AuditLog(client).query(workspace_id, AuditQuery())) == writer.expected(AuditQuery())


async def test_a_half_written_segment_is_written_again(client, writer, workspace_id):
    """A store that refuses a command in the middle of the script, for lack of a permission, undoes nothing."""
    await client.call("HSET", writer.keyspace.audit_segment(3), "number", 3, "first_sequence", 11, "count", 2)
    sealer = Sealer(client, 5, 100)
    assert (await sealer.seal_next(workspace_id)).number == 3
    await writer.append(5)
    assert (await sealer.seal_next(workspace_id)).number == 4
    found = await Verifier(client, workspace_id).verify()
    assert (found.finding, found.entries) == (None, 17)
    assert decoded(await AuditLog(client).query(workspace_id, AuditQuery())) == writer.expected(AuditQuery())


@pytest.mark.parametrize("unsealed", [2, 300], ids=["a few unsealed", "more than are read at once"])
async def test_commits_go_on_after_the_last_entry_if_their_number_is_lost(
    client, writer, workspace_id, unsealed, caplog
):
    """No answered entry is quarantined, and no number is used twice."""
    keyspace = writer.keyspace
    await writer.append(unsealed - 2)
    await client.call("DEL", keyspace.commits)

    await repair_and_seal(client, SETTINGS)

    assert await client.call("HGET", keyspace.commits, "sequence") == str(10 + unsealed)
    assert "lost" in caplog.text
    await writer.append(3)
    await repair_and_seal(client, SETTINGS)
    assert await client.call("HLEN", keyspace.audit_poison) == 0
    assert decoded(await AuditLog(client).query(workspace_id, AuditQuery(limit=1000))) == writer.expected(
        AuditQuery(limit=1000)
    )
    found = await Verifier(client, workspace_id).verify()
    assert (found.finding, found.entries) == (None, 10 + unsealed + 3)
