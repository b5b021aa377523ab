"""kill -9 of a replica between commit and answer: of a request that is pinned, and of a plan that is decided."""

from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from approval_steps import SECRET
from proxy import Fault
from servers import Replica
from serving import kill_all_of
from tenants import Tenant

REQUEST = "Please write to ann@example.com."


@pytest.fixture
def behind(proxy, own):
    return own(Replica(proxy.url, REMIT_COMPACT="false", REMIT_SECRET=SECRET))


@pytest.fixture
def tenant(store, own):
    made = Tenant(store.url, own(Replica(store.url, REMIT_SECRET=SECRET)))
    yield made
    made.close()


def killed_before_its_answer(behind, proxy, key, act):
    """Let a replica do `act`, whose command has these words, and kill it before the store's reply arrives."""
    proxy.break_(Fault.HOLD, "killed in between")
    with behind.client(key) as client, ThreadPoolExecutor(1) as pool:
        lost = pool.submit(act, client)
        assert proxy.struck.wait(60)
        kill_all_of(behind)
        with pytest.raises(httpx.HTTPError):
            lost.result(60)


def pin(client, request=REQUEST):
    return client.post("/v1/sessions/killed in between/request", json={"request": request})


def test_a_request_is_pinned_once_across_a_kill_and_a_retry(tenant, behind, proxy):
    """The retry is told what was pinned first, another request is refused, and the trail has one entry."""
    key = tenant.new_key(["request"])["key"]
    killed_before_its_answer(behind, proxy, key, pin)
    with tenant.replica.client(key) as client:
        shown = client.get("/v1/sessions/killed in between/request").json()
        assert pin(client, f"{REQUEST} And to eve@example.com.").json()["error"]["code"] == "REQUEST_PINNED"
        again = pin(client)
    assert (again.status_code, again.json()) == (201, shown)
    trail = tenant.admin.get("/v1/changes", params={"resource_type": "request"}).json()
    assert [each["resourceId"] for each in trail] == [shown["id"]]


def test_a_plan_is_decided_once_across_a_kill_and_a_retry(tenant, behind, proxy):
    """What was decided stays so, the retry decides the rest, and each call is used as often as it was approved."""
    agent = tenant.new_agent()["id"]
    tenant.new_policy(
        agent, {"type": "tool_allowlist", "tools": ["*"]}, {"type": "approval_required", "tools": ["pay"]}
    )
    calls = [{"agent_id": agent, "tool_name": "pay", "parameters": {"to": to}} for to in ("ann", "eve")]

    def results():
        answer = tenant.reader.post("/v1/authorize/batch", json={"calls": calls}).json()
        return [each["decision"] for each in answer["results"]]

    key = tenant.new_key(["approve", "read"], name="ann")["key"]
    with tenant.replica.client(key) as person:
        paths = [f"/v1/approvals/{each['approval']['id']}" for each in results()]
        seen = [{name: person.get(path).json()[name] for name in ("id", "version")} for path in paths]
        body = {"decision": "approve", "note": "killed in between", "approvals": seen[:1], "struckOut": seen[1:]}
        killed_before_its_answer(behind, proxy, key, lambda client: client.post("/v1/approvals/decide", json=body))
        told = person.post("/v1/approvals/decide", json=body).json()
        assert any("error" in each for each in told), "nothing was decided before"
        assert [person.get(path).json()["status"] for path in paths] == ["approved", "denied"]
    entries = [entry for entry in tenant.log(agent_id=agent) if "decidedBy" in entry]
    assert sorted(entry["approvalId"] for entry in entries) == sorted(each["id"] for each in seen)
    assert [[each["result"] for each in results()] for _ in range(2)] == [["allowed", "escalated"], ["escalated"] * 2]
