"""Denial breakers while replicas die, replies are lost, rules change and the store is full: exact by the log."""

import contextlib
import threading
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
import redis
from calls import entries
from proxy import Fault, Proxy
from servers import HASTY, Replica, Store
from tenants import FREE, Tenant
from topologies import until

CALLERS = 6
SUSPENDED = "agent_suspended"


def breaker(most):
    terms = {"maxDenials": most, "windowSeconds": 3600, "action": "suspend"}
    return {"type": "denial_breaker", "tools": ["*"], "denialBreaker": terms}


def log_of(tenant, agent_id):
    """Its entries, oldest first."""
    return list(entries(tenant.admin, agent_id).values())[::-1]


class Storm:
    """Threads that are denied without pause until the agent is suspended; lost answers count as answers."""

    def __init__(self, tenant, replicas, agent_id) -> None:
        self._over = threading.Event()
        self._agent_id = agent_id
        self._clients = [replica.client(tenant.read_key) for replica in replicas]
        self._pool = ThreadPoolExecutor(CALLERS)
        self._work = [self._pool.submit(self._go_on, place) for place in range(CALLERS)]

    def _go_on(self, place):
        body = {"agent_id": self._agent_id, "tool_name": "rm"}
        while not self._over.is_set():
            try:
                answer = self._clients[place % len(self._clients)].post("/v1/authorize", json=body)
            except httpx.HTTPError:
                self._over.wait(0.01)
                continue
            if answer.json().get("code") == SUSPENDED:
                return

    def stop(self):
        self._over.set()
        for each in self._work:
            each.result()
        self._pool.shutdown()
        for each in self._clients:
            each.close()


def until_suspended(tenant, agent_id):
    path = f"/v1/agents/{agent_id}"
    until(lambda: tenant.admin.get(path).json()["status"] == "suspended", "the agent is suspended", 90)


def told_by(replica, tenant, agent_id):
    """Its answer to a call, once it has one: its connection to the store may just have been cut."""
    with replica.client(tenant.read_key) as client:

        def told():
            answer = client.post("/v1/authorize", json={"agent_id": agent_id, "tool_name": "read"})
            return None if answer.status_code == 503 else answer.json()

        return until(told, "the replica answers")


def test_each_storm_ends_after_exactly_the_maximum_of_denials_whoever_dies(store, own, tenant, replicas):
    """With three replicas, one killed and one losing replies, and an edit of the maximum in each storm."""
    proxy = own(Proxy(store.port).start())
    everywhere = [*replicas, own(Replica(proxy.url, **HASTY))]
    agent_id = tenant.new_agent()["id"]
    tenant.new_policy(agent_id, FREE | {"tools": ["read"]})
    policy = tenant.new_policy(agent_id, breaker(400), kind="guardrail")
    for most, fault in ((40, Fault.LOSE), (30, Fault.CUT_MID_REPLY), (50, Fault.CUT)):
        storm = own(Storm(tenant, everywhere, agent_id))
        replicas[1].kill()
        proxy.break_(fault)
        answer = tenant.admin.patch(f"/v1/policies/{policy['id']}", json={"rules": [breaker(most)]})
        assert answer.status_code == 200
        until_suspended(tenant, agent_id)
        proxy.heal()
        storm.stop()
        replicas[1].start()
        for replica in everywhere:
            assert told_by(replica, tenant, agent_id)["code"] == SUSPENDED
        patched = tenant.admin.patch(f"/v1/policies/{policy['id']}", json={"rules": [breaker(400)]})
        assert patched.status_code == 200
        assert tenant.admin.patch(f"/v1/agents/{agent_id}", json={"status": "active"}).status_code == 200

    storms, counted = [], 0
    for entry in log_of(tenant, agent_id):
        if entry["code"] == SUSPENDED:
            continue
        counted += 1
        if "suspendedBy" in entry:
            assert entry["suspendedBy"] == policy["id"]
            storms.append(counted)
            counted = 0
    assert counted == 0
    assert len(storms) == 3
    # Never fewer than the edit asks for, and more only by what had been denied before it.
    assert all(most <= came <= 400 for most, came in zip((40, 30, 50), storms, strict=True))
    assert tenant.admin.get("/v1/audit-logs/verify").json()["intact"] is True


def test_the_maximum_holds_exactly_under_kill(store, own, tenant, replicas):
    """Without edits: exactly that many calls are denied by policies, even if the last reply was lost."""
    proxy = own(Proxy(store.port).start())
    agent_id = tenant.new_agent()["id"]
    tenant.new_policy(agent_id, breaker(60), kind="guardrail")
    storm = own(Storm(tenant, [replicas[1], own(Replica(proxy.url, **HASTY))], agent_id))
    for fault in (Fault.LOSE, Fault.CUT):
        proxy.break_(fault)
        replicas[1].kill()
        proxy.heal()
        replicas[1].start()
    until_suspended(tenant, agent_id)
    storm.stop()
    codes = [entry["code"] for entry in log_of(tenant, agent_id)]
    assert codes[:60] == ["default_deny"] * 60
    assert set(codes[60:]) <= {SUSPENDED}
    [change] = tenant.admin.get("/v1/changes", params={"actor_id": "breaker"}).json()
    assert change["after"]["status"] == "suspended"


@pytest.fixture(params=["redis", "valkey"])
def filling(request, own, tmp_path, server):
    """A store of this test's own, and a workspace on it."""
    store = own(Store(server(request.param), tmp_path))
    with contextlib.closing(Tenant(store.url, own(Replica(store.url, REMIT_COMPACT="false")))) as made:
        yield store, made


def test_on_a_store_without_room_a_denial_is_refused_and_does_not_count(filling):
    """Nothing is half-written: no denial without its entry, no suspension without a record."""
    store, tenant = filling
    agent_id = tenant.new_agent()["id"]
    tenant.new_policy(agent_id, breaker(2), kind="guardrail")
    tenant.authorize(agent_id, "rm")
    with redis.Redis(port=store.port) as connection:
        connection.config_set("maxmemory", 1)
        for _ in range(3):
            answer = tenant.reader.post("/v1/authorize", json={"agent_id": agent_id, "tool_name": "rm"})
            assert answer.status_code == 503
        assert tenant.admin.get(f"/v1/agents/{agent_id}").json()["status"] == "active"
        connection.config_set("maxmemory", 0)
    assert tenant.authorize(agent_id, "rm")["code"] == "default_deny"
    assert tenant.authorize(agent_id, "rm")["code"] == SUSPENDED
    assert [entry["code"] for entry in log_of(tenant, agent_id)] == ["default_deny", "default_deny", SUSPENDED]
