"""kill -9 of replicas, of the background process and of the store, while approvals are asked for, decided and used.

Whatever was acknowledged is in the log, nothing was used more often than was granted, nothing after its end, and
nothing that rested on an agent before it was suspended.
"""

import contextlib
import random
import signal
import socket
import sys
import threading
import time
from collections import defaultdict

import httpx
from approval_steps import ALLOW, ASK, SECRET
from forked import Forked
from servers import Replica, Store, clean_env
from tenants import Tenant

KILLS, WORKERS, USES = 6, 4, 2
QUIET = {"REMIT_LOG_LEVEL": "error"}
VERDICTS = (("approve", "approval_approved"), ("deny", "approval_denied"))
"""What people send, and what is then in the log, whatever the approval's status was when they were answered."""

MIGHT_HAVE_HAPPENED = (httpx.HTTPError,)


class Background:
    """`remit compact` on a store."""

    def __init__(self, store_url):
        self.env = clean_env() | {"REMIT_REDIS_URL": store_url, "REMIT_SECRET": SECRET} | QUIET
        self.start()

    def start(self):
        self.process = Forked([sys.executable, "-m", "app.cli", "compact"], env=self.env)

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(60)

    def stop(self):
        self.process.terminate()
        self.process.wait(60)


class Actors:
    """Threads that ask, decide and suspend, and remember what they were told and when (ns of one clock)."""

    def __init__(self, tenant, replicas, agents, askers, people):
        self.tenant, self.replicas = tenant, replicas
        self.agents, self.askers, self.people = agents, askers, people
        self.answers, self.verdicts, self.suspended = [], [], []
        self.asked = {}
        self.stopped = threading.Event()
        self._lock = threading.Lock()

    def act(self, seed):
        """Until it is stopped; a replica that is away is tried again, another one perhaps."""
        chance = random.Random(seed)
        clients = {}
        while not self.stopped.is_set():
            replica = chance.choice(self.replicas)
            act = chance.choices((self._ask, self._decide, self._suspend), (70, 28, 2))[0]
            with contextlib.suppress(*MIGHT_HAVE_HAPPENED):
                act(chance, replica, clients)
            self.stopped.wait(0.005)
        for client in clients.values():
            client.close()

    def _send(self, clients, replica, key, method, path, body):
        client = clients.setdefault((replica.port, key), replica.client(key))
        return client.request(method, path, json=body)

    def _ask(self, chance, replica, clients):
        agent, key = chance.choice(self.agents), chance.choice(self.askers)
        body = {"agent_id": agent, "tool_name": "refund.create", "parameters": {"amount": chance.randrange(3)}}
        sent = time.monotonic_ns()
        answer = self._send(clients, replica, key, "POST", "/v1/authorize", body)
        received = time.monotonic_ns()
        if answer.status_code != 200:
            return
        told = answer.json()
        with self._lock:
            self.answers.append((sent, agent, told))
            if told.get("approval"):
                self.asked.setdefault(told["approval"]["id"], received)

    def _decide(self, chance, replica, clients):
        with self._lock:
            some = list(self.asked)[-4:]
        if not some:
            return
        approval_id, (verb, verdict) = chance.choice(some), chance.choices(VERDICTS, (9, 1))[0]
        path = f"/v1/approvals/{approval_id}/{verb}"
        answer = self._send(clients, replica, chance.choice(self.people), "POST", path, {})
        if answer.status_code == 200:
            with self._lock:
                self.verdicts.append((approval_id, verdict))

    def _suspend(self, chance, replica, clients):
        agent = chance.choice(self.agents)
        sent = time.monotonic_ns()
        for status in ("suspended", "active"):
            path, body = f"/v1/agents/{agent}", {"status": status}
            answer = self._send(clients, replica, self.tenant.admin_key, "PATCH", path, body)
            if answer.status_code == 200 and status == "suspended":
                with self._lock:
                    self.suspended.append((sent, time.monotonic_ns(), agent))


def test_no_approval_is_used_twice_lost_or_outlives_its_basis(valkey_store, tmp_path, own):
    """I14 and I2, whichever process is killed, and whenever."""
    store = own(Store(valkey_store.binary, tmp_path / "store", "--appendonly", "yes", "--appendfsync", "always"))
    replicas = [own(Replica(store.url, REMIT_SECRET=SECRET, REMIT_COMPACT="false", **QUIET)) for _ in range(3)]
    background = own(Background(store.url))
    tenant = Tenant(store.url, replicas[0])
    agents = [tenant.new_agent()["id"] for _ in range(2)]
    for agent in agents:
        tenant.new_policy(agent, ALLOW, {**ASK, "approval": {"maxUses": USES}})
    askers = [tenant.new_key(["authorize"])["key"] for _ in range(2)]
    people = [tenant.new_key(["approve"], name=name)["key"] for name in ("ann", "bob")]
    actors = Actors(tenant, replicas, agents, askers, people)
    threads = [threading.Thread(target=actors.act, args=(seed,)) for seed in range(WORKERS)]
    for thread in threads:
        thread.start()
    chance = random.Random(7)
    victims = [*replicas, background, store]
    try:
        for number in range(KILLS):
            seen = len(actors.answers)
            _until(lambda seen=seen: len(actors.answers) >= seen + 15)
            victim = victims[number % len(victims)] if number < len(victims) else chance.choice(victims)
            victim.kill()
            if victim in replicas:
                _until(lambda victim=victim: not _listens(victim.port))  # its worker dies a moment after it
            victim.start()
        seen = len(actors.answers)
        _until(lambda: len(actors.answers) >= seen + 15)
    finally:
        actors.stopped.set()
        for thread in threads:
            thread.join()
    _check(tenant, actors)
    tenant.close()


def _listens(port):
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False


def _until(holds):
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline, "the service does not answer any more"
        time.sleep(0.01)


def _check(tenant, actors):
    entries = _whole_log(tenant)
    by_id = {each["id"]: each for each in entries}
    for _, _, told in actors.answers:
        entry = by_id[told["id"]]
        assert entry["result"] == told["result"]
        assert entry.get("approvalId") == (told.get("approval") or {}).get("id")
    of_approval = defaultdict(list)
    for entry in entries:
        if "approvalId" in entry:
            of_approval[entry["approvalId"]].append(entry["result"] or entry["code"])
    for approval_id, steps in of_approval.items():
        assert by_id[approval_id]["approvalId"] == approval_id, "it was asked for by the entry that has its id"
        assert steps[0] == "escalated"
        uses, yes = steps.count("allowed"), steps.count("approval_approved")
        ends = [place for place, each in enumerate(steps) if each in _ENDS]
        assert uses <= USES
        assert yes <= 1
        assert not uses or yes
        assert "allowed" not in steps[: steps.index("approval_approved")] if yes else not uses
        assert ends in ([], [len(steps) - 1]), steps
        shown = tenant.admin.get(f"/v1/approvals/{approval_id}").json()
        assert shown["usesLeft"] == USES - uses
        assert (shown["status"] == "consumed") == (uses == USES)
    for approval_id, verdict in actors.verdicts:
        assert verdict in of_approval[approval_id], "an acknowledged verdict is in the log"
    for began, acknowledged, agent in actors.suspended:
        for sent, of_agent, told in actors.answers:
            if of_agent == agent and sent > acknowledged and told["result"] == "allowed":
                assert actors.asked[told["approval"]["id"]] > began, "a yes from before the suspension"
    assert tenant.admin.get("/v1/audit-logs/verify").json()["intact"]
    assert len(by_id) == len(entries)
    assert sum(steps.count("allowed") for steps in of_approval.values()) > 0


_ENDS = {"approval_denied", "approval_cancelled", "approval_expired"}


def _whole_log(tenant):
    """Oldest first."""
    found, cursor = [], None
    while True:
        page = tenant.admin.get("/v1/audit-logs", params={"limit": 1000} | ({"cursor": cursor} if cursor else {}))
        found += page.json()
        cursor = page.headers.get("X-Next-Cursor")
        if cursor is None:
            return found[::-1]
