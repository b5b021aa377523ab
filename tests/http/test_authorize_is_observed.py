"""What operators see of the authorize route: request ids and metrics."""

import re

import pytest


@pytest.fixture
def ask(replica):
    """Ask about a tool of a new agent without policies."""
    with replica.client() as client:
        agent_id = client.post("/v1/agents", json={"name": "watched"}).json()["id"]

        def send(headers=None, **body):
            return client.post("/v1/authorize", json={"agent_id": agent_id, "tool_name": "x"} | body, headers=headers)

        send.client = client
        yield send


def count(client, sample):
    """The value of one sample of /metrics; 0 if it is missing."""
    found = re.search(rf"^{re.escape(sample)} (\S+)$", client.get("/metrics").text, re.MULTILINE)
    return float(found[1]) if found else 0.0


def test_the_callers_request_id_is_returned(ask):
    """With a decision and with an error."""
    given = {"X-Request-ID": "trace-7"}
    assert ask(given).headers["x-request-id"] == "trace-7"
    assert ask(given, tool_name="").headers["x-request-id"] == "trace-7"


def test_without_one_the_decision_is_the_request_id(ask):
    """So that a caller's log leads to the entry."""
    answer = ask()
    assert answer.headers["x-request-id"] == answer.json()["id"]


def test_a_decision_and_a_refusal_are_counted_once(ask):
    """By result, and by code; nobody else uses this replica meanwhile."""
    decided, refused = 'remit_decisions_total{result="denied"}', 'remit_refusals_total{code="VALIDATION_ERROR"}'
    before = (
        count(ask.client, decided),
        count(ask.client, refused),
        count(ask.client, "remit_store_round_trip_seconds_count"),
    )

    ask()
    ask(tool_name="")

    after = (
        count(ask.client, decided),
        count(ask.client, refused),
        count(ask.client, "remit_store_round_trip_seconds_count"),
    )
    assert [now - then for now, then in zip(after, before, strict=True)] == [1, 1, 1]


def test_a_stale_plan_is_counted(ask, other_replica):
    """A change through another replica is noticed by the commit."""
    stale = 'remit_stale_retries_total{moved="version"}'
    agent_id = ask.client.post("/v1/agents", json={"name": "changing"}).json()["id"]
    ask(agent_id=agent_id)
    before = count(ask.client, stale)

    with other_replica.client() as other:
        other.patch(f"/v1/agents/{agent_id}", json={"status": "suspended"}).raise_for_status()
    answer = ask(agent_id=agent_id)

    assert answer.json()["reason"] == "Agent is suspended"
    assert count(ask.client, stale) - before == 1


def test_an_outcome_is_counted_when_it_is_first_reported(ask):
    """Reported again, it is the same report; what it gave back is counted with it."""
    reports, refunds = 'remit_outcomes_total{status="not_executed"}', "remit_refunds_total"
    agent_id = ask.client.post("/v1/agents", json={"name": "gives back"}).json()["id"]
    limit = {"maxCalls": 2, "windowSeconds": 60, "refundable": True}
    rules = [{"type": "rate_limit", "tools": ["*"], "rateLimit": limit}]
    ask.client.post("/v1/policies", json={"agent_id": agent_id, "name": "two", "rules": rules})
    decision = ask(agent_id=agent_id).json()
    before = (count(ask.client, reports), count(ask.client, refunds))

    for _ in range(2):
        told = ask.client.post(f"/v1/decisions/{decision['id']}/outcome", json={"status": "not_executed"})
        assert (told.status_code, told.json()["refunded"]) == (200, 1)

    after = (count(ask.client, reports), count(ask.client, refunds))
    assert [now - then for now, then in zip(after, before, strict=True)] == [1, 1]
