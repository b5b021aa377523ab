"""Failed authentications over HTTP: 401 up to the address's limit, then 429."""

import re
from contextlib import closing

import httpx
import pytest
from servers import Replica
from tenants import Tenant

from app.http.routes import ENDPOINTS

PER_MINUTE = 3
UNKNOWN = "svc_" + "0" * 32
ID = "00000000-0000-7000-8000-000000000000"


@pytest.fixture(scope="module")
def strict(store):
    """A replica that trusts a proxy at 127.0.0.1, so tests choose their address in the header."""
    replica = Replica(
        store.url,
        REMIT_AUTH_FAILURES_PER_MINUTE=str(PER_MINUTE),
        REMIT_TRUSTED_PROXIES="127.0.0.1,10.0.0.0/8",
        REMIT_COMPACT="false",
    )
    yield replica
    replica.stop()


@pytest.fixture
def address(ids):
    """An address that no other test uses."""
    digits = ids.new(0).replace("-", "")[-8:]
    return f"2001:db8:{digits[:4]}:{digits[4:]}::1"


@pytest.fixture
def call(strict, address):
    """Sends a request of this address."""
    with httpx.Client(base_url=strict.base_url) as client:

        def send(method="GET", path="/v1/agents", key=UNKNOWN, sent_from=address, body=None):
            headers = {"X-Forwarded-For": sent_from} | ({} if key is None else {"Authorization": f"Bearer {key}"})
            return client.request(
                method, path, headers=headers, json=body or ({} if method in {"POST", "PATCH"} else None)
            )

        yield send


def use_up(call, **how):
    assert [call(**how).status_code for _ in range(PER_MINUTE)] == [401] * PER_MINUTE


@pytest.mark.slow
@pytest.mark.parametrize("key", [UNKNOWN, "nonsense", None], ids=["unknown", "malformed", "missing"])
def test_an_address_that_failed_too_often_is_429_and_told_how_long(call, key):
    """Whatever was wrong with the keys."""
    use_up(call, key=key)
    answer = call(key=key)

    assert answer.status_code == 429
    assert answer.json()["error"]["code"] == "LOCKED_OUT"
    assert 1 <= int(answer.headers["Retry-After"]) <= 60 / PER_MINUTE
    assert answer.headers["X-Request-ID"]


@pytest.mark.slow
def test_failures_on_the_hot_path_count_as_everywhere(call):
    """The hot path authenticates by itself, and counts failures, too."""
    use_up(call, method="POST", path="/v1/authorize")
    assert call("POST", "/v1/authorize").status_code == call().status_code == 429


@pytest.mark.slow
def test_other_addresses_are_not_affected(call, strict):
    """A wrong key from another address gets the 401 it deserves, and a good one its answer."""
    use_up(call)
    assert call().status_code == 429
    other = "203.0.113.77"
    assert call(sent_from=other).status_code == 401
    assert call(sent_from=other, key=strict.env["REMIT_BOOTSTRAP_KEY"]).status_code == 200


@pytest.mark.slow
def test_a_key_that_has_worked_here_works_on_from_the_same_address(call, strict):
    """Callers can share an address: one that misbehaves does not lock out the others."""
    good = strict.env["REMIT_BOOTSTRAP_KEY"]
    assert call(key=good).status_code == 200
    use_up(call)
    assert call().status_code == 429
    assert call(key=good).status_code == 200


@pytest.mark.slow
def test_an_ipv6_network_counts_as_one_caller(call, address):
    """Another address in the same IPv6 /64 network is not a fresh start."""
    use_up(call)
    assert call(sent_from=address.replace("::1", "::2")).status_code == 429


@pytest.mark.slow
def test_an_address_is_not_escaped_by_writing_another_before_it(call, address):
    """The proxy appends the true address to the right of whatever the caller wrote."""
    use_up(call, sent_from=f"198.51.100.1, {address}")
    assert call(sent_from=f"198.51.100.2, {address}").status_code == 429


@pytest.mark.slow
@pytest.mark.parametrize(
    "path", ["/livez", "/readyz", "/metrics", "/docs/api", "/openapi.json", "/v1/policies/schema.json"]
)
def test_a_request_that_needs_no_key_is_not_refused(call, path):
    """A balancer's health checks come from the same address as its callers."""
    use_up(call)
    assert call(path=path, key=None).status_code == 200


@pytest.mark.slow
@pytest.mark.parametrize("path", ["/v1/nothing", "/nothing", "/v1/agents/a/b"])
def test_every_other_path_is_refused_whether_or_not_anything_is_there(call, path):
    """What a path begins with does not matter."""
    use_up(call)
    assert call(path=path).status_code == 429


@pytest.mark.slow
@pytest.mark.parametrize(
    "operation",
    [each for each in ENDPOINTS if each.scopes and not each.always],
    ids=lambda each: f"{each.method} {each.path}",
)
def test_every_operation_that_needs_a_key_refuses_who_is_locked_out(call, operation):
    """Before the request is examined further."""
    use_up(call)
    answer = call(operation.method, re.sub(r"{\w+}", ID, operation.path))
    assert answer.status_code == 429
    said = answer.json()
    # AuthZEN's errors are a sentence and no more; those of its access requests are problems.
    said = said["detail"] if "type" in said and isinstance(said, dict) else said
    if isinstance(said, str):
        assert said.startswith("Too many requests from this address had no valid API key; wait ")
    else:
        assert said["error"]["code"] == "LOCKED_OUT"


@pytest.mark.slow
def test_scopes_and_bad_requests_are_no_failed_authentications(call, strict):
    """A valid key is authenticated, even if its request is forbidden or invalid."""
    good = strict.env["REMIT_BOOTSTRAP_KEY"]
    for _ in range(2 * PER_MINUTE):
        assert call("POST", key=good).status_code == 400
        assert call(path=f"/v1/agents/{ID}", key=good).status_code == 404
    assert call().status_code == 401


@pytest.mark.slow
def test_a_revoked_key_loses_its_exemption_from_lockouts(call, strict, store):
    """Otherwise a client that still uses it would cost the store a commit each time, and lock out its successor."""
    with closing(Tenant(store.url, strict)) as tenant:
        key = tenant.new_key(["read"])
        body = {"agent_id": tenant.new_agent()["id"], "tool_name": "t"}
        allowed = call("POST", "/v1/authorize", key=key["key"], body=body)
        assert allowed.status_code == 200
        tenant.admin.delete(f"/v1/api-keys/{key['id']}").raise_for_status()

        statuses = [call("POST", "/v1/authorize", key=key["key"], body=body).status_code for _ in range(PER_MINUTE + 2)]

        assert statuses == [401] * PER_MINUTE + [429] * 2
