"""Shadow policies over HTTP: written, listed, counted, found in the log, explained, rolled back and deleted."""

import pytest
import redis

IN_SHADOW = {"kind": "guardrail", "mode": "shadow"}
NO_MAIL = {"type": "tool_denylist", "tools": ["mail"]}


def limit(most, **fields):
    return {"type": "rate_limit", "tools": ["*"], "rateLimit": {"maxCalls": most, "windowSeconds": 3600, **fields}}


@pytest.fixture
def agent_id(tenant):
    agent_id = tenant.new_agent()["id"]
    tenant.new_policy(agent_id)
    return agent_id


def divergence(tenant, policy):
    answer = tenant.reader.get(f"/v1/policies/{policy['id']}/divergence")
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_a_divergence_is_counted_and_found(tenant, agent_id):
    """By policy and direction; the filters find the same entries."""
    no_mail = tenant.new_policy(agent_id, NO_MAIL, **IN_SHADOW)
    ask = tenant.new_policy(agent_id, {"type": "approval_required", "tools": ["pay"]}, **IN_SHADOW)
    for tool in ("mail", "mail", "pay", "look"):
        assert tenant.authorize(agent_id, tool)["result"] == "allowed"

    found = divergence(tenant, no_mail)

    assert (found["mode"], found["version"], found["total"]) == ("shadow", 1, 2)
    assert found["counts"] == [{"result": "allowed", "shadowResult": "denied", "count": 2}]
    assert divergence(tenant, ask)["counts"] == [{"result": "allowed", "shadowResult": "escalated", "count": 1}]
    assert [entry["toolName"] for entry in tenant.log(shadow=no_mail["id"], agent_id=agent_id)] == ["mail", "mail"]
    assert len(tenant.log(shadow="any", agent_id=agent_id)) == 3
    assert tenant.log(shadow=agent_id) == []
    [entry] = tenant.log(shadow=ask["id"])
    assert entry["shadow"] == {
        "policyId": ask["id"],
        "result": "escalated",
        "rule": {"index": 0, "type": "approval_required"},
    }
    assert tenant.reader.get("/v1/audit-logs?shadow=some").status_code == 400


def test_a_change_begins_the_counts_anew(tenant, agent_id):
    """So do enforcing it and a rollback."""
    policy = tenant.new_policy(agent_id, NO_MAIL, **IN_SHADOW)
    path = f"/v1/policies/{policy['id']}"
    tenant.authorize(agent_id, "mail")
    assert divergence(tenant, policy)["total"] == 1
    assert tenant.admin.patch(path, json={"name": "again"}).json()["mode"] == "shadow"
    found = divergence(tenant, policy)
    assert (found["policyId"], found["version"], found["total"], found["counts"]) == (policy["id"], 2, 0, [])
    tenant.authorize(agent_id, "mail")
    assert divergence(tenant, policy)["total"] == 1
    assert tenant.admin.patch(path, json={"mode": "enforce"}).json()["mode"] == "enforce"
    assert tenant.authorize(agent_id, "mail")["result"] == "denied"
    assert tenant.admin.post(f"{path}/rollback", json={"version": 1}).json()["mode"] == "shadow"
    assert tenant.authorize(agent_id, "mail")["result"] == "allowed"
    assert divergence(tenant, policy)["counts"] == [{"result": "allowed", "shadowResult": "denied", "count": 1}]
    assert [each["policy"]["mode"] for each in tenant.admin.get(f"{path}/versions").json()] == [
        "shadow", "enforce", "shadow", "shadow",
    ]  # fmt: skip


def test_a_disabled_policy_is_off_in_either_mode(tenant, agent_id):
    """`enabled` says so, and GET's answer can be sent back."""
    policy = tenant.new_policy(agent_id, NO_MAIL, **IN_SHADOW, enabled=False)
    shown = tenant.admin.get(f"/v1/policies/{policy['id']}").json()
    assert (shown["mode"], shown["enabled"]) == ("shadow", False)
    held = tenant.admin.get(f"/v1/agents/{agent_id}/policies").json()
    assert (
        tenant.admin.put(f"/v1/agents/{agent_id}/policies", json={"policies": held["policies"]}).json()["updated"] == []
    )
    tenant.authorize(agent_id, "mail")
    assert divergence(tenant, policy)["total"] == 0
    tenant.admin.patch(f"/v1/policies/{policy['id']}", json={"enabled": True})
    tenant.authorize(agent_id, "mail")
    assert divergence(tenant, policy)["total"] == 1
    assert tenant.admin.patch(f"/v1/policies/{policy['id']}", json={"mode": "off"}).status_code == 400


def test_a_call_not_executed_is_refunded_in_shadow_limits_too(tenant, agent_id):
    """The report's count includes only limits that affect answers."""
    tenant.new_policy(agent_id, limit(9, refundable=True), kind="guardrail")
    policy = tenant.new_policy(agent_id, limit(1, refundable=True), **IN_SHADOW)
    first = tenant.authorize(agent_id)
    told = tenant.reader.post(f"/v1/decisions/{first['id']}/outcome", json={"status": "not_executed"}).json()
    assert told["refunded"] == 1
    tenant.authorize(agent_id)
    assert divergence(tenant, policy)["total"] == 0
    tenant.authorize(agent_id)
    assert divergence(tenant, policy)["total"] == 1


def test_calls_counted_only_by_a_shadow_limit_are_refunded_one_by_one(tenant, agent_id):
    """Each call has its own record, even if calls are equal."""
    policy = tenant.new_policy(agent_id, limit(1, refundable=True), **IN_SHADOW)
    for _ in range(3):
        made = tenant.authorize(agent_id)
        told = tenant.reader.post(f"/v1/decisions/{made['id']}/outcome", json={"status": "not_executed"}).json()
        assert told["refunded"] == 0
    assert divergence(tenant, policy)["total"] == 0


def test_an_explanation_shows_what_a_shadow_policy_would_do(tenant, agent_id):
    """For a hypothetical call and for a past one; nothing is counted."""
    policy = tenant.new_policy(agent_id, NO_MAIL, limit(3), name="no mail", **IN_SHADOW)
    call = {"agent_id": agent_id, "tool_name": "mail"}

    told = tenant.reader.post("/v1/explain", json=call).json()

    assert (told["result"], told["shadow"]["changes"]) == ("allowed", True)
    assert (told["shadow"]["result"], told["shadow"]["policyName"]) == ("denied", "no mail")
    [shown] = [each for each in told["policies"] if each["mode"] == "shadow"]
    assert (shown["part"], [rule["part"] for rule in shown["rules"]]) == ("failed", ["failed", "not_reached"])
    same = tenant.reader.post("/v1/explain", json=call | {"tool_name": "look"}).json()
    assert same["shadow"]["changes"] is False
    quota = next(rule["quota"] for part in same["policies"] for rule in part["rules"] if "quota" in rule)
    assert (quota["taken"], quota["left"]) == (0, 3)
    assert divergence(tenant, policy)["total"] == 0
    made = tenant.authorize(agent_id, "mail")
    past = tenant.reader.get(f"/v1/audit-logs/{made['id']}/explanation").json()
    assert (past["result"], past["shadow"]["result"]) == ("allowed", "denied")
    assert [(part["mode"], part["part"]) for part in past["policies"]] == [("enforce", "passed"), ("shadow", "failed")]


def test_a_draft_in_shadow_changes_no_answer(tenant, agent_id):
    """An explanation shows its effect; a replay flips nothing."""
    draft = {"name": "closed", "rules": [{"type": "tool_denylist", "tools": ["*"]}]} | IN_SHADOW
    told = tenant.reader.post("/v1/explain", json={"agent_id": agent_id, "tool_name": "a", "policies": [draft]}).json()
    assert (told["result"], told["shadow"]["result"], told["shadow"]["policyId"]) == ("allowed", "denied", None)
    tenant.authorize(agent_id, "a")
    held = tenant.admin.get(f"/v1/agents/{agent_id}/policies").json()["policies"]
    for mode, flipped in (("shadow", 0), ("enforce", 1)):
        task = {"agent_id": agent_id, "policies": [*held, draft | {"mode": mode}]}
        lines = tenant.reader.post("/v1/replay", json=task).text.splitlines()
        assert f'"flipped":{flipped}' in lines[-1]


def test_divergence_counts_are_deleted_with_the_policy(tenant, agent_id, store_keys):
    """Whether the policy is deleted, pruned, or deleted with its agent."""
    for remove in ("delete", "prune", "agent"):
        policy = tenant.new_policy(agent_id, NO_MAIL, limit(5), **IN_SHADOW)
        tenant.authorize(agent_id, "mail")
        tenant.authorize(agent_id, "look")
        assert len(store_keys(policy)) == 4
        if remove == "delete":
            tenant.admin.delete(f"/v1/policies/{policy['id']}")
        elif remove == "prune":
            rest = [each for each in tenant.admin.get(f"/v1/agents/{agent_id}/policies").json()["policies"]
                    if each["id"] != policy["id"]]  # fmt: skip
            tenant.admin.put(f"/v1/agents/{agent_id}/policies?prune=true", json={"policies": rest})
        else:
            tenant.admin.delete(f"/v1/agents/{agent_id}")
        assert store_keys(policy) == []


@pytest.fixture
def store_keys(store):
    """Every key of a policy: record, versions, divergence, bucket."""
    client = redis.Redis.from_url(store.url)
    yield lambda policy: list(client.scan_iter(f"*{policy['id']}*", count=10_000))
    client.close()
