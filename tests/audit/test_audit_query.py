"""Stream and segments are one log: every query agrees with a brute-force filter over all entries."""

import asyncio
from collections import Counter

import pytest
from audit_entries import AGENTS, KEY, POLICY, START_MS, Writer, decoded, fields_of, lose_columns
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from profiles import examples

from app.audit import index, unsealed
from app.audit import segments as audit_segments
from app.audit.columns import code_of
from app.audit.log import AuditLog
from app.audit.read import sealed_reader
from app.audit.seal import segment_builder as audit_block
from app.audit.seal.sealer import Sealer
from app.model.audit import AuditFilters, AuditQuery
from app.model.counts import CountBy, CountQuery
from app.model.decisions import Result
from app.model.ids import Ids
from app.model.times import parse_time_ms
from app.redis_client.client import Client
from app.redis_client.clients import open_client
from app.redis_client.scripts import READ_FRAMES

TOOLS = ["file.read", "file.write", 'odd "tool"\\', "päth.ö"]
RESULTS = [result.value for result in Result]
LOOKALIKE = f'{{"agentId":"{AGENTS[1]}","toolName":"file.write","result":"denied"}}'

entries = st.fixed_dictionaries(
    {
        "agentId": st.sampled_from(AGENTS),
        "toolName": st.sampled_from(TOOLS),
        "action": st.sampled_from(["authorize", "read"]),
        "result": st.sampled_from(RESULTS),
        "timeMs": st.integers(0, 3),
        "policyId": st.sampled_from(["", "018bcfe5-6800-7000-8000-00000000cafe"]),
        "rule": st.sampled_from(["", "3 rate_limit"]),
        "parameters": st.sampled_from(["{}", '{"a":[1,{"b":"\\n"}]}', LOOKALIKE]),
        "latencyUs": st.sampled_from([0, 1, 1_000, 123_456]),
    },
    optional={
        "session": st.sampled_from(["s-1", LOOKALIKE]),
        "policyVersion": st.integers(1, 3),
        "heardOfLater": st.just("kept as it is"),
        "code": st.sampled_from(["parameter_invalid", "agent_suspended", "of_another_release"]),
    },
)
filters = st.one_of(  # few at a time: what several must match is mostly nothing
    st.just({}),
    st.builds(lambda value: {"agent_id": value}, st.sampled_from(AGENTS)),
    st.builds(lambda value: {"tool_name": value}, st.sampled_from([*TOOLS, "unheard.of"])),
    st.builds(lambda value: {"result": value}, st.sampled_from(list(Result))),
    st.builds(lambda value: {"id": f"018bcfe5-6800-7000-8000-{value:012x}"}, st.integers(1, 60)),
    st.builds(lambda value: {"policy_id": value}, st.sampled_from([POLICY, AGENTS[0]])),
    st.builds(lambda value: {"rule_type": value}, st.sampled_from(["rate_limit", "time_based"])),
    st.fixed_dictionaries(
        {},
        optional={
            "agent_id": st.sampled_from(AGENTS),
            "tool_name": st.sampled_from(TOOLS),
            "action": st.just("read"),
            "result": st.sampled_from(list(Result)),
            "key_id": st.sampled_from([KEY, AGENTS[0]]),
            "rule_type": st.just("rate_limit"),
        },
    ),
)
times = st.one_of(
    st.just({}),
    st.builds(lambda value: {"from_ms": value}, st.integers(START_MS, START_MS + 20)),
    st.builds(lambda value: {"to_ms": value}, st.integers(START_MS, START_MS + 20)),
)
queries = st.builds(
    lambda chosen, span, **page: AuditQuery(**chosen, **span, **page),
    filters,
    times,
    limit=st.sampled_from([1, 3, 12]),
    offset=st.sampled_from([0, 0, 1, 3, 6, 12, 20]),
    before=st.one_of(st.none(), st.none(), st.integers(1, 60)),
)
readers = st.integers(0, 1)
steps = st.lists(
    st.one_of(
        # Each at a time of its own: clocks step back, so times do not follow sequences.
        st.tuples(st.just("append"), st.integers(START_MS, START_MS + 17), st.lists(entries, min_size=6, max_size=24)),
        st.tuples(st.just("seal"), readers),
        st.tuples(st.just("loss")),
        st.tuples(st.just("query"), readers, st.lists(queries, min_size=4, max_size=12)),
        st.tuples(st.just("page"), readers, queries),
    ),
    min_size=8,
    max_size=30,
)


class InterruptedClient(Client):
    """A client that makes something happen after every reply, before the caller continues."""

    async def interrupt(self) -> None:
        """What happens; nothing by default."""

    async def call_bytes(self, *args):
        reply = await super().call_bytes(*args)
        await self.interrupt()
        return reply

    async def read_pipelined(self, commands, *, as_bytes=False):
        reply = await super().read_pipelined(commands, as_bytes=as_bytes)
        await self.interrupt()
        return reply

    async def run(self, script, keys, args, *, as_bytes=False):
        reply = await super().run(script, keys, args, as_bytes=as_bytes)
        await self.interrupt()
        return reply


@pytest.fixture
def small(monkeypatch):
    """Parts, frames and chunks so small that a few entries cover all edge cases."""
    monkeypatch.setattr(audit_segments, "PART_SEGMENTS", 3)
    monkeypatch.setattr(audit_block, "FRAME_ENTRIES", 3)
    monkeypatch.setattr(unsealed, "_CHUNK", 4)
    monkeypatch.setattr(sealed_reader, "_BYTES_PER_READ", 400)  # one frame or two


PAST_THE_CAP = pytest.param(2, id="past the cap", marks=pytest.mark.slow)


@pytest.mark.parametrize("names_max", [pytest.param(100, id="indexed"), PAST_THE_CAP])
def test_any_query_gives_what_brute_force_gives_whatever_is_sealed_meanwhile(small, store, names_max):
    """Two readers, two sealers, one writer, in any order of steps; times repeat and step back."""

    @settings(max_examples=examples(30), suppress_health_check=[HealthCheck.too_slow])
    @given(steps)
    def holds(steps):
        asyncio.run(play(store.url, steps, names_max))

    holds()


async def play(url, steps, names_max):
    clients = [open_client(url, 5_000), open_client(url, 5_000)]
    workspace_id = Ids().new(0)
    writer = Writer(clients[0], workspace_id)
    logs = [AuditLog(client) for client in clients]
    sealers = [Sealer(client, 8, names_max) for client in clients]
    try:
        for kind, *step in steps:
            if kind == "append":
                for fields in step[1]:
                    at = {"timeMs": step[0] + fields["timeMs"]}
                    await writer.append_fields(fields_of(len(writer.written) + 1, **fields | at))
            elif kind == "seal":
                await sealers[step[0]].seal_next(workspace_id)
            elif kind == "loss":
                await lose_columns(clients[0], writer.keyspace)
                sealers = [Sealer(client, 8, names_max) for client in clients]
            elif kind == "query":
                for query in step[1]:
                    page = await logs[step[0]].query(workspace_id, query)
                    assert decoded(page) == writer.expected(query), query
                await count(logs[step[0]], workspace_id, writer, step[1][0])
            else:
                await walk(logs, workspace_id, writer, step[1])
    finally:
        for client in clients:
            await client.close()


async def count(log, workspace_id, writer, query):
    """What is counted is what a query without a limit gives."""
    filters = {name: getattr(query, name) for name in AuditFilters.__struct_fields__}
    by = list(CountBy)[(query.offset + query.limit) % len(CountBy)]
    asked = CountQuery(**filters, by=by, limit=1000)
    if query.from_ms is not None:
        asked = CountQuery(**filters | {"to_ms": query.to_ms or START_MS + 30_000}, by=by, limit=1000, step_seconds=1)
    entries = writer.expected(AuditQuery(**filters, limit=10_000))
    counts = (await log.counts(workspace_id, asked)).counts
    expected = Counter(counted_value(entry, by) for entry in entries)
    assert {each.value: each.count for each in counts.values} == expected, asked
    assert (counts.total, counts.others) == (len(entries), 0)
    if asked.step_seconds is not None:
        assert [sum(slots) for slots in zip(*(each.counts for each in counts.values), strict=True)] == (
            [] if not entries else slots_of(entries, asked)
        )


def slots_of(entries, asked):
    number = (asked.to_ms - asked.from_ms) // 1000 + 1
    slots = Counter((parse_time_ms(entry["timestamp"]) - asked.from_ms) // 1000 for entry in entries)
    return [slots[slot] for slot in range(number)]


def counted_value(entry, by):
    if by is CountBy.CODE:
        rule = entry["rule"] and entry["rule"]["type"]
        return code_of(entry["result"], rule, entry.get("code"))
    names = {CountBy.RESULT: "result", CountBy.AGENT: "agentId", CountBy.TOOL: "toolName", CountBy.POLICY: "policyId"}
    return entry[names[by]]


async def walk(logs, workspace_id, writer, query):
    """Pages chained by their cursor, from two replicas in turn, add up to the whole answer."""
    found = []
    for turn in range(200):
        page = await logs[turn % 2].query(workspace_id, query)
        found += decoded(page)
        if page.next_before is None:
            break
        query = AuditQuery(
            **{name: getattr(query, name) for name in query.__struct_fields__}
            | {
                "before": page.next_before,
                "offset": 0,
            }
        )
    whole = AuditQuery(
        **{name: getattr(query, name) for name in query.__struct_fields__}
        | {
            "limit": 10_000,
            "before": None,
            "offset": 0,
        }
    )
    everything = writer.expected(whole)
    start = everything.index(found[0]) if found else 0
    assert found == everything[start : start + len(found)]
    assert not found or start + len(found) == len(everything)


@pytest.mark.parametrize("agent_id", [None, AGENTS[1]], ids=["unfiltered", "by agent"])
async def test_a_query_neither_misses_nor_repeats_entries_sealed_meanwhile(small, store, workspace_id, agent_id):
    """After every reply to the query, another segment is sealed and another entry appended."""
    other = open_client(store.url, 5_000)
    client = InterruptedClient(open_client(store.url, 5_000)._redis)
    writer, sealer = Writer(other, workspace_id), Sealer(other, 4, 100)
    await writer.append_each({"agentId": AGENTS[number % 2]} for number in range(60))
    query = AuditQuery(agent_id=agent_id, limit=1000)
    expected = writer.expected(query)

    async def interrupt():
        await sealer.seal_next(workspace_id)
        await writer.append(agentId=AGENTS[1])

    client.interrupt = interrupt
    page = await AuditLog(client).query(workspace_id, query)
    found = decoded(page)

    assert found[-len(expected) :] == expected
    assert len({entry["id"] for entry in found}) == len(found)
    await client.close()
    await other.close()


async def test_an_offset_skips_whole_segments_unread(store, workspace_id):
    """If the index says how many entries match, segments that the offset skips are not fetched."""
    client = InterruptedClient(open_client(store.url, 5_000)._redis)
    writer, sealer = Writer(client, workspace_id), Sealer(client, 16, 100)
    await writer.append_each({"agentId": AGENTS[number % 2]} for number in range(160))
    while await sealer.seal_next(workspace_id):
        pass
    fetched = []
    run = client.run

    async def noting(script, keys, args, *, as_bytes=False):
        fetched.extend(keys if script is READ_FRAMES else ())
        return await run(script, keys, args, as_bytes=as_bytes)

    client.run = noting
    query = AuditQuery(agent_id=AGENTS[1], offset=64, limit=4)
    page = await AuditLog(client).query(workspace_id, query)

    assert decoded(page) == writer.expected(query)
    assert fetched == [writer.keyspace.audit_segment(2), writer.keyspace.audit_data(2)]
    await client.close()


async def test_entries_look_the_same_before_and_after_they_are_sealed(client, workspace_id):
    """A line before sealing is the segment's line, byte for byte."""
    writer = Writer(client, workspace_id)
    await writer.append(
        3, parameters='{"deep":{"a":[1,2.50,"\\u00e9"]}}', toolName='odd "tool"\\', policyId="", rule=""
    )
    log = AuditLog(client)
    before = await log.query(workspace_id, AuditQuery())

    await Sealer(client, 16, 100).seal_next(workspace_id)

    assert (await log.query(workspace_id, AuditQuery())).lines == before.lines
    assert await client.call("XLEN", writer.keyspace.audit_stream) == 0
    assert decoded(before) == writer.expected(AuditQuery())


async def test_names_beyond_the_cap_share_keys(client, workspace_id, monkeypatch):
    """A caller who invents tool names makes the store keep a few bytes for each, in a bounded number of keys."""
    writer, sealer = Writer(client, workspace_id), Sealer(client, 16, 3)
    await writer.append_each({"toolName": f"invented.{number}"} for number in range(64))
    monkeypatch.setattr(index, "_BUCKETS", 2)
    index.shared_by.cache_clear()
    while await sealer.seal_next(workspace_id):
        pass

    _, keys = await client.call("SCAN", 0, "MATCH", f"remit:{{{workspace_id}}}:audit:by:tool:*", "COUNT", 100_000)
    assert len(keys) == 5  # three names and two that the others share
    for query in (AuditQuery(tool_name="invented.40"), AuditQuery(tool_name="invented.99")):
        assert decoded(await AuditLog(client).query(workspace_id, query)) == writer.expected(query)
    index.shared_by.cache_clear()
