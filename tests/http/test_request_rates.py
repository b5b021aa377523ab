"""Requests per second of one key, and the limits of a workspace, over HTTP."""

import time

import pytest
from servers import Replica
from tenants import Tenant

pytestmark = pytest.mark.slow

RULES = [{"type": "tool_allowlist", "tools": ["file.read"]}]


@pytest.fixture(scope="module")
def bounded(store):
    """A replica that answers three requests of a key a second and lets a workspace have little."""
    replica = Replica(
        store.url,
        REMIT_REQUESTS_PER_SECOND="3",
        REMIT_AGENTS_MAX="2",
        REMIT_POLICIES_PER_AGENT_MAX="1",
        REMIT_POLICIES_MAX="1",
        REMIT_KEYS_MAX="3",
        REMIT_COMPACT="false",
    )
    yield replica
    replica.stop()


@pytest.fixture
def tenant(store, replica, bounded):
    """A workspace that was made through the replica without bounds."""
    made = Tenant(store.url, replica)
    yield made
    made.close()


@pytest.fixture
def agent(tenant):
    return tenant.new_agent()["id"]


@pytest.mark.parametrize(("method", "path"), [("GET", "/v1/agents"), ("POST", "/v1/authorize")])
def test_a_key_that_asks_too_fast_is_429_and_sees_it_coming(bounded, tenant, agent, method, path):
    """On the hot path, too. Two hundred requests take less than a minute."""
    with bounded.client(tenant.read_key) as client:
        seen = []
        for _ in range(200):
            body = {"agent_id": agent, "tool_name": "file.read"} if method == "POST" else None
            seen.append(client.request(method, path, json=body))
            if seen[-1].status_code != 200:
                break
    *answered, refused = seen
    assert refused.status_code == 429
    assert refused.json()["error"]["code"] == "RATE_LIMITED"
    assert refused.headers["Retry-After"] == "1"
    # The first shows the key to the replica and is not counted.
    assert [each.headers["X-RateLimit-Limit"] for each in answered[1:]] == ["3"] * len(answered[1:])
    assert answered[1].headers["X-RateLimit-Remaining"] == "2"
    assert refused.headers["X-RateLimit-Remaining"] == "0"
    assert refused.headers["X-RateLimit-Reset"] == "1"


def test_a_refused_request_is_not_decided(bounded, tenant, agent):
    """A 429 leaves no entry and takes no quota."""
    with bounded.client(tenant.read_key) as client:
        body = {"agent_id": agent, "tool_name": "file.read"}
        statuses = [client.post("/v1/authorize", json=body).status_code for _ in range(50)]
    assert {200, 429} == set(statuses)
    assert len(tenant.log(agent_id=agent)) == statuses.count(200)


def batch(client, agent, semantics="execute_all"):
    calls = [{"agent_id": agent, "tool_name": "file.read"}] * 10
    return client.post("/v1/authorize/batch", json={"calls": calls, "semantics": semantics})


def test_a_batch_costs_at_most_a_seconds_worth(bounded, tenant, agent):
    """So one of more calls than a key has requests a second is possible, if it asked nothing else just before."""
    with bounded.client(tenant.read_key) as client:
        assert client.get("/v1/agents").status_code == 200  # the first, which is not counted
        assert len(batch(client, agent).json()["results"]) == 10
        assert len(tenant.log(agent_id=agent)) == 10


@pytest.mark.parametrize("semantics", ["deny_on_first_deny", "permit_on_first_permit"])
def test_a_batch_that_ends_early_costs_what_was_decided(bounded, tenant, agent, semantics):
    """Its other calls are given back."""
    if semantics == "permit_on_first_permit":
        tenant.new_policy(agent)
    with bounded.client(tenant.read_key) as client:
        assert client.get("/v1/agents").status_code == 200
        assert len(batch(client, agent, semantics).json()["results"]) == 1
        after = client.get("/v1/agents")
        assert (after.status_code, int(after.headers["X-RateLimit-Remaining"]) >= 1) == (200, True)


def test_calls_and_other_requests_count_together(bounded, tenant, agent):
    """They do although different processes answer them. Neither process counts the first request it sees of a key."""
    with bounded.client(tenant.read_key) as client:
        began, answered = time.monotonic(), 0
        for _ in range(20):
            answered += client.get("/v1/agents").status_code == 200
            answered += client.post("/v1/authorize", json={"agent_id": agent, "tool_name": "t"}).status_code == 200
        assert 3 < answered <= 2 + 3 + 3 * (time.monotonic() - began)


def test_another_key_of_the_same_workspace_is_not_slowed(bounded, tenant):
    """Each key has its own bucket."""
    with bounded.client(tenant.read_key) as fast, bounded.client(tenant.admin_key) as other:
        assert 429 in [fast.get("/v1/agents").status_code for _ in range(50)]
        assert other.get("/v1/agents").status_code == other.get("/v1/agents").status_code == 200


def test_without_the_setting_there_is_no_such_header(tenant):
    """Off by default."""
    tenant.admin.get("/v1/agents")
    assert not [name for name in tenant.admin.get("/v1/agents").headers if name.startswith("x-ratelimit")]


def test_one_more_than_the_limit_is_409(bounded, tenant, agent):
    """For agents, policies and keys; the message says whose limit it is and how high."""
    policy = {"agent_id": agent, "name": "p", "rules": RULES}
    tenant.admin.post("/v1/agents", json={"name": "second"})
    tenant.admin.post("/v1/policies", json=policy)
    key = tenant.new_key(["admin"])["key"]

    refused = {}
    for path, body in (
        ("/v1/agents", {"name": "third"}),
        ("/v1/policies", policy),
        ("/v1/api-keys", {"name": "fourth", "scopes": ["read"]}),
    ):
        with bounded.client(key) as client:
            answer = client.post(path, json=body)
        assert (answer.status_code, answer.json()["error"]["code"]) == (409, "LIMIT_REACHED")
        refused[path] = answer.json()["error"]["message"]
    assert refused == {
        "/v1/agents": "The workspace has as many agents as it may have (2); delete one to make room",
        "/v1/policies": "The agent has as many policies as it may have (1); delete one to make room",
        "/v1/api-keys": "The workspace has as many API keys as it may have (3); delete one to make room",
    }


def test_one_more_rate_limit_than_the_limit_is_409(tenant, agent):
    """Also when a policy is changed; then nothing is changed."""
    limit = {"type": "rate_limit", "tools": ["*"], "rateLimit": {"maxCalls": 1, "windowSeconds": 60}}
    for count in (50, 49, 1):
        body = {"agent_id": agent, "name": "p", "rules": [limit] * count}
        policy = tenant.admin.post("/v1/policies", json=body).json()
    path = f"/v1/policies/{policy['id']}"
    answer = tenant.admin.patch(path, json={"name": "q", "rules": [limit] * 2})
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "LIMIT_REACHED")
    assert answer.json()["error"]["message"] == (
        "The policies of one agent may have 100 rate limits in total; this change would exceed that"
    )
    held = tenant.admin.get(path).json()
    assert (held["name"], len(held["rules"])) == ("p", 1)
