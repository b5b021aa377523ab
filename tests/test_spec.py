"""The specification, statement by statement: a test for each numbered statement and each row of its tables.

The names give the place: `test_2_1_prefix` is the row `prefix` of §2.1. What the specification leaves open is in
docs/spec-decisions.md.
"""

import re
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime

import pytest
from tenants import FREE, Tenant, tenant_on

UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}").fullmatch
ISO_8601 = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z").fullmatch
UNKNOWN = "00000000-0000-7000-8000-000000000000"
ALWAYS = {"allowedHours": list(range(24)), "allowedDays": [1, 2, 3, 4, 5, 6, 7], "timezone": "Europe/Paris"}


tenant = tenant_on(scope="module")


@pytest.fixture
def agent(tenant):
    """The id of a new agent."""
    return tenant.new_agent()["id"]


def only_hours_other_than(decision):
    """A window that the moment of a decision lies outside of, by twelve hours on either side."""
    hour = datetime.fromisoformat(decision["timestamp"]).hour
    return {"allowedHours": [(hour + 12) % 24], "timezone": "UTC"}


# §1 What the service does


def test_1_1_a_workspace_owns_agents_policies_keys_and_entries(store, replica, tenant, agent):
    """What one workspace has, another neither lists nor reads."""
    policy, decision = tenant.new_policy(agent), tenant.authorize(agent)
    other = Tenant(store.url, replica)
    for path, made in (("/v1/agents", agent), ("/v1/policies", policy["id"]), ("/v1/audit-logs", decision["id"])):
        assert made in {each["id"] for each in tenant.admin.get(path).json()}
        assert made not in {each["id"] for each in other.admin.get(path).json()}
    keys = [{each["id"] for each in one.admin.get("/v1/api-keys").json()} for one in (tenant, other)]
    assert not keys[0] & keys[1]
    other.close()


def test_1_2_a_policy_belongs_to_one_agent_and_its_rules_are_ordered(tenant, agent):
    """Another agent's calls are not its business; the rules come back in the order in which they were given."""
    rules = [{"type": "tool_denylist", "tools": [f"tool.{n}"]} for n in (3, 1, 2)]
    policy = tenant.new_policy(agent, *rules, FREE)
    assert policy["agentId"] == agent
    assert policy["rules"] == [*rules, FREE]
    assert tenant.authorize(agent)["result"] == "allowed"
    assert tenant.authorize(tenant.new_agent()["id"])["result"] == "denied"


def test_1_3_a_client_asks_with_post_authorize(tenant, agent):
    """200 and a decision."""
    answer = tenant.reader.post("/v1/authorize", json={"agent_id": agent, "tool_name": "file.read"})
    assert answer.status_code == 200
    assert answer.json()["result"] in {"allowed", "denied", "escalated"}


def test_1_4_enabled_policies_are_evaluated_by_priority_and_the_first_match_decides(tenant, agent):
    """Highest value first, whatever the order of creation; a disabled one and one that does not match are passed by."""
    deny = {"type": "tool_denylist", "tools": ["file.read"]}
    tenant.new_policy(agent, deny, priority=1000, enabled=False)
    tenant.new_policy(agent, {"type": "tool_denylist", "tools": ["other.tool"]}, priority=900)
    low = tenant.new_policy(agent, deny, priority=1)
    assert tenant.authorize(agent)["policyId"] == low["id"]
    high = tenant.new_policy(agent, priority=2)
    decision = tenant.authorize(agent)
    assert (decision["result"], decision["policyId"]) == ("allowed", high["id"])


def test_1_5_without_a_matching_policy_it_is_a_default_deny(tenant, agent):
    """The answer and the entry have policyId null."""
    tenant.new_policy(agent, {"type": "tool_denylist", "tools": ["other.tool"]})
    decision = tenant.authorize(agent)
    assert (decision["result"], decision["policyId"]) == ("denied", None)
    assert tenant.log(agent_id=agent)[0]["policyId"] is None


def test_1_6_every_decision_is_in_an_immutable_log_with_filters(tenant, agent):
    """Allowed or denied; no method changes an entry."""
    denied = tenant.authorize(agent)
    tenant.new_policy(agent)
    allowed = tenant.authorize(agent)
    before = tenant.log(agent_id=agent)
    assert [entry["id"] for entry in before] == [allowed["id"], denied["id"]]
    for method in ("PUT", "PATCH", "POST", "DELETE"):
        assert tenant.admin.request(method, "/v1/audit-logs").status_code == 405
        assert tenant.admin.request(method, f"/v1/audit-logs/{denied['id']}").status_code in {404, 405}
    assert tenant.log(agent_id=agent) == before
    assert [entry["id"] for entry in tenant.log(agent_id=agent, result="denied")] == [denied["id"]]


def test_1_7_keys_authenticate_all_requests_and_carry_scopes(tenant):
    """Without one there is 401, with too little scope 403."""
    body = {"name": "a"}
    assert tenant.admin.post("/v1/agents", json=body, headers={"Authorization": ""}).status_code == 401
    assert tenant.reader.post("/v1/agents", json=body).status_code == 403
    assert tenant.admin.post("/v1/agents", json=body).status_code == 201


# §2.1 API key


def listed(tenant, key):
    return next(each for each in tenant.admin.get("/v1/api-keys").json() if each["id"] == key["id"])


def test_2_1_id(tenant):
    """A UUID, the same in the list."""
    key = tenant.new_key(["read"])
    assert UUID(key["id"])
    assert listed(tenant, key)["id"] == key["id"]


@pytest.mark.parametrize("name", ["n", "n" * 255])
def test_2_1_name(tenant, name):
    """1 to 255 characters."""
    made = tenant.admin.post("/v1/api-keys", json={"name": name, "scopes": ["read"]})
    assert (made.status_code, made.json()["name"]) == (201, name)
    for wrong in ("", name + "n" * 255):
        assert tenant.admin.post("/v1/api-keys", json={"name": wrong, "scopes": ["read"]}).status_code == 400


def test_2_1_prefix(tenant):
    """The key's first 12 characters: its type and 8 hex digits."""
    key = tenant.new_key(["read"])
    assert key["prefix"] == key["key"][:12] == listed(tenant, key)["prefix"]
    assert re.fullmatch(r"svc_[0-9a-f]{8}", key["prefix"])


@pytest.mark.parametrize("scopes", [["admin"], ["read"], ["admin", "read"]])
def test_2_1_scopes(tenant, scopes):
    """Admin and read, alone or together."""
    key = tenant.new_key(scopes)
    assert key["scopes"] == scopes == listed(tenant, key)["scopes"]


def test_2_1_expires_at(tenant):
    """ISO 8601; null means never."""
    assert tenant.new_key(["read"])["expiresAt"] is None
    key = tenant.new_key(["read"], expiresAt="2999-01-01T01:00:00+01:00")
    assert key["expiresAt"] == "2999-01-01T00:00:00.000Z" == listed(tenant, key)["expiresAt"]


def test_2_1_last_used_at(tenant):
    """Null until a request is authenticated by it; in lists only."""
    key = tenant.new_key(["read"])
    assert "lastUsedAt" not in key
    assert listed(tenant, key)["lastUsedAt"] is None
    with tenant.replica.client(key["key"]) as client:
        client.get("/v1/agents")
    assert ISO_8601(listed(tenant, key)["lastUsedAt"])


def test_2_1_created_at(tenant):
    """ISO 8601."""
    assert ISO_8601(tenant.new_key(["read"])["createdAt"])


def test_2_1_key(tenant):
    """In the creation's response, and in no list."""
    key = tenant.new_key(["read"])
    assert "key" in key
    assert "key" not in listed(tenant, key)
    assert key["key"] not in tenant.admin.get("/v1/api-keys").text


def test_2_1_key_format(tenant):
    """svc_ and 32 hex characters."""
    assert re.fullmatch(r"svc_[0-9a-f]{32}", tenant.new_key(["read"])["key"])


# §2.2 Policy


def test_2_2_id(tenant, agent):
    """A UUID by which it is read."""
    policy = tenant.new_policy(agent)
    assert UUID(policy["id"])
    assert tenant.reader.get(f"/v1/policies/{policy['id']}").json() == policy


def test_2_2_agent_id(tenant, agent):
    """The agent it governs."""
    assert tenant.new_policy(agent)["agentId"] == agent


@pytest.mark.parametrize(("name", "status"), [("", 400), ("n", 201), ("n" * 255, 201), ("n" * 256, 400)])
def test_2_2_name(tenant, agent, name, status):
    """1 to 255 characters."""
    answer = tenant.admin.post("/v1/policies", json={"agent_id": agent, "name": name, "rules": [FREE]})
    assert answer.status_code == status


@pytest.mark.parametrize(("count", "status"), [(0, 400), (1, 201), (50, 201), (51, 400)])
def test_2_2_rules(tenant, agent, count, status):
    """1 to 50, in order."""
    rules = [{"type": "tool_denylist", "tools": [f"tool.{n}"]} for n in range(count)]
    answer = tenant.admin.post("/v1/policies", json={"agent_id": agent, "name": "p", "rules": rules})
    assert answer.status_code == status
    assert status == 400 or answer.json()["rules"] == rules


@pytest.mark.parametrize(("priority", "status"), [(-1, 400), (0, 201), (1000, 201), (1001, 400)])
def test_2_2_priority(tenant, agent, priority, status):
    """0 to 1000."""
    body = {"agent_id": agent, "name": "p", "rules": [FREE], "priority": priority}
    assert tenant.admin.post("/v1/policies", json=body).status_code == status


def test_2_2_priority_default(tenant, agent):
    """0 if it is left out."""
    assert tenant.new_policy(agent)["priority"] == 0


def test_2_2_enabled(tenant, agent):
    """True on creation; a disabled policy is skipped."""
    assert tenant.new_policy(agent)["enabled"] is True
    other = tenant.new_agent()["id"]
    assert tenant.new_policy(other, enabled=False)["enabled"] is False
    assert tenant.authorize(other)["policyId"] is None


def test_2_2_created_at(tenant, agent):
    """ISO 8601, and it stays."""
    policy = tenant.new_policy(agent)
    assert ISO_8601(policy["createdAt"])
    changed = tenant.admin.patch(f"/v1/policies/{policy['id']}", json={"name": "n"}).json()
    assert changed["createdAt"] == policy["createdAt"]


def test_2_2_updated_at(tenant, agent):
    """ISO 8601; it moves with every change."""
    policy = tenant.new_policy(agent)
    assert policy["updatedAt"] == policy["createdAt"]
    changed = tenant.admin.patch(f"/v1/policies/{policy['id']}", json={"name": "n"}).json()
    assert ISO_8601(changed["updatedAt"])
    assert changed["updatedAt"] > policy["updatedAt"]


# §2.3 Policy rule


@pytest.mark.parametrize("missing", ["type", "tools"])
def test_2_3_every_rule_has_a_type_and_tools(tenant, agent, missing):
    """Without one of them it is no rule."""
    rule = {name: value for name, value in FREE.items() if name != missing}
    answer = tenant.admin.post("/v1/policies", json={"agent_id": agent, "name": "p", "rules": [rule]})
    assert answer.status_code == 400


def test_2_3_a_star_stands_for_all_tools(tenant, agent):
    """Whatever they are called."""
    policy = tenant.new_policy(agent, {"type": "tool_denylist", "tools": ["*"]})
    for tool in ("a", "file.read", "Ünïcode.tool"):
        assert tenant.authorize(agent, tool)["policyId"] == policy["id"]


def test_2_3_tool_denylist(tenant, agent):
    """Its tools, dotted names, are denied, others are not."""
    tenant.new_policy(agent, {"type": "tool_denylist", "tools": ["file.delete", "group.action"]}, FREE)
    assert tenant.authorize(agent, "group.action")["result"] == "denied"
    assert tenant.authorize(agent, "group.other")["result"] == "allowed"


def test_2_3_parameter_constraint(tenant, agent):
    """An object mapping a parameter's name to a constraint with a regex."""
    rule = {"type": "parameter_constraint", "tools": ["file.*"], "parameters": {"path": {"regex": "^/tmp/"}}}
    assert tenant.new_policy(agent, rule)["rules"] == [rule]
    assert tenant.authorize(agent, parameters={"path": "/tmp/x"})["result"] == "allowed"
    assert tenant.authorize(agent, parameters={"path": "/etc/passwd"})["result"] == "denied"


def test_2_3_rate_limit(tenant, agent):
    """An object with maxCalls and windowSeconds; never more than maxCalls, however many ask at once."""
    rule = {"type": "rate_limit", "tools": ["*"], "rateLimit": {"maxCalls": 3, "windowSeconds": 3600}}
    assert tenant.new_policy(agent, rule)["rules"] == [rule]
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda _: tenant.authorize(agent)["result"], range(24)))
    assert (results.count("allowed"), results.count("denied")) == (3, 21)


def test_2_3_time_based(tenant, agent):
    """An object with allowedHours, allowedDays and timezone."""
    rule = {"type": "time_based", "tools": ["*"], "timeWindow": ALWAYS}
    policy = tenant.new_policy(agent, rule)
    assert policy["rules"] == [rule]
    inside = tenant.authorize(agent)
    assert inside["result"] == "allowed"
    tenant.new_policy(agent, {**rule, "timeWindow": only_hours_other_than(inside)}, priority=1)
    assert tenant.authorize(agent)["result"] == "denied"


# §2.4 Audit log entry


@pytest.fixture(scope="module")
def judged(tenant):
    """A decision and its entry."""
    agent = tenant.new_agent()["id"]
    tenant.new_policy(agent)
    call = {"action": "send", "parameters": {"to": "a@b.example", "n": 1}}
    decision = tenant.authorize(agent, "mail.send", **call)
    return agent, decision, tenant.log(agent_id=agent)[0]


def test_2_4_id(judged):
    """Unique, and the answer's."""
    _, decision, entry = judged
    assert UUID(entry["id"])
    assert entry["id"] == decision["id"]


def test_2_4_agent_id(judged):
    """The agent that made the request."""
    agent, _, entry = judged
    assert entry["agentId"] == agent


def test_2_4_action(judged):
    """The action field of the request."""
    assert judged[2]["action"] == "send"


def test_2_4_tool_name(judged):
    """The tool that was evaluated."""
    assert judged[2]["toolName"] == "mail.send"


def test_2_4_parameters(judged):
    """As they were passed with the call."""
    assert judged[2]["parameters"] == {"to": "a@b.example", "n": 1}


def test_2_4_result(tenant, agent):
    """Allowed, denied or escalated."""
    tenant.new_policy(
        agent,
        {"type": "tool_denylist", "tools": ["b"]},
        {"type": "approval_required", "tools": ["c"]},
        FREE,
    )
    for tool, result in (("a", "allowed"), ("b", "denied"), ("c", "escalated")):
        assert tenant.authorize(agent, tool)["result"] == result
        assert tenant.log(agent_id=agent)[0]["result"] == result


def test_2_4_policy_id(tenant, judged):
    """The policy that decided; null means default deny."""
    agent, decision, entry = judged
    policies = tenant.reader.get("/v1/policies", params={"agent_id": agent}).json()
    assert entry["policyId"] == decision["policyId"] == policies[0]["id"]
    other = tenant.new_agent()["id"]
    tenant.authorize(other)
    assert tenant.log(agent_id=other)[0]["policyId"] is None


def test_2_4_reason(judged):
    """For people, and the answer's."""
    _, decision, entry = judged
    assert entry["reason"] == decision["reason"] == 'Policy "a policy" allows "mail.send"'


def test_2_4_latency_ms(judged):
    """Milliseconds, the same in the answer."""
    _, decision, entry = judged
    assert entry["latencyMs"] == decision["latencyMs"] >= 0


def test_2_4_timestamp(judged):
    """ISO 8601, the same in the answer."""
    _, decision, entry = judged
    assert ISO_8601(entry["timestamp"])
    assert entry["timestamp"] == decision["timestamp"]


# §3 States and transitions


def change(tenant, policy, **fields):
    answer = tenant.admin.patch(f"/v1/policies/{policy['id']}", json=fields)
    assert answer.status_code == 200
    return {name: value for name, value in answer.json().items() if name != "warnings"}


def test_3_1_created_enabled(tenant, agent):
    """POST with enabled omitted."""
    assert tenant.new_policy(agent)["enabled"] is True
    assert tenant.authorize(agent)["result"] == "allowed"


def test_3_1_created_disabled(tenant, agent):
    """POST with enabled false."""
    assert tenant.new_policy(agent, enabled=False)["enabled"] is False
    assert tenant.authorize(agent)["policyId"] is None


def test_3_1_enabled_to_disabled(tenant, agent):
    """PATCH with enabled false: updatedAt changes, the policy is skipped at once; admin only."""
    policy = tenant.new_policy(agent)
    assert tenant.reader.patch(f"/v1/policies/{policy['id']}", json={"enabled": False}).status_code == 403
    changed = change(tenant, policy, enabled=False)
    assert changed == {
        **policy,
        "enabled": False,
        "updatedAt": changed["updatedAt"],
        "version": policy["version"] + 1,
    }
    assert changed["updatedAt"] > policy["updatedAt"]
    assert tenant.authorize(agent)["policyId"] is None


def test_3_1_disabled_to_enabled(tenant, agent):
    """PATCH with enabled true: it is evaluated again at once."""
    policy = tenant.new_policy(agent, enabled=False)
    assert change(tenant, policy, enabled=True)["enabled"] is True
    assert tenant.authorize(agent)["policyId"] == policy["id"]


@pytest.mark.parametrize("enabled", [True, False])
def test_3_1_removed(tenant, agent, enabled):
    """DELETE, in either state: later reads return 404 POLICY_NOT_FOUND."""
    policy = tenant.new_policy(agent, enabled=enabled)
    path = f"/v1/policies/{policy['id']}"
    assert tenant.reader.delete(path).status_code == 403
    assert tenant.admin.delete(path).status_code == 204
    gone = tenant.reader.get(path)
    assert (gone.status_code, gone.json()["error"]["code"]) == (404, "POLICY_NOT_FOUND")
    assert tenant.authorize(agent)["policyId"] is None


def test_3_2_active(tenant):
    """POST by an admin: the key works, and its raw form is in this one answer."""
    assert tenant.reader.post("/v1/api-keys", json={"name": "k", "scopes": ["read"]}).status_code == 403
    key = tenant.new_key(["read"])
    with tenant.replica.client(key["key"]) as client:
        assert client.get("/v1/agents").status_code == 200


def test_3_2_revoked(tenant, agent, other_replica):
    """DELETE by an admin: 401 at once, on every endpoint and replica, also where it had just been used."""
    key = tenant.new_key(["admin"])
    call = {"agent_id": agent, "tool_name": "t"}
    with tenant.replica.client(key["key"]) as here, other_replica.client(key["key"]) as there:
        for client in (here, there):
            assert client.post("/v1/authorize", json=call).status_code == 200
        assert tenant.reader.delete(f"/v1/api-keys/{key['id']}").status_code == 403
        assert tenant.admin.delete(f"/v1/api-keys/{key['id']}").status_code == 204
        for client in (here, there):
            assert client.post("/v1/authorize", json=call).status_code == 401
            assert client.get("/v1/policies").status_code == 401


def test_3_3_only_a_decision_creates_an_entry(tenant, agent):
    """Not the administration of anything, not a refused request."""
    policy = tenant.new_policy(agent)
    change(tenant, policy, name="n")
    tenant.reader.post("/v1/authorize", json={"agent_id": agent})
    assert tenant.log(agent_id=agent) == []
    decision = tenant.authorize(agent)
    assert [entry["id"] for entry in tenant.log(agent_id=agent)] == [decision["id"]]


# §4.1 API keys


def test_4_1_post(tenant):
    """201 with these fields and no other."""
    answer = tenant.admin.post("/v1/api-keys", json={"name": "k", "scopes": ["read"]})
    assert answer.status_code == 201
    assert set(answer.json()) == {"id", "name", "prefix", "scopes", "expiresAt", "createdAt", "key"}


@pytest.mark.parametrize("missing", ["name", "scopes"])
def test_4_1_post_required(tenant, missing):
    """The name and the scopes are required."""
    body = {"name": "k", "scopes": ["read"]}
    del body[missing]
    assert tenant.admin.post("/v1/api-keys", json=body).status_code == 400


def test_4_1_post_expires_at_is_optional(tenant):
    """Omitted means no expiry."""
    answer = tenant.admin.post("/v1/api-keys", json={"name": "k", "scopes": ["read"]})
    assert answer.json()["expiresAt"] is None


def test_4_1_get(tenant):
    """An array of these fields, never the raw key."""
    tenant.new_key(["read"])
    answer = tenant.admin.get("/v1/api-keys")
    assert answer.status_code == 200
    fields = {"id", "name", "prefix", "scopes", "expiresAt", "lastUsedAt", "createdAt"}
    assert all(set(each) == fields for each in answer.json())


def test_4_1_delete(tenant):
    """204 without a body; then 404 API_KEY_NOT_FOUND."""
    path = f"/v1/api-keys/{tenant.new_key(['read'])['id']}"
    done = tenant.admin.delete(path)
    assert (done.status_code, done.content) == (204, b"")
    again = tenant.admin.delete(path)
    assert (again.status_code, again.json()["error"]["code"]) == (404, "API_KEY_NOT_FOUND")


# §4.2 Policies


def test_4_2_post(tenant, agent):
    """201 and the Policy; agent_id goes in, agentId comes out."""
    answer = tenant.admin.post("/v1/policies", json={"agent_id": agent, "name": "p", "rules": [FREE]})
    assert answer.status_code == 201
    fields = {"id", "agentId", "name", "rules", "priority", "enabled", "createdAt", "updatedAt"}
    assert fields <= set(answer.json())
    assert "agent_id" not in answer.json()


@pytest.mark.parametrize("missing", ["agent_id", "name", "rules"])
def test_4_2_post_required(tenant, agent, missing):
    """These three are required."""
    body = {"agent_id": agent, "name": "p", "rules": [FREE]}
    del body[missing]
    assert tenant.admin.post("/v1/policies", json=body).status_code == 400


def test_4_2_post_agent_id(store, replica, tenant):
    """The agent must belong to the workspace."""
    other = Tenant(store.url, replica)
    for agent in (UNKNOWN, other.new_agent()["id"]):
        answer = tenant.admin.post("/v1/policies", json={"agent_id": agent, "name": "p", "rules": [FREE]})
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "AGENT_NOT_FOUND")
    other.close()


def test_4_2_post_defaults(tenant, agent):
    """Priority 0, enabled."""
    policy = tenant.new_policy(agent)
    assert (policy["priority"], policy["enabled"]) == (0, True)


def test_4_2_get_list(tenant, agent):
    """An array of Policies; agent_id restricts it to one agent."""
    mine, other = tenant.new_policy(agent), tenant.new_policy(tenant.new_agent()["id"])
    everything = tenant.reader.get("/v1/policies").json()
    assert mine in everything
    assert other in everything
    assert tenant.reader.get("/v1/policies", params={"agent_id": agent}).json() == [mine]


def test_4_2_get(tenant, agent):
    """The Policy, or 404 POLICY_NOT_FOUND."""
    policy = tenant.new_policy(agent)
    assert tenant.reader.get(f"/v1/policies/{policy['id']}").json() == policy
    missing = tenant.reader.get(f"/v1/policies/{UNKNOWN}")
    assert (missing.status_code, missing.json()["error"]["code"]) == (404, "POLICY_NOT_FOUND")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", "other"),
        ("rules", [{"type": "tool_denylist", "tools": ["x"]}]),
        ("priority", 7),
        ("enabled", False),
    ],
)
def test_4_2_patch(tenant, agent, field, value):
    """Each field alone: only it changes, and the answer is the updated Policy."""
    policy = tenant.new_policy(agent, FREE, FREE)
    changed = change(tenant, policy, **{field: value})
    moved = {"updatedAt": changed["updatedAt"], "version": changed["version"]}
    assert changed == {**policy, field: value, **moved}
    assert tenant.reader.get(f"/v1/policies/{policy['id']}").json() == changed


def test_4_2_patch_with_no_field(tenant, agent):
    """All are optional: nothing changes."""
    policy = tenant.new_policy(agent)
    assert change(tenant, policy) == policy


@pytest.mark.parametrize(
    "wrong", [{"name": ""}, {"rules": []}, {"rules": [FREE] * 51}, {"priority": 1001}, {"priority": -1}]
)
def test_4_2_patch_limits(tenant, agent, wrong):
    """Those of POST."""
    policy = tenant.new_policy(agent)
    assert tenant.admin.patch(f"/v1/policies/{policy['id']}", json=wrong).status_code == 400


def test_4_2_patch_of_an_unknown_policy(tenant):
    """404 POLICY_NOT_FOUND."""
    answer = tenant.admin.patch(f"/v1/policies/{UNKNOWN}", json={"name": "n"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "POLICY_NOT_FOUND")


def test_4_2_delete(tenant, agent):
    """204 without a body; then 404 POLICY_NOT_FOUND."""
    path = f"/v1/policies/{tenant.new_policy(agent)['id']}"
    done = tenant.admin.delete(path)
    assert (done.status_code, done.content) == (204, b"")
    again = tenant.admin.delete(path)
    assert (again.status_code, again.json()["error"]["code"]) == (404, "POLICY_NOT_FOUND")


# §4.3 Audit log


@pytest.fixture(scope="module")
def history(tenant):
    """Two agents, two tools, two actions, all results: the entries, newest first."""
    first, second = tenant.new_agent()["id"], tenant.new_agent()["id"]
    tenant.new_policy(first, {"type": "approval_required", "tools": ["b"]}, FREE)
    for agent in (first, second):
        for tool in ("a", "b"):
            for action in ("one", "two"):
                tenant.authorize(agent, tool, action=action)
    entries = [entry for entry in tenant.log(limit=1000) if entry["agentId"] in {first, second}]
    assert len(entries) == 8
    return first, entries


@pytest.mark.parametrize(
    ("parameter", "field", "value"),
    [
        ("action", "action", "one"),
        ("toolName", "toolName", "b"),
        ("tool_name", "toolName", "b"),
        ("result", "result", "escalated"),
        ("result", "result", "denied"),
        ("result", "result", "allowed"),
    ],
)
def test_4_3_filters(tenant, history, parameter, field, value):
    """Action, tool name and result: only the entries that have it."""
    agent, entries = history
    wanted = [entry for entry in entries if entry["agentId"] == agent and entry[field] == value]
    assert tenant.log(**{"agent_id": agent, parameter: value}) == wanted
    assert wanted or value == "denied"


@pytest.mark.parametrize("parameter", ["agent_id", "agentId"])
def test_4_3_agent_id(tenant, history, parameter):
    """Only the entries of this agent."""
    agent, entries = history
    assert tenant.log(**{parameter: agent}) == [entry for entry in entries if entry["agentId"] == agent]


def test_4_3_from_and_to(tenant, history):
    """At or after, at or before: both bounds are inside."""
    agent, _ = history
    entries = tenant.log(agent_id=agent)
    for entry in entries:
        instant = entry["timestamp"]
        assert tenant.log(agent_id=agent, **{"from": instant, "to": instant}) == [
            each for each in entries if each["timestamp"] == instant
        ]
        assert tenant.log(agent_id=agent, **{"from": instant}) == [
            each for each in entries if each["timestamp"] >= instant
        ]
        assert tenant.log(agent_id=agent, to=instant) == [each for each in entries if each["timestamp"] <= instant]


def test_4_3_filters_combine(tenant, history):
    """All that are given must match; an omitted one is not applied."""
    agent, entries = history
    wanted = [
        entry
        for entry in entries
        if (entry["agentId"], entry["action"], entry["toolName"], entry["result"]) == (agent, "two", "b", "escalated")
    ]
    assert len(wanted) == 1
    assert tenant.log(agent_id=agent, action="two", toolName="b", result="escalated") == wanted
    assert len(tenant.log(limit=1000)) >= len(entries)


def test_4_3_limit(tenant, agent):
    """100 entries if it is left out, at most as many as it says."""
    for _ in range(101):
        tenant.authorize(agent)
    assert len(tenant.log(agent_id=agent)) == 100
    assert len(tenant.log(agent_id=agent, limit=101)) == 101
    assert len(tenant.log(agent_id=agent, limit=3)) == 3


def test_4_3_offset(tenant, history):
    """None are skipped if it is left out, else as many as it says."""
    agent, _ = history
    entries = tenant.log(agent_id=agent)
    assert tenant.log(agent_id=agent, offset=0) == entries
    assert tenant.log(agent_id=agent, offset=1) == entries[1:]
    assert tenant.log(agent_id=agent, offset=len(entries)) == []


def test_4_3_response(tenant, history):
    """A JSON array of entries."""
    agent, _ = history
    fields = {"id", "agentId", "action", "toolName", "parameters", "result", "policyId", "reason", "latencyMs"}
    for entry in tenant.log(agent_id=agent):
        assert fields | {"timestamp"} <= set(entry)


def test_4_3_pagination(tenant, history):
    """Pages of a fixed limit and an increasing offset give every entry once; a short page is the last."""
    agent, _ = history
    pages = []
    while not pages or len(pages[-1]) == 3:
        pages.append(tenant.log(agent_id=agent, limit=3, offset=3 * len(pages)))
    assert [len(page) for page in pages] == [3, 1]
    assert [entry for page in pages for entry in page] == tenant.log(agent_id=agent)


# §4.4 Other endpoints


def test_4_4_authorize(tenant, agent):
    """A read key suffices; it evaluates and writes an entry."""
    assert tenant.authorize(agent)["id"] == tenant.log(agent_id=agent)[0]["id"]


def test_4_4_agents(tenant):
    """A read key lists; an admin key creates, updates and deletes."""
    agent = tenant.new_agent()
    path = f"/v1/agents/{agent['id']}"
    assert agent in tenant.reader.get("/v1/agents").json()
    assert tenant.admin.patch(path, json={"name": "other"}).json()["name"] == "other"
    for method in ("PATCH", "DELETE"):
        assert tenant.reader.request(method, path, json={}).status_code == 403
    assert tenant.admin.delete(path).status_code == 204
    assert tenant.reader.get(path).status_code == 404


# §5 Authentication


def test_5_1_the_header(tenant):
    """Authorization: Bearer, a space, the key."""
    for headers, status in (
        ({"Authorization": f"Bearer {tenant.read_key}"}, 200),
        ({"Authorization": tenant.read_key}, 401),
        ({"X-Api-Key": tenant.read_key, "Authorization": ""}, 401),
    ):
        assert tenant.reader.get("/v1/agents", headers=headers).status_code == status


def test_5_2_a_key_has_one_or_more_scopes(tenant):
    """None is too few."""
    assert tenant.admin.post("/v1/api-keys", json={"name": "k", "scopes": []}).status_code == 400
    assert tenant.new_key(["read", "admin"])["scopes"] == ["read", "admin"]


def test_5_2_admin(tenant):
    """Creates, updates and deletes agents, policies and keys, and calls all read endpoints."""
    with tenant.replica.client(tenant.new_key(["admin"])["key"]) as client:
        agent = client.post("/v1/agents", json={"name": "a"}).json()["id"]
        policy = client.post("/v1/policies", json={"agent_id": agent, "name": "p", "rules": [FREE]}).json()["id"]
        key = client.post("/v1/api-keys", json={"name": "k", "scopes": ["read"]}).json()["id"]
        assert client.post("/v1/authorize", json={"agent_id": agent, "tool_name": "t"}).status_code == 200
        for path in ("/v1/agents", "/v1/policies", "/v1/audit-logs", "/v1/api-keys"):
            assert client.get(path).status_code == 200
        for path in (f"/v1/agents/{agent}", f"/v1/policies/{policy}"):
            assert client.patch(path, json={"name": "n"}).status_code == 200
        for path in (f"/v1/policies/{policy}", f"/v1/agents/{agent}", f"/v1/api-keys/{key}"):
            assert client.delete(path).status_code == 204


def test_5_2_read(tenant, agent):
    """POST /v1/authorize, GET /v1/agents, GET /v1/policies, GET /v1/audit-logs; for GET /v1/api-keys see 5.3."""
    assert tenant.reader.post("/v1/authorize", json={"agent_id": agent, "tool_name": "t"}).status_code == 200
    for path in ("/v1/agents", "/v1/policies", "/v1/audit-logs"):
        assert tenant.reader.get(path).status_code == 200


def test_5_3_keys_are_an_admins(tenant):
    """Creating and deleting as the conflict note says; listing by the endpoint's own statement."""
    key = tenant.new_key(["read"])
    assert tenant.reader.get("/v1/api-keys").status_code == 403
    assert tenant.reader.post("/v1/api-keys", json={"name": "k", "scopes": ["read"]}).status_code == 403
    assert tenant.reader.delete(f"/v1/api-keys/{key['id']}").status_code == 403


def test_5_4_the_raw_key_is_returned_once(tenant):
    """No later answer has it; it is revoked and replaced."""
    key = tenant.new_key(["read"])
    assert key["key"] not in tenant.admin.get("/v1/api-keys").text
    assert tenant.admin.get(f"/v1/api-keys/{key['id']}").status_code == 405
    assert tenant.admin.delete(f"/v1/api-keys/{key['id']}").status_code == 204
    assert tenant.new_key(["read"])["key"] != key["key"]


def test_5_5_a_revoked_key_is_401_at_once(tenant):
    """The first request after the answer."""
    key = tenant.new_key(["read"])
    with tenant.replica.client(key["key"]) as client:
        assert client.get("/v1/agents").status_code == 200
        tenant.admin.delete(f"/v1/api-keys/{key['id']}")
        assert client.get("/v1/agents").status_code == 401


def test_5_6_last_used_at_is_the_last_authenticated_request(tenant, agent):
    """A decision counts as well as a read."""
    key = tenant.new_key(["read"])
    with tenant.replica.client(key["key"]) as client:
        decision = client.post("/v1/authorize", json={"agent_id": agent, "tool_name": "t"}).json()
    assert listed(tenant, key)["lastUsedAt"] <= decision["timestamp"]
    assert listed(tenant, key)["lastUsedAt"] >= key["createdAt"]


def test_5_7_rotation(tenant):
    """The new key works before the old one is deleted, and after."""
    old = tenant.new_key(["read"])
    new = tenant.new_key(["read"])
    with tenant.replica.client(old["key"]) as before, tenant.replica.client(new["key"]) as after:
        assert [client.get("/v1/agents").status_code for client in (before, after)] == [200, 200]
        tenant.admin.delete(f"/v1/api-keys/{old['id']}")
        assert [client.get("/v1/agents").status_code for client in (before, after)] == [401, 200]


def test_5_8_expires_at_is_the_expiry_time(tenant):
    """A key whose time has passed is refused, one whose time has not is let in."""
    for expires_at, status in (("2020-01-01T00:00:00Z", 401), ("2999-01-01T00:00:00Z", 200)):
        key = tenant.new_key(["read"], expiresAt=expires_at)
        with tenant.replica.client(key["key"]) as client:
            assert client.get("/v1/agents").status_code == status


# §7 Errors


def test_7_a_revoked_key(tenant):
    """401."""
    key = tenant.new_key(["read"])
    tenant.admin.delete(f"/v1/api-keys/{key['id']}")
    with tenant.replica.client(key["key"]) as client:
        answer = client.get("/v1/policies")
    assert (answer.status_code, answer.json()["error"]["code"]) == (401, "UNAUTHORIZED")


def test_7_api_key_not_found(tenant):
    """404 on DELETE of an unknown key."""
    answer = tenant.admin.delete(f"/v1/api-keys/{UNKNOWN}")
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "API_KEY_NOT_FOUND")


@pytest.mark.parametrize("method", ["GET", "PATCH", "DELETE"])
def test_7_policy_not_found(tenant, method):
    """404 on an unknown policy."""
    answer = tenant.admin.request(method, f"/v1/policies/{UNKNOWN}", **({"json": {}} if method == "PATCH" else {}))
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "POLICY_NOT_FOUND")


# §8 Limits: the ranges stand with their fields in §2; here is what they have in common.


@pytest.mark.parametrize("path", ["/v1/api-keys", "/v1/policies"])
def test_8_name_length(tenant, agent, path):
    """1 to 255 for keys and policies, counted in characters and not in bytes."""
    others = {"scopes": ["read"]} if path == "/v1/api-keys" else {"agent_id": agent, "rules": [FREE]}
    for name, status in (("é" * 255, 201), ("é" * 256, 400), ("", 400)):
        assert tenant.admin.post(path, json={"name": name, **others}).status_code == status


@pytest.mark.parametrize("method", ["POST", "PATCH"])
@pytest.mark.parametrize(
    ("field", "inside", "outside"), [("rules", [FREE] * 50, [FREE] * 51), ("priority", 1000, 1001)]
)
def test_8_rules_and_priority(tenant, agent, method, field, inside, outside):
    """The same in POST and PATCH."""
    path = f"/v1/policies/{tenant.new_policy(agent)['id']}" if method == "PATCH" else "/v1/policies"
    body = {} if method == "PATCH" else {"agent_id": agent, "name": "p", "rules": [FREE]}
    assert tenant.admin.request(method, path, json={**body, field: inside}).status_code < 300
    assert tenant.admin.request(method, path, json={**body, field: outside}).status_code == 400


def test_8_limit_and_offset_defaults(tenant, history):
    """100 and 0: leaving them out and giving them is the same."""
    agent, _ = history
    assert tenant.log(agent_id=agent) == tenant.log(agent_id=agent, limit=100, offset=0)


def test_8_latency_is_recorded(tenant, agent):
    """The target is measured by bench/; every decision carries its number."""
    decision = tenant.authorize(agent)
    assert isinstance(decision["latencyMs"], float | int)
    assert tenant.log(agent_id=agent)[0]["latencyMs"] == decision["latencyMs"]


# §9 Versioning


def test_9_all_endpoints_are_under_v1(tenant):
    """Without the prefix there is nothing."""
    for path in ("/agents", "/policies", "/api-keys", "/audit-logs", "/authorize"):
        assert tenant.admin.get(path).status_code == 404
        assert tenant.admin.get(f"/v1{path}").status_code in {200, 405}
