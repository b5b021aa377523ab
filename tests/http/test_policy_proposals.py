"""POST /v1/policies/propose: policies made from a log, over HTTP."""

import json

import pytest
from tenants import FREE, tenant_on

tenant = tenant_on()


def proposed(tenant, **body):
    """The last line of the answer."""
    answer = tenant.reader.post("/v1/policies/propose", json={"agent_id": "bot", **body}, timeout=60)
    assert answer.status_code == 200, answer.text
    return json.loads(answer.text.splitlines()[-1])


@pytest.fixture
def agent(tenant):
    """An agent that may do everything, and four users of it."""
    agent = tenant.new_agent(alias="bot")["id"]
    tenant.new_policy(agent, rules=[FREE])
    for user in ("ann", "bob", "cleo", "dan"):
        call(tenant, "orders.read", user, id=f"A-{user}")
    return agent


def call(tenant, tool, user, session=None, **parameters):
    body = {"agent_id": "bot", "tool_name": tool, "parameters": parameters}
    context = {"user": user, "session": session or f"of {user}"}
    answer = tenant.reader.post("/v1/authorize", json=body | {"context": context})
    assert answer.json()["result"] == "allowed", answer.text
    return answer.json()["id"]


def catalogue(tenant, *names):
    for name in names:
        assert tenant.admin.put(f"/v1/catalog/tool/{name}", json={}).status_code in (200, 201)


def test_a_proposal_is_made_of_the_log_and_the_catalogue(tenant, agent):
    """A tool that nobody has marked asks; one that is not in the catalogue is denied; and both are said."""
    catalogue(tenant, "orders.read", "orders.cancel")
    call(tenant, "secrets.read", "ann")
    found = proposed(tenant)["proposal"]
    uses = {each["name"]: (each["use"], each["calls"], each["units"]) for each in found["tools"]}
    assert uses == {
        "orders.read": ("asks", 4, 4),
        "orders.cancel": ("asks", 0, 0),
        "secrets.read": ("unknown", 1, 1),
    }
    assert found["replay"] == {"allowed": 0, "escalated": 4, "denied": 1}
    assert found["warnings"] == [
        "2 tools are not marked and will ask: orders.cancel, orders.read",
        "1 tool is not in the catalogue, or named as a pattern of tools is, and will be denied: secrets.read",
    ]
    assert found["learned"]["sessions"] == 4


def test_nothing_is_stored_or_logged(tenant, agent):
    before = tenant.log(), tenant.admin.get("/v1/policies").json()
    proposed(tenant)
    assert (tenant.log(), tenant.admin.get("/v1/policies").json()) == before


def test_a_proposal_can_be_stored_as_it_is(tenant, agent):
    catalogue(tenant, "orders.read")
    policies = proposed(tenant)["proposal"]["policies"]
    answer = tenant.admin.put(f"/v1/agents/{agent}/policies?prune=true", json={"policies": policies})
    assert answer.status_code == 200, answer.text
    names = [each["name"] for each in answer.json()["policies"]]
    assert names == [each["name"] for each in policies]
    assert proposed(tenant)["proposal"]["changes"] == []


def test_a_call_that_failed_is_not_learned(tenant, agent):
    decision = call(tenant, "orders.read", "eve")
    assert tenant.reader.post(f"/v1/decisions/{decision}/outcome", json={"status": "failed"}).status_code < 300
    learned = proposed(tenant)["proposal"]["learned"]
    assert (learned["calls"], learned["failed"]) == (4, 1)


def test_the_caller_says_which_calls_to_learn_from(tenant, agent):
    for wanted, calls in (
        ({"user": ["ann", "bob"]}, 2),
        ({"session": ["of ann"]}, 1),
        ({"excludeSession": ["of ann"]}, 3),
    ):
        assert proposed(tenant, filter=wanted)["proposal"]["learned"]["calls"] == calls


def test_an_empty_log_is_an_error_and_never_needs_nothing(tenant):
    tenant.new_agent(alias="bot")
    answer = tenant.reader.post("/v1/policies/propose", json={"agent_id": "bot"})
    assert answer.status_code == 409
    assert answer.json()["error"]["code"] == "NOTHING_TO_LEARN"


def test_a_filter_that_no_call_fits_ends_with_an_error(tenant, agent):
    """Also after the answer has begun."""
    assert "no call of this agent" in proposed(tenant, filter={"user": ["nobody"]})["error"]


@pytest.mark.parametrize(
    "body", [{"reads": "some"}, {"filter": {"tool": ["x"]}}, {"from": "2026-01-02", "to": "2026-01-01"}]
)
def test_a_body_that_is_wrong_is_refused(tenant, agent, body):
    answer = tenant.reader.post("/v1/policies/propose", json={"agent_id": "bot", **body})
    assert answer.status_code == 400
