"""POST /v1/explain: what authorize would answer, and why, over HTTP."""

import json

import pytest
from tenants import FREE, tenant_on

from app.settings import Settings

MAX_CALL_BYTES = Settings().call_bytes_max


UNKNOWN = "00000000-0000-7000-8000-000000000000"
LIMITED = {"type": "rate_limit", "tools": ["*"], "rateLimit": {"maxCalls": 1, "windowSeconds": 60}}
BOUNDED = {
    "type": "parameter_constraint",
    "tools": ["pay"],
    "parameters": {"amount": {"max": 5}, "apiKey": {"regex": "^x"}},
}
ALIKE = ("allowed", "result", "policyId", "rule", "reason", "code", "nextAction", "agentMessage")


tenant = tenant_on("asking_replica", scope="module")
"""A workspace on a replica that can ask people."""


@pytest.fixture
def agent(tenant):
    return tenant.new_agent()["id"]


def explain(tenant, agent, tool="pay", status=200, **fields):
    answer = tenant.reader.post("/v1/explain", json={"agent_id": agent, "tool_name": tool, **fields})
    assert answer.status_code == status, answer.text
    return answer.json()


def alike(answer):
    return {name: answer[name] for name in ALIKE if name in answer}


def test_it_says_what_authorize_answers_and_leaves_nothing_behind(tenant, agent):
    """The log, the limit and the counters of decisions are as before, however often it is asked."""
    tenant.new_policy(agent, FREE, LIMITED, BOUNDED)
    before = [line for line in tenant.reader.get("/metrics").text.splitlines() if line.startswith("remit_decisions")]
    for _ in range(3):
        told = explain(tenant, agent, parameters={"amount": 3, "apiKey": "xyz"})
        assert told["result"] == "allowed"
    assert tenant.log(agent_id=agent) == []
    after = [line for line in tenant.reader.get("/metrics").text.splitlines() if line.startswith("remit_decisions")]
    assert after == before

    given = tenant.authorize(agent, "pay", parameters={"amount": 3, "apiKey": "xyz"})
    assert alike(told) == alike(given)
    told = explain(tenant, agent, parameters={"amount": 3, "apiKey": "xyz"})
    refused = tenant.authorize(agent, "pay", parameters={"amount": 3, "apiKey": "xyz"})
    assert alike(told) == alike(refused)
    assert 0 < refused["retryAfterSeconds"] <= told["retryAfterSeconds"] <= 60


def test_it_says_what_the_agent_may_do_next_and_is_told(tenant, agent):
    """Code, next action and the policy's message are those of authorize, for every result."""
    asks, waits = {"type": "approval_required", "tools": ["mail"]}, LIMITED | {"tools": ["pay", "mail"]}
    tenant.new_policy(agent, FREE, waits, asks, BOUNDED, agentMessage="Ask the desk.")
    for tool, amount, wanted in (
        ("mail", 1, ("approval_required", "request_approval", "Ask the desk.")),
        ("pay", 9, ("parameter_invalid", "change_parameters", "Ask the desk.")),
        ("read", 1, ("allowed", "none", None)),
        ("pay", 3, ("allowed", "none", None)),
        ("pay", 3, ("quota_full", "retry", "Ask the desk.")),
    ):
        call = {"parameters": {"amount": amount, "apiKey": "xyz"}}
        told = explain(tenant, agent, tool, **call)
        assert (told["code"], told["nextAction"], told.get("agentMessage")) == wanted
        assert alike(told) == alike(tenant.authorize(agent, tool, **call))


def test_a_call_of_1_mib_is_explained_to_its_last_byte(tenant, agent):
    """Up to authorize's limit; one more byte is 413, announced or not."""
    ends = {"type": "parameter_constraint", "tools": ["pay"], "parameters": {"content": {"regex": "end$"}}}
    tenant.new_policy(agent, ends)
    call = {"agent_id": agent, "tool_name": "pay", "parameters": {"content": "end"}}
    text = "x" * (MAX_CALL_BYTES - len(json.dumps(call))) + "end"
    body = json.dumps(call | {"parameters": {"content": text}}).encode()
    told, given = (tenant.reader.post(path, content=body) for path in ("/v1/explain", "/v1/authorize"))
    assert (told.status_code, told.json()["result"]) == (200, "allowed")
    assert alike(told.json()) == alike(given.json())
    for content in (body + b" ", iter([body, b" "])):
        refused = tenant.reader.post("/v1/explain", content=content)
        assert (refused.status_code, refused.json()["error"]["code"]) == (413, "PAYLOAD_TOO_LARGE")


def test_each_rule_says_what_it_saw_and_no_secret_is_in_it(tenant, agent):
    """Values as the log keeps them, and what is left of the limit."""
    policy = tenant.new_policy(agent, FREE, LIMITED, BOUNDED)
    told = explain(tenant, agent, parameters={"amount": 9, "apiKey": "xyz-secret"})
    [part] = told["policies"]
    assert (part["id"], part["version"], part["governs"], part["part"]) == (policy["id"], 1, "agent", "failed")
    free, limited, bounded = part["rules"]
    assert (free["part"], free["pattern"], free["values"]) == ("passed", "*", [])
    assert limited["quota"] == {"most": 1, "taken": 0, "left": 1, "windowSeconds": 60, "freesInSeconds": None}
    assert bounded["values"] == [
        {"name": "parameters.amount", "value": 9},
        {"name": "parameters.apiKey", "value": "[REDACTED]"},
    ]
    assert bounded["reason"] == told["reason"] == 'Parameter "amount" is 9, above the maximum 5'
    assert "xyz-secret" not in str(told)


def test_a_breaker_shows_what_it_has_counted_and_what_is_left(tenant, agent):
    """Even if the call is denied by default and guardrails are not evaluated; explaining counts nothing."""
    terms = {"maxDenials": 3, "windowSeconds": 60, "action": "escalate"}
    breaker = {"type": "denial_breaker", "tools": ["pay"], "denialBreaker": terms}
    tenant.new_policy(agent, breaker, kind="guardrail")
    for denied in range(3):
        for _ in range(2):
            [part] = explain(tenant, agent)["policies"]
            [rule] = part["rules"]
            assert (rule["part"], rule["onFailure"]) == ("not_reached", "escalated")
            assert (rule["quota"]["taken"], rule["quota"]["left"]) == (denied, 3 - denied)
        assert tenant.authorize(agent, "pay")["code"] == "default_deny"
    tenant.new_policy(agent, FREE)
    told, given = explain(tenant, agent), tenant.authorize(agent, "pay")
    assert alike(told) == alike(given)
    assert (told["result"], told["reason"]) == ("escalated", "Denial breaker: 3 denials in 60 s")
    [rule] = next(part for part in told["policies"] if part["kind"] == "guardrail")["rules"]
    assert (rule["part"], rule["quota"]["left"]) == ("failed", 0)
    [rule] = explain(tenant, agent, "look")["policies"][1]["rules"]
    assert (rule["part"], rule["reason"]) == ("abstained", "does not cover the tool")


def test_a_breaker_per_value_shows_the_count_of_the_calls_value(tenant, agent):
    """A value that was never denied has all of it left."""
    terms = {"maxDenials": 1, "windowSeconds": 60, "action": "deny", "per": ["parameters.to"]}
    tenant.new_policy(agent, {"type": "denial_breaker", "tools": ["*"], "denialBreaker": terms}, kind="guardrail")
    tenant.new_policy(agent, FREE)
    tenant.new_policy(agent, {"type": "tool_denylist", "tools": ["rm"]})
    assert tenant.authorize(agent, "rm", parameters={"to": "ann"})["code"] == "tool_denied"
    for to, left in (("ann", 0), ("bob", 1)):
        call = {"parameters": {"to": to}}
        told = explain(tenant, agent, "pay", **call)
        assert alike(told) == alike(tenant.authorize(agent, "pay", **call))
        [rule] = next(part for part in told["policies"] if part["kind"] == "guardrail")["rules"]
        assert (rule["part"], rule["quota"]["left"]) == ("passed" if left else "failed", left)


def test_a_breaker_that_suspends_is_shown_as_abstaining(tenant, agent):
    """Alone or with other rules, whatever the answer; also afterwards, for the denial that filled it."""
    terms = {"maxDenials": 2, "windowSeconds": 60, "action": "suspend"}
    breaker = {"type": "denial_breaker", "tools": ["*"], "denialBreaker": terms}
    tenant.new_policy(agent, breaker, kind="guardrail")
    tenant.new_policy(agent, breaker, {"type": "tool_denylist", "tools": ["rm"]}, kind="guardrail")

    def shown(told):
        rules = [rule for part in told["policies"] if part["kind"] == "guardrail" for rule in part["rules"]]
        breakers = [rule for rule in rules if rule["type"] == "denial_breaker"]
        assert {(rule["part"], rule["reason"]) for rule in breakers} == {
            ("abstained", "counts the call if it is denied")
        }
        return [rule["quota"]["left"] for rule in breakers if "quota" in rule]

    assert shown(explain(tenant, agent)) == [2, 2]
    assert tenant.authorize(agent, "pay")["code"] == "default_deny"
    tenant.new_policy(agent, FREE)
    told = explain(tenant, agent)
    assert (told["result"], shown(told)) == ("allowed", [1, 1])
    told = explain(tenant, agent, "rm")
    assert (told["result"], told["rule"]["type"], shown(told)) == ("denied", "tool_denylist", [1, 1])
    filled = tenant.authorize(agent, "rm")
    assert filled["code"] == "tool_denied"
    assert shown(tenant.reader.get(f"/v1/audit-logs/{filled['id']}/explanation").json()) == []
    told = explain(tenant, agent)
    assert (told["code"], {part["part"] for part in told["policies"]}) == ("agent_suspended", {"not_reached"})


def test_a_draft_is_tried_and_stored_nowhere(tenant, agent):
    """In place of a policy, next to the others, or disabled."""
    policy = tenant.new_policy(agent, FREE)
    deny = {"name": "draft", "rules": [{"type": "tool_denylist", "tools": ["pay"]}], "agentMessage": "Ask the desk."}
    for draft in (deny | {"id": policy["id"]}, deny, deny | {"kind": "guardrail"}):
        told = explain(tenant, agent, policies=[draft])
        assert (told["result"], told["policyName"], told["policyId"]) == ("denied", "draft", draft.get("id"))
        assert told["agentMessage"] == "Ask the desk."
    shown = tenant.reader.get(f"/v1/policies/{policy['id']}").json()
    told = explain(tenant, agent, policies=[shown | {"enabled": False}])
    assert (told["result"], told["policyId"], told["policies"][0]["part"]) == ("denied", None, "off")
    assert explain(tenant, agent)["result"] == "allowed"
    assert [each["version"] for each in tenant.reader.get("/v1/policies", params={"agent_id": agent}).json()] == [1]


@pytest.mark.parametrize(
    ("draft", "place"),
    [
        ({"id": UNKNOWN}, "$.policies[0].id"),
        ({"agentId": UNKNOWN}, "$.policies[0].agentId"),
        ({"group": "strangers"}, "$.policies[0].group"),
        ({"rules": []}, "$.policies[0].rules"),
        ({"prioriti": 1}, "$.policies[0].prioriti"),
    ],
)
def test_a_draft_that_cannot_govern_the_agent_is_refused(tenant, agent, draft, place):
    """400 with the place."""
    refused = explain(tenant, agent, policies=[{"name": "d", "rules": [FREE]} | draft], status=400)
    assert [each["path"] for each in refused["error"]["details"]] == [place]


@pytest.mark.parametrize(
    ("fields", "place"),
    [
        ({"at": "tomorrow"}, "$.at"),
        ({"at": "2255-06-06T00:00:00Z"}, "$.at"),
        ({"dry_run": True}, "$.dry_run"),
        ({"agent_id": "an agent"}, "$.agent_id"),
        ({"tool_name": " "}, "$.tool_name"),
        ({"policies": [{}] * 51}, "$.policies"),
    ],
)
def test_a_wrong_question_is_refused_with_its_place(tenant, agent, fields, place):
    """Like every body."""
    body = {"agent_id": agent, "tool_name": "pay"} | fields
    refused = tenant.reader.post("/v1/explain", json=body)
    assert refused.status_code == 400
    assert [each["path"] for each in refused.json()["error"]["details"]] == [place]


def test_at_another_time_windows_and_limits_are_evaluated_for_that_time(tenant, agent):
    """On a coming Sunday, by when the limit is free again."""
    weekdays = {"type": "time_based", "tools": ["*"], "timeWindow": {"allowedDays": [1, 2, 3, 4, 5]}}
    tenant.new_policy(agent, FREE, LIMITED)
    tenant.new_policy(agent, weekdays)
    tenant.authorize(agent, "pay")
    sunday, monday = (
        explain(tenant, agent, at="2090-01-01T12:00:00Z"),
        explain(tenant, agent, at="2090-01-02T12:00:00Z"),
    )
    assert (sunday["result"], sunday["rule"]["type"]) == ("denied", "time_based")
    assert (monday["result"], monday["at"]) == ("allowed", "2090-01-02T12:00:00.000Z")


def test_approvals_are_neither_made_nor_used(tenant, agent):
    """It says that a person would be asked and, once the call is approved, that it would be allowed."""
    tenant.new_policy(agent, {"type": "approval_required", "tools": ["*"]})
    told = explain(tenant, agent)
    assert (told["result"], told["approval"]["status"]) == ("escalated", "pending")
    assert tenant.admin.get("/v1/approvals", params={"agent_id": agent}).json() == []

    asked = tenant.authorize(agent, "pay")
    approver = tenant.new_key(["approve", "read"])["key"]
    with tenant.replica.client(approver) as people:
        people.post(f"/v1/approvals/{asked['approval']['id']}/approve", json={}).raise_for_status()
    for _ in range(2):
        told = explain(tenant, agent)
        assert (told["result"], told["approval"]["status"]) == ("allowed", "approved")
    assert alike(tenant.authorize(agent, "pay")) == alike(told)
    assert explain(tenant, agent)["result"] == "escalated"


def test_an_agent_that_is_not_active_reaches_no_rule(tenant, agent):
    """The agent can be named by its alias."""
    tenant.new_policy(agent, FREE)
    tenant.admin.patch(f"/v1/agents/{agent}", json={"status": "suspended", "alias": f"a-{agent[:8]}-{agent[-6:]}"})
    told = explain(tenant, f"a-{agent[:8]}-{agent[-6:]}")
    assert (told["result"], told["reason"], told["agent"]["status"]) == ("denied", "Agent is suspended", "suspended")
    assert [rule["part"] for each in told["policies"] for rule in each["rules"]] == ["not_reached"]
    assert explain(tenant, UNKNOWN, status=404)["error"]["code"] == "AGENT_NOT_FOUND"
