"""A planned failover (`SENTINEL FAILOVER`) under load: nothing that was answered or acknowledged is lost.

Of three data nodes the one that is not promoted goes on following the old master, and would confirm what is then lost.
REMIT_TEST_FAILOVERS says how many in a row; without it there are two.
"""

import os

import pytest
import redis
from background import Background
from servers import HASTY, Replica
from shipped_store import FOLLOWING, ShippedStore
from topologies import SEALING_FAST, SERVICE, Guarded, until
from witness import Witness

FAILOVERS = int(os.environ.get("REMIT_TEST_FAILOVERS", "2"))


class Trio(Guarded):
    """A master and two replicas under three Sentinels, set up as docs/operations.md says."""

    def __init__(self, binary, folder):
        super().__init__(binary, folder)
        of_the_master = ("--replicaof", f"127.0.0.1 {self.master.port}")
        self.second = ShippedStore(binary, folder / "second", *FOLLOWING, *of_the_master)
        self.on_second = self.second.as_user("root")
        self.nodes = [self.on_master, self.on_replica, self.on_second]
        for node in self.nodes:
            node.config_set("min-replicas-to-write", 1)
            node.config_set("min-replicas-max-lag", 2)
        until(lambda: all(len(each.sentinel_slaves(SERVICE)) == 2 for each in self.watchers), "both are known")
        until(self.is_settled, "both replicas follow the master")

    def stop(self):
        self.on_second.close()
        super().stop()
        self.second.kill()

    def in_bytes(self, node):
        """Another connection to the node, whose replies are bytes."""
        port = node.connection_pool.connection_kwargs["port"]
        [store] = [each for each in (self.master, self.replica, self.second) if each.port == port]
        return store.as_user("root", decoding=False)

    def masters(self):
        return [node for node in self.nodes if node.role()[0] == "master"]

    def is_settled(self):
        """Whether there is one master with two up-to-date replicas, and every Sentinel knows."""
        masters = self.masters()
        if len(masters) != 1 or masters[0].info("replication")["connected_slaves"] != 2:
            return False
        port = masters[0].connection_pool.connection_kwargs["port"]
        return all(
            each.sentinel_get_master_addr_by_name(SERVICE)[1] == port
            and not [one for one in each.sentinel_slaves(SERVICE) if one["is_disconnected"]]
            and "failover_in_progress" not in each.execute_command("SENTINEL MASTER", SERVICE)["flags"]
            for each in self.watchers
        )

    def fail_over(self):
        """Fail over to another node; return once all the others follow it."""
        [before] = self.masters()

        def accepted():
            try:
                return bool(self.watchers[0].execute_command("SENTINEL", "FAILOVER", SERVICE))
            except redis.exceptions.ResponseError:
                return False  # it has not forgotten the last one yet

        until(accepted, "the Sentinel begins", 60)
        until(lambda: before.role()[0] == "slave" and self.is_settled(), "another one is in charge", 60)


class Changes(Background):
    """An admin who creates agents one after the other and remembers those acknowledged."""

    def __init__(self, tenant):
        super().__init__()
        self._tenant, self.acknowledged = tenant, []

    def _run(self, _number):
        while not self._stopping.is_set():
            answer = self._tenant.admin.post("/v1/agents", json={"name": "made during a failover"})
            if answer.status_code == 201:
                self.acknowledged.append(answer.json()["id"])
            else:
                assert answer.status_code == 503, answer.text
            self._stopping.wait(0.01)


@pytest.mark.slow
@pytest.mark.faults
def test_a_planned_failover_loses_no_answer_and_no_change(server, own, tmp_path):
    """Entries, quotas and acknowledged changes survive any number of failovers; calls in between are 503."""
    trio = own(Trio(server("redis"), tmp_path))
    replica = own(Replica(trio.url, REMIT_WAIT_REPLICAS="1", **SEALING_FAST, **HASTY))
    witness = own(Witness(trio.on_master_bytes, trio.url, replica))
    agents = [witness.new_agent(max_calls=500), witness.new_agent()]
    with Changes(witness.tenant) as changes, witness.load(*agents, count=6) as load:
        for _ in range(FAILOVERS):
            load.after(100)
            trio.fail_over()
            load.after(50)
    assert (load.wrong, load.cut) == ([], [])
    assert load.answered
    [master] = trio.masters()
    witness.store = trio.in_bytes(master)
    assert [
        each for each in changes.acknowledged if not master.exists(f"remit:{{{witness.tenant.id}}}:agent:{each}")
    ] == []
    assert changes.acknowledged
    witness.check()
