"""Processes die at the worst moment. Afterwards every answered decision is in the log once, in order, chained."""

import asyncio
import signal
import subprocess
import sys
import threading
from pathlib import Path

import httpx
import pytest
from audit_entries import AGENTS, Writer, fields_of, grow_trees
from forked import Forked
from servers import ADMIN_KEY, Replica, Store, clean_env, store_binaries

from app.audit.log import AuditLog
from app.audit.merkle import Frontier, leaf_hash
from app.audit.read.forward_reader import ForwardReader
from app.audit.seal.sealer import Sealer
from app.audit.tree import read_tree
from app.audit.verify.verifier import Verifier
from app.model.audit import AuditFilters, AuditQuery
from app.redis_client.clients import open_client
from app.store.keyspace import WORKSPACES

pytestmark = pytest.mark.faults

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def own_store(tmp_path_factory):
    """These tests' own store, so that a sweep sees only their workspaces."""
    name, binary = next(iter(store_binaries().items()))
    store = Store(binary, tmp_path_factory.mktemp(name), "--appendonly", "yes", "--appendfsync", "always")
    yield store
    store.stop()


@pytest.fixture
async def client(own_store):
    opened = open_client(own_store.url, 2_000)
    yield opened
    await opened.close()


@pytest.fixture
async def writer(client, workspace_id):
    await client.call("HSET", WORKSPACES, "w", workspace_id)
    return Writer(client, workspace_id)


def python(*args, **options):
    return Forked([sys.executable, *args], env=clean_env(), **options)


def compactor(store_url, **env):
    settings = {"REMIT_REDIS_URL": store_url, "REMIT_LOG_LEVEL": "error", "REMIT_AUDIT_SEGMENT_ENTRIES": "16"} | env
    return Forked([sys.executable, "-m", "app.cli", "compact"], env=clean_env() | settings)


async def all_ids(client, workspace_id):
    """Every id that the log holds, oldest first, read page by page."""
    found, before = [], None
    while True:
        page = await AuditLog(client).query(workspace_id, AuditQuery(limit=1000, before=before))
        found += [entry.id for entry in page.entries]
        before = page.next_before
        if before is None:
            return found[::-1]


async def assert_whole(writer, workspace_id):
    """What was written is in the log once and in order, and the chain verifies to the end."""
    assert await all_ids(writer.client, workspace_id) == [fields["id"] for fields in writer.written]
    found = await Verifier(writer.client, workspace_id).verify()
    assert (found.finding, found.complete) == (None, True)
    await assert_in_tree(writer, workspace_id)


async def assert_in_tree(writer, workspace_id):
    """Once the tree has caught up, it has every sealed entry once and in its place."""
    await grow_trees(writer.client, workspace_id)
    frontier = (await read_tree(writer.client, writer.keyspace.audit_tree)).frontier
    leaves = [
        leaf_hash(line)
        async for chunk in ForwardReader(writer.client, workspace_id, AuditFilters()).chunks(0, frontier.size)
        for line in chunk.body.splitlines()
    ]
    assert frontier == Frontier().extended(leaves).frontier
    assert frontier.size == int(await writer.client.call("HGET", writer.keyspace.audit_head, "sequence") or 0)


async def until(condition, patience_s=30):
    for _ in range(100 * patience_s):
        if await condition():
            return
        await asyncio.sleep(0.01)
    raise AssertionError(condition)


@pytest.mark.parametrize("mode", ["sent", "after"])
async def test_a_compactor_killed_at_any_step_of_sealing_loses_and_duplicates_nothing(
    own_store, client, writer, workspace_id, mode
):
    """SIGKILL at the first, second, … call to the store, until a run completes."""
    steps = 0
    for at in range(1, 100):
        await writer.append(40)
        await client.call("DEL", writer.keyspace.audit_lease)
        dying = python(HERE / "dying.py", own_store.url, workspace_id, "at", at, mode)
        if dying.wait(60) == 0:
            break
        assert dying.returncode == -signal.SIGKILL
        await assert_whole(writer, workspace_id)
        steps += 1
    assert steps >= 8  # there is a step for each command of sweep, lease, reading, index and script
    await assert_whole(writer, workspace_id)
    sealed = await Verifier(client, workspace_id).verify()
    assert sealed.segments > steps // 2


async def test_a_store_without_a_tree_gets_it_however_often_its_growth_is_killed(
    own_store, client, writer, workspace_id
):
    """As at the first start of this release: what a killed process has appended stays, and sealing goes on."""
    await writer.append(640)
    for _ in range(20):
        await Sealer(client, 32, 100).seal_next(workspace_id)
    reached, kills = [], 0
    for at in range(2, 100, 5):
        dying = python(HERE / "dying.py", own_store.url, workspace_id, "grow", at, "after" if at % 2 else "sent")
        if dying.wait(60) == 0:
            break
        assert dying.returncode == -signal.SIGKILL
        kills += 1
        reached.append((await read_tree(client, writer.keyspace.audit_tree)).frontier.size)
        await writer.append(1)
        assert (await Verifier(client, workspace_id).verify()).finding is None
    assert reached == sorted(reached)
    assert (reached[0], kills > 3) == (0, True)
    await assert_whole(writer, workspace_id)


@pytest.mark.parametrize("count", [2, 5])
async def test_compactors_that_race_for_one_workspace_seal_everything_once(own_store, writer, workspace_id, count):
    """Without leases, so that all build the same segments."""
    racing = [
        python(HERE / "dying.py", own_store.url, workspace_id, "race", stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        for _ in range(count)
    ]
    try:
        for each in racing:
            assert await asyncio.to_thread(each.stdout.readline) == b"ready\n"
        for number in range(600):
            await writer.append(agentId=AGENTS[number % 4], toolName=f"tool.{number % 20}")
        await until(lambda: empty(writer))
    finally:
        for each in racing:
            each.stdin.close()
            assert each.wait(60) == 0
            each.stdout.close()
    await assert_whole(writer, workspace_id)
    for agent in AGENTS:
        page = await AuditLog(writer.client).query(workspace_id, AuditQuery(agent_id=agent, limit=1000))
        assert len(page.lines) == 150


async def empty(writer):
    return await writer.client.call("XLEN", writer.keyspace.audit_stream) == 0


async def test_two_compactors_share_the_work_and_one_goes_on_when_the_other_is_killed(
    own_store, client, writer, workspace_id
):
    """As they are run in production, with leases."""
    both = [compactor(own_store.url) for _ in range(2)]
    try:
        await writer.append(160)
        await until(lambda: empty(writer))
        both[0].kill()
        both[0].wait(60)
        await writer.append(160)
        await until(lambda: empty(writer))
    finally:
        for each in both:
            each.terminate()
            each.wait(60)
    assert both[1].returncode == 0
    await assert_whole(writer, workspace_id)


BACKLOG = 60_000
FILL = """#!lua
for sequence = tonumber(ARGV[1]), tonumber(ARGV[2]) do
  redis.call('XADD', KEYS[1], string.format('%.0f-0', sequence),
    'id', string.format('018bcfe5-6800-7000-8000-%012x', sequence), 'toolName', 'tool.' .. sequence % 30,
    unpack(ARGV, 3))
end
redis.call('HSET', KEYS[2], 'sequence', ARGV[2])
return ARGV[2]
"""
"""Entries that differ in their ids and tools, with the fields of the commit in another order."""


@pytest.fixture
async def large_store(tmp_path):
    """A store that keeps nothing on disk, since that would be a gigabyte, and a client of it."""
    store = Store(next(iter(store_binaries().values())), tmp_path)
    client = open_client(store.url, 10_000)
    yield store, client
    await client.close()
    store.stop()


async def test_a_long_backlog_is_sealed_once_a_compactor_is_back(large_store, workspace_id):
    """Nothing was trimmed while nobody sealed; then one compactor seals everything."""
    store, client = large_store
    writer = Writer(client, workspace_id)
    await client.call("HSET", WORKSPACES, "w", workspace_id)
    keys = (writer.keyspace.audit_stream, writer.keyspace.commits)
    rest = [part for name, part in fields_of(0).items() if name not in {"id", "toolName"} for part in (name, part)]
    for last in range(5_000, BACKLOG + 1, 5_000):
        await client.call("EVAL", FILL, 2, *keys, last - 4_999, last, *rest)
    up = compactor(store.url, REMIT_AUDIT_SEGMENT_ENTRIES="512")
    try:
        await until(lambda: shorter_than(writer, 512), patience_s=300)
    finally:
        up.terminate()
        assert up.wait(60) == 0

    expected = 0
    async for stretch in ForwardReader(client, workspace_id, AuditQuery()).chunks(0, BACKLOG):
        assert list(stretch.sequences) == list(range(expected + 1, stretch.up_to + 1))
        for sequence, line in enumerate(stretch.body.splitlines(), expected + 1):
            assert line.startswith(b'{"id":"018bcfe5-6800-7000-8000-%012x"' % sequence)
        expected = stretch.up_to
    assert expected == BACKLOG
    found = await Verifier(client, workspace_id).verify()
    assert (found.finding, found.complete, found.entries + found.unsealed) == (None, True, BACKLOG)
    page = await AuditLog(client).query(workspace_id, AuditQuery(tool_name="tool.7", offset=BACKLOG // 30 - 3))
    assert [int(entry.id[-12:], 16) for entry in page.entries] == [67, 37, 7]


async def shorter_than(writer, entries):
    return await writer.client.call("XLEN", writer.keyspace.audit_stream) < entries


class Callers:
    """Two threads that ask for decisions and remember every answer; errors do not count as answers."""

    def __init__(self, replica, agent_id):
        self.replica, self.agent_id = replica, agent_id
        self.answered: list[str] = []
        self.stopping = False
        self.threads = [threading.Thread(target=self._call) for _ in range(2)]
        for thread in self.threads:
            thread.start()

    def _call(self):
        with self.replica.client() as caller:
            while not self.stopping:
                try:
                    body = {"agent_id": self.agent_id, "tool_name": "file.read"}
                    answer = caller.post("/v1/authorize", json=body)
                except httpx.HTTPError:
                    continue
                if answer.status_code == 200:
                    self.answered.append(answer.json()["id"])

    async def answers(self, more):
        wanted = len(self.answered) + more

        async def enough():
            return len(self.answered) >= wanted

        await until(enough)

    def stop(self):
        self.stopping = True
        for thread in self.threads:
            thread.join()


@pytest.mark.parametrize("killed", ["store", "replica", "compactor"])
async def test_whatever_is_killed_under_load_every_answer_is_in_the_log_once(own_store, client, killed):
    """Killed, not stopped, while sealing and answering; then restarted and asked more."""
    await client.call("HDEL", WORKSPACES, "w")
    replica = Replica(own_store.url, REMIT_COMPACT="false")
    sealing = compactor(own_store.url)
    with replica.client() as admin:
        agent_id = admin.post("/v1/agents", json={"name": "a"}).json()["id"]
    workspace_id = await client.call("HGET", WORKSPACES, "default")
    callers = Callers(replica, agent_id)
    try:
        for _ in range(2):
            await callers.answers(60)
            if killed == "store":
                own_store.kill()
                own_store.start()
            elif killed == "replica":
                replica.kill()
                replica.start()
            else:
                sealing.kill()
                sealing.wait(60)
                sealing = compactor(own_store.url)
        await callers.answers(60)
    finally:
        callers.stop()
        sealing.terminate()
        sealing.wait(60)
        replica.stop()

    logged = await all_ids(client, workspace_id)
    assert len(logged) == len(set(logged))
    # A decision whose answer got lost may be in the log besides those whose answer arrived.
    assert set(callers.answered) <= set(logged)
    sealer = Sealer(client, 16, 100)
    while await sealer.seal_next(workspace_id):
        pass
    assert await all_ids(client, workspace_id) == logged
    found = await Verifier(client, workspace_id).verify()
    assert (found.finding, found.complete, found.entries) == (None, True, len(logged))
    assert ADMIN_KEY not in str(found)
