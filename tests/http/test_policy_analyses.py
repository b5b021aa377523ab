"""POST /v1/policies/compare and GET /v1/agents/{id}/bounds: what policies mean for calls."""

import pytest
from tenants import tenant_on

tenant = tenant_on()


def refunds(most, name="refunds"):
    bound = {"type": "parameter_constraint", "tools": ["refund"], "parameters": {"amount": {"max": most}}}
    return {"name": name, "rules": [bound]}


@pytest.fixture
def agent(tenant):
    tenant.new_agent(alias="bot", groups=["crew"])
    assert tenant.admin.post("/v1/policies", json={"agent_id": "bot", **refunds(500)}).status_code == 201
    return "bot"


def compared(tenant, **sides):
    answer = tenant.reader.post("/v1/policies/compare", json={"agent_id": "bot", **sides})
    assert answer.status_code == 200, answer.text
    return answer.json()


def shown(comparison):
    return [(each["from"], each["to"], each["parameters"]) for each in comparison["flips"]]


def test_a_draft_is_compared_with_what_is_in_force(tenant, agent):
    """It stands for all that the agent owns; what is left out is in force. Nothing is stored or logged."""
    found = compared(tenant, after=[refunds(900)])
    assert shown(found) == [("denied", "allowed", {"amount": 501})]
    assert (found["complete"], found["because"], found["limits"]) == (True, [], [])
    assert shown(compared(tenant, before=[refunds(900)])) == [("allowed", "denied", {"amount": 501})]
    assert shown(compared(tenant, after=[])) == [("allowed", "denied", {"amount": 500})]
    assert shown(compared(tenant)) == []
    assert shown(compared(tenant, before=[refunds(1)], after=[refunds(2)])) == [("denied", "allowed", {"amount": 2})]
    assert tenant.log() == []


def test_policies_of_groups_and_of_the_workspace_are_beside_both_sides(tenant, agent):
    """What a guardrail denies stays denied."""
    body = {"group": "crew", "kind": "guardrail", **refunds(500, "none above")}
    assert tenant.admin.post("/v1/policies", json=body).status_code == 201
    assert shown(compared(tenant, after=[refunds(900)])) == []


def test_policies_of_a_group_are_compared_for_agents_that_may_have_any_others(tenant, agent):
    """What they restrict, beside a grant of every tool; what they grant, by themselves, too; the workspace's beside."""
    ask = tenant.reader.post

    def flips(**body):
        answer = ask("/v1/policies/compare", json=body)
        assert answer.status_code == 200, answer.text
        assert answer.json()["complete"] is True
        return [(each["from"], each["to"], each["tool"]) for each in answer.json()["flips"]]

    never = {"name": "never", "kind": "guardrail", "rules": [{"type": "tool_denylist", "tools": ["refund"]}]}
    mails = {"name": "mails", "rules": [{"type": "tool_grant", "tools": ["mail"]}]}
    assert flips(group="crew", after=[never]) == [("allowed", "denied", "refund")]
    assert flips(group="crew", after=[mails]) == [("denied", "allowed", "mail")]
    assert flips(group="crew", before=[mails], after=[mails, never]) == [("allowed", "denied", "refund")]
    assert flips(after=[never]) == [("allowed", "denied", "refund")]
    assert tenant.admin.post("/v1/policies", json=never).status_code == 201
    assert flips(after=[]) == [("denied", "allowed", "refund")]
    grants = {"name": "refunds", "rules": [{"type": "tool_grant", "tools": ["refund", "mail"]}]}
    assert flips(group="crew", after=[grants]) == [("denied", "allowed", "mail")]
    both = ask("/v1/policies/compare", json={"agent_id": "bot", "group": "crew"})
    assert both.json()["error"]["details"][0]["path"] == "$.group"


def test_a_draft_that_could_not_be_stored_is_refused_by_its_side(tenant, agent):
    """With the place in the body."""
    for side in ("before", "after"):
        sides = {side: [refunds(1) | {"id": "0193a7e2-4c1b-7e4a-8f00-2b1f3c5d7e90"}]}
        answer = tenant.reader.post("/v1/policies/compare", json={"agent_id": "bot", **sides})
        assert answer.status_code == 400
        assert answer.json()["error"]["details"][0]["path"] == f"$.{side}[0].id"


def test_bounds_say_what_an_agent_can_ever_do(tenant, agent):
    """By tool, with a call for each result; and which rule changes nothing."""
    again = {"agent_id": "bot", **refunds(700, "looser")}
    assert tenant.admin.post("/v1/policies", json=again).status_code == 201
    found = tenant.reader.get("/v1/agents/bot/bounds").json()
    calls = {each["tool"]: each["calls"] for each in found["tools"]}
    assert calls == {"refund": "bounded", "any_other_tool": "never"}
    [refund] = [each for each in found["tools"] if each["tool"] == "refund"]
    assert [each["result"] for each in refund["examples"]] == ["allowed", "denied"]
    assert refund["bounds"][0]["text"] == 'parameter "amount" is at most 500'
    assert found["idleRules"] == [{"policy": "looser", "ruleIndex": 0, "ruleType": "parameter_constraint"}]
    assert (found["complete"], found["notJudged"]) == (True, [])


def test_an_agent_that_does_not_exist_has_no_bounds_and_is_not_compared(tenant):
    """404, as everywhere."""
    asked = [
        tenant.reader.get("/v1/agents/nobody/bounds"),
        tenant.reader.post("/v1/policies/compare", json={"agent_id": "nobody"}),
    ]
    assert [answer.json()["error"]["code"] for answer in asked] == ["AGENT_NOT_FOUND"] * 2
