"""GET /v1/approvals/{id}/usual: the call beside what the agent was allowed to do before."""

import pytest
from approval_steps import ALLOW, approve, ask
from command_line import run_remit
from servers import clean_env

LARGE = {
    "type": "parameter_constraint",
    "tools": ["refund.create"],
    "parameters": {"amount": {"max": 100}},
    "effect": "escalate",
}


@pytest.fixture
def agent_id(tenant):
    """An agent whose large refunds need a person's approval."""
    agent = tenant.new_agent()
    tenant.new_policy(agent["id"], ALLOW, LARGE)
    return agent["id"]


@pytest.fixture
def approver(tenant):
    """The scope `approve` alone."""
    with tenant.replica.client(tenant.new_key(["approve"])["key"]) as client:
        yield client


def usual(client, approval_id):
    answer = client.get(f"/v1/approvals/{approval_id}/usual")
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_an_approver_sees_what_is_unusual_without_reading_the_log(tenant, agent_id, approver):
    """Calls of other tools and agents, denied calls and those that wait do not count."""
    for amount in (12, 40, 95):
        assert ask(tenant, agent_id, amount)["result"] == "allowed"
    tenant.authorize(agent_id, "refund.list", parameters={"amount": 99})
    tenant.authorize(agent_id, "card.charge", parameters={"amount": 99})
    other = tenant.new_agent()["id"]
    tenant.new_policy(other, ALLOW)
    ask(tenant, other, 99)
    ask(tenant, agent_id, 800)
    found = usual(approver, ask(tenant, agent_id, 4000)["approval"]["id"])
    assert found == {
        "calls": 3,
        "asked": 0,
        "values": [
            {
                "path": "amount",
                "calls": 3,
                "unusual": "100 times the usual 40; the most so far was 95",
                "difference": "other_unit",
                "least": 12,
                "median": 40,
                "most": 95,
            }
        ],
        "omitted": 0,
    }
    assert approver.get("/v1/audit-logs").status_code == 403


def test_what_a_rule_asks_about_is_compared_with_what_was_approved(tenant, agent_id, approver, person):
    """Every amount that is asked about is far above the others, which says nothing; until three were approved, nothing
    is said of what the rule itself names.
    """
    for amount in (12, 40, 95):
        ask(tenant, agent_id, amount)
    for amount in (700, 800, 900):
        first = usual(approver, ask(tenant, agent_id, amount)["approval"]["id"])
        assert "unusual" not in first["values"][0]
        approve(person, ask(tenant, agent_id, amount)["approval"]["id"])
        assert ask(tenant, agent_id, amount)["result"] == "allowed"
    found = usual(approver, ask(tenant, agent_id, 850)["approval"]["id"])
    assert (found["calls"], found["asked"], found["values"][0]["least"]) == (6, 3, 12)
    assert "unusual" not in found["values"][0]
    row = usual(approver, ask(tenant, agent_id, 1800)["approval"]["id"])["values"][0]
    assert (row["difference"], row["unusual"]) == ("more", "2.2 times the usual 800; the most so far was 900")


def test_the_latest_fifty_count_and_not_the_call_itself(tenant, agent_id, approver, person):
    """Once it was allowed, it is still compared with the others."""
    ask(tenant, agent_id, 1)
    for _ in range(50):
        ask(tenant, agent_id, 40)
    approval_id = ask(tenant, agent_id, 400)["approval"]["id"]
    approve(person, approval_id)
    assert ask(tenant, agent_id, 400)["result"] == "allowed"
    found = usual(approver, approval_id)
    assert (found["calls"], found["values"][0]["least"], found["values"][0]["most"]) == (50, 40, 40)


def test_secrets_of_earlier_calls_are_not_shown(tenant, agent_id, approver):
    for _ in range(2):
        tenant.authorize(
            agent_id, "refund.create", parameters={"amount": 5, "password": "hunter2", "note": "password=hunter2"}
        )
    made = tenant.authorize(
        agent_id, "refund.create", parameters={"amount": 500, "password": "hunter3", "note": "plain", "cc": 1}
    )
    answer = approver.get(f"/v1/approvals/{made['approval']['id']}/usual")
    assert "hunter" not in answer.text
    rows = {each.pop("path"): each for each in answer.json()["values"][1:]}
    assert rows == {
        "password": {"calls": 2},
        "note": {"calls": 2},
        "cc": {"calls": 0, "unusual": "never given before", "difference": "new"},
    }


def test_the_runtime_that_asked_learns_nothing_of_other_calls(tenant, agent_id):
    made = ask(tenant, agent_id, 500)
    with tenant.replica.client(tenant.new_key(["authorize"])["key"]) as runtime:
        assert runtime.get(f"/v1/approvals/{made['approval']['id']}").status_code == 200
        assert runtime.get(f"/v1/approvals/{made['approval']['id']}/usual").status_code == 403


def test_the_command_line_shows_what_is_unusual(tenant, agent_id):
    """Or that there is nothing to compare with, or that the key may not know."""
    key, runtime = tenant.new_key(["approve"])["key"], tenant.new_key(["authorize"])["key"]

    def shown(approval_id, key):
        env = clean_env() | {"REMIT_URL": tenant.replica.base_url, "REMIT_API_KEY": key}
        done = run_remit(["approvals", "show", approval_id], env)
        done.check_returncode()
        return done.stdout

    first = ask(tenant, agent_id, 4000)["approval"]["id"]
    assert "this agent was never allowed to call this tool before" in shown(first, key)
    for amount in (12, 40, 95):
        ask(tenant, agent_id, amount)
    assert "! amount: 100 times the usual 40; the most so far was 95" in shown(first, key)
    assert "not compared with other calls: " in shown(first, runtime)
