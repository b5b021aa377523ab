"""GET /v1/audit-logs/{id}/explanation: why a past decision was made, by the policies of its time."""

import pytest
from tenants import FREE, tenant_on

LIMITED = {"type": "rate_limit", "tools": ["*"], "rateLimit": {"maxCalls": 1, "windowSeconds": 60}}
BOUNDED = {"type": "parameter_constraint", "tools": ["pay"], "parameters": {"amount": {"max": 5}}}
SECRET = {"type": "parameter_constraint", "tools": ["pay"], "parameters": {"password": {"minLength": 8}}}
ASKED = {"type": "approval_required", "tools": ["pay"]}
SAME = ("id", "result", "policyId", "rule", "reason", "code")
UNKNOWN = "00000000-0000-7000-8000-000000000000"


tenant = tenant_on("asking_replica", scope="module")
"""A workspace on a replica that can ask people and keeps three versions of a policy."""


@pytest.fixture
def agent(tenant):
    return tenant.new_agent()["id"]


def explained(tenant, decision, status=200):
    answer = tenant.reader.get(f"/v1/audit-logs/{decision['id']}/explanation")
    assert answer.status_code == status, answer.text
    return answer.json()


def parts(told):
    """What each rule came to, by the name of its policy."""
    return {each["name"]: [rule["part"] for rule in each["rules"]] for each in told["policies"]}


def test_a_past_decision_is_explained_by_the_policies_of_its_time(tenant, agent):
    """Even if policies or agent have since been changed, deleted or suspended."""
    policy = tenant.new_policy(agent, FREE, BOUNDED, name="first")
    denied = tenant.authorize(agent, "pay", parameters={"amount": 9})
    tenant.admin.patch(f"/v1/policies/{policy['id']}", json={"rules": [FREE], "name": "second"})
    allowed = tenant.authorize(agent, "pay", parameters={"amount": 9})
    tenant.admin.delete(f"/v1/policies/{policy['id']}")
    nothing = tenant.authorize(agent, "pay", parameters={"amount": 9})
    tenant.admin.patch(f"/v1/agents/{agent}", json={"status": "suspended"})
    suspended = tenant.authorize(agent, "pay")
    tenant.admin.delete(f"/v1/agents/{agent}")

    versions = [each.get("policyVersion") for each in tenant.log(agent_id=agent)]
    assert versions == [None, None, 2, 1], "the newest is first; no policy decided it"
    told = explained(tenant, denied)
    assert parts(told) == {"first": ["passed", "failed"]}
    assert {name: told[name] for name in SAME} == {name: denied[name] for name in SAME}
    assert (told["policies"][0]["version"], told["policyName"], told["unknown"]) == (1, "first", [])
    assert told["policies"][0]["rules"][1]["values"] == [{"name": "parameters.amount", "value": 9}]
    assert parts(explained(tenant, allowed)) == {"second": ["passed"]}
    assert (parts(explained(tenant, nothing)), explained(tenant, nothing)["rule"]) == ({}, None)
    told = explained(tenant, suspended)
    assert (told["agent"]["status"], told["reason"], told["policies"]) == ("suspended", "Agent is suspended", [])


def test_a_rule_that_reads_a_hidden_value_and_allowed_the_call_has_passed(tenant, agent):
    """It is the one that the entry names; it did not fail."""
    tenant.new_policy(agent, SECRET, name="secret")
    allowed = tenant.authorize(agent, "pay", parameters={"password": "long enough"})
    assert allowed["result"] == "allowed"
    told = explained(tenant, allowed)
    assert (parts(told), told["unknown"]) == ({"secret": ["passed"]}, ["parameters.password"])
    denied = tenant.authorize(agent, "pay", parameters={"password": "short"})
    assert parts(explained(tenant, denied)) == {"secret": ["failed"]}


def test_limits_are_explained_as_far_as_the_decision_tells(tenant, agent):
    """The limit that decided was full, earlier ones had room, and later ones are unknown."""
    other = LIMITED | {"rateLimit": {"maxCalls": 9, "windowSeconds": 60}}
    tenant.new_policy(agent, FREE, other, LIMITED, LIMITED | {"tools": ["p*"]}, name="limits")
    allowed, full = tenant.authorize(agent, "pay"), tenant.authorize(agent, "pay")
    assert parts(explained(tenant, allowed)) == {"limits": ["passed"] * 4}
    told = explained(tenant, full)
    assert parts(told) == {"limits": ["passed", "passed", "failed", "unknown"]}
    assert told["policies"][0]["rules"][2]["reason"] == full["reason"]


def test_values_the_log_does_not_hold_are_named_and_never_guessed(tenant, agent):
    """A rule that reads a redacted value is unknown, unless it was the one that decided."""
    tenant.new_policy(agent, FREE, SECRET, BOUNDED, name="p")
    allowed = tenant.authorize(agent, "pay", parameters={"amount": 1, "password": "long enough"})
    denied = tenant.authorize(agent, "pay", parameters={"amount": 1, "password": "short"})
    bounded = tenant.authorize(agent, "pay", parameters={"amount": 9, "password": "long enough"})
    told = explained(tenant, allowed)
    assert parts(told) == {"p": ["passed", "unknown", "passed"]}
    assert told["unknown"] == ["parameters.password"]
    assert parts(explained(tenant, denied)) == {"p": ["passed", "failed", "not_reached"]}
    assert explained(tenant, denied)["policies"][0]["rules"][1]["reason"] == denied["reason"]
    assert parts(explained(tenant, bounded)) == {"p": ["passed", "unknown", "failed"]}


def test_rules_are_not_guessed_if_nobody_can_know_which_applied(tenant, agent):
    """If the tier depends on a `when` that reads a redacted value, only the deciding rule is known."""
    when = {"when": {"parameters": {"password": {"minLength": 8}}}}
    tenant.new_policy(agent, {"type": "tool_denylist", "tools": ["pay"], **when}, name="high", priority=9)
    tenant.new_policy(agent, FREE, BOUNDED, name="low")
    allowed = tenant.authorize(agent, "pay", parameters={"amount": 1, "password": "short"})
    denied = tenant.authorize(agent, "pay", parameters={"amount": 1, "password": "long enough"})
    told = explained(tenant, allowed)
    assert (allowed["result"], denied["result"]) == ("allowed", "denied")
    assert told["policies"][0]["rules"][0]["part"] == "unknown"
    assert parts(explained(tenant, denied))["high"] == ["failed"]


def test_an_approved_call_is_explained_with_the_rule_that_asked(tenant, agent):
    """The rule failed, and its approval is named."""
    tenant.new_policy(agent, FREE, ASKED, name="p")
    asked = tenant.authorize(agent, "pay")
    with tenant.replica.client(tenant.new_key(["approve", "read"])["key"]) as people:
        people.post(f"/v1/approvals/{asked['approval']['id']}/approve", json={}).raise_for_status()
    allowed = tenant.authorize(agent, "pay")
    for decision in (asked, allowed):
        told = explained(tenant, decision)
        assert (told["result"], told["approvalId"]) == (decision["result"], asked["approval"]["id"])
        assert parts(told) == {"p": ["passed", "failed"]}


def test_too_many_changes_ago_is_gone_and_says_so(tenant, agent):
    """It is 410 with its own code; newer decisions can still be explained."""
    policy = tenant.new_policy(agent, FREE)
    first = tenant.authorize(agent, "pay")
    for priority in range(1, 4):
        tenant.admin.patch(f"/v1/policies/{policy['id']}", json={"priority": priority}).raise_for_status()
        newer = tenant.authorize(agent, "pay")
    assert explained(tenant, first, status=410)["error"]["code"] == "VERSION_NOT_KEPT"
    assert explained(tenant, newer)["policies"][0]["version"] == 4
    assert explained(tenant, {"id": UNKNOWN}, status=404)["error"]["code"] == "AUDIT_ENTRY_NOT_FOUND"
