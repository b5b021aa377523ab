"""A store that is killed under load keeps every answer; if it syncs less often, only the latest are lost.

tests/serve kills the embedded store; this one is an external server, reached over TCP.
"""

import random
import shutil
import time

import httpx
import pytest
import redis
from background import Background
from oracle import check_chain, check_quotas, check_sequence, check_suffix, gone, read_log
from servers import Replica, Store
from topologies import SEALING_FAST
from witness import Witness

KILLS = 3


class Admin(Background):
    """An admin who keeps creating and removing agents and keys, and remembers what was acknowledged."""

    def __init__(self, tenant) -> None:
        super().__init__()
        self.made: dict[str, str] = {}
        self.suspended: set[str] = set()
        self.keys: dict[str, str] = {}
        self.revoked: set[str] = set()
        self._admin = tenant.admin

    def after(self, count: int) -> None:
        """Return when so many more suspensions and revocations have been acknowledged."""
        suspended, revoked = len(self.suspended) + count, len(self.revoked) + count
        while len(self.suspended) < suspended or len(self.revoked) < revoked:
            assert self._threads[0].is_alive()
            time.sleep(0.01)

    def _run(self, _number: int) -> None:
        while not self._stopping.is_set():
            name = f"agent {random.random()}"
            if agent := self._ask("POST", "/v1/agents", {"name": name}):
                self.made[agent.json()["id"]] = name
                if self._ask("PATCH", f"/v1/agents/{agent.json()['id']}", {"status": "suspended"}):
                    self.suspended.add(agent.json()["id"])
            if key := self._ask("POST", "/v1/api-keys", {"name": "a key", "scopes": ["read"]}):
                self.keys[key.json()["id"]] = key.json()["key"]
                if random.random() < 0.5:
                    continue
                if self._ask("DELETE", f"/v1/api-keys/{key.json()['id']}"):
                    self.revoked.add(key.json()["id"])
                else:
                    del self.keys[key.json()["id"]]  # nobody knows

    def _ask(self, method, path, body=None) -> httpx.Response | None:
        answer = self._admin.request(method, path, json=body)
        assert answer.is_success or answer.status_code == 503, answer.text
        return answer if answer.is_success else None

    def check(self) -> None:
        """Check that everything acknowledged still holds."""
        agents = {agent["id"]: agent for agent in self._admin.get("/v1/agents").json()}
        assert {agent_id: agents[agent_id]["name"] for agent_id in self.made} == self.made
        assert {agents[agent_id]["status"] for agent_id in self.suspended} == {"suspended"}
        assert not self.revoked & {key["id"] for key in self._admin.get("/v1/api-keys").json()}
        for key_id, raw_key in self.keys.items():
            answer = self._admin.get("/v1/agents", headers={"Authorization": f"Bearer {raw_key}"})
            assert answer.status_code == (401 if key_id in self.revoked else 200)


@pytest.fixture(params=["redis", "valkey"])
def durable(request, own, tmp_path, server):
    """On disk before it is answered."""
    options = ("--appendonly", "yes", "--appendfsync", "always")
    return own(Store(server(request.param), tmp_path / "store", *options))


def test_a_store_that_syncs_always_loses_nothing_however_often_it_is_killed(durable, own):
    """Decisions, quotas, agents, suspensions, keys and revocations: whatever was acknowledged survives."""
    replica = own(Replica(durable.url, **SEALING_FAST))
    witness = own(Witness(redis.Redis(port=durable.port), durable.url, replica))
    agent_id, limited = witness.new_agent(), witness.new_agent(max_calls=40)
    with (
        witness.load(agent_id, limited, count=3, pause_s=0) as load,
        witness.load(agent_id, limited, count=3, idempotent=True, pause_s=0) as patient,
        Admin(witness.tenant) as admin,
    ):
        for _ in range(KILLS):
            patient.after(40)
            admin.after(1)
            durable.kill()
            durable.start()
        patient.after(40)
    assert (load.wrong, load.cut, patient.wrong, patient.cut) == ([], [], [], [])
    log = witness.check()
    assert sum(entry["result"] == "allowed" for entry in log.entries if entry["agentId"] == limited) == 40
    assert witness.admitted(limited) == 40
    admin.check()


@pytest.fixture
def everysec(own, tmp_path, server):
    """On disk within about a second: a power cut loses the rest."""
    options = ("--appendonly", "yes", "--appendfsync", "everysec")
    return own(Store(server("redis"), tmp_path / "store", *options))


def test_a_store_that_syncs_every_second_loses_only_the_end(everysec, own):
    """Wherever the power cut ended the file, what is left is what had been answered until some moment, and whole:

    no hole in the log, no quota without its entry, no entry without its quota, and the chain goes on from there.
    """
    replica = own(Replica(everysec.url, **SEALING_FAST))
    witness = own(Witness(redis.Redis(port=everysec.port), everysec.url, replica))
    limited = witness.new_agent(max_calls=300)
    [file] = (everysec.folder / "appendonlydir").glob("*.incr.aof")
    start = file.stat().st_size  # the workspace and its agent are older than the last second
    with witness.load(limited) as load:
        load.after(200)
        everysec.kill()
    end = file.stat().st_size
    whole = shutil.copy(file, everysec.folder / "whole.aof")
    for tenth in (1, 3, 5, 7):
        cut = start + int((end - start) * (tenth + random.random()) / 10)  # in the middle of anything
        shutil.copy(whole, file)
        with file.open("r+b") as opened:
            opened.truncate(cut)
        everysec.start()
        log = read_log(witness.store, witness.tenant.id)
        check_sequence(log)
        check_quotas(log, witness.quotas)
        check_chain(everysec.url, witness.tenant.id)
        lost = list(gone(log, load.answered))
        assert lost
        check_suffix(log, load.answered, lost)
        everysec.kill()

    everysec.start()
    with witness.load(limited) as later:
        later.after(20)
    log = witness.log()
    check_sequence(log)
    check_quotas(log, witness.quotas)
    check_chain(everysec.url, witness.tenant.id)
    assert not list(gone(log, later.answered))
    assert witness.admitted(limited) == sum(entry["result"] == "allowed" for entry in log.entries)
