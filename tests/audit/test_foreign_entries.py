"""Entries that something other than a commit writes to the stream are quarantined, and decisions go on."""

import pytest
from audit_entries import Writer, decoded, fields_of, repair_and_seal

from app.audit.entry_format import FIELDS
from app.audit.log import AuditLog
from app.audit.read.forward_reader import ForwardReader
from app.audit.seal.sealer import Sealer
from app.audit.seal.stream_repair import displaced, free_stream
from app.audit.verify.verifier import Verifier
from app.errors import AuditLogDamaged, StoreUnavailable
from app.model.audit import AuditQuery
from app.model.checkpoints import Fault
from app.settings import Settings
from app.store.keyspace import WORKSPACES

HIGHEST = "18446744073709551615-18446744073709551615"
IN_THE_WAY = ["*", "13-0", "13-7", "500-0", "999999999999999-0", HIGHEST]
OUT_OF_THE_WAY = ["12-1", "12-5"]


@pytest.fixture
def client(valkey_client):
    return valkey_client


@pytest.fixture
async def writer(client, workspace_id):
    """Twelve entries, and the workspace is among those that the compactor knows."""
    await client.call("HSET", WORKSPACES, workspace_id, workspace_id)
    writer = Writer(client, workspace_id)
    await writer.append(12)
    yield writer
    await client.call("HDEL", WORKSPACES, workspace_id)


async def add(client, writer, entry_id, **fields):
    flat = [part for pair in (fields or {"hello": "there"}).items() for part in pair]
    return await client.call("XADD", writer.keyspace.audit_stream, entry_id, *flat)


@pytest.mark.parametrize("is_there", [True, False], ids=["still there", "deleted again"])
@pytest.mark.parametrize("entry_id", IN_THE_WAY)
async def test_an_entry_that_blocks_commits_is_quarantined_and_commits_go_on(
    client, writer, workspace_id, entry_id, is_there, caplog
):
    """Whatever its id, even if only the id remains in the stream. It is logged and kept, but never sealed."""
    given = await add(client, writer, entry_id, **dict.fromkeys((name.decode() for name in FIELDS), "1"))
    if not is_there:
        await client.call("XDEL", writer.keyspace.audit_stream, given)
    with pytest.raises(StoreUnavailable):
        await writer.append_fields(fields_of(13))
    writer.written.pop()

    await repair_and_seal(client, Settings())

    await writer.append(3)
    assert decoded(await AuditLog(client).query(workspace_id, AuditQuery())) == writer.expected(AuditQuery())
    while await Sealer(client, 16, 100).seal_next(workspace_id):
        pass
    found = await Verifier(client, workspace_id).verify()
    assert (found.finding, found.entries) == (None, 15)
    kept = await client.call("HGETALL", writer.keyspace.audit_poison)
    assert list(kept) == ([given] if is_there else [])
    assert workspace_id in caplog.text


@pytest.mark.parametrize("entry_id", OUT_OF_THE_WAY)
async def test_an_entry_between_two_commits_leaves_the_stream_when_it_is_sealed(client, writer, workspace_id, entry_id):
    """Until then it does no harm."""
    await add(client, writer, entry_id)
    await writer.append(3)
    assert await displaced(client, [workspace_id]) == []
    sealed = await Sealer(client, 16, 100).seal_next(workspace_id)
    assert (sealed.last_sequence, sealed.set_aside) == (15, [entry_id])


@pytest.mark.parametrize("entry_id", [*IN_THE_WAY, *OUT_OF_THE_WAY])
async def test_no_reader_sees_entries_that_no_commit_wrote(client, writer, workspace_id, entry_id):
    """Neither a query nor an export, before anything is repaired."""
    await add(client, writer, entry_id, **{name: str(value) for name, value in fields_of(1).items()})
    assert decoded(await AuditLog(client).query(workspace_id, AuditQuery())) == writer.expected(AuditQuery())
    reader = ForwardReader(client, workspace_id, AuditQuery())
    lines = [line async for chunk in reader.chunks(0, await reader.newest()) for line in chunk.body.splitlines()]
    assert len(lines) == 12


@pytest.mark.parametrize("entry_id", ["500-0", "*", HIGHEST])
async def test_a_foreign_entry_with_a_high_id_adds_no_lines_to_the_log(client, writer, workspace_id, entry_id):
    """A segment ends with the last commit, however high an id a foreign entry has."""
    await add(client, writer, entry_id)
    sealer = Sealer(client, 512, 100)
    assert (await sealer.seal_next(workspace_id)).last_sequence == 12
    assert await sealer.seal_next(workspace_id) is None


async def test_any_number_of_foreign_entries_is_quarantined(client, writer, workspace_id):
    """In steps, however many there are; none of them is read twice."""
    for number in range(300):
        await add(client, writer, f"{10**12 + number}-0")
    assert await displaced(client, [workspace_id]) == [workspace_id]
    assert await free_stream(client, Sealer(client, 512, 100), workspace_id) == 300
    assert await displaced(client, [workspace_id]) == []
    assert await client.call("EXISTS", writer.keyspace.audit_stream) == 0
    assert len((await AuditLog(client).query(workspace_id, AuditQuery())).lines) == 12
    assert await client.call("HLEN", writer.keyspace.audit_poison) == 300


async def test_many_foreign_entries_among_commits_hide_none_from_a_reader(client, writer, workspace_id):
    """A chunk with nothing but foreign entries is not the end of the stream."""
    for number in range(1, 300):
        await add(client, writer, f"12-{number}")
    await writer.append(5)
    reader = ForwardReader(client, workspace_id, AuditQuery())
    lines = [line async for chunk in reader.chunks(0, await reader.newest()) for line in chunk.body.splitlines()]
    assert len(lines) == 17
    assert len((await AuditLog(client).query(workspace_id, AuditQuery())).lines) == 17


async def test_a_number_of_the_last_commit_that_cannot_be_fills_no_log(client, writer, workspace_id):
    """What comes before is sealed, nothing in place of what never was; once the number is set back, decisions go on."""
    await client.call("HSET", writer.keyspace.commits, "sequence", 10**14 + 1)
    await add(client, writer, f"{10**14 + 1}-0", **fields_of(13))
    sealer = Sealer(client, 16, 100)

    await sealer.seal_next(workspace_id)
    with pytest.raises(AuditLogDamaged, match="Entry 13 should be next in the stream, and entry 100000000000001 is"):
        await sealer.seal_next(workspace_id)

    assert await client.call("HMGET", writer.keyspace.audit_head, "segment", "sequence") == ["1", "12"]
    assert (await Verifier(client, workspace_id).verify()).finding.fault == Fault.REMOVED

    await client.call("HSET", writer.keyspace.commits, "sequence", 12)
    await repair_and_seal(client, Settings())
    await writer.append(3)
    assert decoded(await AuditLog(client).query(workspace_id, AuditQuery())) == writer.expected(AuditQuery())
    assert await client.call("HKEYS", writer.keyspace.audit_poison) == [f"{10**14 + 1}-0"]
    assert (await Verifier(client, workspace_id).verify()).complete


async def test_a_workspace_without_a_decision_is_freed_too(client, workspace_id):
    """Its first commit is number 1."""
    writer = Writer(client, workspace_id)
    await add(client, writer, "7-0")
    await free_stream(client, Sealer(client, 512, 100), workspace_id)
    await writer.append(1)
    assert len((await AuditLog(client).query(workspace_id, AuditQuery())).lines) == 1


async def test_a_missing_entry_is_given_its_neighbours_time(client, writer, workspace_id):
    """So a query and an export of that time show that something is missing there."""
    await client.call("XDEL", writer.keyspace.audit_stream, "1-0", "5-0", "9-0")
    sealer = Sealer(client, 8, 100)
    await sealer.seal_next(workspace_id)
    await sealer.seal_next(workspace_id)
    page = await AuditLog(client).query(workspace_id, AuditQuery(from_ms=writer.written[0]["timeMs"]))
    assert len(page.lines) == 12
    times = [entry.timestamp[-5:-1] for entry in page.entries[::-1]]
    assert times[0] == times[1]
    assert (times[4], times[8]) == (times[3], times[7])
