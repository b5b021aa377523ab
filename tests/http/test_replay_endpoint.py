"""/v1/replay: the lines of its answer, what it refuses, and what ends it."""

import contextlib
import http.client
import json
import os
import signal
import threading
import time
from pathlib import Path

import httpx
import pytest
from servers import Replica, Store
from tenants import FREE, Tenant, tenant_on

pytestmark = pytest.mark.slow

UNKNOWN = "01931f2e-7a51-7cc0-9e55-3f6f6d1a2b01"
LIMIT = {"type": "rate_limit", "tools": ["*"], "rateLimit": {"maxCalls": 2, "windowSeconds": 3600}}
ONCE = LIMIT | {"rateLimit": {"maxCalls": 1, "windowSeconds": 3600}}


@pytest.fixture(scope="module")
def narrow(store):
    """A replica on which a workspace may have one replay."""
    running = Replica(store.url, REMIT_REPLAYS_PER_WORKSPACE="1")
    yield running
    running.stop()


tenant = tenant_on("narrow")


def replayed(tenant, **body):
    """Every line of the answer."""
    answer = tenant.reader.post("/v1/replay", json=body, timeout=60)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "application/x-ndjson"
    return [json.loads(line) for line in answer.text.splitlines()]


def processes(replica):
    """Ids of the replays that run below the replica's processes."""
    children, found = [replica.process.pid], []
    while children:
        parent = children.pop()
        for task in Path(f"/proc/{parent}/task").glob("*/children"):
            for child in task.read_text().split():
                children.append(int(child))
                try:
                    command = Path(f"/proc/{child}/cmdline").read_bytes()
                except OSError:
                    continue
                if b"app.explain.replay_jobs" in command:
                    found.append(int(child))
    return found


def until(holds):
    deadline = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_draft_is_reported_with_what_it_flips(tenant):
    """With a full limit, a draft with a lower one, and a draft that denies a tool."""
    agent = tenant.new_agent()["id"]
    policy = tenant.new_policy(agent, FREE, LIMIT, name="p")
    results = [tenant.authorize(agent, tool)["result"] for tool in ("a", "b", "c")]
    assert results == ["allowed", "allowed", "denied"]

    *_, last = replayed(tenant, agent_id=agent)
    assert (last["report"]["judged"], last["report"]["flips"]) == (3, [])

    draft = [{"name": "p", "rules": [{"type": "tool_denylist", "tools": ["a"]}, FREE, LIMIT]}]
    lines = replayed(tenant, agentId=agent, policies=draft)
    assert lines[0] == {"progress": {"entries": 0, "done": 0, "of": 1}}
    assert {"flip"} in [set(line) for line in lines]
    report = lines[-1]["report"]
    assert [(each["was"], each["becomes"], each["toolName"], each["count"]) for each in report["flips"]] == [
        ("denied", "allowed", "c", 1),
        ("allowed", "denied", "a", 1),
    ]
    assert report["flips"][0]["by"] == {
        "policyId": policy["id"],
        "policyName": "p",
        "rule": {"index": 1, "type": "rate_limit"},
    }
    assert report["flips"][0]["samples"][0]["id"] == tenant.log(tool_name="c")[0]["id"]
    assert len(tenant.log()) == 3, "nothing was logged"

    stricter = [{"id": policy["id"], "name": "q", "rules": [FREE, ONCE]}]
    report = replayed(tenant, agent_id=agent, policies=stricter)[-1]["report"]
    assert [(each["becomes"], each["toolName"]) for each in report["flips"]] == [("denied", "b")]
    # A new policy has no id yet.
    report = replayed(tenant, agent_id=agent, policies=[{"name": "new", "rules": [ONCE]}])[-1]["report"]
    assert {each["nowBy"]["policyName"] for each in report["flips"]} == {"new"}
    assert {each["nowBy"]["policyId"] for each in report["flips"]} == {None}


def test_a_group_and_the_whole_workspace_are_replayed(tenant):
    """Calls of other agents are not judged, but a shared limit counts them."""
    inside, outside = tenant.new_agent(groups=["g"])["id"], tenant.new_agent()["id"]
    tenant.new_policy(None, FREE, group="g", name="free")
    tenant.new_policy(outside)
    shared = {"name": "shared", "kind": "guardrail", "rules": [LIMIT]}
    assert tenant.admin.post("/v1/policies", json=shared).status_code == 201
    assert [tenant.authorize(each)["result"] for each in (inside, outside, inside, outside)] == [
        *["allowed"] * 2,
        *["denied"] * 2,
    ]

    assert replayed(tenant, group="g")[-1]["report"]["judged"] == 2
    report = replayed(tenant, group="g", policies=[{"name": "free", "rules": [FREE]}])[-1]["report"]
    assert (report["judged"], report["flips"]) == (2, [])
    report = replayed(tenant, policies=[shared | {"rules": [ONCE]}])[-1]["report"]
    assert (report["judged"], [(each["was"], each["becomes"], each["count"]) for each in report["flips"]]) == (
        4,
        [("allowed", "denied", 1)],
    )
    assert replayed(tenant, policies=[])[-1]["report"]["flipped"] == 2, "without the limit all four are allowed"


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"from": "yesterday"}, "$.from"),
        ({"from": "2026-01-02", "to": "2026-01-01"}, "$.from"),
        ({"policies": [{"name": "p", "rules": []}]}, "$.policies[0].rules"),
        ({"policies": [{"name": "p", "rules": [FREE], "agent_id": "x"}]}, "$.policies[0].agent_id"),
        ({"policies": [{"name": "p", "rules": [FREE], "id": "x"}]}, "$.policies[0].id"),
        ({"policies": [{"name": "p", "rules": [LIMIT], "kind": "guardrail", "id": UNKNOWN}]}, "$.policies[0].id"),
        ({"policies": [{"name": "p", "rules": [FREE]}]}, "$.policies[0].kind"),
        ({"policies": {}}, "$.policies"),
        ({"agent_id": "no alias"}, "$.agent_id"),
        ({"group": "g", "agent_id": UNKNOWN}, "$.group"),
    ],
)  # fmt: skip
def test_an_impossible_replay_is_refused_with_its_place(tenant, body, path):
    """Before a process is started."""
    tenant.admin.post("/v1/policies", json={"name": "p", "kind": "guardrail", "rules": [LIMIT]})
    answer = tenant.reader.post("/v1/replay", json=body)
    assert answer.status_code == 400, answer.text
    assert [each["path"] for each in answer.json()["error"]["details"]] == [path]


def held(tenant, calls=3000):
    """Enough entries in the log that a replay is still running when its first line is read."""
    agent = tenant.new_agent()["id"]
    tenant.new_policy(agent)
    body = json.dumps({"agent_id": agent, "tool_name": "t"})
    headers = {"Authorization": f"Bearer {tenant.admin_key}", "Content-Type": "application/json"}
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", tenant.replica.port)) as connection:
        for _ in range(calls):
            connection.request("POST", "/v1/authorize", body, headers)
            connection.getresponse().read()


@pytest.fixture
def frozen(store):
    """A replica with one replay, an interpreter of its own."""
    running = Replica(store.url, REMIT_REPLAYS_PER_WORKSPACE="1", NEW_INTERPRETERS="1")
    yield running
    running.stop()


of_frozen = tenant_on("frozen")


def test_a_replay_ends_with_its_client_and_with_its_process(of_frozen, frozen):
    """One too many is 429; the next can begin once the process has ended."""
    tenant = of_frozen
    held(tenant)
    stream = tenant.reader.stream("POST", "/v1/replay", json={})
    answer = stream.__enter__()
    (process,) = processes(frozen)
    os.kill(process, signal.SIGSTOP)
    refused = tenant.reader.post("/v1/replay", json={})
    assert (refused.status_code, refused.json()["error"]["code"]) == (429, "TOO_MANY_REPLAYS")
    unread = tenant.reader.post("/v1/replay", content=b"[" * 100_000)
    assert unread.status_code == 429, "it is refused before its body is examined, which takes long"
    answer.close()
    stream.__exit__(None, None, None)
    until(lambda: not processes(frozen))
    until(lambda: tenant.reader.post("/v1/replay", json={}).status_code == 200)

    # Who is killed says nothing more; the replica does.
    with tenant.reader.stream("POST", "/v1/replay", json={}) as broken:
        (process,) = processes(frozen)
        os.kill(process, signal.SIGKILL)
        lines = [json.loads(line) for line in broken.iter_lines()]
    assert set(lines[-1]) == {"error"}
    until(lambda: not processes(frozen))


def test_a_replay_says_when_its_store_or_its_key_goes(valkey_store, tmp_path):
    """An incomplete report is never sent: the last line is an error, or the answer breaks off after progress.

    It breaks off if the key could not be checked any more before the process noticed that the store is gone.
    """
    store = Store(valkey_store.binary, tmp_path)
    replica = Replica(store.url, NEW_INTERPRETERS="1")
    tenant = Tenant(store.url, replica)
    try:
        held(tenant, 1500)
        with tenant.reader.stream("POST", "/v1/replay", json={}) as answer:
            (process,) = processes(replica)
            os.kill(process, signal.SIGSTOP)
            key = next(each for each in tenant.admin.get("/v1/api-keys").json() if each["scopes"] == ["read"])
            assert tenant.admin.delete(f"/v1/api-keys/{key['id']}").status_code == 204
            assert all("report" not in json.loads(line) for line in answer.iter_lines())
        until(lambda: not processes(replica))

        with tenant.admin.stream("POST", "/v1/replay", json={}) as answer:
            (process,) = processes(replica)
            os.kill(process, signal.SIGSTOP)
            store.stop()
            os.kill(process, signal.SIGCONT)
            lines = [json.loads(line) for line in answer.iter_lines()]
        assert not lines or set(lines[-1]) == {"error"} or all(set(line) == {"progress"} for line in lines)
    finally:
        tenant.close()
        replica.stop()
        store.stop()


def reported_between_edits(tenant, agent) -> dict:
    """The report of a replay. One that meets an edit at each attempt to read the policies says so, and is repeated."""
    for _ in range(10):
        last = replayed(tenant, agent_id=agent)[-1]
        if "report" in last:
            return last["report"]
        assert last == {"error": "Others changed the same record 8 times in a row; try again"}
    raise AssertionError("no replay was done between two edits")


def test_a_replay_sees_an_edit_entirely_or_not_at_all(tenant):
    """While a policy changes constantly, a replay of the policies of the time flips nothing."""
    agent = tenant.new_agent()["id"]
    policy = tenant.new_policy(agent, FREE, LIMIT)["id"]
    stop = threading.Event()

    def edit():
        with httpx.Client(base_url=tenant.admin.base_url, headers=tenant.admin.headers) as client:
            number = 0
            while not stop.is_set():
                number += 1
                rules = [FREE, LIMIT | {"rateLimit": {"maxCalls": number % 5 + 1, "windowSeconds": 3600}}]
                client.patch(f"/v1/policies/{policy}", json={"rules": rules if number % 3 else [FREE]})
                client.post("/v1/authorize", json={"agent_id": agent, "tool_name": "t"})

    editing = threading.Thread(target=edit)
    editing.start()
    try:
        for _ in range(4):
            report = reported_between_edits(tenant, agent)
            assert (report["flips"], report["unjudged"]["unknown"], report["unjudged"]["edited"]) == ([], 0, 0)
            assert report["judged"] > 0 or report["unjudged"]["limits"] > 0 or report["warmedUp"] == 0
    finally:
        stop.set()
        editing.join()
    report = replayed(tenant, agent_id=agent)[-1]["report"]
    assert (report["flips"], report["judged"] > 10) == ([], True)
