"""X-Request-ID: accepted if valid, otherwise generated, and returned with every answer."""

import re

import pytest

GIVEN = "order-4711/retry:2"


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/livez", 200),
        ("GET", "/v1/agents", 200),
        ("GET", "/v1/agents/nonsense", 404),
        ("GET", "/nowhere", 404),
        ("PUT", "/v1/agents", 405),
        ("PUT", "/v1/authorize", 405),
        ("OPTIONS", "/v1/authorize", 204),
        ("POST", "/v1/authorize", 400),
        ("POST", "/v1/policies", 400),
        ("GET", "/metrics", 200),
    ],
)
def test_an_answer_returns_the_requests_id_whatever_its_status(replica, method, path, status):
    """In answers of handlers, guards, the router and the hot path."""
    with replica.client() as client:
        answer = client.request(method, path, headers={"X-Request-ID": GIVEN})
    assert answer.status_code == status
    assert answer.headers.get_list("X-Request-ID") == [GIVEN]


@pytest.mark.parametrize("given", [None, "", "two words", "x" * 129, "ümlaut".encode(), "tab\there"])
def test_a_request_without_a_valid_id_gets_one(replica, given):
    """An id that cannot be logged as it is, or is longer than 128, is replaced."""
    headers = {} if given is None else {"X-Request-ID": given}
    with replica.client() as client:
        made = [client.get("/livez", headers=headers).headers["X-Request-ID"] for _ in range(2)]
    assert all(re.fullmatch("[0-9a-f]{32}", each) for each in made)
    assert made[0] != made[1]


def test_the_longest_valid_id_is_kept(replica):
    """128 visible ASCII characters."""
    with replica.client() as client:
        assert client.get("/livez", headers={"X-Request-ID": "~" * 128}).headers["X-Request-ID"] == "~" * 128
