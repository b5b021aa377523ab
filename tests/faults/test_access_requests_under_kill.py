"""kill -9 of a replica between the commit of an access request and its answer, and replicas that race for one."""

import threading
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from approval_steps import SECRET
from proxy import Fault
from receivers import Receiver
from servers import Replica
from serving import kill_all_of
from tenants import Tenant

SUBJECT = {"type": "user", "id": "alice"}
PUBLIC = "https://pdp.example.com"
SETTINGS = {
    "REMIT_SECRET": SECRET,
    "REMIT_PUBLIC_URL": PUBLIC,
    "REMIT_WEBHOOK_HTTP": "true",
    "REMIT_WEBHOOK_NETWORKS": "127.0.0.0/8",
}
REQUESTS = "/access/v1/requests"
RACES, RACERS = 4, 8


@pytest.fixture
def other(store, own):
    return own(Replica(store.url, **SETTINGS))


@pytest.fixture
def behind(proxy, own):
    return own(Replica(proxy.url, REMIT_COMPACT="false", **SETTINGS))


@pytest.fixture
def tenant(store, other):
    made = Tenant(store.url, other)
    agent = made.new_agent(alias="alice", type="user")["id"]
    asks = {"type": "approval_required", "tools": ["booking.refund"]}
    made.new_policy(agent, {"type": "tool_allowlist", "tools": ["booking.*"]}, asks)
    yield made
    made.close()


def denied(tenant, amount):
    """An item of an access request, with its denial."""
    question = {
        "action": {"name": "refund"},
        "resource": {"type": "booking", "id": "1", "properties": {"amount": amount}},
    }
    context = tenant.reader.post("/access/v1/evaluation", json={"subject": SUBJECT, **question}).json()["context"]
    hint = {"evaluation_id": context["evaluation_id"], "expires_at": context["access_request"]["expires_at"]}
    return {**question, "denial": hint}


def submission(tenant, *amounts, why="needed", **more):
    items = [denied(tenant, amount) for amount in amounts]
    common = {"subject": SUBJECT, "requested_access": {"why": why}, **more}
    return {**common, **items[0]} if len(items) == 1 else {**common, "items": items}


def submit(client, body, key):
    return client.post(REQUESTS, json=body, headers={"Idempotency-Key": key})


def submitted(tenant):
    """The approvals of the log's submissions."""
    return [entry["approvalId"] for entry in tenant.log(limit=100) if entry["code"] == "access_requested"]


@pytest.mark.parametrize("amounts", [(1,), (1, 2)], ids=["one", "two"])
def test_a_replica_killed_before_its_answer_has_made_the_task(tenant, behind, other, proxy, amounts):
    """The same submission to another replica gets that task, and the log has each request once; another body is 409."""
    body = submission(tenant, *amounts, why="killed in between")
    proxy.break_(Fault.HOLD, "killed in between")
    with behind.client(tenant.read_key) as client, ThreadPoolExecutor(1) as pool:
        lost = pool.submit(submit, client, body, "key 1")
        assert proxy.struck.wait(60)
        kill_all_of(behind)
        with pytest.raises(httpx.HTTPError):
            lost.result(60)
    first = submitted(tenant)
    assert len(first) == 1
    answer = submit(tenant.reader, body, "key 1")
    assert answer.status_code == 202
    assert submit(tenant.reader, body, "key 1").json() == answer.json()
    log = submitted(tenant)
    assert (log[-1], len(set(log)), len(log)) == (first[0], len(amounts), len(amounts))
    again = submit(tenant.reader, {**body, "requested_access": {"why": "another"}}, "key 1")
    assert (again.status_code, again.json()["type"].rpartition(":")[2]) == (409, "duplicate_request")


def test_replicas_that_race_make_one_task(tenant, own, store, other):
    """The same submission at the same moment: each answer has the same task, and the log has it once."""
    replicas = [other, own(Replica(store.url, REMIT_COMPACT="false", **SETTINGS))]
    clients = [replicas[number % 2].client(tenant.read_key) for number in range(RACERS)]
    with ThreadPoolExecutor(RACERS) as pool:
        for number in range(RACES):
            body = submission(tenant, number, number + 0.5)
            start = threading.Barrier(RACERS)

            def race(client, body=body, start=start, key=f"key {number}"):
                start.wait(60)
                return submit(client, body, key)

            answers = list(pool.map(race, clients))
            assert {answer.status_code for answer in answers} == {202}
            assert len({answer.text for answer in answers}) == 1
    for client in clients:
        client.close()
    log = submitted(tenant)
    assert (len(set(log)), len(log)) == (2 * RACES, 2 * RACES)


def test_a_callback_is_made_although_the_replica_that_decided_was_killed(tenant, behind, own, proxy):
    """It follows from the log, which any background process reads: here that of another replica."""
    receiver = Receiver()
    try:
        registered = {"url": receiver.url, "events": ["access_request.completed"]}
        secret = tenant.admin.post("/v1/webhooks", json=registered).json()["secret"]
        state = {"flow": 7}
        body = submission(tenant, 1, callback={"endpoint": receiver.url, "state": state})
        task = submit(tenant.reader, body, "key 1").json()["task"]
        proxy.break_(Fault.HOLD, "killed after this note")
        with behind.client(tenant.admin_key) as client, ThreadPoolExecutor(1) as pool:
            path, note = f"/v1/approvals/{task['id']}/approve", {"note": "killed after this note"}
            lost = pool.submit(client.post, path, json=note)
            assert proxy.struck.wait(60)
            kill_all_of(behind)
            with pytest.raises(httpx.HTTPError):
                lost.result(60)
        receiver.wait(1)
        _, told = receiver.events(secret)[0]
        assert (told["state"], told["task"]["id"], told["task"]["status"]) == (state, task["id"], "approved")
    finally:
        receiver.close()
