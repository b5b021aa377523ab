"""Least privilege: keys bound to agents, and the one key that a workspace must not lose by mistake."""

import uuid

import pytest
from tenants import FREE, Tenant

ID = "00000000-0000-7000-8000-000000000000"


@pytest.fixture(scope="module")
def agents(tenant):
    """Three that are allowed everything."""
    made = [tenant.new_agent()["id"] for _ in range(3)]
    for agent in made:
        tenant.new_policy(agent)
    return made


@pytest.fixture(scope="module")
def bound(tenant, agents):
    """A client with a key for two of them."""
    made = tenant.new_key(["authorize"], agents=agents[:2])
    assert made["agents"] == agents[:2]
    with tenant.replica.client(made["key"]) as client:
        yield client


def test_a_bound_key_asks_about_its_agents(bound, agents):
    """As with a key that may ask for all agents."""
    for agent in agents[:2]:
        answer = bound.post("/v1/authorize", json={"agent_id": agent, "tool_name": "file.read"})
        assert answer.json()["result"] == "allowed"


def test_another_agent_and_one_that_does_not_exist_are_answered_alike(bound, tenant, agents):
    """Nothing reveals which agents exist, and nothing is logged."""
    before = tenant.log()
    answers = [
        bound.post("/v1/authorize", json={"agent_id": agent, "tool_name": "file.read"}) for agent in (agents[2], ID)
    ]
    assert [answer.status_code for answer in answers] == [403, 403]
    assert answers[0].content == answers[1].content
    assert "bound to other agents" in answers[0].text
    assert tenant.log() == before


@pytest.mark.parametrize("semantics", ["execute_all", "deny_on_first_deny", "permit_on_first_permit", "all_or_nothing"])
def test_a_bound_key_asks_about_no_other_agent_in_a_batch(bound, tenant, agents, semantics):
    """By id or by alias, whatever comes before; the other calls of the batch are answered as ever."""
    alias = tenant.admin.patch(f"/v1/agents/{agents[2]}", json={"alias": "third"}).json()["alias"]
    for others in ([agents[2]], [agents[0], agents[2]], [agents[2], agents[1]], [alias, agents[0]]):
        calls = [{"agent_id": each, "tool_name": "file.read"} for each in others]
        answer = bound.post("/v1/authorize/batch", json={"calls": calls, "semantics": semantics})
        for asked, result in zip(others, answer.json()["results"], strict=False):
            if asked in (agents[2], alias):
                assert result["error"]["code"] == "INSUFFICIENT_SCOPE", (others, result)
    assert not tenant.admin.get("/v1/audit-logs", params={"agent_id": agents[2]}).json()


def test_a_bound_key_evaluates_no_other_agent_among_several(bound, tenant, agents):
    """The answer to each of them is the refusal."""
    body = {"action": {"name": "call"}, "resource": {"type": "tool", "id": "file.read"}}
    body["evaluations"] = [{"subject": {"type": "agent", "id": each}} for each in agents]
    first, second, third = bound.post("/access/v1/evaluations", json=body).json()["evaluations"]
    assert (first["decision"], second["decision"], third["decision"]) == (True, True, False)
    assert third["context"]["error"]["status"] == 403
    assert not tenant.admin.get("/v1/audit-logs", params={"agent_id": agents[2]}).json()


def test_a_bound_key_is_shown_with_its_agents(tenant, bound, agents):
    """In lists and in the trail."""
    shown = [each for each in tenant.admin.get("/v1/api-keys").json() if "agents" in each]
    assert [each["agents"] for each in shown] == [agents[:2]]
    [change] = tenant.admin.get("/v1/changes", params={"resource_id": shown[0]["id"]}).json()
    assert change["after"]["agents"] == agents[:2]


@pytest.mark.parametrize("scopes", [["read"], ["admin"], ["authorize", "read"], ["audit"]], ids=",".join)
def test_a_key_that_asks_for_all_or_not_at_all_is_not_bound(tenant, agents, scopes):
    """It would look bound without being so."""
    body = {"name": "bound", "scopes": scopes, "agents": agents[:1]}
    answer = tenant.admin.post("/v1/api-keys", json=body)
    assert answer.status_code == 400
    assert answer.json()["error"]["details"][0]["path"] == "$.agents"


def test_a_key_can_be_bound_only_to_agents_of_its_workspace(tenant, stranger, agents):
    """An agent of another workspace is treated as unknown."""
    for agent in (ID, stranger.new_agent()["id"]):
        body = {"name": "bound", "scopes": ["authorize"], "agents": [agents[0], agent]}
        answer = tenant.admin.post("/v1/api-keys", json=body)
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "AGENT_NOT_FOUND")


def test_a_revoked_bound_key_learns_nothing_about_its_agents(tenant, agents):
    """401 comes before 403."""
    made = tenant.new_key(["authorize"], agents=agents[:1])
    with tenant.replica.client(made["key"]) as client:
        asked = {"agent_id": agents[2], "tool_name": "file.read"}
        assert client.post("/v1/authorize", json=asked).status_code == 403
        assert tenant.admin.delete(f"/v1/api-keys/{made['id']}").status_code == 204
        assert client.post("/v1/authorize", json=asked).status_code == 401


def test_the_last_admin_key_is_revoked_only_with_force(store, replica):
    """409 says what to do; `force` takes true or false."""
    made = Tenant(store.url, replica)
    [key_id] = [each["id"] for each in made.admin.get("/v1/api-keys").json() if "admin" in each["scopes"]]
    kept = made.admin.delete(f"/v1/api-keys/{key_id}")
    assert (kept.status_code, kept.json()["error"]["code"]) == (409, "LAST_ADMIN_KEY")
    assert made.admin.delete(f"/v1/api-keys/{key_id}", params={"force": "yes"}).status_code == 400
    assert made.admin.delete(f"/v1/api-keys/{key_id}", params={"force": "true"}).status_code == 204
    assert made.admin.get("/v1/agents").status_code == 401
    made.close()


def test_a_bound_key_sees_approvals_of_its_agents_alone(store, asking_replica):
    """Another agent's are treated as unknown; keys that may read or decide see all."""
    tenant = Tenant(store.url, asking_replica)
    mine, others = (tenant.new_agent()["id"] for _ in range(2))
    for agent_id in (mine, others):
        tenant.new_policy(agent_id, {"type": "approval_required", "tools": ["*"]}, FREE)
    approvals = [tenant.authorize(each)["approval"]["id"] for each in (mine, others)]
    bound = tenant.new_key(["authorize"], agents=[mine])["key"]
    deciding = tenant.new_key(["authorize", "approve"], agents=[mine])["key"]
    with tenant.replica.client(bound) as client, tenant.replica.client(deciding) as person:
        assert client.get(f"/v1/approvals/{approvals[0]}").json()["agentId"] == mine
        unknown = client.get(f"/v1/approvals/{uuid.uuid4()}")
        other = client.get(f"/v1/approvals/{approvals[1]}?wait=1")
        assert (other.status_code, other.json()) == (404, unknown.json())
        assert [person.get(f"/v1/approvals/{each}").status_code for each in approvals] == [200, 200]
    tenant.close()
