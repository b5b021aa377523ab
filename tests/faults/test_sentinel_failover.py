"""A master and a replica watched by Sentinels: what a failover costs, what it can lose, and what guards against it."""

import pytest
from everything_stored import SECRET, write_everything
from oracle import gone
from servers import HASTY, Replica
from shipped_store import newest_redis
from tenants import Tenant
from topologies import SEALING_FAST, Guarded, until
from witness import Witness


@pytest.fixture
def guarded(own, server, tmp_path):
    return own(Guarded(server("redis"), tmp_path))


@pytest.fixture
def replica(guarded, own, request):
    """A replica that finds the master through the Sentinels; settings come from the test's parameter."""
    return own(Replica(guarded.url, **SEALING_FAST, **HASTY, **getattr(request, "param", {})))


@pytest.fixture
def witness(guarded, replica, own):
    return own(Witness(guarded.on_master_bytes, guarded.url, replica))


def fail_over(guarded, witness):
    """Kill the master; return once the replica is in charge and decisions and admins' reads work."""
    guarded.kill_master()
    guarded.wait_for_failover()
    witness.store = guarded.on_replica_bytes
    until(lambda: witness.tenant.admin.get("/v1/agents").status_code == 200, "what is stored can be read")


def test_a_failover_is_503_until_the_replica_takes_over_and_then_decisions_go_on(guarded, witness):
    """Nothing is restarted; first reads work too, and the log is complete."""
    limited = witness.new_agent(max_calls=30)
    with witness.load(limited, count=4) as load:
        load.after(40)
        witness.may_lose_until_now()
        guarded.kill_master()
        load.after(10, "refused")
        guarded.wait_for_failover()
        witness.store = guarded.on_replica_bytes
        load.after(40)
    assert (load.wrong, load.cut) == ([], [])
    assert witness.question(witness.new_agent()).send_until_answered()["allowed"]
    witness.check()


def test_answers_that_no_replica_received_are_lost_in_a_failover(guarded, witness):
    """Entries, counted calls, suspensions and revocations are lost, but nothing answered before."""
    limited, suspended = witness.new_agent(max_calls=3), witness.new_agent()
    key = witness.tenant.new_key(["read"])
    before = [witness.question(limited).send_until_answered()["result"] for _ in range(2)]
    guarded.cut_replica_off()
    after = [witness.question(limited).send_until_answered()["result"] for _ in range(2)]
    assert before + after == ["allowed"] * 3 + ["denied"]
    assert witness.tenant.admin.patch(f"/v1/agents/{suspended}", json={"status": "suspended"}).status_code == 200
    assert witness.tenant.admin.delete(f"/v1/api-keys/{key['id']}").status_code == 204
    witness.may_lose_until_now()

    fail_over(guarded, witness)

    assert [call.body["agent_id"] for call in gone(witness.log(), witness.calls)] == [limited] * 2
    again = [witness.question(limited).send_until_answered()["result"] for _ in range(2)]
    assert again == ["allowed", "denied"]
    assert witness.question(suspended).send_until_answered()["result"] == "allowed"
    with witness.replica.client(key["key"]) as revoked:
        assert revoked.get("/v1/agents").status_code == 200
    witness.check()


def test_a_master_that_needs_a_replica_to_answer_loses_nothing(guarded, witness):
    """`min-replicas-to-write 1`: cut off, it refuses; nothing is answered that a failover could take."""
    guarded.on_master.config_set("min-replicas-to-write", 1)
    agent_id = witness.new_agent(max_calls=3)
    witness.question(agent_id).send_until_answered()
    guarded.cut_replica_off()
    question = witness.question(agent_id)
    assert question.send().status == 503

    fail_over(guarded, witness)

    assert question.send_until_answered()["result"] == "allowed"
    assert not list(gone(witness.check(), witness.calls))


@pytest.mark.parametrize("replica", [{"REMIT_WAIT_REPLICAS": "1"}], indirect=True, ids=["waits for one"])
def test_a_change_is_acknowledged_once_enough_replicas_have_it_and_then_survives(guarded, witness):
    """Any admin's change; with too few replicas it is made, and 503 says that it may be lost."""
    kept, lost = witness.new_agent(), witness.new_agent()
    keys = [witness.tenant.new_key(["read"]) for _ in range(2)]
    admin = witness.tenant.admin
    witness.forbid(kept, lambda: admin.patch(f"/v1/agents/{kept}", json={"status": "suspended"}))
    assert admin.delete(f"/v1/api-keys/{keys[0]['id']}").status_code == 204
    guarded.cut_replica_off()
    answers = [
        admin.patch(f"/v1/agents/{lost}", json={"status": "suspended"}),
        admin.delete(f"/v1/api-keys/{keys[1]['id']}"),
        admin.post("/v1/api-keys", json={"name": "another", "scopes": ["read"]}),
    ]
    errors = [answer.json()["error"] for answer in answers]
    told = [(answer.status_code, error["code"]) for answer, error in zip(answers, errors, strict=True)]
    assert told == [(503, "STORE_UNAVAILABLE")] * 3
    # A master that gets no core for seconds does not answer at all.
    assert any(error["message"].startswith("The change was made, and 0 of 1 replicas") for error in errors)
    assert witness.question(lost).send_until_answered()["result"] == "denied"
    witness.may_lose_until_now()

    fail_over(guarded, witness)

    assert witness.question(kept).send_until_answered()["result"] == "denied"
    assert witness.question(lost).send_until_answered()["result"] == "allowed"
    for key, status in zip(keys, (401, 200), strict=True):
        with witness.replica.client(key["key"]) as client:
            assert client.get("/v1/agents").status_code == status
    witness.check()


@pytest.mark.parametrize("kind", ["redis", "redis 8", "valkey"])
def test_a_hand_over_and_the_restarts_after_it_keep_every_key(kind, own, server, program, tmp_path):
    """With the shipped users: nothing is refused to any of them, on either node, and the old master comes back."""
    guarded = own(Guarded(newest_redis(program) if kind == "redis 8" else server(kind), tmp_path))
    service = own(Replica(guarded.url, REMIT_COMPACT="false", REMIT_WAIT_REPLICAS="1", **HASTY, **SECRET))
    tenant = own(Tenant(guarded.url, service))
    tenant.stop = tenant.close
    write_everything(tenant)
    until(lambda: guarded.replica.stored() == guarded.master.stored(), "the replica has everything")
    before = guarded.replica.stored()

    guarded.kill_master()
    guarded.wait_for_failover()
    guarded.master.start()
    until(lambda: guarded.on_master.role()[0] == "slave", "the Sentinels have made the old master a replica")
    until(lambda: guarded.on_master.role()[3] == "connected", "it has what the new one has")

    assert guarded.replica.stored() == guarded.master.stored() == before
    assert guarded.refused() == set()
    service.stop()
    for node in (guarded.replica, guarded.master):
        node.kill()
        node.start()
        assert node.stored() == before
