"""A policy's key works like its id wherever the owner is given."""

import pytest

FREE = {"type": "tool_allowlist", "tools": ["file.*"]}
GUARD = {"type": "tool_denylist", "tools": ["rm"]}


@pytest.fixture
def owners(tenant):
    """An agent's, a group's and the workspace's policy of one key: the query that names the owner, and the policy."""
    agent = tenant.new_agent(alias="keyed")
    made = [
        ({"agent_id": "keyed"}, tenant.new_policy("keyed", key="shared")),
        ({"agentId": agent["id"]}, None),
        (
            {"group": "crew"},
            tenant._made("/v1/policies", {"group": "crew", "name": "p", "rules": [FREE], "key": "shared"}),
        ),
        ({}, tenant.new_policy(None, GUARD, kind="guardrail", key="shared")),
    ]
    made[1] = (made[1][0], made[0][1])
    yield made
    for policy in tenant.admin.get("/v1/policies").json():
        tenant.admin.delete(f"/v1/policies/{policy['id']}")
    tenant.admin.delete(f"/v1/agents/{agent['id']}")


def test_each_owners_policy_is_read_changed_and_deleted_by_its_key(tenant, owners):
    """Another owner's policy with the same key is not touched."""
    for query, policy in owners:
        assert policy["key"] == "shared"
        assert tenant.reader.get("/v1/policies/shared", params=query).json() == policy
        assert tenant.reader.get(f"/v1/policies/{policy['id']}", params=query).json() == policy
    for query, policy in owners[1:]:
        changed = tenant.admin.patch("/v1/policies/shared", params=query, json={"name": "new"}).json()
        assert (changed["id"], changed["name"], changed["key"]) == (policy["id"], "new", "shared")
    for query, policy in owners[1:]:
        assert tenant.admin.delete("/v1/policies/shared", params=query).status_code == 204
        assert tenant.reader.get(f"/v1/policies/{policy['id']}").status_code == 404
        assert tenant.reader.get("/v1/policies/shared", params=query).status_code == 404


def test_a_wrong_owner_or_two_owners_are_not_found(tenant, owners):
    """404, by id and by key; for an agent that does not exist, the agent is what is not found."""
    (agent, policy), _, (group, _), _ = owners
    for query in (agent | group, {"group": "another"}):
        assert tenant.reader.get("/v1/policies/shared", params=query).json()["error"]["code"] == "POLICY_NOT_FOUND"
        assert tenant.reader.get(f"/v1/policies/{policy['id']}", params=query).status_code == 404
    nobody = tenant.reader.get("/v1/policies/shared", params={"agent_id": "nobody"})
    assert (nobody.status_code, nobody.json()["error"]["code"]) == (404, "AGENT_NOT_FOUND")
    assert tenant.reader.get("/v1/policies/not%20a%20key", params=agent).status_code == 404


def test_a_taken_key_is_409_and_a_wrong_one_400(tenant, owners):
    """On creation, on change and in a set; null gives a key back."""
    policy = owners[0][1]
    other = tenant.new_policy("keyed", key="other")
    body = {"agent_id": "keyed", "name": "n", "rules": [FREE]}
    for answer in (
        tenant.admin.post("/v1/policies", json=body | {"key": "shared"}),
        tenant.admin.patch(f"/v1/policies/{other['id']}", json={"key": "shared"}),
        tenant.admin.put(
            "/v1/agents/keyed/policies",
            json={"policies": [{"id": other["id"], "name": "n", "rules": [FREE], "key": "shared"}]},
        ),
    ):
        assert (answer.status_code, answer.json()["error"]["code"]) == (409, "POLICY_KEY_TAKEN")
    for wrong in ("a/b", policy["id"], "", "x" * 129):
        answer = tenant.admin.post("/v1/policies", json=body | {"key": wrong})
        assert (answer.status_code, answer.json()["error"]["details"][0]["path"]) == (400, "$.key")
    twice = {"policies": [{"name": str(n), "rules": [FREE], "key": "same"} for n in range(2)]}
    answer = tenant.admin.put("/v1/agents/keyed/policies", json=twice)
    assert (answer.status_code, answer.json()["error"]["details"][0]["path"]) == (400, "$.policies[1].key")
    assert tenant.admin.patch(f"/v1/policies/{other['id']}", json={"key": None}).json()["key"] is None
    [change] = tenant.admin.get("/v1/changes", params={"resource_id": other["id"], "limit": 1}).json()
    assert (change["before"]["key"], change["after"]["key"]) == ("other", None)


def test_lists_are_narrowed_by_key_and_sets_are_called_by_alias(tenant, owners):
    """GET's answer can be sent back."""
    assert len(tenant.reader.get("/v1/policies", params={"key": "shared"}).json()) == 3
    assert tenant.reader.get("/v1/policies", params={"key": "shared", "group": "crew"}).json() == [owners[2][1]]
    held = tenant.reader.get("/v1/agents/keyed/policies").json()
    assert [each["key"] for each in held["policies"]] == ["shared"]
    again = tenant.admin.put("/v1/agents/keyed/policies", json=held | {"agentId": "keyed"})
    assert (again.status_code, again.json()["updated"], again.json()["policies"]) == (200, [], held["policies"])


def test_versions_and_rollback_work_by_key_and_never_duplicate_it(tenant, owners):
    """A key that another policy now has is not taken from it."""
    policy = owners[0][1]
    of_agent = {"agent_id": "keyed"}
    tenant.admin.patch("/v1/policies/shared", params=of_agent, json={"key": "renamed"})
    versions = tenant.reader.get("/v1/policies/renamed/versions", params=of_agent | {"limit": 2}).json()
    assert [each["policy"]["key"] for each in versions] == ["renamed", "shared"]
    taker = tenant.new_policy("keyed", key="shared")
    refused = tenant.admin.post("/v1/policies/renamed/rollback", params=of_agent, json={"version": 1})
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "POLICY_KEY_TAKEN")
    tenant.admin.delete(f"/v1/policies/{taker['id']}")
    back = tenant.admin.post("/v1/policies/renamed/rollback", params=of_agent, json={"version": 1}).json()
    assert (back["id"], back["key"], back["version"]) == (policy["id"], "shared", 3)
