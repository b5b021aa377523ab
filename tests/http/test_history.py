"""GET /v1/agents/{id}/history: what calls were answered, and every change that concerned the agent, in one list."""

import json
import re

import pytest
from command_line import run_remit
from servers import clean_env
from tenants import FREE, tenant_on

tenant = tenant_on()
DENY = {"type": "tool_denylist", "tools": ["file.delete"]}
UNKNOWN = "00000000-0000-7000-8000-000000000000"


def history(client, agent, **query):
    answer = client.get(f"/v1/agents/{agent}/history", params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


def shown(changes):
    """Kind, type and id of each change, oldest first."""
    return [(each["kind"], each["resourceType"], each["resourceId"]) for each in reversed(changes)]


def guardrail(tenant, **owner):
    body = {"name": "g", "kind": "guardrail", "rules": [DENY], **owner}
    answer = tenant.admin.post("/v1/policies", json=body)
    assert answer.status_code == 201, answer.text
    return answer.json()["id"]


def change(tenant, path, **fields):
    assert tenant.admin.patch(f"/v1/{path}", json=fields).status_code == 200


def test_one_list_has_the_changes_of_all_that_governed_the_agent_when_they_were_made(tenant):
    """Its own policies, its groups' while it was in them, the workspace's; and nothing that governed others."""
    other = tenant.new_agent(name="other", groups=["night"])["id"]
    elsewhere = tenant.new_policy(other, FREE)["id"]
    before = guardrail(tenant, group="crew")
    change(tenant, f"policies/{before}", name="before it was there")
    agent = tenant.new_agent(alias="bot")["id"]
    own = tenant.new_policy(agent, FREE)["id"]
    crew = guardrail(tenant, group="crew")
    change(tenant, f"agents/{agent}", groups=["crew"])
    change(tenant, f"policies/{crew}", enabled=False)
    change(tenant, f"policies/{elsewhere}", name="of another")
    whole = guardrail(tenant)
    change(tenant, f"agents/{agent}", groups=[])
    change(tenant, f"policies/{crew}", enabled=True)
    tenant.admin.delete(f"/v1/policies/{own}")
    change(tenant, f"agents/{other}", name="another")
    expected = [
        ("created", "agent", agent),
        ("created", "policy", own),
        ("updated", "agent", agent),
        ("updated", "policy", crew),
        ("created", "policy", whole),
        ("updated", "agent", agent),
        ("deleted", "policy", own),
    ]
    found = history(tenant.admin, "bot")
    assert shown(found["changes"]) == expected
    assert (found["agentId"], found["complete"], found["nextCursor"]) == (agent, True, None)
    pages, cursor = [], {}
    for _ in range(4):
        page = history(tenant.admin, agent, limit=2, **cursor)
        pages += page["changes"]
        cursor = {"cursor": page["nextCursor"]}
    assert (pages, page["nextCursor"]) == (found["changes"], None)


def test_the_policy_of_a_group_that_it_has_left_is_known_even_if_it_changed_only_then(tenant):
    """Neither the agent's record nor any deletion names that group: only the change that left it."""
    crew = guardrail(tenant, group="crew")
    agent = tenant.new_agent(groups=["crew"])["id"]
    change(tenant, f"policies/{crew}", enabled=False)
    change(tenant, f"agents/{agent}", groups=[])
    assert ("updated", "policy", crew) in shown(history(tenant.admin, agent)["changes"])


def test_keys_that_name_the_agent_are_in_the_list_when_they_are_made_rotated_and_revoked(tenant):
    """Also a change that says nothing of agents; a key for all agents is nobody's."""
    agent, other = tenant.new_agent()["id"], tenant.new_agent()["id"]

    def key(**fields):
        made = tenant.admin.post("/v1/api-keys", json={"name": "k", "scopes": ["authorize"], **fields})
        assert made.status_code == 201, made.text
        return made.json()["id"]

    ours = key(agents=[agent])
    key(agents=[other])
    key()
    successor = tenant.admin.post(f"/v1/api-keys/{ours}/rotate", json={"overlapSeconds": 60})
    assert successor.status_code == 201, successor.text
    tenant.admin.delete(f"/v1/api-keys/{ours}")
    keys = [each for each in shown(history(tenant.admin, agent)["changes"]) if each[1] == "api_key"]
    assert keys[0] == ("created", "api_key", ours)
    assert sorted(keys[1:3]) == sorted([("created", "api_key", successor.json()["id"]), ("updated", "api_key", ours)])
    assert keys[3:] == [("deleted", "api_key", ours)]


def test_calls_are_counted_by_result_and_code_within_the_span(tenant):
    """Also those that a breaker stopped, whose change is in the list with the decision that filled it."""
    agent = tenant.new_agent()["id"]
    tenant.new_policy(agent, FREE)
    breaker = {"maxDenials": 2, "windowSeconds": 60, "action": "suspend"}
    rules = [DENY, {"type": "denial_breaker", "tools": ["*"], "denialBreaker": breaker}]
    assert tenant.admin.post("/v1/policies", json={"name": "g", "kind": "guardrail", "rules": rules}).status_code == 201
    for tool in ("file.read", "file.delete", "file.delete", "file.read"):
        tenant.authorize(agent, tool)
    found = history(tenant.admin, agent)
    assert found["counts"] == [
        {"result": "allowed", "code": "allowed", "count": 1},
        {"result": "denied", "code": "tool_denied", "count": 2},
        {"result": "denied", "code": "agent_suspended", "count": 1},
    ]
    tripped = found["changes"][0]
    assert (tripped["resourceId"], tripped["after"]["status"]) == (agent, "suspended")
    assert tripped["tripped"]["decisionId"] == tenant.log()[1]["id"]
    future = history(tenant.admin, agent, **{"from": "2999-01-01"})
    assert (future["counts"], future["changes"]) == ([], [])
    until = history(tenant.admin, agent, to=found["changes"][-1]["timestamp"])
    assert shown(until["changes"]) == [("created", "agent", agent)]


def test_a_deleted_agent_has_its_history_and_one_that_never_was_has_none(tenant):
    """By its id; the policies that were deleted with it are in the list."""
    agent = tenant.new_agent(alias="bot", groups=["crew"])["id"]
    own = tenant.new_policy(agent, FREE)["id"]
    crew = guardrail(tenant, group="crew")
    tenant.admin.delete(f"/v1/agents/{agent}")
    change(tenant, f"policies/{crew}", enabled=False)
    assert shown(history(tenant.admin, agent)["changes"]) == [
        ("created", "agent", agent),
        ("created", "policy", own),
        ("created", "policy", crew),
        ("deleted", "policy", own),
        ("deleted", "agent", agent),
    ]
    for called in ("bot", UNKNOWN):
        assert tenant.admin.get(f"/v1/agents/{called}/history").json()["error"]["code"] == "AGENT_NOT_FOUND"


@pytest.mark.slow
def test_the_command_prints_counts_and_changes(tenant):
    """And where the next page begins."""
    agent = tenant.new_agent(alias="bot")["id"]
    tenant.new_policy(agent, FREE)
    tenant.authorize(agent, "file.read")
    env = clean_env() | {"REMIT_URL": tenant.replica.base_url, "REMIT_API_KEY": tenant.admin_key}
    ran = run_remit(["agents", "history", "bot", "--limit", "1"], env)
    assert ran.returncode == 0, ran.stderr
    assert re.search("^allowed +allowed +1$", ran.stdout, re.MULTILINE)
    assert "policy created" in ran.stdout
    assert "agent created" not in ran.stdout
    position = ran.stderr.split("--before ")[1].split()[0]
    older = run_remit(["agents", "history", "bot", "--before", position, "--json"], env)
    assert shown(json.loads(older.stdout)["changes"]) == [("created", "agent", agent)]
    assert run_remit(["agents", "history", "bot", "--before", "x"], env).returncode == 2
