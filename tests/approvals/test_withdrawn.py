"""What was approved and is not used yet is withdrawn by whoever may decide."""

import pytest
from approval_steps import ALLOW, answering, approve, ask

from app.model.actors import Via


def cancel(client, approval_id, **given):
    return client.post(f"/v1/approvals/{approval_id}/cancel", json={"note": "the order was wrong"}, **given)


@pytest.fixture
def approved(tenant, agent_id, person):
    """The id of an approval that a person has given, and nobody has used."""
    return approve(person, ask(tenant, agent_id)["approval"]["id"])["id"]


def test_somebody_else_who_may_decide_withdraws_what_was_approved(tenant, agent_id, approved, replicas):
    """The next call asks anew, on any replica; the log says who withdrew it and why."""
    with answering(tenant) as other:
        withdrawn = cancel(other, approved).json()
        assert (withdrawn["status"], withdrawn["approvals"][-1]["verdict"]) == ("cancelled", "cancelled")
        assert cancel(other, approved).status_code == 409
    for replica in replicas:
        with replica.client(tenant.read_key) as asking:
            call = {"agent_id": agent_id, "tool_name": "refund.create", "parameters": {"amount": 5}}
            answer = asking.post("/v1/authorize", json=call).json()
            assert (answer["result"], answer["approval"]["id"] != approved) == ("escalated", True)
    [entry] = [each for each in tenant.log() if each["code"] == "approval_cancelled"]
    assert (entry["approvalId"], entry["reason"]) == (approved, 'Cancelled by "ann": the order was wrong')
    assert entry["decidedBy"]["name"] == "ann"


def test_whoever_approved_or_asked_withdraws_it_too(tenant, agent_id, person):
    """Also when it was used, as long as it permits another call; not once it permits none."""
    rule = {"type": "approval_required", "tools": ["refund.create"], "approval": {"maxUses": 2}}
    several = tenant.new_agent()["id"]
    tenant.new_policy(several, ALLOW, rule)
    half_used = approve(person, ask(tenant, several)["approval"]["id"])["id"]
    assert ask(tenant, several)["result"] == "allowed"
    assert cancel(person, half_used).status_code == 200
    assert ask(tenant, several)["result"] == "escalated"
    by_asker = approve(person, ask(tenant, agent_id)["approval"]["id"])["id"]
    assert cancel(tenant.reader, by_asker).status_code == 200
    used = approve(person, ask(tenant, agent_id)["approval"]["id"])["id"]
    assert ask(tenant, agent_id)["result"] == "allowed"
    assert cancel(person, used).status_code == 409


def test_what_waits_is_denied_and_not_withdrawn_by_others(tenant, agent_id, person):
    waits = ask(tenant, agent_id)["approval"]["id"]
    refused = cancel(person, waits)
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "OWN_APPROVAL")


def test_who_may_not_decide_may_not_withdraw(tenant, approved):
    """A key that only reads or asks; and, if a rule names a group, whoever is not in it."""
    for scopes in (["read"], ["authorize"]):
        with tenant.replica.client(tenant.new_key(scopes)["key"]) as client:
            refused = cancel(client, approved)
            assert (refused.status_code, refused.json()["error"]["code"]) == (403, "OWN_APPROVAL")
    assert tenant.admin.get(f"/v1/approvals/{approved}").json()["status"] == "approved"


def test_a_rule_that_names_who_decides_names_who_withdraws(tenant, session_of):
    agent_id = tenant.new_agent()["id"]
    rule = {"type": "approval_required", "tools": ["refund.create"], "approval": {"approvers": {"groups": ["finance"]}}}
    tenant.new_policy(agent_id, ALLOW, rule)
    approval_id = ask(tenant, agent_id)["approval"]["id"]
    finance = session_of(Via.CONSOLE, "finance")
    answer = tenant.admin.post(f"/v1/approvals/{approval_id}/approve", json={}, headers=finance)
    assert answer.status_code == 200
    for headers in ({}, session_of(Via.CONSOLE, "sales")):
        refused = cancel(tenant.admin, approval_id, headers=headers)
        assert (refused.status_code, refused.json()["error"]["code"]) == (403, "NOT_AN_APPROVER")
    assert cancel(tenant.admin, approval_id, headers=finance).status_code == 200
