"""Processes die at the worst moment. Afterwards every answered decision is in the log once, in order, chained."""

import asyncio
import signal
import subprocess
import sys
import threading
from pathlib import Path

import httpx
import pytest
from audit_entries import AGENTS, Writer, fields_of
from servers import ADMIN_KEY, Replica, Store, clean_env, store_binaries

from app.model.audit import AuditQuery
from app.store.audit import AuditLog
from app.store.audit_sealing import Sealer
from app.store.audit_verify import Verifier
from app.store.client import open_client
from app.store.keyspace import WORKSPACES

HERE = Path(__file__).parent
ROOT = HERE.parent.parent


@pytest.fixture(scope="module")
def own_store(tmp_path_factory):
    """A store of these tests' own: whoever sweeps it sees their workspaces and no others."""
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
    return subprocess.Popen([sys.executable, *map(str, args)], env=clean_env() | {"PYTHONPATH": str(ROOT)}, **options)


def compactor(store_url, **env):
    settings = {"REMIT_REDIS_URL": store_url, "REMIT_LOG_LEVEL": "error", "REMIT_AUDIT_SEGMENT_ENTRIES": "16"} | env
    return subprocess.Popen([sys.executable, "-m", "app.cli", "compact"], env=clean_env() | settings)


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


async def until(condition):
    for _ in range(3_000):
        if await condition():
            return
        await asyncio.sleep(0.01)
    raise AssertionError(condition)


@pytest.mark.parametrize("mode", ["sent", "after"])
async def test_a_compactor_killed_at_any_step_of_sealing_loses_and_doubles_nothing(
    own_store, client, writer, workspace_id, mode
):
    """SIGKILL at the first, second, … call to the store, until one run gets to its end."""
    steps = 0
    for at in range(1, 100):
        await writer.append(40)
        await client.call("DEL", writer.keyspace.audit_lease)
        dying = python(HERE / "dying.py", own_store.url, workspace_id, "at", at, mode)
        if dying.wait(30) == 0:
            break
        assert dying.returncode == -signal.SIGKILL
        await assert_whole(writer, workspace_id)
        steps += 1
    assert steps >= 8  # there is a step for each command of sweep, lease, reading, index and script
    await assert_whole(writer, workspace_id)
    sealed = await Verifier(client, workspace_id).verify()
    assert sealed.segments > steps // 2


@pytest.mark.parametrize("count", [2, 5])
async def test_compactors_that_race_for_one_workspace_seal_everything_once(own_store, writer, workspace_id, count):
    """Without any lease, so that each builds what the others build."""
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
            assert each.wait(10) == 0
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
        both[0].wait(10)
        await writer.append(160)
        await until(lambda: empty(writer))
    finally:
        for each in both:
            each.terminate()
            each.wait(10)
    assert both[1].returncode == 0
    await assert_whole(writer, workspace_id)


async def test_a_backlog_is_sealed_once_a_compactor_is_back(own_store, client, writer, workspace_id):
    """Nothing was trimmed while nobody sealed; then one compactor takes it all."""
    stream = writer.keyspace.audit_stream
    for start in range(1, 20_000, 1_000):
        commands = []
        for sequence in range(start, start + 1_000):
            fields = fields_of(sequence, agentId=AGENTS[sequence % 4])
            writer.written.append(fields)
            commands.append(("XADD", stream, f"{sequence}-0", *(part for pair in fields.items() for part in pair)))
        await client.read_together(commands)
    await client.call("HSET", writer.keyspace.commits, "sequence", len(writer.written))
    up = compactor(own_store.url, REMIT_AUDIT_SEGMENT_ENTRIES="512")
    try:
        await until(lambda: shorter_than(writer, 512))
    finally:
        up.terminate()
        assert up.wait(10) == 0
    await assert_whole(writer, workspace_id)


async def shorter_than(writer, entries):
    return await writer.client.call("XLEN", writer.keyspace.audit_stream) < entries


class Callers:
    """Two threads that ask for decisions and remember every answer; what failed was not answered."""

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
    """Killed, not stopped, in the middle of sealing and answering; then started again, and more is asked."""
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
                sealing.wait(10)
                sealing = compactor(own_store.url)
        await callers.answers(60)
    finally:
        callers.stop()
        sealing.terminate()
        sealing.wait(10)
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
