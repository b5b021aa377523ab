"""Raw bytes that no HTTP client library would send, and the answers to them."""

import json
import re
import socket

import pytest
from servers import Replica
from tenants import Tenant

UNKNOWN = "00000000-0000-7000-8000-000000000000"


class Connection:
    """A connection on which a test writes arbitrary bytes."""

    def __init__(self, replica):
        self._socket = socket.create_connection(("127.0.0.1", replica.port), timeout=10)
        self._file = self._socket.makefile("rb")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._file.close()
        self._socket.close()

    def send(self, *lines, body=b""):
        """Request line and headers, an empty line, and the body as it is."""
        self._socket.sendall(b"".join(line.encode("latin-1") + b"\r\n" for line in (*lines, "")) + body)

    def send_more(self, data):
        self._socket.sendall(data)

    def answer(self, *, bodiless=False):
        """Status, headers and body of the next answer."""
        status = int(self._file.readline().split()[1])
        headers = {}
        while line := self._file.readline().strip():
            name, _, value = line.decode().partition(": ")
            headers[name.lower()] = value
        return status, headers, b"" if bodiless else self._file.read(int(headers.get("content-length", 0)))

    def head(self):
        """Status and headers of the next answer, if it has no body, without what differs each time."""
        status, headers, _ = self.answer(bodiless=True)
        return status, {name: value for name, value in headers.items() if name not in {"date", "x-request-id"}}

    def is_closed(self):
        """Whether the connection is closed, with nothing more to read."""
        return self._file.read(1) == b""


@pytest.fixture
def connection(replica):
    with Connection(replica) as opened:
        yield opened


@pytest.fixture
def key(tenant):
    """The header of an admin."""
    return f"Authorization: Bearer {tenant.admin_key}"


BOTH = pytest.mark.parametrize("path", ["/v1/agents", "/v1/authorize"])


@BOTH
def test_a_stranger_is_refused_before_its_body_arrives(connection, path):
    """An unauthenticated client gets its 401 while the body is still arriving."""
    connection.send(f"POST {path} HTTP/1.1", "Host: x", "Content-Length: 100", body=b"{")
    status, _, body = connection.answer()
    assert (status, json.loads(body)["error"]["code"]) == (401, "UNAUTHORIZED")


@BOTH
def test_a_body_that_is_too_large_is_refused_before_its_end(connection, key, path):
    """However much more was announced."""
    announced = f"Content-Length: {10**10}"
    connection.send(f"POST {path} HTTP/1.1", "Host: x", key, announced, body=b"x" * (256 * 1024 + 1))
    status, _, body = connection.answer()
    assert (status, json.loads(body)["error"]["code"]) == (413, "PAYLOAD_TOO_LARGE")


def test_a_body_in_pieces_is_one_body(connection, key):
    """Even in chunks of one byte."""
    connection.send("POST /v1/agents HTTP/1.1", "Host: x", key, "Transfer-Encoding: chunked")
    for byte in b'{"name": "in pieces"}':
        connection.send_more(b"1\r\n%c\r\n" % byte)
    connection.send_more(b"0\r\n\r\n")
    status, _, body = connection.answer()
    assert (status, json.loads(body)["name"]) == (201, "in pieces")


def test_a_client_that_expects_100_continue_gets_it(connection, key):
    """Expect: 100-continue."""
    connection.send("POST /v1/agents HTTP/1.1", "Host: x", key, "Content-Length: 15", "Expect: 100-continue")
    assert connection.answer()[0] == 100
    connection.send_more(b'{"name": "abc"}')
    assert connection.answer()[0] == 201


@pytest.mark.parametrize("before", [[], ["POST /v1/authorize"], ["GET /livez"], ["POST /v1/authorize", "GET /livez"]])
@pytest.mark.parametrize("length", ["Content-Length: 2", "Content-Length: 20000", "Transfer-Encoding: chunked"])
def test_a_call_that_expects_100_continue_gets_it(connection, key, before, length):
    """Whether its key is new or known, and from whichever lane its connection comes."""
    for request in before:
        connection.send(f"{request} HTTP/1.1", "Host: x", key, "Content-Length: 2", body=b"{}")
        assert connection.answer()[0] in {200, 400}
    connection.send("POST /v1/authorize HTTP/1.1", "Host: x", key, length, "Expect: 100-continue")
    assert connection.answer()[0] == 100
    bodies = {"2": b"{}", "20000": b"{}" + b" " * 19_998, "chunked": b"2\r\n{}\r\n0\r\n\r\n"}
    connection.send_more(bodies[length.split()[1]])
    assert connection.answer()[0] == 400


def test_a_client_that_is_refused_gets_no_100_continue(connection):
    """The refusal comes in place of 100 Continue."""
    connection.send("POST /v1/agents HTTP/1.1", "Host: x", "Content-Length: 15", "Expect: 100-continue")
    assert connection.answer()[0] == 401


def test_requests_in_a_row_are_answered_in_their_order(connection, key):
    """Pipelined, on the hot path and elsewhere, including refused ones."""
    call = json.dumps({"agent_id": UNKNOWN, "tool_name": "t"})
    for _ in range(3):
        connection.send(
            "POST /v1/authorize HTTP/1.1", "Host: x", key, f"Content-Length: {len(call)}", body=call.encode()
        )
        connection.send("GET /v1/agents HTTP/1.1", "Host: x", key)
        connection.send("POST /v1/agents HTTP/1.1", "Host: x", key, "Content-Length: 1", body=b"{")
    assert [connection.answer()[0] for _ in range(9)] == [404, 200, 400] * 3


SMUGGLED = {
    "two lengths": ("Content-Length: 2", "Content-Length: 3"),
    "length and chunks": ("Content-Length: 2", "Transfer-Encoding: chunked"),
    "a length that is none": ("Content-Length: abc",),
    "a negative length": ("Content-Length: -1",),
    "a length with a sign": ("Content-Length: +2",),
    "an endless length": (f"Content-Length: {'9' * 40}",),
    "another coding": ("Transfer-Encoding: gzip, identity",),
    "chunks twice": ("Transfer-Encoding: chunked, chunked",),
    "a space before the colon": ("Content-Length : 2",),
    "a line that goes on": ("X-A: b", " Content-Length: 2"),
    "a control character": ("X-A: \x01",),
}


@pytest.mark.parametrize("headers", SMUGGLED.values(), ids=SMUGGLED)
def test_a_request_that_two_readers_would_end_in_different_places_ends_the_connection(connection, key, headers):
    """One reader's body could be another's next request, with somebody else's key."""
    connection.send("POST /v1/agents HTTP/1.1", "Host: x", key, *headers, body=b"{}GET /v1/agents HTTP/1.1\r\n\r\n")
    status, answered, body = connection.answer()
    assert (status, json.loads(body)["error"]["code"]) == (400, "VALIDATION_ERROR")
    assert answered.get("connection") == "close"
    assert connection.is_closed()


HEADS = [
    "/livez",
    "/docs/api",
    "/openapi.json",
    "/",
    "/v1/agents",
    "/v1/audit-logs",
    f"/v1/agents/{UNKNOWN}",
    "/v1/none",
]


@pytest.mark.parametrize("path", HEADS)
def test_head_is_get_without_the_body(replica, key, path):
    """Status and headers are those of GET, also of a refusal, and the connection can be used again."""
    with Connection(replica) as got, Connection(replica) as headed:
        got.send(f"GET {path} HTTP/1.1", "Host: x", key)
        headed.send(f"HEAD {path} HTTP/1.1", "Host: x", key)
        assert headed.head() == got.head()
        headed.send("GET /livez HTTP/1.1", "Host: x", "Connection: close")
        assert headed.answer()[0] == 200
        assert headed.is_closed()


@pytest.mark.parametrize("path", ["/v1/audit-logs/stream", "/v1/approvals/stream", "/v1/audit-logs/export"])
def test_head_of_a_stream_ends_at_once(replica, tenant, key, path):
    """Its place among the streams of the key is free again: otherwise the eleventh would be 429."""
    with Connection(replica) as connection:
        for _ in range(30):
            connection.send(f"HEAD {path} HTTP/1.1", "Host: x", key)
            status, headers = connection.head()
            assert (status, "content-type" in headers) == (200, True)


def test_head_needs_the_key_that_get_needs(connection):
    """Nobody learns without a key what is there."""
    connection.send("HEAD /v1/agents HTTP/1.1", "Host: x")
    assert connection.head()[0] == 401


def test_a_method_that_nobody_knows_is_405(connection, key):
    """RFC 9110 allows new methods, so it is a valid request, and the connection stays open."""
    connection.send("FOO /v1/agents HTTP/1.1", "Host: x", key)
    status, headers, _ = connection.answer()
    assert (status, headers["allow"]) == (405, "GET, HEAD, OPTIONS, POST")
    connection.send("GET /livez HTTP/1.1", "Host: x")
    assert connection.answer()[0] == 200


@pytest.mark.parametrize("first", ["GET  /v1/agents HTTP/1.1", "\x16\x03\x01", "GET", "GET /v1/agents HTTP/9.9"])
def test_a_request_that_is_not_http_gets_the_usual_error_body(connection, first):
    """And the connection closes."""
    connection.send(first, "Host: x")
    status, headers, body = connection.answer()
    assert (status, headers["content-type"]) == (400, "application/json")
    message = "HTTP: what was sent is not a request of HTTP/1.1"
    assert json.loads(body)["error"]["message"] == message
    assert connection.is_closed()


def test_http_1_0_is_answered_and_closed(connection, key):
    """Old load balancers use it for health checks."""
    connection.send("GET /v1/agents HTTP/1.0", key)
    assert connection.answer()[0] == 200
    assert connection.is_closed()


def test_the_path_of_an_absolute_url_counts(connection, key):
    """As RFC 9112 requires; the host in the URL grants nothing."""
    connection.send("GET http://elsewhere.example/v1/agents HTTP/1.1", "Host: x", key)
    assert connection.answer()[0] == 200


def test_an_invalid_host_is_refused(connection, key):
    """With the usual error body."""
    connection.send("GET /v1/agents HTTP/1.1", "Host: a b/c", key)
    status, _, body = connection.answer()
    assert (status, json.loads(body)["error"]["code"]) == (400, "VALIDATION_ERROR")


@pytest.fixture(scope="module")
def misbehaved(store, tmp_path_factory):
    """Raw keys wherever a client can put one, and truncated bodies: the answers, the log, and the keys."""
    path = tmp_path_factory.mktemp("logs") / "replica"
    with path.open("wb") as file:
        replica = Replica(store.url, log=file, REMIT_LOG_LEVEL="debug")
        tenant = Tenant(store.url, replica)
        answers = []
        for key in (tenant.admin_key, tenant.read_key):
            headers = [{"Authorization": value} for value in (key, f"Bearer {key}0", f"Basic {key}", f"Bearer\t{key}")]
            answers += [tenant.admin.get("/v1/agents", headers=each) for each in headers]
            answers += [tenant.admin.get(f"/v1/agents{each}") for each in (f"/{key}", f"?{key}=1", f"?limit={key}")]
            answers += [tenant.admin.delete(f"/v1/api-keys/{key}"), tenant.admin.get(f"/{key}/x")]
            bodies = [{"name": 1, key: 2}, {key: "x"}, {"name": "x", "description": [key]}, key, {"name": f"{key}\x00"}]
            answers += [tenant.admin.post("/v1/agents", json=body) for body in bodies]
            answers += [tenant.admin.post("/v1/agents", content=f'{{"{key}": 1, "{key}": 2}}')]
            rules = [{"type": "tool_denylist", "tools": [f"{key}*x"]}, {"type": key, "tools": ["x"]}]
            rules += [{"type": "time_based", "tools": ["x"], "timeWindow": {"allowedHours": [1], "timezone": key}}]
            rules += [{"type": "parameter_constraint", "tools": ["x"], "parameters": {key: {"regex": f"({key}"}}}]
            policy = {"agent_id": UNKNOWN, "name": "p"}
            answers += [tenant.admin.post("/v1/policies", json={**policy, "rules": [rule]}) for rule in rules]
            answers += [tenant.admin.post("/v1/api-keys", json={"name": "k", "scopes": [key]})]
            answers += [tenant.admin.post("/v1/authorize", json={"agent_id": key, "tool_name": key})]
            answers += [
                tenant.admin.get("/v1/audit-logs", params={name: key}) for name in ("agent_id", "result", "from")
            ]
        for target in ("/v1/agents", "/v1/authorize", f"/v1/policies/{UNKNOWN}"):
            for sent in (b"", b'{"na', b"x" * 300_000):
                with Connection(replica) as broken:
                    method = "PATCH" if target.endswith(UNKNOWN) else "POST"
                    head = (f"{method} {target} HTTP/1.1", "Host: x", f"Authorization: Bearer {tenant.admin_key}")
                    broken.send(*head, "Content-Length: 1000000", body=sent)
        assert tenant.admin.get("/v1/agents").status_code == 200
        tenant.close()
        replica.stop()
    return answers, path.read_text(), (tenant.admin_key, tenant.read_key)


@pytest.mark.slow
def test_no_error_repeats_a_raw_key(misbehaved):
    """Wherever the key was, and whatever the error."""
    answers, _, keys = misbehaved
    assert {answer.status_code for answer in answers} <= {400, 401, 404}
    for answer in answers:
        assert not any(key in answer.text for key in keys), answer.text


@pytest.mark.slow
def test_no_line_of_the_log_holds_a_raw_key(misbehaved):
    """At level debug, with every request logged."""
    _, log, keys = misbehaved
    assert "/v1/agents" in log
    assert not any(key in log for key in keys)


@pytest.mark.slow
def test_a_client_that_goes_away_leaves_no_traceback(misbehaved):
    """It is not the service's failure; the next request is served."""
    _, log, _ = misbehaved
    assert "Traceback" not in log
    assert "unexpected" not in log
    assert " 500" not in log


def call_of(tool):
    return json.dumps({"agent_id": UNKNOWN, "tool_name": tool}).encode()


@pytest.mark.parametrize(
    "asked",
    [
        ("Connection: Upgrade", "Upgrade: x"),
        ("Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMA"),
    ],
)
def test_a_body_behind_an_upgrade_is_not_a_second_request(connection, key, asked):
    """However it is split; a balancer would give the second answer to another client."""
    inner = b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n"
    for path in ("/v1/authorize", "/v1/agents"):
        connection.send(f"POST {path} HTTP/1.1", "Host: x", key, *asked, f"Content-Length: {len(inner)}")
        connection.send_more(inner)
        status, _, body = connection.answer()
        assert (status, json.loads(body)["error"]["code"]) == (400, "VALIDATION_ERROR")
    connection.send("GET /readyz HTTP/1.1", "Host: x")
    assert connection.answer()[0] == 200


def test_a_client_that_offers_h2c_is_answered_in_http_1(connection, key):
    """As curl and Java offer it by default; the body is read as usual."""
    offer = ("Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA")
    body = call_of("t")
    connection.send("POST /v1/authorize HTTP/1.1", "Host: x", key, *offer, f"Content-Length: {len(body)}", body=body)
    status, _, answered = connection.answer()
    assert (status, json.loads(answered)["error"]["code"]) == (404, "AGENT_NOT_FOUND")


def test_a_client_that_closes_its_sending_side_gets_its_answers(replica, key):
    """As `printf … | nc -N` does, on the hot path and elsewhere."""
    body = call_of("t")
    with socket.create_connection(("127.0.0.1", replica.port), timeout=10) as peer:
        head = f"POST /v1/authorize HTTP/1.1\r\nHost: x\r\n{key}\r\nContent-Length: {len(body)}\r\n\r\n"
        peer.sendall(head.encode() + body + f"GET /v1/agents HTTP/1.1\r\nHost: x\r\n{key}\r\n\r\n".encode())
        peer.shutdown(socket.SHUT_WR)
        received = b"".join(iter(lambda: peer.recv(65536), b""))
    assert re.findall(rb"HTTP/1.1 (\d+)", received) == [b"404", b"200"]


def test_a_good_call_before_a_bad_one_is_answered_first(connection, key):
    """It was committed, so its answer is what comes first."""
    body = call_of("t")
    bad = f"POST /v1/authorize HTTP/1.1\r\nHost: x\r\n{key}\r\nTransfer-Encoding: chunked\r\n\r\nno size\r\n".encode()
    connection.send("POST /v1/authorize HTTP/1.1", "Host: x", key, f"Content-Length: {len(body)}", body=body + bad)
    assert [connection.answer()[0] for _ in range(2)] == [404, 400]
    assert connection.is_closed()


def test_trailers_without_end_are_refused(connection):
    """They can be sent without a key, are not kept, and the answer can still be read."""
    connection.send(
        "POST /livez HTTP/1.1", "Host: x", "Transfer-Encoding: chunked", body=b"0\r\n" + b"a:b\r\n" * 100_000
    )
    status, headers, _ = connection.answer()
    assert (status, headers["connection"]) in {(405, "close"), (431, "close")}  # whichever is noticed first
    assert connection.is_closed()


def test_a_repeated_head_is_authenticated_each_time(connection, tenant):
    """The connection caches parsed headers, but never the authentication: another key or a revoked one is noticed."""
    mine, body = tenant.new_key(["read"]), json.dumps({"agent_id": tenant.new_agent()["id"], "tool_name": "t"}).encode()

    def ask(*headers):
        connection.send("POST /v1/authorize HTTP/1.1", "Host: x", *headers, f"Content-Length: {len(body)}", body=body)
        status, answered, _ = connection.answer()
        return status, answered["x-request-id"]

    key = f"Authorization: Bearer {mine['key']}"
    assert [ask(key, f"X-Request-ID: {each}") for each in "aab"] == [(200, "a"), (200, "a"), (200, "b")]
    assert ask(key, "Idempotency-Key: 1") == ask(key, "Idempotency-Key: 1")
    assert ask(key)[1] != ask(key)[1]
    assert ask(key)[0] == 200
    assert ask(key[:-1] + ("0" if key[-1] != "0" else "1"))[0] == 401
    assert ask(key)[0] == 200
    assert tenant.admin.delete(f"/v1/api-keys/{mine['id']}").status_code == 204
    assert ask(key)[0] == 401
