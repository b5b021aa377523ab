"""Call outcomes: reported once, by the key that asked; refundable limits are given back."""

import uuid
from concurrent.futures import ThreadPoolExecutor

import pytest

from app.model.outcomes import CallStatus


def limit(most, **fields):
    return {"type": "rate_limit", "tools": ["*"], "rateLimit": {"maxCalls": most, "windowSeconds": 3600, **fields}}


def budget(most, **fields):
    return {
        "type": "budget",
        "tools": ["*"],
        "budget": {"parameter": "amount", "max": most, "windowSeconds": 60, **fields},
    }


@pytest.fixture
def agent_id(tenant):
    return tenant.new_agent()["id"]


def report(tenant, decision, status="not_executed", client=None):
    return (client or tenant.reader).post(f"/v1/decisions/{decision['id']}/outcome", json={"status": status})


def test_a_call_that_was_not_executed_counts_no_more(tenant, agent_id):
    """In a rate limit and a budget at once."""
    tenant.new_policy(agent_id, limit(2, refundable=True), budget(100, refundable=True))
    first = tenant.authorize(agent_id, parameters={"amount": 60})
    assert tenant.authorize(agent_id, parameters={"amount": 41})["result"] == "denied"

    told = report(tenant, first)

    assert told.status_code == 200
    assert (told.json()["decisionId"], told.json()["status"], told.json()["refunded"]) == (
        first["id"],
        "not_executed",
        2,
    )
    assert tenant.authorize(agent_id, parameters={"amount": 100})["result"] == "allowed"
    assert tenant.authorize(agent_id, parameters={"amount": 0})["result"] == "allowed"
    assert tenant.authorize(agent_id, parameters={"amount": 0})["rule"]["type"] == "rate_limit"


def test_the_log_says_what_was_reported(tenant, agent_id):
    """In an entry of its own, which refers to the decision."""
    tenant.new_policy(agent_id, limit(2))
    decision = tenant.authorize(agent_id, tool="mail.send")
    told = report(tenant, decision, "failed").json()
    [entry] = tenant.log(id=told["id"])
    names = ("type", "code", "decisionId", "action", "toolName", "result", "agentId")
    assert {name: entry[name] for name in names} == {
        "type": "outcome", "code": "failed", "decisionId": decision["id"], "action": "outcome", "toolName": "mail.send",
        "result": None, "agentId": agent_id,
    }  # fmt: skip
    assert entry["reason"] == "The call was tried and failed"
    assert (entry["policyId"], entry["rule"]) == (decision["policyId"], decision["rule"])


@pytest.mark.parametrize("status", ["executed", "failed"])
def test_an_attempted_call_counts(tenant, agent_id, status):
    """Whether or not it succeeded."""
    tenant.new_policy(agent_id, limit(1, refundable=True))
    assert report(tenant, tenant.authorize(agent_id), status).json()["refunded"] == 0
    assert tenant.authorize(agent_id)["result"] == "denied"


def test_only_what_is_refundable_is_given_back(tenant, agent_id):
    """Each rule says so for itself."""
    tenant.new_policy(agent_id, limit(1, refundable=False), budget(1, refundable=True), limit(5))
    decision = tenant.authorize(agent_id, parameters={"amount": 1})
    assert report(tenant, decision).json()["refunded"] == 1
    refused = tenant.authorize(agent_id, parameters={"amount": 1})
    assert (refused["result"], refused["rule"]["index"]) == ("denied", 0)


def test_a_report_whose_answer_was_lost_is_answered_again(tenant, agent_id):
    """As the first time, with nothing refunded twice; a different report is refused."""
    tenant.new_policy(agent_id, limit(2, refundable=True))
    decision, _ = tenant.authorize(agent_id), tenant.authorize(agent_id)
    first = report(tenant, decision).json()
    assert report(tenant, decision).json() == first
    other = report(tenant, decision, "executed")
    assert (other.status_code, other.json()["error"]["code"]) == (409, "OUTCOME_CONFLICT")
    assert tenant.authorize(agent_id)["result"] == "allowed"
    assert tenant.authorize(agent_id)["result"] == "denied"
    assert len(tenant.log(action="outcome", agent_id=agent_id)) == 1


def test_of_concurrent_reports_one_is_recorded(tenant, agent_id):
    """The first one is recorded; callers with the same status get the same answer."""
    tenant.new_policy(agent_id, limit(50, refundable=True))
    decision = tenant.authorize(agent_id)
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda status: report(tenant, decision, status), [*CallStatus] * 6))
    told = [each.json() for each in answers if each.status_code == 200]
    assert len({each["id"] for each in told}) == 1
    assert {each.status_code for each in answers} == {200, 409}
    assert len(tenant.log(action="outcome", agent_id=agent_id)) == 1


def test_only_the_key_that_asked_reports(tenant, agent_id):
    """For any other key, the decision is unknown."""
    tenant.new_policy(agent_id, limit(1, refundable=True))
    decision = tenant.authorize(agent_id)
    answers = [report(tenant, decision, client=tenant.admin), report(tenant, {"id": str(uuid.uuid4())})]
    answers.append(report(tenant, {"id": "nothing"}))
    assert {each.status_code for each in answers} == {404}
    assert len({each.content for each in answers}) == 1
    outcome = report(tenant, decision).json()
    assert report(tenant, outcome).status_code == 404  # an entry that is no decision
    assert tenant.authorize(agent_id)["result"] == "allowed"


def test_a_call_that_was_not_allowed_has_no_outcome(tenant, agent_id):
    """Reporting one is refused."""
    told = report(tenant, tenant.authorize(agent_id), "executed")
    assert (told.status_code, told.json()["error"]["code"]) == (409, "OUTCOME_CONFLICT")


def test_an_unknown_status_is_refused(tenant, agent_id):
    """The error names the place."""
    tenant.new_policy(agent_id)
    told = report(tenant, tenant.authorize(agent_id), "done")
    assert (told.status_code, told.json()["error"]["details"][0]["path"]) == (400, "$.status")


def test_marks_survive_a_report(tenant, agent_id):
    """The session remembers what was allowed, whether or not it was executed."""
    after = {"type": "sequence", "tools": ["pay"], "sequence": {"forbiddenAfter": ["mail"]}}
    tenant.new_policy(agent_id, limit(10, refundable=True), after)
    session = {"context": {"session": "s"}}
    assert report(tenant, tenant.authorize(agent_id, "mail", **session)).json()["refunded"] == 1
    assert tenant.authorize(agent_id, "pay", **session)["result"] == "denied"
