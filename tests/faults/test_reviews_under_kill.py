"""kill -9 of a replica between script and answer: of a change that waits for a second person, and of its approval."""

from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from proxy import Fault
from servers import Replica
from serving import kill_all_of
from tenants import Tenant

from app.model.api_keys import Scope
from app.model.ids import Ids
from tests.support import parts
from tests.support.actors import BY

WORDS = "killed in between"
RULES = [{"type": "tool_allowlist", "tools": ["file.read"]}]


@pytest.fixture
def behind(proxy, own):
    return own(Replica(proxy.url, REMIT_COMPACT="false", REMIT_REVIEW="policies"))


@pytest.fixture
def tenant(store, own):
    made = Tenant(store.url, own(Replica(store.url, REMIT_REVIEW="policies")))
    yield made
    made.close()


def killed_before_its_answer(behind, proxy, key, act):
    """Let a replica do `act`, whose script has these words, and kill it before the store's reply arrives."""
    proxy.break_(Fault.HOLD, WORDS)
    with behind.client(key) as client, ThreadPoolExecutor(1) as pool:
        lost = pool.submit(act, client)
        assert proxy.struck.wait(60)
        kill_all_of(behind)
        with pytest.raises(httpx.HTTPError):
            lost.result(60)


def test_a_change_is_asked_for_once_across_a_kill_and_a_retry(tenant, behind, proxy):
    """The retry finds the review that waits."""
    body = {"agent_id": tenant.new_agent()["id"], "name": WORDS, "rules": RULES}
    killed_before_its_answer(
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


def test_an_approval_is_carried_out_once_across_a_kill_and_a_retry(tenant, behind, proxy):
    """The retry is told that it is applied; the policy has been changed once, and the trail says so once."""
    agent = tenant.new_agent()["id"]
    bob = tenant.new_key(["policies"], name="bob")
    # The key of somebody whom nobody here has made asks: Bob's is made by the admin.
    asker = tenant.in_store(lambda store: _key_of_nobody(store, tenant.id))
    with tenant.replica.client(asker) as client:
        body = {"agent_id": agent, "name": "n", "rules": RULES}
        review = client.post("/v1/policies", json=body).json()["id"]
    path = f"/v1/policy-reviews/{review}/approve"
    killed_before_its_answer(behind, proxy, bob["key"], lambda client: client.post(path, json={"note": WORDS}))
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


async def _key_of_nobody(store, workspace_id):
    _, raw_key = await parts.api_keys(store, Ids()).create(workspace_id, "ann", (Scope.ADMIN,), by=BY)
    return raw_key
