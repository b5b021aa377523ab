"""Records are read in order of their names, a few at a time."""

from app.model.policies import Owner, PolicyFields, PolicyKind
from app.model.rules import ToolAllowlist
from app.redis_client.replies import as_record
from app.store import paging
from app.store.keyspace import Keyspace
from app.store.paging import read_records, with_values
from tests.support import parts
from tests.support.actors import BY


class Counting:
    """A client that remembers how many commands ran in one step."""

    def __init__(self, client) -> None:
        self._client = client
        self.steps: list[int] = []

    async def read_pipelined(self, commands):
        self.steps.append(len(commands))
        return await self._client.read_pipelined(commands)


class WholeRecords:
    """A client that counts the records that are read whole."""

    def __init__(self, client) -> None:
        self._client, self.keys = client, 0

    async def call(self, *command):
        return await self._client.call(*command)

    async def read_pipelined(self, commands):
        self.keys += sum(name == "HGETALL" for name, *_ in commands)
        return await self._client.read_pipelined(commands)


async def test_the_store_reads_a_few_records_per_step_however_long_a_list_is(client, workspace_id):
    """A hundred thousand policies in one step would delay every decision beyond its deadline."""
    name_of = Keyspace(workspace_id).policy
    for n in range(1_000):
        if n % 3:
            await client.call("HSET", name_of(str(n)), "n", n)
    counting = Counting(client)

    chunks = [records async for records in read_records(counting, name_of, [str(n) for n in range(1_000)])]

    assert [int(record["n"]) for records in chunks for record in records] == [n for n in range(1_000) if n % 3]
    assert len(chunks) == len(counting.steps)
    assert max(counting.steps) == 256
    assert sum(counting.steps) == 1_000


async def test_large_records_are_read_a_few_at_a_time(client, workspace_id):
    """A step has about the intended size, or a single record."""
    name_of = Keyspace(workspace_id).policy
    for n in range(100):
        await client.call("HSET", name_of(str(n)), "rules", "x" * 100_000)
    counting = Counting(client)

    chunks = [records async for records in read_records(counting, name_of, [str(n) for n in range(100)])]

    assert sum(map(len, chunks)) == 100
    assert counting.steps[0] == 16
    assert max(counting.steps[5:]) <= 2


async def test_records_are_found_by_their_values_without_reading_others_whole(client, workspace_id):
    """In their order, a bounded number per step; without values all are found, and nothing is read."""
    name_of, ids = Keyspace(workspace_id).agent, [str(n) for n in range(600)]
    for n in range(0, 600, 2):
        await client.call("HSET", name_of(str(n)), "name", f"n{n % 5}", "status", "active", "more", "x" * 1000)
    counting = Counting(client)

    async def found(**values):
        wanted = {field: (value,) for field, value in values.items()}
        return [each for some in [one async for one in with_values(counting, name_of, ids, wanted)] for each in some]

    assert await found(name="n3", status="active") == [str(n) for n in range(600) if n % 2 == 0 and n % 5 == 3]
    assert counting.steps == [256, 256, 88]
    assert await found(name="n3", status="revoked") == []
    assert await found() == ids
    assert len(counting.steps) == 6


async def test_a_page_of_policies_by_kind_reads_no_record_of_another_kind(client, workspace_id, ids):
    """Their rules can be long. Records that are older than kinds are grants."""
    keyspace, policies, owner = Keyspace(workspace_id), parts.policies(client, ids), Owner(group="g")
    rules = (ToolAllowlist(tools=["*"]),)
    for n in range(30):
        kind = PolicyKind.GRANT if n % 10 else PolicyKind.GUARDRAIL
        fields = PolicyFields(name="p", rules=rules, key=f"k{n:02}", kind=kind, priority=1000 - n)
        made = await policies.create(workspace_id, owner, fields, by=BY)
        if n == 7:
            await client.call("HDEL", keyspace.policy(made.id), "policy_kind")
    reading = WholeRecords(client)
    found = parts.policies(reading, ids)

    async def keys_of(**filters):
        return [each.key async for each in found.each(workspace_id, owner, **filters)]

    assert await keys_of(kind=PolicyKind.GUARDRAIL) == ["k00", "k10", "k20"]
    assert await keys_of(kind=PolicyKind.GUARDRAIL, limit=1, offset=1) == ["k10"]
    assert await keys_of(kind=PolicyKind.GRANT, key="k07") == ["k07"]
    assert await keys_of(kind=PolicyKind.GUARDRAIL, key="k07") == []
    assert reading.keys == 3 + 3 + 1 + 0


async def test_a_page_that_begins_beyond_the_first_records_read_skips_each_once(client, workspace_id, ids, monkeypatch):
    """Of each group of records that are read together, the wanted ones count towards the offset."""
    policies, owner = parts.policies(client, ids), Owner(group="g")
    for n in range(9):
        fields = PolicyFields(name="p", rules=(ToolAllowlist(tools=["*"]),), key=f"k{n}", priority=1000 - n)
        await policies.create(workspace_id, owner, fields, by=BY)
    monkeypatch.setattr(paging, "_TOGETHER", 2)
    page = policies.each(workspace_id, owner, kind=PolicyKind.GRANT, limit=3, offset=5)
    assert [each.key async for each in page] == ["k5", "k6", "k7"]


async def test_no_names_need_no_command(client):
    """Nothing is sent to the store."""
    counting = Counting(client)
    assert [records async for records in read_records(counting, str, [])] == []
    assert counting.steps == []


def test_a_record_is_a_dict_whatever_form_its_reply_has():
    """A flat list from our own client, or pairs from redis-py."""
    assert as_record(["a", "1", "b", "2"]) == as_record({"a": "1", "b": "2"}) == {"a": "1", "b": "2"}
