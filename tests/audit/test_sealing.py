"""What a segment is, and when the script refuses to make one."""

import hashlib

import msgspec
import pytest
import zstandard
from audit_entries import AGENTS, START_MS, Writer, decoded, entry_of, fields_of

from app.audit.entry_format import line_of
from app.audit.log import AuditLog
from app.audit.seal.sealer import Sealer
from app.audit.seal.segment_builder import SEGMENT_BYTES
from app.audit.segments import chain, genesis, read_segment
from app.model.audit import AuditQuery
from app.model.decisions import Result
from app.model.times import rfc3339
from app.redis_client.replies import as_record
from app.redis_client.scripts import QUARANTINE_ENTRIES, SEAL_SEGMENT


@pytest.fixture
def writer(client, workspace_id):
    return Writer(client, workspace_id)


@pytest.fixture
def sealer(client):
    return Sealer(client, 16, 100)


async def stored(client, keyspace, number):
    return await read_segment(client, keyspace, number)


async def test_a_segment_holds_the_oldest_entries_and_the_stream_the_rest(client, writer, sealer, workspace_id):
    """Numbers, sequences, times and count of a segment are those of its entries; nothing else leaves the stream."""
    for at in (5, 3, 9):  # the clock stepped back
        await writer.append(timeMs=START_MS + at)
    await writer.append(15)

    assert (await sealer.seal_next(workspace_id))[:4] == (1, 1, 16, [])

    segment = await stored(client, writer.keyspace, 1)
    times = [fields["timeMs"] for fields in writer.written[:16]]
    assert (segment.number, segment.first_sequence, segment.last_sequence, segment.count) == (1, 1, 16, 16)
    assert (segment.first_ms, segment.last_ms) == (min(times), max(times))
    assert segment.codec == "zstd"
    assert [msgspec.json.decode(line) for line in segment.body().splitlines()] == [
        entry_of(fields) for fields in writer.written[:16]
    ]
    left = await client.call("XRANGE", writer.keyspace.audit_stream, "-", "+")
    assert [entry_id for entry_id, _ in left] == ["17-0", "18-0"]


async def test_every_segment_is_chained_to_the_one_before(client, writer, sealer, workspace_id):
    """sha256 = H(previous sha256 in hex, uncompressed bytes), from the workspace's own genesis to the head."""
    await writer.append(40)
    for _ in range(3):
        await sealer.seal_next(workspace_id)

    previous = hashlib.sha256(workspace_id.encode()).hexdigest()
    assert previous == genesis(workspace_id)
    for number in (1, 2, 3):
        segment = await stored(client, writer.keyspace, number)
        assert segment.previous == previous
        previous = hashlib.sha256(previous.encode() + segment.body()).hexdigest()
        assert segment.sha256 == previous == chain(segment.previous, segment.body())
    head = as_record(await client.call("HGETALL", writer.keyspace.audit_head))
    assert (head["segment"], head["sequence"], head["sha256"]) == ("3", "40", previous)


async def test_the_data_is_one_zstd_file_of_json_lines(client, writer, sealer, workspace_id):
    """`zstd -dc` is enough to read a segment of several frames."""
    await writer.append(150)
    await Sealer(client, 512, 100).seal_next(workspace_id)
    segment = await stored(client, writer.keyspace, 1)
    # Readers of ours find the frames by their lengths, others by the format: both must get the same.
    whole = zstandard.ZstdDecompressor().decompressobj(read_across_frames=True).decompress(segment.data)
    assert whole == segment.body()
    assert whole.count(b"\n") == 150


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"sha256": "0" * 64}, "another link"),
        ({"segment": "7"}, "another number"),
        ({"sequence": "12"}, "another sequence"),
    ],
)
async def test_a_head_that_is_not_the_one_built_upon_refuses_the_segment(
    client, writer, sealer, workspace_id, change, what
):
    """I9: the script compares every part of the head; nothing is written and the stream stays as it is."""
    await writer.append(40)
    await sealer.seal_next(workspace_id)
    change = ("HSET", writer.keyspace.audit_head, *[part for pair in change.items() for part in pair])
    happens_before(client, SEAL_SEGMENT, change)

    assert await sealer.seal_next(workspace_id) is None

    assert await client.call("EXISTS", writer.keyspace.audit_segment(2)) == 0
    assert await client.call("XLEN", writer.keyspace.audit_stream) == 24


def happens_before(client, script, command):
    """Run another command between a sealer's reads and its first run of the script."""
    run, commands = client.run, [command]

    async def overtaken(asked, keys, args, **options):
        if asked is script and commands:
            await client.call(*commands.pop())
        return await run(asked, keys, args, **options)

    client.run = overtaken


async def test_a_stream_that_starts_elsewhere_refuses_the_segment(client, writer, workspace_id):
    """I9: entries that were read are sealed only while the stream still begins with them."""
    await writer.append(20)
    happens_before(client, SEAL_SEGMENT, ("XDEL", writer.keyspace.audit_stream, "1-0"))
    assert await Sealer(client, 16, 100).seal_next(workspace_id) is None
    assert await client.call("EXISTS", writer.keyspace.audit_segment(1)) == 0


async def test_nothing_is_quarantined_once_the_head_has_moved(client, writer, workspace_id):
    """I9: an entry that looked foreign may be an answered decision restored meanwhile, or be sealed already."""
    await writer.append(4)
    await client.call("XADD", writer.keyspace.audit_stream, "4-5", "hello", "there")
    happens_before(client, QUARANTINE_ENTRIES, ("HSET", writer.keyspace.audit_head, "sequence", "2"))
    assert await Sealer(client, 16, 100).seal_next(workspace_id) is None
    assert await client.call("EXISTS", writer.keyspace.audit_poison) == 0
    assert await client.call("XLEN", writer.keyspace.audit_stream) == 5


async def test_a_store_set_back_to_before_a_segment_seals_its_entries_again(client, writer, sealer, workspace_id):
    """I9: a crash, a failover or a backup sets the store back; the compactor follows the store, not its memory."""
    await writer.append(20)
    keys = writer.keyspace
    for entry_id, fields in await client.call("XRANGE", keys.audit_stream, "-", "+"):
        pairs = [part for pair in fields.items() for part in pair]
        await client.call("XADD", f"{keys.audit_stream}:kept", entry_id, *pairs)
    assert (await sealer.seal_next(workspace_id)).last_sequence == 16
    await client.call("DEL", keys.audit_stream, keys.audit_head, keys.audit_parts, keys.audit_segment(1))
    await client.call("RENAME", f"{keys.audit_stream}:kept", keys.audit_stream)

    assert (await sealer.seal_next(workspace_id))[:4] == (1, 1, 16, [])
    assert (await sealer.seal_next(workspace_id))[:4] == (2, 17, 20, [])

    assert decoded(await AuditLog(client).query(workspace_id, AuditQuery())) == writer.expected(AuditQuery())
    assert await client.call("EXISTS", keys.audit_poison) == 0


async def test_of_two_sealers_one_seals_and_the_other_goes_on_from_there(client, writer, workspace_id):
    """I9: the second one reads the head again and builds the next segment; nothing that the first has sealed is
    quarantined.
    """
    await writer.append(64)
    one, other = Sealer(client, 16, 100), Sealer(client, 16, 100)
    for number in range(1, 5):
        sealed = await (one if number % 2 else other).seal_next(workspace_id)
        assert (sealed.number, sealed.set_aside) == (number, [])
    assert await client.call("EXISTS", writer.keyspace.audit_poison) == 0
    assert (await AuditLog(client).query(workspace_id, AuditQuery())).entries[0].id == writer.written[-1]["id"]


async def test_large_entries_make_short_segments(client, writer, sealer, workspace_id):
    """Reading one segment stays cheap however large the entries are, and so does building it."""
    large = msgspec.json.encode({"text": "x" * 60_000}).decode()
    await writer.append(100, parameters=large)
    read_pipelined, read = client.read_pipelined, []

    async def counted(commands, **options):
        replies = await read_pipelined(commands, **options)
        read.append(len(replies[0]))
        return replies

    client.read_pipelined = counted
    sealed = await Sealer(client, 512, 100).seal_next(workspace_id)
    assert sum(read) <= sealed.last_sequence + 1
    assert SEGMENT_BYTES // 60_000 <= sealed.last_sequence <= SEGMENT_BYTES // 60_000 + 1


@pytest.mark.parametrize(
    "poison",
    [
        {"timeMs": "soon"},
        {"result": "maybe"},
        {"parameters": '{"a":'},
        {"agentId": b"\xff\xfe"},
        {"rule": "first tool_allowlist"},
        {"latencyUs": ""},
        {"parameters": "[" * 200_000},
    ],
    ids=lambda poison: str(poison)[:24],
)
async def test_an_unreadable_entry_is_quarantined_and_keeps_its_place(
    client, writer, sealer, workspace_id, poison, caplog
):
    """It blocks nothing and is not lost: a line stands for it, its fields are kept, and a log line reports it."""
    await writer.append(3)
    await writer.append(1, **poison)
    await writer.append(3)
    before = (await AuditLog(client).query(workspace_id, AuditQuery())).lines

    sealed = await sealer.seal_next(workspace_id)

    assert sealed[:4] == (1, 1, 7, ["4-0"])
    after = await AuditLog(client).query(workspace_id, AuditQuery())
    assert after.lines == before
    assert "Entry 4 of the audit stream could not be sealed as it was" in after.entries[3].reason
    kept = msgspec.json.decode(await client.call("HGET", writer.keyspace.audit_poison, "4-0"))
    assert set(kept["fields"]) == set(writer.written[0])
    assert next(iter(poison)) in kept["fields"]
    assert "4-0" in caplog.text
    # It is found by what is readable of it, and only by that.
    if "result" not in poison:
        by_result = await AuditLog(client).query(workspace_id, AuditQuery(result=Result.ALLOWED))
        assert len(by_result.lines) == 7
    by_agent = await AuditLog(client).query(workspace_id, AuditQuery(agent_id=AGENTS[0]))
    assert len(by_agent.lines) == (6 if "agentId" in poison else 7)


async def test_an_entry_that_somebody_deleted_leaves_a_line_that_says_so(client, writer, sealer, workspace_id, caplog):
    """Its sequence number was given out, so the log accounts for it; one line reports all that are gone."""
    await writer.append(6)
    await client.call("XDEL", writer.keyspace.audit_stream, "1-0", "4-0")

    assert (await sealer.seal_next(workspace_id))[:4] == (1, 1, 6, ["1-0", "4-0"])

    assert caplog.messages == [
        f"quarantined 2 entries, 1-0 to 4-0, of {writer.keyspace.audit_stream}: it was gone from the stream"
    ]

    entries = (await AuditLog(client).query(workspace_id, AuditQuery())).entries
    assert [entry.result for entry in entries] == ["allowed", "allowed", None, "allowed", "allowed", None]


async def test_an_entry_that_no_commit_wrote_is_quarantined_and_never_logged(client, writer, sealer, workspace_id):
    """Only ids that end in -0 are commits'."""
    await writer.append(2)
    await client.call("XADD", writer.keyspace.audit_stream, "2-5", "hello", "there")
    await writer.append(2)

    assert (await sealer.seal_next(workspace_id))[:4] == (1, 1, 4, ["2-5"])

    page = await AuditLog(client).query(workspace_id, AuditQuery())
    assert decoded(page) == writer.expected(AuditQuery())
    assert "hello" in await client.call("HGET", writer.keyspace.audit_poison, "2-5")


async def test_an_empty_stream_seals_nothing(client, sealer, workspace_id):
    """A segment is never empty."""
    assert await sealer.seal_next(workspace_id) is None


@pytest.mark.parametrize("sealers", [1, 2, 4])
async def test_a_sealer_that_takes_over_within_a_part_counts_its_names_alike(client, writer, workspace_id, sealers):
    """However many sealers alternate, each name has one key, and there are at most as many keys as allowed."""
    await writer.append_each({"toolName": f"tool.{number // 8 % 5}"} for number in range(64))
    taking_turns = [Sealer(client, 8, 4) for _ in range(sealers)]
    for number in range(8 + 8 * sealers):
        await taking_turns[number % sealers].seal_next(workspace_id)

    head = as_record(await client.call("HGETALL", writer.keyspace.audit_head))
    _, keys = await client.call("SCAN", 0, "MATCH", f"remit:{{{workspace_id}}}:audit:by:tool:*", "COUNT", 100_000)
    assert (head["segment"], head["names"]) == ("8", "0 1 4 1")
    assert len(keys) == 5  # four names and `other`


def test_an_entry_with_fields_in_another_order_is_the_same_line():
    """The usual order of fields is an optimisation, not a requirement."""
    flat = [str(part).encode() for pair in fields_of(1).items() for part in pair]
    pairs = list(zip(flat[::2], flat[1::2], strict=True))
    turned = [part for pair in reversed(pairs) for part in pair]
    assert line_of(flat) == line_of(turned) == line_of(dict(pairs))
    assert msgspec.json.decode(line_of(flat)) == entry_of(fields_of(1))


@pytest.mark.parametrize("time_ms", [0, 1, 999, 1_000, 253_402_300_799_999])
def test_a_line_shows_any_time(time_ms):
    """Also a time with few digits, or with leading zeros."""
    for text in (str(time_ms), f"00{time_ms}"):
        fields = {name.encode(): str(value).encode() for name, value in fields_of(1, timeMs=text).items()}
        assert msgspec.json.decode(line_of(fields))["timestamp"] == rfc3339(time_ms)
