"""kill -9 of a replica, of the compactor and of the store, while issuers and their rules are changed and deleted under
load.

No call that is sent after a change was answered is decided for a token that the change shut out; every decision that a
workload was told is in the log, with its subject.
"""

import contextlib
import random
import threading
import time
import uuid

import httpx
import jwt
from cryptography.hazmat.primitives.asymmetric import ec
from servers import Replica, Store
from tenants import Tenant
from test_approvals_under_kill import Background

from app.store.keyspace import Keyspace

WORKERS, TOKENS, AFTERWARDS = 4, 4, 12
QUIET = {"REMIT_LOG_LEVEL": "error", "REMIT_COMPACT": "false"}
KEY = ec.generate_private_key(ec.SECP256R1())
OLD, NEW = "system:serviceaccount:payments:old", "system:serviceaccount:payments:new"


class Workloads:
    """Threads that ask with tokens of two workloads, and note what they are told.

    shut_out: subjects that no rule lets in any more, since a change that has been answered. wrong: decisions about
    calls that were sent afterwards.
    """

    def __init__(self, tenant, replicas):
        self.tenant, self.replicas, self.issuer = tenant, replicas, f"https://{uuid.uuid4().hex}.example.com"
        self.agent = tenant.new_agent()["id"]
        tenant.new_policy(self.agent)
        self.changes, self.shut_out, self.wrong, self.told = 0, {OLD, NEW}, [], []
        self.refused_after = {OLD: 0, NEW: 0}
        self.stopped = threading.Event()
        self.tokens = {sub: [self.token(sub) for _ in range(TOKENS)] for sub in (OLD, NEW)}

    def token(self, sub):
        now = int(time.time())
        claims = {
            "iss": self.issuer,
            "aud": "remit",
            "sub": sub,
            "iat": now,
            "exp": now + 3600,
            "jti": uuid.uuid4().hex,
        }
        return jwt.encode(claims, KEY, "ES256", headers={"kid": "k"})

    def act(self, seed):
        chance, body = random.Random(seed), {"agent_id": self.agent, "tool_name": "file.read"}
        while not self.stopped.is_set():
            sub, replica = chance.choice((OLD, NEW)), chance.choice(self.replicas)
            token = chance.choice(self.tokens[sub]) if chance.random() < 0.8 else self.token(sub)
            changes, was_shut_out = self.changes, sub in self.shut_out
            with contextlib.suppress(httpx.HTTPError), replica.client(token) as client:
                answer = client.post("/v1/authorize", json=body)
                if answer.status_code == 200:
                    self.told.append((answer.json()["id"], sub))
                    if was_shut_out and changes == self.changes:  # and nothing has begun to let it in again
                        self.wrong.append((sub, answer.text))
                elif answer.status_code == 401 and was_shut_out:
                    self.refused_after[sub] += 1
            self.stopped.wait(0.005)

    def change(self, *let_in):
        """Let in these subjects and no others, or delete the issuer; return once that was answered."""
        jwk = {**jwt.algorithms.ECAlgorithm.to_jwk(KEY.public_key(), as_dict=True), "kid": "k"}
        rules = [{"match": {"sub": sub}, "scopes": ["authorize"]} for sub in let_in]
        body = {"issuer": self.issuer, "audience": "remit", "algorithms": ["ES256"], "jwks": {"keys": [jwk]}}
        self.changes += 1
        self.shut_out -= {*let_in}
        deadline = time.monotonic() + 60
        while True:
            with contextlib.suppress(httpx.HTTPError), self.replicas[0].client(self.tenant.admin_key) as admin:
                if let_in:
                    answer = admin.put("/v1/issuers/cluster", json={**body, "rules": rules})
                else:
                    answer = admin.delete("/v1/issuers/cluster")
                if answer.status_code in (200, 204) or (answer.status_code == 404 and not let_in):
                    break
            assert time.monotonic() < deadline, "no change is made any more"
        self.shut_out |= {OLD, NEW} - {*let_in}

    def until_let_in(self, *subs):
        """Until each of these has been told a decision from now on."""
        for sub in subs:
            seen, deadline = len(self.told), time.monotonic() + 90
            while not any(told == sub for _, told in self.told[seen:]):
                assert time.monotonic() < deadline, f"{sub} is told nothing any more"
                time.sleep(0.02)

    def until_refused(self, *subs):
        """Until calls of these that were sent from now on have been refused often enough."""
        for sub in subs:
            seen, deadline = self.refused_after[sub], time.monotonic() + 90
            while self.refused_after[sub] < seen + AFTERWARDS:
                assert time.monotonic() < deadline, f"{sub} is not refused"
                time.sleep(0.02)


def test_nothing_is_decided_for_a_token_once_its_issuer_or_rule_is_gone(valkey_store, tmp_path, own):
    """Whichever process is killed just before the change, while it is made, and after it; two replicas."""
    store = own(Store(valkey_store.binary, tmp_path / "store", "--appendonly", "yes", "--appendfsync", "always"))
    replicas, compactor = [own(Replica(store.url, **QUIET)) for _ in range(2)], own(Background(store.url))
    tenant = Tenant(store.url, replicas[0])
    workloads = Workloads(tenant, replicas)
    threads = [threading.Thread(target=workloads.act, args=(seed,)) for seed in range(WORKERS)]
    for thread in threads:
        thread.start()
    try:
        for victim, narrower in ((replicas[1], (NEW,)), (compactor, ()), (store, ()), (store, (NEW,))):
            workloads.change(OLD, NEW)
            workloads.until_let_in(OLD, NEW)
            changing = threading.Thread(target=workloads.change, args=narrower)
            changing.start()
            victim.kill()
            victim.start()
            changing.join()
            workloads.until_refused(*{OLD, NEW} - {*narrower})
            if narrower:
                workloads.until_let_in(*narrower)
        workloads.change()
        workloads.until_refused(OLD, NEW)
    finally:
        workloads.stopped.set()
        for thread in threads:
            thread.join()
    assert workloads.wrong == []
    entries = {entry["id"]: entry["subject"] for entry in everything(tenant)}
    assert entries.items() >= dict(workloads.told).items()
    assert tenant.in_store(lambda client: client.call("ZCARD", Keyspace(tenant.id).tokens)) == 0
    workload = Keyspace(tenant.id).key(str(uuid.uuid5(uuid.NAMESPACE_URL, f"{workloads.issuer} {NEW}")))
    assert tenant.in_store(lambda client: client.call("EXISTS", workload)) == 0
    tenant.close()


def everything(tenant):
    """Every entry of the log."""
    found, query = [], {"limit": 1000}
    while True:
        page = tenant.reader.get("/v1/audit-logs", params=query)
        found += page.json()
        if "x-next-cursor" not in page.headers:
            return found
        query["cursor"] = page.headers["x-next-cursor"]
