"""`remit workspaces` on a cluster: where a workspace is, is chosen when it is made and can be changed under load."""

import asyncio
import json
import re
import subprocess
import uuid
from pathlib import Path

import pytest
from command_line import run_remit
from servers import Replica, clean_env
from shipped_store import ACL
from topologies import SEALING_FAST, Cluster, until
from witness import Witness

from app.errors import Invalid
from app.redis_client.clients import open_client
from app.store.placement import move

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def cluster(shared, server, program, tmp_path_factory):
    return shared(Cluster(server("redis"), program("redis-cli", "a Redis Cluster"), tmp_path_factory.mktemp("moves")))


@pytest.fixture(scope="module")
def replica(cluster, shared):
    return shared(Replica(cluster.url, **SEALING_FAST, REMIT_STORE_TIMEOUT_MS="1500"))


@pytest.fixture
def witness(cluster, replica, own):
    made = own(Witness(cluster.redis, cluster.url, replica))
    yield made
    made.check()


def remit(cluster, *words):
    return run_remit(["workspaces", *words], clean_env() | {"REMIT_REDIS_URL": cluster.url})


def shard_of(cluster, workspace_id):
    listed = json.loads(remit(cluster, "list", "--json").stdout)
    [shard] = [each["shard"] for each in listed if each["id"] == workspace_id]
    return shard


def elsewhere(cluster, workspace_id):
    """A master that does not hold the workspace."""
    held = shard_of(cluster, workspace_id)
    return next(name for node in cluster.nodes if (name := f"127.0.0.1:{node.port}") != held)


def masters_with_keys(cluster, workspace_id):
    """Those that have keys of the workspace's slot."""
    slot = cluster.redis.keyslot(f"{{{workspace_id}}}")
    return [
        f"127.0.0.1:{node.port}"
        for node in cluster.nodes
        if node.redis.execute_command("CLUSTER COUNTKEYSINSLOT", slot)
    ]


def begin_move(cluster, workspace_id, to):
    """Move ten keys of the workspace, as a command that is killed then."""

    async def begin():
        client = open_client(cluster.url, 5_000)
        moves = move(client, workspace_id, to)
        assert await anext(moves) == 10
        await moves.aclose()
        await client.close()

    asyncio.run(begin())


def test_a_workspace_is_made_on_the_master_that_is_named(cluster):
    for node in cluster.nodes:
        shard = f"127.0.0.1:{node.port}"
        made = remit(cluster, "create", f"on-{node.port}", "--shard", shard, "--json")
        workspace_id = json.loads(made.stdout)["id"]
        assert shard_of(cluster, workspace_id) == shard
        assert cluster.owner(cluster.redis.keyslot(f"{{{workspace_id}}}")) is node


def test_a_master_that_is_not_there_is_named_with_those_that_are(cluster):
    refused = remit(cluster, "create", "nowhere", "--shard", "127.0.0.1:1")
    assert refused.returncode == 1
    assert 'No master "127.0.0.1:1" takes workspaces; there are: 127.0.0.1:' in refused.stderr


def finding(cluster):
    """What `remit doctor` says of the shards, and its exit code."""
    checked = run_remit(["doctor", "--json"], clean_env() | {"REMIT_REDIS_URL": cluster.url})
    [found] = [each for each in json.loads(checked.stdout) if each["subject"] == "shards"]
    return found["severity"], found["sentence"], checked.returncode


def test_the_doctor_names_a_full_master(cluster):
    """And counts the workspaces of each. It comes before the moves, which may put both copies of a pointer together."""
    severity, sentence, _ = finding(cluster)
    assert severity == "ok"
    assert all(f"127.0.0.1:{node.port} " in sentence for node in cluster.nodes)
    node = cluster.nodes[1]
    node.redis.config_set("maxmemory", node.redis.info("memory")["used_memory"] + 100_000)
    checked = run_remit(["doctor", "--json"], clean_env() | {"REMIT_REDIS_URL": cluster.url})
    node.redis.config_set("maxmemory", 0)
    [memory] = [each for each in json.loads(checked.stdout) if each["subject"] == "memory"]
    assert memory["severity"] == "risk"
    assert memory["sentence"].startswith(f"127.0.0.1:{node.port}: ")


def test_a_workspace_moves_under_load_with_all_its_keys(cluster, witness):
    """It costs refusals and nothing else; a workspace of another slot is not affected."""
    agents = witness.new_agent(), witness.new_agent(max_calls=30)
    workspace_id, to = witness.tenant.id, elsewhere(cluster, witness.tenant.id)
    with witness.load(*agents, count=2) as load:
        load.after(40)
        moved = remit(cluster, "move", workspace_id, to, "--json")
        assert moved.returncode == 0, moved.stderr
        load.after(40)
    assert (load.wrong, load.cut) == ([], [])
    assert json.loads(moved.stdout)["keys"] > 10
    assert shard_of(cluster, workspace_id) == to
    assert masters_with_keys(cluster, workspace_id) == [to]


def test_an_interrupted_move_is_finished_by_the_same_command(cluster, witness):
    """In between, some keys are here and some there, and nothing is lost."""
    agent_id = witness.new_agent()
    assert witness.question(agent_id).send_until_answered()["result"] == "allowed"
    workspace_id, to = witness.tenant.id, elsewhere(cluster, witness.tenant.id)

    begin_move(cluster, workspace_id, to)
    assert len(masters_with_keys(cluster, workspace_id)) == 2
    finished = remit(cluster, "move", workspace_id, to)
    assert finished.returncode == 0, finished.stderr
    assert f"workspace {workspace_id} is on {to}" in finished.stdout
    assert (
        remit(cluster, "move", workspace_id, to).stdout == f"workspace {workspace_id} is on {to}; 0 keys have moved\n"
    )
    assert witness.question(agent_id).send_until_answered()["result"] == "allowed"


def test_a_move_that_is_under_way_is_not_turned_elsewhere(cluster, witness):
    """A master that lost a slot deletes its keys, so of two targets one would delete what the other does not have."""
    agent_id = witness.new_agent()
    assert witness.question(agent_id).send_until_answered()["result"] == "allowed"
    workspace_id, held = witness.tenant.id, shard_of(cluster, witness.tenant.id)
    first, second = (name for node in cluster.nodes if (name := f"127.0.0.1:{node.port}") != held)
    begin_move(cluster, workspace_id, first)

    refused = remit(cluster, "move", workspace_id, second)

    assert refused.returncode == 1
    assert f"is moving to {first}" in refused.stderr
    assert remit(cluster, "move", workspace_id, first).returncode == 0
    assert witness.question(agent_id).send_until_answered()["result"] == "allowed"
    assert remit(cluster, "move", workspace_id, second).returncode == 0
    assert masters_with_keys(cluster, workspace_id) == [second]


def test_of_two_moves_at_once_one_goes_on_and_keeps_what_the_other_has_moved(cluster):
    """The one that has begun last."""
    workspace_id = str(uuid.uuid4())
    keys = {f"remit:{{{workspace_id}}}:{number}": str(number) for number in range(50)}
    for name, value in keys.items():
        cluster.redis.set(name, value)
    slot = cluster.redis.keyslot(f"{{{workspace_id}}}")
    source = cluster.owner(slot)
    first, second = (node for node in cluster.nodes if node is not source)

    async def both():
        client = open_client(cluster.url, 5_000)
        one, other = (move(client, workspace_id, f"127.0.0.1:{node.port}") for node in (first, second))
        assert await anext(one) == 10
        # As if the second had looked before the first began.
        source.redis.execute_command("CLUSTER", "SETSLOT", slot, "MIGRATING", second.id)
        assert await anext(other) == 10
        with pytest.raises(Invalid, match=f"is moving to 127.0.0.1:{second.port}"):
            await anext(one)
        assert [moved async for moved in other][-1] == len(keys)
        await client.close()

    asyncio.run(both())
    assert masters_with_keys(cluster, workspace_id) == [f"127.0.0.1:{second.port}"]
    assert {name: cluster.redis.get(name).decode() for name in keys} == keys
    told = [node.redis.execute_command("CLUSTER NODES") for node in cluster.nodes]
    assert [each["migrations"] for nodes in told for each in nodes.values() if each["migrations"]] == []


def test_a_user_moves_a_workspace_with_the_permissions_that_the_page_names(cluster, witness):
    """And not without them: it is said which is missing."""
    [granted] = re.findall(r"^user remit on \S+ (.+)$", ACL, re.MULTILINE)
    [further] = re.findall(r"^`(\+cluster\|slots .+?)`", (DOCS / "growing.md").read_text(), re.MULTILINE)
    url = cluster.url.replace("://", "://mover:secret@")
    words = ["workspaces", "move", witness.tenant.id, elsewhere(cluster, witness.tenant.id)]
    for permissions in (f"{further} -migrate", further):
        for node in cluster.nodes:
            node.redis.execute_command("ACL SETUSER mover reset on >secret", *f"{granted} {permissions}".split())
        moved = run_remit(words, clean_env() | {"REMIT_REDIS_URL": url})
        assert (moved.returncode == 0) == (permissions == further), moved.stderr
        assert ("may not run MIGRATE" in moved.stderr) == (permissions != further)


def test_the_doctor_says_when_one_master_alone_finds_a_key(cluster, program):
    """Its two pointers are half the ring apart, which helps only if two masters hold them."""
    giver, taker = cluster.owner(0), cluster.owner(8192)
    options = ["--cluster-from", giver.id, "--cluster-to", taker.id, "--cluster-slots", "1500", "--cluster-yes"]
    reshard = [program("redis-cli", "a cluster"), "--cluster", "reshard", f"127.0.0.1:{giver.port}", *options]
    subprocess.run(reshard, check=True, capture_output=True)
    severity, sentence, _ = finding(cluster)
    assert severity == "risk"
    assert "have both copies on one master: if it is away, callers of other shards are refused, too" in sentence


def test_the_doctor_names_a_master_that_is_away(cluster, witness):
    """And how many workspaces are refused for it."""
    for node in cluster.nodes:
        node.redis.config_set("cluster-require-full-coverage", "no")
    [away, *_] = [node for node in cluster.nodes if f":{node.port}" not in shard_of(cluster, witness.tenant.id)]
    url = "redis+cluster://" + ",".join(f"127.0.0.1:{node.port}" for node in cluster.nodes)
    away.kill()
    checked = run_remit(["doctor", "--json"], clean_env() | {"REMIT_REDIS_URL": url})
    away.start()
    assert checked.stdout, checked.stderr
    [found] = [each for each in json.loads(checked.stdout) if each["subject"] == "shards"]
    assert (found["severity"], checked.returncode) == ("broken", 1)
    assert f"127.0.0.1:{away.port} does not answer: " in found["sentence"]
    until(cluster.is_whole, "every node knows the whole cluster")


def test_what_is_no_cluster_has_no_shards(redis_store):
    refused = run_remit(
        ["workspaces", "create", "x", "--shard", "127.0.0.1:1"], clean_env() | {"REMIT_REDIS_URL": redis_store.url}
    )
    assert refused.returncode == 1
    assert 'The store is not a cluster, so there is no master "127.0.0.1:1" to choose' in refused.stderr
