"""Authentication: the Authorization header on every endpoint, and what its failures reveal."""

import pytest
from servers import ADMIN_KEY

from app.errors import Unauthorized
from app.http.authentication import raw_key_of
from app.http.doors import DOORS
from app.http.routes import ENDPOINTS

# A stream that lets somebody in does not end; tests/audit has its own.
ENDLESS = {each.path for each in ENDPOINTS if "text/event-stream" in each.media}
# A hook that answers 200 whatever happens says it in its body; its own tests look there.
GUARDED = [(each.method, each.path) for each in ENDPOINTS if each.scopes and not each.always]
ID = "00000000-0000-7000-8000-000000000000"
ENDING = [each for each in GUARDED if each[1] not in ENDLESS]
OFTEN = {("POST", door.path) for door in DOORS.values()} | {
    ("GET", "/v1/agents"),
    ("GET", "/v1/audit-logs"),
    ("POST", "/v1/policies"),
}
"""The hot path, and a few others; all endpoints but the doors have one guard in common."""


def call(client, method, path, key=None, **options):
    """A request that would do as little as possible if it were accepted."""
    path = path.replace("{agent_id}", ID).replace("{policy_id}", ID).replace("{key_id}", ID)
    options.setdefault("headers", {"Authorization": f"Bearer {key}"})
    return client.request(method, path, content=b"{}" if method in {"POST", "PATCH"} else None, **options)


def refused(answer, code="UNAUTHORIZED"):
    assert answer.status_code == 401, answer.text
    assert answer.headers["WWW-Authenticate"] == "Bearer"
    told = answer.json()
    if isinstance(told, str):  # AuthZEN wants a message, and nothing else
        return told
    if "type" in told:  # the approval profile wants a problem
        assert (told["type"], told["status"]) == ("about:blank", 401)
        return told["detail"]
    assert (told["error"]["code"], told["error"]["details"]) == (code, [])
    return told["error"]["message"]


HEADERS = {
    "missing": ([], "The header Authorization is missing; send Authorization: Bearer svc_…"),
    "empty": ([("Authorization", "")], "The Authorization header must be `Bearer <API key>`"),
    "basic": (
        [("Authorization", "Basic c3ZjOg==")],
        "The Authorization header must be `Bearer <API key>`",
    ),
    "key alone": (
        [("Authorization", ADMIN_KEY)],
        "The Authorization header must be `Bearer <API key>`",
    ),
    "no key": ([("Authorization", "Bearer")], "The Authorization header must be `Bearer <API key>`"),
    "upper-case digits": (
        [("Authorization", f"Bearer svc_{'5EED' * 8}")],
        "The API key does not have the form svc_ and 32 lower-case hex digits",
    ),
    "short": (
        [("Authorization", "Bearer svc_5eed")],
        "The API key does not have the form svc_ and 32 lower-case hex digits",
    ),
    "long": (
        [("Authorization", f"Bearer {ADMIN_KEY}0")],
        "The API key does not have the form svc_ and 32 lower-case hex digits",
    ),
    "other type": (
        [("Authorization", f"Bearer key_{'5eed' * 8}")],
        "The API key does not have the form svc_ and 32 lower-case hex digits",
    ),
    "something behind it": (
        [("Authorization", f"Bearer {ADMIN_KEY}, Bearer {ADMIN_KEY}")],
        "The API key does not have the form svc_ and 32 lower-case hex digits",
    ),
    "not ASCII": (
        [("Authorization", b"Bearer svc_\xff\xfe")],
        "The API key does not have the form svc_ and 32 lower-case hex digits",
    ),
    "full-width digits": (
        [("Authorization", ("Bearer svc_" + "\uff15" * 32).encode())],
        "The API key does not have the form svc_ and 32 lower-case hex digits",
    ),
    "two headers": (
        [("Authorization", f"Bearer {ADMIN_KEY}"), ("Authorization", "Bearer x")],
        "There is more than one Authorization header",
    ),
    "the same header twice": (
        [("Authorization", f"Bearer {ADMIN_KEY}"), ("authorization", f"Bearer {ADMIN_KEY}")],
        "There is more than one Authorization header",
    ),
    "unknown": ([("Authorization", f"Bearer svc_{'0' * 32}")], "The API key is unknown or has been revoked"),
}


@pytest.fixture
def anonymous(replica):
    with replica.client() as client:
        del client.headers["Authorization"]
        yield client


@pytest.mark.parametrize(
    ("headers", "message"),
    [
        pytest.param(*case, id=name, marks=() if name in {"missing", "short"} else pytest.mark.slow)
        for name, case in HEADERS.items()
    ],
)
def test_a_header_that_names_no_valid_key_is_401(anonymous, headers, message):
    """The same sentence on every endpoint; what was sent is never repeated."""
    for method, path in GUARDED:
        answer = call(anonymous, method, path, headers=headers)
        assert refused(answer) == message, (method, path)
        assert "5eed" not in answer.text, (method, path)


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER", "Bearer ", "bearer   "])
def test_the_scheme_is_read_in_any_case_and_with_any_spaces_after_it(tenant, anonymous, scheme):
    """As RFC 9110 says of every scheme."""
    sent = {"Authorization": f"{scheme} {tenant.read_key}"}
    assert anonymous.get("/v1/agents", headers=sent).status_code == 200
    assert anonymous.post("/v1/authorize", json={"agent_id": "a", "tool_name": "t"}, headers=sent).status_code == 404


@pytest.mark.parametrize(
    ("method", "path"), [pytest.param(*each, marks=() if each in OFTEN else pytest.mark.slow) for each in ENDING]
)
def test_a_revoked_key_is_401_at_once_on_every_replica(tenant, other_replica, anonymous, method, path):
    """Even if this replica and the other one authenticated it before."""
    key = tenant.new_key(["admin"])
    with other_replica.client(key["key"]) as there:
        for client in (anonymous, there):
            assert call(client, method, path, key["key"]).status_code != 401

        assert tenant.admin.delete(f"/v1/api-keys/{key['id']}").status_code == 204

        for client in (anonymous, there):
            assert refused(call(client, method, path, key["key"])) == "The API key is unknown or has been revoked"


def test_an_expired_key_is_401_and_says_so(tenant, anonymous):
    """On every endpoint. It expires at its expiresAt, by the store's clock."""
    key = tenant.new_key(["admin"], expiresAt="2020-01-01T00:00:00Z")
    for method, path in GUARDED:
        answer = call(anonymous, method, path, key["key"])
        assert refused(answer, "API_KEY_EXPIRED") == "The API key has expired", (method, path)


def test_a_key_works_until_it_expires(tenant, anonymous):
    """On every endpoint, even with a distant expiry."""
    key = tenant.new_key(["admin"], expires_at="9999-12-31T23:59:59Z")
    for method, path in ENDING:
        assert call(anonymous, method, path, key["key"]).status_code != 401, (method, path)


BODIES = {
    "not JSON": b"{",
    "not UTF-8": b'{"a": "\xff"}',
    "empty": b"",
    "too large": b"x" * (256 * 1024 + 1),
    "too deep": b"[" * 100,
    "of an unknown agent": b'{"agent_id": "%s", "tool_name": "t"}' % ID.encode(),
    "of no agent": b'{"tool_name": "t"}',
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
@pytest.mark.parametrize("state", ["revoked", "expired"])
def test_authorize_reveals_nothing_to_an_invalid_key(tenant, anonymous, state, body):
    """A replica that has cached the key checks it again before it reports an invalid body."""
    key = tenant.new_key(["read"])
    headers = {"Authorization": f"Bearer {key['key']}"}
    agent = tenant.new_agent()
    call_of = {"agent_id": agent["id"], "tool_name": "t"}
    assert anonymous.post("/v1/authorize", json=call_of, headers=headers).status_code == 200
    if state == "revoked":
        assert tenant.admin.delete(f"/v1/api-keys/{key['id']}").status_code == 204
    else:
        tenant.let_expire(key["id"])

    answer = anonymous.post("/v1/authorize", content=body, headers=headers)

    refused(answer, "UNAUTHORIZED" if state == "revoked" else "API_KEY_EXPIRED")


def test_the_answer_with_a_raw_key_is_cached_nowhere(tenant):
    """No cache may store it."""
    answer = tenant.admin.post("/v1/api-keys", json={"name": "k", "scopes": ["read"]})
    assert (answer.status_code, answer.headers["Cache-Control"]) == (201, "no-store")


def test_a_key_that_revokes_itself_is_gone(tenant, anonymous):
    """An admin may revoke its own key, and still gets the answer."""
    key = tenant.new_key(["admin"])
    assert call(anonymous, "DELETE", f"/v1/api-keys/{key['id']}", key["key"]).status_code == 204
    refused(call(anonymous, "GET", "/v1/agents", key["key"]))


def test_the_raw_key_is_exactly_what_follows_the_scheme():
    """Nothing is stripped or guessed."""
    assert raw_key_of(b"Bearer " + ADMIN_KEY.encode()) == ADMIN_KEY


@pytest.mark.parametrize("value", [None, b"", b"Bearer ", b"Bearer svc_", b"Bearer\tsvc_" + b"0" * 32, b"\xff" * 40])
def test_any_other_header_value_is_unauthorized(value):
    """Any other value raises this one error."""
    with pytest.raises(Unauthorized):
        raw_key_of(value)
