"""An answer is lost after the script ran: of a change that waits for a second person, and of its approval.

By kill -9 of the replica, or because the store's reply never comes.
"""

from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from proxy import Fault
from servers import HASTY, Replica
from serving import kill_all_of
from tenants import Tenant

from app.model.api_keys import Scope

WORDS = "killed in between"
RULES = [{"type": "tool_allowlist", "tools": ["file.read"]}]
KILLED = "killed"
LOST = pytest.mark.parametrize("lost", [KILLED, Fault.LOSE, Fault.CUT, Fault.CUT_MID_REPLY], ids=str)


@pytest.fixture
def behind(proxy, own):
    return own(Replica(proxy.url, REMIT_COMPACT="false", REMIT_REVIEW="policies", **HASTY))


@pytest.fixture
def tenant(store, own):
    made = Tenant(store.url, own(Replica(store.url, REMIT_REVIEW="policies")))
    yield made
    made.close()


def without_its_answer(lost, behind, proxy, key, act):
    """Let a replica do `act`, whose script has these words; lose the reply, or kill the replica before it comes."""
    proxy.break_(Fault.HOLD if lost is KILLED else lost, WORDS)
    with behind.client(key) as client, ThreadPoolExecutor(1) as pool:
        if lost is not KILLED:
            refused = act(client)
            assert (refused.status_code, refused.json()["error"]["code"]) == (503, "STORE_UNAVAILABLE")
            assert proxy.struck.wait(60)
            proxy.heal()
            return
        asked = pool.submit(act, client)
        assert proxy.struck.wait(60)
        kill_all_of(behind)
        with pytest.raises(httpx.HTTPError):
            asked.result(60)


@LOST
def test_a_change_is_asked_for_once_although_its_answer_was_lost(tenant, behind, proxy, lost):
    """The retry finds the review that waits."""
    body = {"agent_id": tenant.new_agent()["id"], "name": WORDS, "rules": RULES}
    without_its_answer(
        lost,
        behind,
        proxy,
        tenant.admin_key,
        lambda client: client.post("/v1/policies", json=body, headers={"Change-Reason": WORDS}),
    )
    [waiting] = tenant.reader.get("/v1/policy-reviews").json()
    again = tenant.admin.post("/v1/policies", json=body)
    assert (again.status_code, again.json()["id"]) == (202, waiting["id"])
    assert len(tenant.reader.get("/v1/policy-reviews").json()) == 1
    assert tenant.reader.get("/v1/policies").json() == []


@LOST
def test_an_approval_is_carried_out_once_although_its_answer_was_lost(tenant, behind, proxy, lost):
    """The retry is told that it is applied; the policy has been changed once, and the trail says so once."""
    agent = tenant.new_agent()["id"]
    bob = tenant.new_key(["policies"], name="bob")
    with tenant.replica.client(tenant.second_person("ann", Scope.ADMIN)) as client:
        body = {"agent_id": agent, "name": "n", "rules": RULES}
        review = client.post("/v1/policies", json=body).json()["id"]
    path = f"/v1/policy-reviews/{review}/approve"
    without_its_answer(lost, behind, proxy, bob["key"], lambda client: client.post(path, json={"note": WORDS}))
    with tenant.replica.client(bob["key"]) as client:
        again = client.post(path, json={"note": WORDS})
    assert (again.status_code, again.json()["error"]["code"]) == (409, "POLICY_REVIEW_DECIDED")
    shown = tenant.reader.get(f"/v1/policy-reviews/{review}").json()
    assert (shown["status"], shown["decidedBy"]["name"]) == ("applied", "bob")
    assert [each["version"] for each in tenant.reader.get("/v1/policies").json()] == [1]
    changes = tenant.admin.get("/v1/changes", params={"resource_type": "policy,policy_review"}).json()
    assert [(each["resourceType"], each["kind"]) for each in changes] == [
        ("policy", "created"),
        ("policy_review", "updated"),
        ("policy_review", "created"),
    ]
