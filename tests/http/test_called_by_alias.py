"""An agent's alias works wherever its id does, and stops working once it has moved."""

import pytest
from tenants import Tenant

REFUSED = {"type": "tool_denylist", "tools": ["*"]}


@pytest.fixture(scope="module")
def called(tenant):
    """An agent with a slash in its alias, which may do everything, and one call of it by that alias."""
    made = tenant.new_agent(alias="team/booking@eu")
    tenant.new_policy("team/booking@eu", name="by alias")
    answer = tenant.authorize("team/booking@eu", "flight.search")
    assert answer["result"] == "allowed"
    return made


PLACES = [
    ("GET", "/v1/agents/team%2Fbooking@eu", {}),
    ("GET", "/v1/policies", {"agent_id": "team/booking@eu"}),
    ("GET", "/v1/policies", {"agentId": "team/booking@eu"}),
    ("GET", "/v1/audit-logs", {"agent_id": "team/booking@eu"}),
    ("GET", "/v1/audit-logs/export", {"agent_id": "team/booking@eu"}),
    ("GET", "/v1/agents", {"alias": "team/booking@eu"}),
]


@pytest.mark.parametrize(("method", "path", "query"), PLACES, ids=str)
def test_the_alias_stands_for_the_id(tenant, called, method, path, query):
    """Answers contain the id, and nothing of another agent."""
    tenant.authorize(tenant.new_agent()["id"])
    answer = tenant.admin.request(method, path, params=query)
    assert answer.status_code == 200
    assert called["id"] in answer.text


def test_entries_of_an_agent_are_found_by_its_alias_alone(tenant, called):
    """The entry has the id, whichever name the request used."""
    entries = tenant.log(agent_id="team/booking@eu")
    assert entries
    assert {entry["agentId"] for entry in entries} == {called["id"]}


def test_approvals_and_bound_keys_go_by_alias_too(tenant, called):
    """A key stays bound to the agent that had the alias then."""
    assert tenant.admin.get("/v1/approvals", params={"agent_id": "team/booking@eu"}).json() == []
    made = tenant.new_key(["authorize"], agents=["team/booking@eu", called["id"]])
    assert made["agents"] == [called["id"]]
    other = tenant.new_agent(alias="other")
    with tenant.replica.client(made["key"]) as client:
        answers = [
            client.post("/v1/authorize", json={"agent_id": agent, "tool_name": "t"})
            for agent in ("team/booking@eu", called["id"], "other", other["id"], "nobody")
        ]
    assert [each.status_code for each in answers] == [200, 200, 403, 403, 403]
    assert answers[2].content == answers[3].content == answers[4].content


@pytest.mark.parametrize(
    ("path", "query"),
    [
        ("/v1/policies", {"agent_id": "nobody"}),
        ("/v1/audit-logs", {"agent_id": "nobody"}),
        ("/v1/audit-logs/export", {"agent_id": "nobody"}),
        ("/v1/audit-logs/stream", {"agent_id": "nobody"}),
        ("/v1/approvals", {"agent_id": "nobody"}),
        ("/v1/agents/nobody", {}),
        ("/v1/agents/no%2Fbody", {}),
    ],
)
def test_an_alias_that_nobody_has_is_not_found(tenant, stranger, path, query):
    """Rather than an empty answer, which would look like a quiet agent; another workspace's is as unknown."""
    unknown = tenant.reader.get(path, params=query)
    stranger.new_agent(alias=query.get("agent_id", path.rsplit("/", 1)[1].replace("%2F", "/")))
    try:
        foreign = tenant.reader.get(path, params=query)
        assert (foreign.status_code, foreign.json()["error"]["code"]) == (404, "AGENT_NOT_FOUND")
        assert foreign.content == unknown.content
    finally:
        for agent in stranger.admin.get("/v1/agents").json():
            stranger.admin.delete(f"/v1/agents/{agent['id']}")


def test_decisions_and_policies_of_unknown_agents_are_not_found(tenant):
    """404, and nothing is logged or created."""
    before = tenant.log()
    answer = tenant.reader.post("/v1/authorize", json={"agent_id": "nobody", "tool_name": "t"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "AGENT_NOT_FOUND")
    made = tenant.admin.post("/v1/policies", json={"agent_id": "nobody", "name": "p", "rules": [REFUSED]})
    assert made.status_code == 404
    assert tenant.log() == before


@pytest.mark.parametrize("agent_id", ["", "a b", "..", "a//b", "/", "x" * 129])
def test_a_value_that_is_neither_id_nor_alias_is_invalid(tenant, agent_id):
    """The error names the place and what would be right there."""
    asked = tenant.reader.post("/v1/authorize", json={"agent_id": agent_id, "tool_name": "t"})
    listed = tenant.reader.get("/v1/policies", params={"agent_id": agent_id})
    for answer, path in ((asked, "$.agent_id"), (listed, "agent_id")):
        assert answer.status_code == 400
        [detail] = answer.json()["error"]["details"]
        assert detail["path"] == path
        assert "alias" in detail["message"]


def test_a_taken_alias_is_409_and_a_wrong_one_400(tenant, called):
    """On creation and on change."""
    other = tenant.new_agent(alias="free")
    for method, path in (("POST", "/v1/agents"), ("PATCH", f"/v1/agents/{other['id']}")):
        taken = tenant.admin.request(method, path, json={"name": "n", "alias": "team/booking@eu"})
        assert (taken.status_code, taken.json()["error"]["code"]) == (409, "ALIAS_TAKEN")
        wrong = tenant.admin.request(method, path, json={"name": "n", "alias": called["id"]})
        assert (wrong.status_code, wrong.json()["error"]["details"][0]["path"]) == (400, "$.alias")
    assert tenant.admin.get(f"/v1/agents/{other['id']}").json() == other
    removed = tenant.admin.patch("/v1/agents/free", json={"alias": None})
    assert (removed.json()["alias"], removed.json()["version"]) == (None, 2)
    assert tenant.admin.get("/v1/agents/free").status_code == 404
    [change] = tenant.admin.get("/v1/changes", params={"resource_id": other["id"], "limit": 1}).json()
    assert (change["before"]["alias"], change["after"]["alias"]) == ("free", None)


def test_an_agent_is_changed_and_deleted_by_its_alias(tenant):
    """A slash in the alias is %2F in the path; a plain slash leads elsewhere."""
    made = tenant.new_agent(alias="go/ne")
    assert tenant.admin.patch("/v1/agents/go%2fne", json={"name": "b"}).json()["name"] == "b"
    assert tenant.admin.delete("/v1/agents/go/ne").status_code == 404
    assert tenant.admin.delete("/v1/agents/go%2Fne").status_code == 204
    assert tenant.admin.get(f"/v1/agents/{made['id']}").status_code == 404


def test_the_coding_agents_hook_is_called_by_alias(tenant, called):
    """Its header carries the alias."""
    hook = {"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": "Bash", "tool_input": {}}
    answer = tenant.reader.post("/v1/hooks/claude-code", json=hook, headers={"X-Remit-Agent": "team/booking@eu"})
    assert answer.json()["hookSpecificOutput"]["permissionDecision"] == "allow"


def test_the_same_idempotency_key_after_the_alias_moved_is_stale(tenant):
    """The first answer was about another agent."""
    first, second = tenant.new_agent(alias="idem"), tenant.new_agent()
    tenant.new_policy(first["id"])
    headers = {"Idempotency-Key": "once"}
    asked = {"agent_id": "idem", "tool_name": "t"}
    answer = tenant.reader.post("/v1/authorize", json=asked, headers=headers)
    assert tenant.reader.post("/v1/authorize", json=asked, headers=headers).json() == answer.json()
    tenant.admin.patch(f"/v1/agents/{first['id']}", json={"alias": None})
    tenant.admin.patch(f"/v1/agents/{second['id']}", json={"alias": "idem"})
    stale = tenant.reader.post("/v1/authorize", json=asked, headers=headers)
    assert (stale.status_code, stale.json()["error"]["code"]) == (409, "IDEMPOTENCY_STALE")


def test_an_approval_asked_for_by_alias_is_used_by_id(store, asking_replica):
    """It is bound to the agent, whichever name was used."""
    made = Tenant(store.url, asking_replica)
    agent = made.new_agent(alias="asks")
    made.new_policy(agent["id"], {"type": "approval_required", "tools": ["*"]})
    approval = made.authorize("asks")["approval"]["id"]
    assert made.authorize(agent["id"])["approval"]["id"] == approval
    assert made.admin.get(f"/v1/approvals/{approval}").json()["agentId"] == agent["id"]
    assert made.admin.post(f"/v1/approvals/{approval}/approve", json={}).status_code == 200
    assert made.authorize("asks")["result"] == "allowed"
    made.close()
