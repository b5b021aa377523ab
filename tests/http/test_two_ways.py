"""A call that bypasses the ASGI server and one that does not get the same answer."""

import json
import socket

import httptools
import msgspec
import pytest

from app.model.api_keys import new_raw_key

NOBODY = b'{"agent_id": "00000000-0000-7000-8000-000000000000", "tool_name": "t"}'
DIFFERING = {b"date", b"content-length"}


class Answer:
    """One answer as it stands on a wire."""

    def __init__(self, data):
        self.headers, self.body = [], b""
        parser = httptools.HttpResponseParser(self)
        parser.feed_data(data)
        self.status = parser.get_status_code()

    def on_header(self, name, value):
        self.headers.append((name, value))

    def on_body(self, body):
        self.body += body


def ask(replica, key, *headers, body):
    """The same request on both paths: each answer's headers, and its body without ids and times."""
    for query in ("", "?"):
        authorization, length = f"Authorization: Bearer {key}", f"Content-Length: {len(body)}"
        lines = [f"POST /v1/authorize{query} HTTP/1.1", "Host: x", authorization, length, "Connection: close", *headers]
        sent = "\r\n".join([*lines, "", ""]).encode() + body
        with socket.create_connection(("127.0.0.1", replica.port), timeout=10) as connection:
            connection.sendall(sent)
            received = b""
            while piece := connection.recv(65536):
                received += piece
        yield Answer(received)


def headers_of(answer):
    return sorted(each for each in answer.headers if each[0] not in DIFFERING)


@pytest.mark.parametrize("case", ["allowed", "unknown agent", "no JSON", "revoked", "repeated"])
def test_both_ways_answer_alike(tenant, replica, case):
    """With the same status, headers and body, except for ids and times."""
    agent = tenant.admin.post("/v1/agents", json={"name": "a"}).json()["id"]
    rules = [{"type": "tool_allowlist", "tools": ["t"]}]
    tenant.admin.post("/v1/policies", json={"agent_id": agent, "name": "p", "rules": rules}).raise_for_status()
    body = msgspec.json.encode({"agent_id": agent, "tool_name": "t"})
    key, headers = tenant.admin_key, ["X-Request-ID: mine"]
    match case:
        case "unknown agent":
            body = NOBODY
        case "no JSON":
            body = b"{"
        case "revoked":
            key = new_raw_key()
        case "repeated":
            headers.append("Idempotency-Key: once")
            list(ask(replica, key, *headers, body=body))
    plain, other = ask(replica, key, *headers, body=body)

    assert plain.status == other.status
    assert headers_of(plain) == headers_of(other)
    assert all(int(dict(answer.headers)[b"content-length"]) == len(answer.body) for answer in (plain, other))
    first, second = json.loads(plain.body), json.loads(other.body)
    for answer in (first, second):
        for name in ("id", "timestamp", "latencyMs"):
            answer.pop(name, None)
    assert first == second


@pytest.mark.parametrize("path", ["/v1/authorize/", "/v1/authorize%2F", "/v1/authorize/%20/"])
def test_a_path_with_a_slash_at_its_end_leads_nowhere(tenant, path):
    """A balancer that protects one spelling protects every one; the answer has one request id."""
    answer = tenant.admin.post(path, content=NOBODY, headers={"X-Request-ID": "mine"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "NOT_FOUND")
    assert answer.headers.get_list("x-request-id") == ["mine"]


@pytest.mark.parametrize("path", ["/metrics/", "/readyz/", "/v1/agents/"])
def test_what_is_read_does_not_end_with_a_slash_either(tenant, path):
    """Above all what must not be reachable from outside."""
    assert tenant.admin.get(path).status_code == 404


@pytest.mark.parametrize("query", ["?dry_run=true", "?x", "?explain=1&b=2"])
@pytest.mark.parametrize("path", ["/v1/authorize"])
def test_a_query_parameter_is_refused_and_nothing_is_decided(tenant, query, path):
    """A client that asks for a dry run must not get a decision; the refusal names /v1/explain.

    The key is checked first.
    """
    agent = tenant.new_agent()["id"]
    tenant.new_policy(agent)
    body = {"agent_id": agent, "tool_name": "t"}
    refused = tenant.admin.post(f"{path}{query}", json=body)
    name = query[1:].partition("=")[0]
    message = f"{name}: is not a query parameter: there are none here; POST /v1/explain says what would be answered"
    assert (refused.status_code, refused.json()["error"]["code"]) == (400, "VALIDATION_ERROR")
    assert refused.json()["error"]["message"] == message
    assert tenant.log(agent_id=agent) == []
    nobody = {"Authorization": f"Bearer {new_raw_key()}"}
    assert tenant.admin.post(f"{path}{query}", json=body, headers=nobody).status_code == 401
