"""X-Request-ID: the caller's, whatever it is, or a generated one, returned with every answer."""

import re

import pytest

from app.http.headers import _as_logged

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


@pytest.mark.parametrize("given", [None, ""])
def test_a_request_without_an_id_gets_one(replica, given):
    """Another with every request."""
    headers = {} if given is None else {"X-Request-ID": given}
    with replica.client() as client:
        made = [client.get("/livez", headers=headers).headers["X-Request-ID"] for _ in range(2)]
    assert all(re.fullmatch("[0-9a-f]{32}", each) for each in made)
    assert made[0] != made[1]


@pytest.mark.parametrize("given", ["two words", "x" * 1_000, "ümlaut".encode(), "tab\there"])
@pytest.mark.parametrize("path", ["/livez", "/access/v1/evaluation"])
def test_any_string_is_returned_as_it_is(replica, given, path):
    """AuthZEN calls it an arbitrary string."""
    with replica.client() as client:
        answer = client.post(path, headers={"X-Request-ID": given})
    assert dict(answer.headers.raw)[b"X-Request-ID".lower()] == (given if isinstance(given, bytes) else given.encode())


@pytest.mark.parametrize(
    ("given", "logged"),
    [
        (b"~" * 128, "~" * 128),
        (b"two words", "'two words'"),
        (b"a\x1b[31m\xfc", r"'a\x1b[31m\xfc'"),
        (b"x" * 129, repr("x" * 128)),
    ],
)
def test_an_id_that_is_not_plain_is_logged_quoted(given, logged):
    """So it cannot pass for another field of the line; and only its beginning."""
    assert _as_logged(given) == logged
