"""kill -9 of replicas and of the store, while people approve values, and edits, suspensions and people forget them.

Values of two parameters pass by themselves only if somebody approved both in one call, and that approval was used after
what has since been forgotten.
"""

import contextlib
import random
import threading
import time

import httpx
from approval_steps import SECRET
from servers import Replica, Store
from tenants import Tenant

ROUNDS, WORKERS, PEOPLE, ADDRESSES = 5, 3, 3, 2
QUIET = {"REMIT_LOG_LEVEL": "error", "REMIT_SECRET": SECRET, "REMIT_COMPACT": "false"}
ALLOW = {"type": "tool_allowlist", "tools": ["send"]}
KNOWN = {
    "type": "parameter_constraint",
    "tools": ["send"],
    "parameters": {name: {"approvedBefore": {"withinSeconds": 3600}} for name in ("to", "at")},
    "effect": "escalate",
}


class Senders:
    """Threads that send and approve, and note what they were told."""

    def __init__(self, tenant, replicas, agent_id, person_key):
        self.tenant, self.replicas, self.agent_id, self.person_key = tenant, replicas, agent_id, person_key
        self.answers = []
        self.stopped = threading.Event()

    def act(self, seed):
        chance, number = random.Random(seed), 0
        while not self.stopped.is_set():
            number += 1
            client = chance.choice(self.replicas)
            values = {"to": f"person {chance.randrange(PEOPLE)}", "at": f"address {chance.randrange(ADDRESSES)}"}
            call = values | {"number": f"{seed}.{number}"}
            with contextlib.suppress(httpx.HTTPError), client.client(self.tenant.read_key) as asking:
                told = self._send(asking, call)
                if told.get("result") == "escalated" and chance.random() < 0.5:
                    with client.client(self.person_key) as person:
                        person.post(f"/v1/approvals/{told['approval']['id']}/approve", json={})
                    self._send(asking, call)
            self.stopped.wait(0.005)

    def _send(self, client, call):
        body = {"agent_id": self.agent_id, "tool_name": "send", "parameters": call}
        answer = client.post("/v1/authorize", json=body)
        told = answer.json() if answer.status_code == 200 else {}
        if told:
            self.answers.append(told)
        return told

    def forget(self, how, policy_id):
        """Make the agent forget."""
        path = f"/v1/agents/{self.agent_id}"
        steps = {
            "people": [("DELETE", f"{path}/remembered", None)],
            "suspension": [("PATCH", path, {"status": each}) for each in ("suspended", "active")],
            "edit": [("PATCH", f"/v1/policies/{policy_id}", {"rules": each}) for each in ([ALLOW], [ALLOW, KNOWN])],
        }
        for method, where, body in steps[how]:
            deadline = time.monotonic() + 60
            while True:
                with contextlib.suppress(httpx.HTTPError), self.replicas[0].client(self.tenant.admin_key) as admin:
                    if admin.request(method, where, json=body).is_success:
                        break
                assert time.monotonic() < deadline, "no change is made any more"


def test_nothing_passes_that_nobody_approved_or_that_was_forgotten(valkey_store, tmp_path, own):
    """Whichever process is killed; two replicas."""
    store = own(Store(valkey_store.binary, tmp_path / "store", "--appendonly", "yes", "--appendfsync", "always"))
    replicas = [own(Replica(store.url, **QUIET)) for _ in range(2)]
    tenant = Tenant(store.url, replicas[0])
    agent_id = tenant.new_agent()["id"]
    policy = tenant.new_policy(agent_id, ALLOW, KNOWN)
    senders = Senders(tenant, replicas, agent_id, tenant.new_key(["approve"], name="ann")["key"])
    threads = [threading.Thread(target=senders.act, args=(seed,)) for seed in range(WORKERS)]
    for thread in threads:
        thread.start()
    try:
        for number, how in zip(range(ROUNDS), ("people", "suspension", "edit", "people", "edit"), strict=True):
            _until_passed_alone(senders)
            victim = (replicas[1], store)[number % 2]
            victim.kill()
            victim.start()
            _until_passed_alone(senders)
            senders.forget(how, policy["id"])
        _until_passed_alone(senders)
    finally:
        senders.stopped.set()
        for thread in threads:
            thread.join()
    _check(tenant, senders)
    tenant.close()


def _until_passed_alone(senders):
    """Until another answer has let a known value pass."""
    seen, deadline = len(senders.answers), time.monotonic() + 90
    while not any(_passed_alone(told) for told in senders.answers[seen:]):
        assert time.monotonic() < deadline, "nothing passes any more"
        time.sleep(0.02)


def _passed_alone(told):
    return told["result"] == "allowed" and "approval" not in told


def _check(tenant, senders):
    """By the log, whose order is that of the commits, and by the trail, which says between which of them it changed."""
    entries = _whole_log(tenant)
    told = {each["id"]: each for each in senders.answers}
    assert all(each["result"] == told[each["id"]]["result"] for each in entries if each["id"] in told)
    assert told.keys() <= {each["id"] for each in entries}
    changes = [each for each in tenant.admin.get("/v1/changes?limit=1000").json() if each["kind"] == "updated"][::-1]
    forgets = {each["sequence"] for each in changes if _forgets(each)}
    without = {each["sequence"]: len(each["after"]["rules"]) == 1 for each in changes if "rules" in each["after"]}
    known, is_without, alone = set(), False, 0
    for sequence, entry in enumerate(entries):
        known = set() if sequence in forgets else known
        is_without = without.get(sequence, is_without)
        value = tuple(entry["parameters"].get(name) for name in ("to", "at"))
        if entry["result"] == "allowed" and "approvalId" in entry:
            known.add(value)
        elif entry["result"] == "allowed" and not is_without:
            assert value in known, (sequence, entry)
            alone += 1
    assert alone > ROUNDS
    assert len(forgets) >= ROUNDS


def _forgets(change):
    return change["after"].keys() & {"rules", "status", "remembersSince"}


def _whole_log(tenant):
    """Oldest first."""
    found, cursor = [], None
    while True:
        page = tenant.admin.get("/v1/audit-logs", params={"limit": 1000} | ({"cursor": cursor} if cursor else {}))
        found += page.json()
        cursor = page.headers.get("X-Next-Cursor")
        if cursor is None:
            return found[::-1]
