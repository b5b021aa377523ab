"""Only one spelling of every path is served, so that no check can be bypassed with another."""

from urllib.parse import unquote

import pytest
from servers import Replica
from tenants import Tenant
from test_wire import Connection

from app.http.references import served_path

OTHERS = [
    "//v1/agents",
    "///v1/agents",
    "/v1//agents",
    "/v1/agents//",
    "/v1/agents/",
    "http://h/metrics/",
    "/./v1/agents",
    "/v1/./agents",
    "/v1/agents/.",
    "/x/../v1/agents",
    "/v1/x/../agents",
    "/v1%2fagents",
    "/v1%2Fagents",
    "/%2fv1/agents",
    "/v1/%2e/agents",
    "/x/%2E%2e/v1/agents",
    "/v1\\agents",
    "/v1%5cagents",
    "http://h//v1/agents",
    "HTTP://h/v1/../v1/agents",
]
SAME = [
    "/v1/agents",
    "/%76%31/agents",
    "/v1/%61gents",
    "http://h/v1/agents",
    "HTTP://other:80/%761/agents",
]


@pytest.fixture(scope="module")
def slow(store):
    """A replica that answers a key twice a second."""
    running = Replica(
        store.url, REMIT_REQUESTS_PER_SECOND="2", REMIT_AUTH_FAILURES_PER_MINUTE="3", REMIT_COMPACT="false"
    )
    yield running
    running.stop()


@pytest.fixture
def asked(slow, store):
    """Requests a target exactly as given, with a separate key."""
    made = Tenant(store.url, slow)
    with Connection(slow) as connection:

        def ask(target, key=made.admin_key):
            connection.send(f"GET {target} HTTP/1.1", "Host: h", f"Authorization: Bearer {key}")
            return connection.answer()[0]

        yield ask
    made.close()


@pytest.mark.slow
@pytest.mark.parametrize("target", OTHERS)
def test_another_spelling_leads_nowhere(asked, target):
    """404, with a key or without."""
    assert [asked(target), asked(target, "none")] == [404, 404]


@pytest.mark.slow
def test_equivalent_spellings_are_checked_alike(asked):
    """Percent-encoded letters (RFC 3986, section 6.2.2.2) and absolute URLs share one rate limit."""
    statuses = [asked(SAME[number % len(SAME)]) for number in range(30)]
    assert set(statuses) == {200, 429}
    assert statuses.count(200) <= 6


@pytest.mark.parametrize("path", ["/v1/agents", "/", "/.env", "/v1/..x/...", "/v1/agents/a%20b", "/a.b/c.", "/v1/%"])
def test_names_may_hold_dots_and_codes(path):
    """A segment that only begins with dots is a name."""
    assert served_path(path, path.encode()) == path


@pytest.mark.parametrize(
    ("raw", "read"),
    [
        ("/v1/agents/team%2Fbot", "/v1/agents/team%2Fbot"),
        ("/v1/agents/team%2fbot/", None),
        ("/v1/agents/a%2Fb%2Fc/tools", "/v1/agents/a%2Fb%2Fc/tools"),
        ("/v1/agents/a%2Fb/x/y%20z", "/v1/agents/a%2Fb/x/y z"),
        ("/v1/agents/a%40b", "/v1/agents/a@b"),
        ("/v1/groups/a%2fb/policies", "/v1/groups/a%2Fb/policies"),
        ("/v1/groups/a%2Fb/policies%2F", None),
        ("/v1/agents/a%252Fb", None),
        ("/v1/agents/a%2Fb/x%2Fy", None),
        ("/v1/agents/a%2F..%2Fb", None),
        ("/v1/agents/a%2F%2e%2e/b", None),
        ("/v1/agents/%2Fa", None),
        ("/v1/agents/a%2Fb%5Cc", None),
        ("/v1/policies/a%2Fb", None),
        ("/v1/%61gents/a%2Fb", None),
        ("/metrics%2f", None),
    ],
)
def test_a_slash_in_an_agents_alias_stays_a_part_of_it(raw, read):
    """An encoded slash is allowed nowhere else, and only in one form."""
    assert served_path(unquote(raw), raw.encode()) == read
