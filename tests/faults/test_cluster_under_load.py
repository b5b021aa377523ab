"""The whole service on a Redis Cluster of three masters and a replica each; slots move and masters die under load."""

import asyncio
import contextlib
import signal

import pytest
from load import Load
from servers import HASTY, Replica
from topologies import SEALING_FAST, Cluster, until
from witness import IMPATIENT, Listing, Witness

from app.errors import StoreUnavailable
from app.redis_client.clients import open_client

MASTERS = 3
LIMIT = {"type": "rate_limit", "tools": ["*"], "rateLimit": {"maxCalls": 3, "windowSeconds": 3600}}


@pytest.fixture(scope="module")
def cluster(shared, server, program, tmp_path_factory):
    redis_cli = program("redis-cli", "a Redis Cluster")
    return shared(Cluster(server("redis"), redis_cli, tmp_path_factory.mktemp("cluster"), replicas=1))


@pytest.fixture(scope="module")
def replica(cluster, shared):
    # It refuses before a master that hangs is replaced, but not because a master has to wait for a core.
    return shared(Replica(cluster.url, **SEALING_FAST, REMIT_STORE_TIMEOUT_MS="1500"))


@pytest.fixture
def witnesses(cluster, replica, own):
    """A workspace on every master; when the test is over, their logs are held against what was asked."""
    made = {}
    while len(made) < MASTERS:
        witness = own(Witness(cluster.redis, cluster.url, replica))
        made.setdefault(cluster.owner(slot_of(cluster, witness)).port, witness)
    yield list(made.values())
    until(cluster.is_whole, "every node knows the whole cluster")
    for each in made.values():
        each.check()


def slot_of(cluster, witness):
    return cluster.redis.keyslot(f"{{{witness.tenant.id}}}")


def test_every_route_works_on_every_master(witnesses):
    """Without keys of another slot: quotas are exact, retries get the first answer, and the log is sealed."""
    for witness in witnesses:
        admin, tenant = witness.tenant.admin, witness.tenant
        agent_id = witness.new_agent(max_calls=3)
        results = [witness.question(agent_id).send_until_answered()["result"] for _ in range(5)]
        assert results == ["allowed"] * 3 + ["denied"] * 2
        question = witness.question(agent_id, key="once")
        assert question.send_until_answered() == question.send_until_answered()

        [policy] = admin.get("/v1/policies", params={"agent_id": agent_id}).json()
        patched = admin.patch(f"/v1/policies/{policy['id']}", json={"rules": [LIMIT], "priority": 7})
        assert patched.json()["priority"] == 7
        shown = {name: value for name, value in patched.json().items() if name != "warnings"}
        assert admin.get(f"/v1/policies/{policy['id']}").json() == shown
        assert admin.patch(f"/v1/agents/{agent_id}", json={"description": "known"}).is_success
        assert [each["id"] for each in admin.get("/v1/agents").json()] == [agent_id]
        other = tenant.new_agent()["id"]
        tenant.new_policy(other)
        assert admin.delete(f"/v1/agents/{other}").status_code == 204
        key = tenant.new_key(["read"])
        assert len(admin.get("/v1/api-keys").json()) == 3
        assert admin.delete(f"/v1/api-keys/{key['id']}").status_code == 204
        with tenant.replica.client(key["key"]) as revoked:
            assert revoked.get("/v1/agents").status_code == 401
        witness.forbid(agent_id, lambda: admin.patch(f"/v1/agents/{agent_id}", json={"status": "suspended"}))  # noqa: B023
        assert witness.question(agent_id).send_until_answered()["result"] == "denied"
        assert admin.delete(f"/v1/policies/{policy['id']}").status_code == 204
        assert len(admin.get("/v1/changes").json()) > 5
        assert len(tenant.log(agent_id=agent_id)) == 7
        while not witness.store.exists(f"remit:{{{tenant.id}}}:audit:segment:1"):
            assert tenant.log(limit=1)
        assert len(tenant.log(agent_id=agent_id)) == 7
    assert admin.get("/readyz").status_code == 200
    assert admin.get("/metrics").status_code == 200


def test_a_plan_in_a_cluster_is_committed_as_a_whole_or_not_at_all(cluster, replica, own):
    """Its calls are of one workspace, so of one slot."""
    tenant = own(Witness(cluster.redis, cluster.url, replica)).tenant
    agent_id = tenant.new_agent()["id"]
    tenant.new_policy(agent_id, LIMIT)
    plan = [{"agent_id": agent_id, "tool_name": "file.read"}] * 4
    with replica.client(tenant.read_key) as caller:
        for calls, result in ((plan, "denied"), (plan[:3], "allowed"), (plan[:1], "denied")):
            answer = caller.post("/v1/authorize/batch", json={"semantics": "all_or_nothing", "calls": calls})
            assert [each["decision"]["result"] for each in answer.json()["results"]] == [result] * len(calls)


def test_slots_that_move_under_load_cost_refusals_and_nothing_else(cluster, witnesses):
    """Each workspace moves key by key under load; it is 503 while half moved, and the others are not affected."""
    with contextlib.ExitStack() as stack:
        loads = []
        for witness in witnesses:
            agents = witness.new_agent(), witness.new_agent(max_calls=30)
            loads.append(stack.enter_context(witness.load(*agents, count=2)))
        for witness, load in zip(witnesses, loads, strict=True):
            load.after(20)
            others = [(each, len(each.refused)) for each in loads if each is not load]
            slot = slot_of(cluster, witness)
            to = next(node for node in cluster.masters() if node is not cluster.owner(slot))
            commits = f"remit:{{{witness.tenant.id}}}:commits"
            cluster.move(slot, to, first=commits, half_way=lambda load=load: load.after(5, "refused"))
            load.after(20)
            assert all(len(each.refused) == before for each, before in others)
    assert [load.wrong for load in loads] == [[]] * MASTERS
    assert [load.cut for load in loads] == [[]] * MASTERS


@pytest.mark.parametrize("number", [signal.SIGSTOP, signal.SIGKILL], ids=["frozen", "killed"])
def test_a_lost_master_costs_its_own_workspaces_refusals_until_its_replica_takes_over(cluster, witnesses, number):
    """Workspaces of other masters are not affected; afterwards decisions, first reads and sealing continue."""
    for node in cluster.masters():
        node.redis.config_set("cluster-require-full-coverage", "no")
    first, *others = witnesses
    lost = cluster.owner(slot_of(cluster, first))
    with cluster.losing(lost), contextlib.ExitStack() as stack:
        hit = stack.enter_context(first.load(first.new_agent(max_calls=30), count=8))
        spared = [stack.enter_context(each.load(each.new_agent(max_calls=30), count=2)) for each in others]
        for load in (hit, *spared):
            load.after(20)
        first.may_lose_until_now()
        lost.process.send_signal(number)
        hit.after(8, "refused")
        for load in spared:
            load.after(20)
        hit.after(20)
        cluster.redis.nodes_manager.initialize()
        sealed = [newest_segment(each) for each in witnesses]
        for each, before in zip(witnesses, sealed, strict=True):
            until(lambda each=each: each.tenant.admin.get("/v1/policies").status_code == 200, "lists are read")
            assert each.question(each.new_agent()).send_until_answered()["allowed"]
            until(lambda each=each, before=before: newest_segment(each) > before, "sealing goes on")
    assert [load.wrong for load in (hit, *spared)] == [[]] * MASTERS
    assert [load.cut for load in (hit, *spared)] == [[]] * MASTERS
    assert [load.refused for load in spared] == [[], []]


def newest_segment(witness):
    return int(witness.store.hget(f"remit:{{{witness.tenant.id}}}:audit:head", "segment") or 0)


def test_a_master_that_hands_over_loses_nothing(cluster, witnesses):
    """`CLUSTER FAILOVER` under load, as before maintenance: every answer is in the log of its successor."""
    witness = witnesses[0]
    with witness.load(witness.new_agent(max_calls=30), idempotent=True) as load:
        load.after(40)
        master = cluster.owner(slot_of(cluster, witness))
        successor = cluster.replica_of(master)
        successor.redis.execute_command("CLUSTER", "FAILOVER")
        until(lambda: successor.redis.role()[0] == "master", "the replica is in charge")
        load.after(40)
    assert (load.wrong, load.cut) == ([], [])
    until(lambda: master.redis.role()[0] == "slave", "the master is a replica")
    cluster.redis.nodes_manager.initialize()


def test_a_change_in_a_cluster_is_acknowledged_when_a_replica_of_its_master_has_it(cluster, witnesses, own):
    """A replica that hangs confirms nothing: the change is made, and 503 says that it may be lost."""
    witness = witnesses[0]
    agent_id = witness.new_agent()
    waiting = own(Replica(cluster.url, REMIT_WAIT_REPLICAS="1", **HASTY))
    with waiting.client(witness.tenant.admin_key) as admin:
        witness.forbid(agent_id, lambda: admin.patch(f"/v1/agents/{agent_id}", json={"status": "suspended"}))
        changes = []

        def is_told_of():
            changes.append(f"still suspended {len(changes)}")
            answer = admin.patch(f"/v1/agents/{agent_id}", json={"description": changes[-1]})
            assert answer.status_code == 503
            # Or the master itself did not answer, because it got no core.
            return answer.json()["error"]["message"].startswith("The change was made, and 0 of 1 replicas")

        with freezing(cluster.replica_of(cluster.owner(slot_of(cluster, witness)))):
            until(is_told_of, "the caller is told that the change was made")
        shown = until(lambda: admin.get(f"/v1/agents/{agent_id}").json().get("description"), "the agent can be read")
        assert shown == changes[-1]
    assert witness.question(agent_id).send_until_answered()["result"] == "denied"


def test_a_decision_over_a_cluster_is_given_up_at_its_deadline(cluster, witnesses, own):
    """An earlier listing still waits for the hanging master."""
    witness, impatient = witnesses[0], own(Replica(cluster.url, REMIT_COMPACT="false", **IMPATIENT))
    question = witness.question(witness.new_agent(), port=impatient.port)
    question.send_until_answered()

    def is_given_up_first():
        with impatient.client(witness.tenant.admin_key) as admin:
            with freezing(cluster.owner(slot_of(cluster, witness))):
                listing = Listing(admin)
                was_first = listing.outlasts(question)
            listing.finish()
        return was_first

    # Without a core for half a second, the test cannot tell which came first.
    assert any(is_given_up_first() for _ in range(5))
    question.send_until_answered()


@contextlib.contextmanager
def freezing(node):
    node.process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        node.process.send_signal(signal.SIGCONT)


def test_a_cluster_takes_many_concurrent_decisions(cluster):
    """redis-py would refuse all beyond a hundred calls under way at one master."""
    key, at_once = "remit:waited-for", 150
    node = cluster.owner(cluster.redis.keyslot(key))

    async def ask():
        client = open_client(cluster.url, 10_000, prompt=True)
        asked = [asyncio.ensure_future(client.call("BLPOP", key, 10)) for _ in range(at_once)]
        await asyncio.to_thread(until, lambda: node.redis.info("clients")["blocked_clients"] == at_once, "all wait")
        node.redis.rpush(key, *range(at_once))
        try:
            return await asyncio.gather(*asked)
        finally:
            await client.close()

    assert len(asyncio.run(ask())) == at_once


def test_replies_in_a_cluster_are_what_one_server_gives(cluster, redis_store):
    """One command, several together, or a snapshot; as strings or bytes; one command's error is the error of all."""

    async def replies(url, prefix):
        client = open_client(url, 10_000)
        try:
            a, b, wrong = (f"{{{prefix}}}:{name}" for name in ("a", "b", "wrong"))
            wrote = await client.read_pipelined(
                [("HSET", a, "x", 1, "y", 2), ("XADD", b, "1-0", "f", "v"), ("SET", wrong, "")]
            )
            reads = [("HGETALL", a), ("HGET", a, "x"), ("EXISTS", a), ("XRANGE", b, "-", "+"), ("XLEN", b)]
            alone = [await client.call(*each) for each in reads]
            together = await client.read_pipelined(reads)
            as_bytes = await client.read_pipelined(reads, as_bytes=True)
            in_one = await client.read_snapshot(*reads)
            for asking in (client.call("HGETALL", wrong), client.read_snapshot(reads[0], ("HGETALL", wrong))):
                with pytest.raises(StoreUnavailable, match="another type"):
                    await asking
            return wrote, alone, together, as_bytes, in_one
        finally:
            await client.close()

    prefix = f"test {next(Load.numbers)}"
    assert asyncio.run(replies(cluster.url, prefix)) == asyncio.run(replies(redis_store.url, prefix))
