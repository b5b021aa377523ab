"""What somebody may decide, as a list; and by which names they know it."""

import pytest
from approval_steps import ALLOW, approve, ask

from app.model.actors import Via


@pytest.fixture
def asked(tenant):
    """Asks people about a new call of a new agent, with these terms; gives the id of the approval."""

    def ask_people(**terms):
        agent_id = tenant.new_agent(name="refund bot")["id"]
        rule = {"type": "approval_required", "tools": ["refund.create"], "approval": terms}
        tenant.new_policy(agent_id, ALLOW, rule, name="refunds")
        return ask(tenant, agent_id)["approval"]["id"]

    return ask_people


def mine(client, headers=None, **filters):
    answer = client.get("/v1/approvals", params={"mine": "true", **filters}, headers=headers or {})
    assert answer.status_code == 200, answer.text
    return {each["id"] for each in answer.json()}


def test_a_key_finds_what_it_may_decide(tenant, asked, person):
    """Not what it asked for, what it has approved already, what names people of the provider, or what waits no more."""
    waits, two, denied = asked(), asked(approvals=2), asked()
    asked(approvers={"groups": ["finance"]})
    asked(fresh=300)
    assert mine(person) == {waits, two, denied}
    approve(person, two)
    assert person.post(f"/v1/approvals/{denied}/deny", json={}).status_code == 200
    assert mine(person) == {waits}
    assert mine(person, status="denied") == set()
    assert mine(person, status="denied,pending", tool_name="refund.create") == {waits}
    assert mine(person, tool_name="other") == set()
    assert mine(tenant.reader) == set()
    child = tenant.new_key(["approve"], name="second")["key"]
    with tenant.replica.client(child) as client:
        assert mine(client) == {waits, two}
    with tenant.replica.client(tenant.new_key(["admin"])["key"]) as admin:
        own = asked()
        assert own in mine(admin)
        agent = tenant.new_agent()["id"]
        tenant.new_policy(agent, ALLOW, {"type": "approval_required", "tools": ["refund.create"]})
        call = {"agent_id": agent, "tool_name": "refund.create", "parameters": {"amount": 1}}
        by_admin = admin.post("/v1/authorize", json=call).json()["approval"]["id"]
        assert by_admin not in mine(admin)
        assert by_admin in mine(person)


def test_a_person_finds_what_their_groups_may_decide(tenant, asked, session_of):
    """A group of each rule; a sign-in that is too old does not matter, since it can be made again."""
    both, legal, fresh, anybody = (
        asked(approvers={"groups": ["finance", "legal"]}),
        asked(approvers={"groups": ["legal"]}),
        asked(approvers={"groups": ["finance"]}, fresh=60),
        asked(),
    )
    assert mine(tenant.admin, session_of(Via.CONSOLE, "finance")) == {both, fresh, anybody}
    assert mine(tenant.admin, session_of(Via.CLI, "legal")) == {both, legal, anybody}
    assert mine(tenant.admin, session_of(Via.CONSOLE)) == {anybody}


def test_what_the_list_says_is_what_the_verdict_answers(tenant, asked, session_of, person):
    """For each of them and each approval: in the list exactly if approving succeeds."""
    callers = [
        {"Authorization": f"Bearer {tenant.new_key(['approve'])['key']}"},
        session_of(Via.CONSOLE, "finance"),
        session_of(Via.CONSOLE, "sales"),
        {"Authorization": f"Bearer {tenant.read_key}"},
    ]
    for terms in ({}, {"approvals": 2}, {"approvers": {"groups": ["finance"]}}):
        for headers in callers:
            approval_id = asked(**terms)
            listed = approval_id in mine(tenant.admin, headers)
            answer = tenant.admin.post(f"/v1/approvals/{approval_id}/approve", json={}, headers=headers)
            assert listed == (answer.status_code == 200), answer.text
            again = tenant.admin.post(f"/v1/approvals/{approval_id}/approve", json={}, headers=headers)
            assert (approval_id in mine(tenant.admin, headers)) is False
            assert again.status_code != 200


def test_the_scope_approve_is_given_the_names_of_agent_and_policy(tenant, asked, session_of):
    """As they are now, in the list, alone and in the answer to a verdict; null once they are deleted."""
    approval_id = asked()
    key = tenant.new_key(["approve"])["key"]
    with tenant.replica.client(key) as client:
        [listed] = client.get("/v1/approvals").json()
        assert (listed["agentName"], listed["policyName"]) == ("refund bot", "refunds")
        assert client.get(f"/v1/agents/{listed['agentId']}").status_code == 403
        assert tenant.admin.patch(f"/v1/agents/{listed['agentId']}", json={"name": "robot"}).status_code == 200
        assert client.get(f"/v1/approvals/{approval_id}").json()["agentName"] == "robot"
        approved = approve(client, approval_id)
        assert (approved["agentName"], approved["policyName"]) == ("robot", "refunds")
        assert tenant.admin.delete(f"/v1/policies/{listed['policyId']}").status_code == 204
        assert client.get(f"/v1/approvals/{approval_id}").json()["policyName"] is None
