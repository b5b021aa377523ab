"""A set of policies is replaced at once or not at all, whatever is killed or lost meanwhile."""

import time
from itertools import pairwise

import pytest
from changing import Changing
from load import TOOL, Load
from proxy import Fault
from servers import Store
from topologies import until

AFTER_IT_RAN = [Fault.HOLD, Fault.LOSE, Fault.CUT, Fault.CUT_MID_REPLY]
FIRST, SECOND = "the first", "the second"


def named(fault):
    return fault.name.lower().replace("_", " ")


def generation(number):
    """Two policies that let a call of this generation pass, and a call of the other never as far as the second."""
    rule = {"type": "parameter_constraint", "tools": ["*"], "parameters": {"generation": {"enum": [number]}}}
    return {"policies": [{"name": name, "rules": [rule], "kind": kind} for name, kind in KINDS]}


KINDS = ((FIRST, "grant"), (SECOND, "guardrail"))


def held(witness, path):
    """The generation and the version of each policy that is there."""
    policies = witness.tenant.admin.get(path).json()["policies"]
    return {
        each["name"]: (each["rules"][0]["parameters"]["generation"]["enum"][0], each["version"]) for each in policies
    }


class Deployer(Changing):
    """Writes one generation after the other. acknowledged: of each the times before and after, and which it was."""

    sent = 0

    def change(self) -> None:
        self.sent += 1
        before = time.monotonic_ns()
        answer = self.admin.put(self.path, json=generation(self.sent % 2))
        assert answer.is_success or answer.status_code == 503, answer.text
        if answer.is_success:
            self.acknowledged.append((before, time.monotonic_ns(), self.sent % 2))


def load_of(witness, agent_id, ports):
    """Calls of both generations in turn."""

    def question(number):
        return {"agent_id": agent_id, "tool_name": TOOL, "parameters": {"call": number, "generation": number // 7 % 2}}

    return Load(ports, witness.tenant.read_key, question, witness.calls)


def decided_between(load, deployer):
    """The calls sent after a set was acknowledged and answered before the next was sent, each with the set's number."""
    for (_, since, number), (until_ns, _, _) in pairwise(list(deployer.acknowledged)):
        for call in load.answered:
            if since < call.sent and call.received is not None and call.received < until_ns:
                yield call, number


def whole(witness, path):
    """Whether the two policies are of one generation and equally often changed."""
    found = held(witness, path)
    assert found.keys() == {FIRST, SECOND}
    assert found[FIRST] == found[SECOND]
    return found[FIRST]


@pytest.mark.parametrize("owner", ["agents/{}", "groups/crew"])
def test_replicas_that_decide_meanwhile_know_the_old_set_or_the_new_one(witness, other, owner):
    """No decision was made by one policy of each; a call sent after a set was acknowledged is decided by it."""
    agent_id = witness.tenant.new_agent(groups=["crew"])["id"]
    path = f"/v1/{owner.format(agent_id)}/policies"
    witness.tenant.admin.put(path, json=generation(0))

    with load_of(witness, agent_id, [witness.replica.port, other.port]) as load, Deployer(witness, path) as deployer:
        load.after(300)
        deployer.after(20)
        load.after(300)
        until(lambda: sum(1 for _ in decided_between(load, deployer)) > 20, "calls came and went between two sets")

    assert (load.wrong, load.cut, load.refused) == ([], [], [])
    mixed = [call.answer["reason"] for call in load.answered if f'"{SECOND}"' in call.answer["reason"]]
    assert mixed == []
    assert {call.answer["result"] for call in load.answered} == {"allowed", "denied"}
    for call, number in decided_between(load, deployer):
        assert call.answer["allowed"] == (call.body["parameters"]["generation"] == number)
    whole(witness, path)
    witness.check()


def test_a_set_whose_reply_was_lost_is_stored_whole_and_once(witness, proxy, behind):
    """However it was lost: the caller gets 503 and looks: the version has moved, so the same change is 412 and not made
    twice.
    """
    for fault in AFTER_IT_RAN:
        agent_id = witness.tenant.new_agent()["id"]
        path = f"/v1/agents/{agent_id}/policies"
        before = witness.tenant.admin.put(path, json=generation(0))
        tag = {"If-Match": before.headers["ETag"]}

        with behind.client(witness.tenant.admin_key) as admin:
            until(lambda admin=admin, path=path: admin.get(path).is_success, "the way is whole")
            assert admin.get(path).json()["version"] == before.json()["version"], fault
            proxy.break_(fault, '"generation":{"enum":[1]}')
            refused = admin.put(path, json=generation(1), headers=tag)
            assert (refused.status_code, refused.json()["error"]["code"]) == (503, "STORE_UNAVAILABLE"), fault
            assert proxy.struck.is_set(), fault
            proxy.heal()
            until(lambda admin=admin, path=path: admin.get(path).is_success, "the way is whole")

            assert whole(witness, path) == (1, 2), fault
            assert admin.put(path, json=generation(1), headers=tag).status_code == 412, fault
            again = admin.put(path, json=generation(1))
        assert [again.json()[name] for name in ("created", "updated", "deleted")] == [[], [], []], fault
        changes = witness.tenant.admin.get("/v1/changes", params={"resource_type": "policy", "limit": 5}).json()
        assert [each["kind"] for each in changes[:4]] == ["updated"] * 2 + ["created"] * 2, fault
        assert [each["kind"] for each in changes[4:]] == ["updated"] * (fault is not AFTER_IT_RAN[0]), fault


def test_a_replica_that_is_killed_while_it_writes_leaves_one_set_or_the_other(witness, other):
    """Again and again; what it had acknowledged is there, or what it sent last."""
    agent_id = witness.tenant.new_agent()["id"]
    path = f"/v1/agents/{agent_id}/policies"
    with load_of(witness, agent_id, other.port) as load:
        for _ in range(5):
            with Deployer(witness, path) as deployer:
                deployer.after(3)
                witness.replica.kill()
            witness.replica.start()
            last = deployer.acknowledged[-1][2]
            assert whole(witness, path)[0] in {last, deployer.sent % 2}
        load.after(50)
    assert not [call for call in load.answered if f'"{SECOND}"' in call.answer["reason"]]
    assert (load.wrong, load.cut) == ([], [])


@pytest.mark.parametrize("name", ["redis", "valkey"])
def test_a_store_that_is_killed_while_it_writes_has_one_set_or_the_other(server, tmp_path, own, witness_on, name):
    """It syncs before it answers: the set that was acknowledged last is there, or the one that was sent after it."""
    store = own(Store(server(name), tmp_path, "--appendonly", "yes", "--appendfsync", "always"))
    witness = witness_on(store)
    agent_id = witness.tenant.new_agent()["id"]
    path = f"/v1/agents/{agent_id}/policies"
    for _ in range(4):
        with Deployer(witness, path) as deployer:
            deployer.after(3)
            store.kill()
        store.start()
        until(lambda: witness.tenant.admin.get(path).is_success, "the replica has its store again")
        last = deployer.acknowledged[-1][2]
        assert whole(witness, path)[0] in {last, 1 - last}
        changes = witness.tenant.admin.get("/v1/changes", params={"resource_type": "policy", "limit": 1000}).json()
        assert len(changes) == 2 * whole(witness, path)[1]
