"""Rules that say who may decide: people of certain groups, and people who have signed in lately."""

import pytest
from approval_steps import ALLOW, ask

from app.model.actors import Via
from app.redis_client.clients import store_time_ms
from app.store.keyspace import Keyspace


@pytest.fixture
def signed_in(tenant, session_of):
    """Gives the headers of a new session of Pat, with these groups, and credentials shown so many seconds ago."""

    def sign_in(*groups, ago=None):
        now_s = tenant.in_store(store_time_ms) // 1000
        return session_of(Via.CONSOLE, *groups, authenticated_s=None if ago is None else now_s - ago)

    return sign_in


@pytest.fixture
def asking(tenant):
    """Gives the path of a new approval that rules with these terms ask for, of a new agent."""

    def asked(*terms):
        agent_id = tenant.new_agent()["id"]
        rules = [{"type": "approval_required", "tools": ["refund.create"], "approval": each} for each in terms]
        tenant.new_policy(agent_id, ALLOW, *rules)
        return f"/v1/approvals/{ask(tenant, agent_id)['approval']['id']}"

    return asked


def verdict(tenant, path, headers=None, word="approve"):
    """The status and the error's code of an answer to one person's word."""
    answer = tenant.admin.post(f"{path}/{word}", json={}, headers=headers or {})
    return answer.status_code, answer.json().get("error", {}).get("code"), answer.text


FINANCE, LEGAL = {"approvers": {"groups": ["finance", "treasury"]}}, {"approvers": {"groups": ["legal"]}}


def test_only_people_in_one_of_the_groups_decide(tenant, asking, signed_in):
    """Not a key, even an admin's; not a group whose name only begins so; the sentence says who."""
    path = asking(FINANCE)
    assert tenant.admin.get(path).json()["approvers"] == [{"groups": ["finance", "treasury"]}]
    for headers in (None, signed_in("fin", "finance2", "ops"), signed_in()):
        for word in ("approve", "deny"):
            status, code, text = verdict(tenant, path, headers, word)
            assert (status, code) == (403, "NOT_AN_APPROVER")
            assert "in the group finance or treasury" in text
    assert verdict(tenant, path, signed_in("ops", "treasury"))[0] == 200


def test_a_person_meets_what_every_rule_demands(tenant, asking, signed_in):
    """Not one of them: the strictest values of all rules count together."""
    path = asking(FINANCE, LEGAL | {"fresh": 900}, {"fresh": 300})
    shown = tenant.admin.get(path).json()
    assert (shown["approvers"], shown["fresh"]) == ([FINANCE["approvers"], LEGAL["approvers"]], 300)
    for groups in (["finance"], ["legal"]):
        assert verdict(tenant, path, signed_in(*groups, ago=1))[:2] == (403, "NOT_AN_APPROVER")
    assert verdict(tenant, path, signed_in("finance", "legal", ago=600))[:2] == (403, "SIGN_IN_TOO_OLD")
    assert verdict(tenant, path, signed_in("finance", "legal", ago=1))[0] == 200


def test_a_sign_in_gets_too_old_to_decide(tenant, asking, signed_in):
    """By the store's clock; one whose age the provider did not tell is too old; a key is nobody."""
    path = asking({"fresh": 60})
    assert verdict(tenant, path)[:2] == (403, "NOT_AN_APPROVER")
    for headers in (signed_in(), signed_in(ago=61), signed_in(ago=4000)):
        status, code, text = verdict(tenant, path, headers)
        assert (status, code) == (403, "SIGN_IN_TOO_OLD")
        assert "at most 60 seconds old" in text
    assert verdict(tenant, path, signed_in(ago=30))[0] == 200


def test_whoever_asked_may_still_cancel(tenant, asking):
    """Cancelling grants nothing."""
    answer = tenant.reader.post(f"{asking(FINANCE)}/cancel", json={})
    assert (answer.status_code, answer.json()["status"]) == (200, "cancelled")


def test_a_rule_that_comes_to_name_approvers_needs_a_new_approval(tenant, signed_in):
    """What somebody else approved before no longer covers it."""
    agent_id = tenant.new_agent()["id"]
    rule = {"type": "approval_required", "tools": ["refund.create"]}
    policy = tenant.new_policy(agent_id, ALLOW, rule)
    path = f"/v1/approvals/{ask(tenant, agent_id)['approval']['id']}"
    assert verdict(tenant, path, signed_in("ops"))[0] == 200
    stricter = {"rules": [ALLOW, rule | {"approval": FINANCE}]}
    assert tenant.admin.patch(f"/v1/policies/{policy['id']}", json=stricter).status_code == 200
    again = ask(tenant, agent_id)
    assert (again["result"], path.endswith(again["approval"]["id"])) == ("escalated", False)
    path = f"/v1/approvals/{again['approval']['id']}"
    assert verdict(tenant, path, signed_in("ops"))[1] == "NOT_AN_APPROVER"
    assert verdict(tenant, path, signed_in("finance"))[0] == 200
    assert ask(tenant, agent_id)["result"] == "allowed"


@pytest.mark.parametrize(
    ("terms", "where"),
    [
        ({"approvers": {"groups": []}}, "groups"),
        ({"approvers": {}}, "approvers"),
        ({"approvers": {"groups": ["a\tb"]}}, "groups"),
        ({"approvers": {"people": ["ann"]}}, "approvers"),
        ({"fresh": 0}, "fresh"),
        ({"fresh": "300"}, "fresh"),
    ],
)
def test_what_cannot_be_met_or_read_is_refused_when_it_is_written(tenant, terms, where):
    """With its path."""
    rule = {"type": "approval_required", "tools": ["*"], "approval": terms}
    body = {"agent_id": tenant.new_agent()["id"], "name": "p", "rules": [rule]}
    answer = tenant.admin.post("/v1/policies", json=body)
    assert answer.status_code == 400
    assert f"approval.{where}" in answer.text or f"approvers.{where}" in answer.text


def test_a_session_that_ends_decides_nothing(tenant, asking, signed_in):
    """Its groups end with it."""
    path, headers = asking(FINANCE), signed_in("finance")
    session_id = tenant.admin.get("/v1/session", headers=headers).json()["sessionId"]
    tenant.in_store(lambda client: client.call("DEL", Keyspace(tenant.id).key(session_id)))
    assert verdict(tenant, path, headers)[0] == 401
