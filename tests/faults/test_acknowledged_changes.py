"""An acknowledged prohibition holds, whatever breaks between a replica and the store."""

import itertools
import threading

import pytest
from proxy import Fault
from topologies import until

DENY = {"rules": [{"type": "tool_denylist", "tools": ["*"]}]}


@pytest.fixture
def breaking(proxy):
    """The proxy applies every fault in turn until the test is over; the list has those applied."""
    stopping, broken = threading.Event(), []

    def run():
        for fault in itertools.cycle([Fault.CUT, Fault.HOLD, Fault.CUT_MID_REPLY, Fault.REFUSE, Fault.LOSE]):
            proxy.break_(fault)
            stopping.wait(0.05)
            proxy.heal()
            broken.append(fault)
            if stopping.wait(0.2):
                return

    thread = threading.Thread(target=run)
    thread.start()
    yield broken
    stopping.set()
    thread.join()


def test_nothing_is_allowed_after_it_was_forbidden_and_acknowledged(witness, behind, breaking):
    """A policy that denies, a suspension, a revoked key, a deleted policy: on the replica that has them all cached."""
    admin = witness.tenant.admin
    denied, suspended, unruled, keyed = (witness.new_agent() for _ in range(4))
    key = witness.tenant.new_key(["read"])
    ports = [behind.port, witness.replica.port]
    with (
        witness.load(denied, suspended, unruled, ports=ports, count=8) as load,
        witness.load(keyed, ports=ports, count=4, key=key["key"]) as revoked,
    ):
        load.after(100)
        revoked.after(40)
        [policy] = admin.get("/v1/policies", params={"agent_id": denied}).json()
        witness.forbid(denied, lambda: admin.patch(f"/v1/policies/{policy['id']}", json=DENY))
        witness.forbid(suspended, lambda: admin.patch(f"/v1/agents/{suspended}", json={"status": "suspended"}))
        [policy] = admin.get("/v1/policies", params={"agent_id": unruled}).json()
        witness.forbid(unruled, lambda: admin.delete(f"/v1/policies/{policy['id']}"))
        witness.forbid(keyed, lambda: admin.delete(f"/v1/api-keys/{key['id']}"))
        until(lambda: len(breaking) >= 10, "every fault has been there twice")
        load.after(100)
        revoked.after(40, "refused")
    assert (load.wrong, load.cut, revoked.cut) == ([], [], [])
    assert {call.answer["result"] for call in load.answered} == {"allowed", "denied"}
    assert {line.split()[0] for line in revoked.wrong} == {"401"}
    witness.check()
