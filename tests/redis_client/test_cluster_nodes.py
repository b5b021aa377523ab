"""Commands for a whole store go to every master of a cluster."""

import asyncio
import contextlib
import gc
from collections import Counter

import pytest
import redis
from servers import Store, free_port

from app.audit.log import AuditLog
from app.errors import StoreUnavailable
from app.model.ids import Ids
from app.redis_client.clients import open_client
from app.redis_client.replies import StoreAway
from app.redis_client.scripts import SCRIPTS
from app.serve.doctor import Severity, check_up
from app.store.keyspace import Keyspace
from app.store.readiness import require_ready
from app.store.workspaces import Workspaces, workspace_ids
from tests.support import parts

pytestmark = pytest.mark.slow

SLOTS = 16_384


@pytest.fixture(scope="module")
def masters(server, tmp_path_factory):
    """Three masters that share the slots."""
    binary = server("redis")
    options = [("--cluster-enabled", "yes", "--cluster-port", str(free_port())) for _ in range(3)]
    running = [Store(binary, tmp_path_factory.mktemp("master"), *each) for each in options]
    nodes = [redis.Redis(port=each.port, decode_responses=True) for each in running]
    bus = options[0][-1]
    for number, node in enumerate(nodes):
        node.execute_command("CLUSTER", "ADDSLOTSRANGE", number * SLOTS // 3, (number + 1) * SLOTS // 3 - 1)
        node.execute_command("CLUSTER", "SET-CONFIG-EPOCH", number + 1)
        node.execute_command("CLUSTER", "MEET", "127.0.0.1", running[0].port, bus)
    while any("cluster_state:ok" not in str(node.execute_command("CLUSTER", "INFO")) for node in nodes) or any(
        len(node.execute_command("CLUSTER", "SLOTS")) != 3 for node in nodes
    ):
        pass
    yield running
    for node in nodes:
        node.close()
    for each in running:
        with contextlib.suppress(ProcessLookupError):
            each.stop()


@pytest.fixture
async def client(masters):
    opened = open_client(f"redis+cluster://127.0.0.1:{masters[0].port}", 5_000)
    yield opened
    await opened.close()


async def test_every_master_answers(client, masters):
    """There is one reply per master."""
    assert await client.call_each("PING") == ["PONG"] * 3 or await client.call_each("PING") == [True] * 3


async def test_scripts_that_one_master_has_lost_are_loaded_again(client, masters):
    """After a failover, the new master has never seen them."""
    with redis.Redis(port=masters[2].port) as forgetful:
        await require_ready(client)
        forgetful.script_flush()
        await require_ready(client)
        assert all(forgetful.script_exists(*(script.sha for script in SCRIPTS)))


async def test_the_checkup_reports_the_worst_of_all_masters(client, masters):
    """One evicting node is enough to lose a workspace's quotas."""
    with redis.Redis(port=masters[1].port) as node:
        before = {finding.subject: finding.severity for finding in await check_up(client, private=True)}
        assert before["eviction"] is Severity.OK
        node.config_set("maxmemory-policy", "allkeys-lru")
        after = {finding.subject: finding.severity for finding in await check_up(client, private=True)}
        assert after["eviction"] is Severity.BROKEN
        assert before.keys() == after.keys()


async def test_the_state_of_sealing_is_read_from_the_workspaces_master(client, masters):
    """It sends no command without a key."""
    assert (await AuditLog(client).backlog("a workspace")).unsealed == 0


async def test_a_cluster_that_is_down_is_away(client, masters):
    """A service that starts then waits, as for a store that is still loading."""
    with redis.Redis(port=masters[2].port) as node:
        slot = node.execute_command("CLUSTER", "KEYSLOT", "foo")
        node.execute_command("CLUSTER", "DELSLOTS", slot)
        with pytest.raises(StoreAway, match="CLUSTERDOWN"):
            await client.call("GET", "foo")
        node.execute_command("CLUSTER", "ADDSLOTS", slot)
        while "cluster_state:ok" not in str(node.execute_command("CLUSTER", "INFO")):
            pass


async def test_workspaces_are_spread_over_the_masters(client, masters):
    """By count, not by chance: of nine, each master has three."""
    ids = Ids()
    workspaces = Workspaces(client, ids, parts.api_keys(client, ids))
    for number in range(9):
        await workspaces.create(f"spread {number}")
    _, holders = await client.master_names(Keyspace(each).workspace for each in await workspace_ids(client))
    assert sorted(Counter(holders).values()) == [3, 3, 3]


async def stay_ready(client):
    """Raises what `require_ready` does, once it does."""
    async with asyncio.timeout(60):
        while True:
            await require_ready(client)
            await asyncio.sleep(0.05)


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
async def test_a_cluster_that_stops_for_want_of_a_master_is_not_ready(masters):
    """Its slots are not served; by default, the whole cluster then stops, once it has noticed."""
    client = open_client(f"redis+cluster://127.0.0.1:{masters[0].port}", 5_000)
    await require_ready(client)
    masters[2].kill()
    with pytest.raises(StoreUnavailable, match="CLUSTERDOWN"):
        await stay_ready(client)
    await client.close()
    del client
    gc.collect()  # redis-py leaves the connections of a cluster that it has given up on; not for the next test to find
