"""Requests of a gateway's clients: asked about at /access/v1/ext-authz, alone and behind a real nginx."""

import http.client
import json
import re
import subprocess
from pathlib import Path
from urllib.parse import unquote

import pytest
from approval_steps import SECRET
from gateway_steps import HOSTILE, HOSTILE_LINES, Backend, raw_status
from servers import Replica, free_port, wait_for_port
from tenants import Tenant

PAGE = (Path(__file__).parents[2] / "docs/gateways.md").read_text()
PREFIX = "/access/v1/ext-authz"
AGENT = {"X-Remit-Agent": "browser"}


@pytest.fixture(scope="module")
def asked_replica(store):
    running = Replica(store.url, REMIT_COMPACT="false", REMIT_EXT_AUTHZ_HEADERS="X-Tenant, Host", REMIT_SECRET=SECRET)
    yield running
    running.stop()


@pytest.fixture(scope="module")
def tenant(asked_replica, store):
    """A workspace whose agent may read the shop, and buy there if people agree."""
    made = Tenant(store.url, asked_replica)
    agent = made.new_agent(alias="browser")["id"]
    below = {"path": {"path": {"under": ["/shop"]}}}
    tools = ["http.get", "http.head", "http.put"]
    escalates = {"type": "approval_required", "tools": ["http.put"]}
    made.new_policy(
        agent,
        {"type": "tool_allowlist", "tools": tools},
        {"type": "parameter_constraint", "tools": tools, "parameters": below},
        escalates,
    )
    yield made
    made.close()


def ask(tenant, target, method="GET", key=None, headers=AGENT):
    """The answer to a request whose target is sent as it is. headers: a dict, or pairs."""
    connection = http.client.HTTPConnection("127.0.0.1", tenant.replica.port, timeout=30)
    connection._validate_path = lambda _: None  # hostile targets are the point
    connection.putrequest(method, PREFIX + target, skip_accept_encoding=True)
    connection.putheader("Authorization", f"Bearer {key or tenant.read_key}")
    for name, value in headers.items() if isinstance(headers, dict) else headers:
        connection.putheader(name, value)
    connection.endheaders()
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer.status, {name.lower(): value for name, value in answer.getheaders()}, body


def entry_of(tenant, headers):
    return tenant.reader.get(f"/v1/audit-logs/{headers['remit-decision']}").json()


def test_a_request_is_a_tool_call(tenant):
    """With its query and the configured headers as parameters, decided and logged like any other."""
    status, headers, _ = ask(
        tenant, "/shop/caf%C3%A9/?a=1&b=x+y&a=%32", headers={**AGENT, "X-Tenant": "t1", "X-No": "1"}
    )
    assert (status, headers["remit-result"], headers["remit-code"]) == (200, "allowed", "allowed")
    entry = entry_of(tenant, headers)
    assert (entry["toolName"], entry["action"], entry["result"]) == ("http.get", "GET", "allowed")
    assert entry["parameters"] == {
        "path": "/shop/café",
        "query": {"a": ["1", "2"], "b": "x y"},
        "headers": {"host": f"127.0.0.1:{tenant.replica.port}", "x-tenant": "t1"},
    }


def test_a_refusal_says_why_in_its_headers(tenant):
    """The body of an answer is lost behind most gateways."""
    status, headers, body = ask(tenant, "/admin")
    assert (status, headers["remit-code"], headers["remit-result"]) == (403, "parameter_invalid", "denied")
    assert headers["remit-reason"] == json.loads(body)
    assert entry_of(tenant, headers)["result"] == "denied"
    assert ask(tenant, "/shop", "DELETE")[1]["remit-code"] == "not_allowlisted"
    status, headers, body = ask(tenant, "/shop", "HEAD")
    assert (status, body) == (200, b"")
    compressed = {"Content-Encoding": "gzip"}  # of the body for the backend, which is not judged
    assert ask(tenant, "/shop", headers=AGENT | compressed)[0] == 200
    status, headers, _ = ask(tenant, "/shop", "PUT")
    assert (status, headers["remit-result"]) == (403, "escalated")


def test_the_agent_is_named_by_a_header_or_by_the_key(tenant):
    """By exactly one of the header; a key that is bound to one agent needs none, and gets no other."""
    agent = tenant.admin.get("/v1/agents/browser").json()["id"]
    bound = tenant.new_key(["authorize"], agents=[agent])["key"]
    other = tenant.new_agent(alias="other")["id"]
    assert ask(tenant, "/shop", key=bound, headers={})[0] == 200
    assert ask(tenant, "/shop", key=bound, headers={"X-Remit-Agent": other})[0] == 403
    assert ask(tenant, "/shop", headers={})[0] == 403
    assert ask(tenant, "/shop", headers=[*AGENT.items(), *AGENT.items()])[0] == 403
    status, headers, _ = ask(tenant, "/shop", headers={"X-Remit-Agent": "nobody"})
    assert (status, headers["remit-code"]) == (403, "unknown_subject")


def test_nothing_but_a_decision_lets_a_request_pass(tenant):
    """Keys that are wrong or lack the scope, headers that are given twice, other paths."""
    assert ask(tenant, "/shop", key="svc_" + "0" * 32)[0] == 401
    assert ask(tenant, "/shop", key=tenant.new_key(["audit"])["key"])[0] == 403
    assert ask(tenant, "/shop", headers=[*AGENT.items(), ("X-Tenant", "a"), ("X-Tenant", "b")])[0] == 403
    assert ask(tenant, "", "GET")[0] == 404
    assert ask(tenant, "evil/shop")[0] == 404


@pytest.mark.parametrize(
    "header",
    ["X_Tenant", "x_tenant", "X-HTTP-Method-Override", "X-Http-Method", "x_method_override", "X-Method-Override"],
)
def test_a_header_that_backends_read_in_another_way_never_passes(tenant, header):
    """CGI, WSGI and PHP read `X_Tenant` as `X-Tenant`; several frameworks run the method that a header names."""
    status, headers, _ = ask(tenant, "/shop", headers=[*AGENT.items(), ("X-Tenant", "a"), (header, "DELETE")])
    assert (status, headers["remit-code"]) == (403, "validation_error")
    assert ask(tenant, "/shop", headers=[*AGENT.items(), (header, "DELETE")])[0] == 403


@pytest.mark.parametrize("target", HOSTILE)
def test_a_hostile_spelling_never_passes(tenant, target):
    """Whatever it is: refused, or another path that is not allowed."""
    assert raw_status(tenant.replica.port, f"GET {PREFIX}{target}", tenant.read_key, "browser") != 200


@pytest.fixture(params=["alone", "behind nginx"])
def ask_once(request, tenant):
    """Asks about a request of the agent `buyer`, with these headers of its client; returns the status."""
    tenant_agent = {"X-Remit-Agent": "buyer"}
    if request.param == "alone":
        return lambda method, headers: ask(tenant, "/buy", method, headers=[*tenant_agent.items(), *headers])[0]
    buyers = request.getfixturevalue("nginx_of_buyers")
    return lambda method, headers: raw_status(
        buyers.port, f"{method} /buy", more="".join(f"{name}: {value}\r\n" for name, value in headers)
    )


@pytest.fixture
def buyer(tenant):
    """An agent that may POST once an hour, and DELETE as often as people agree to."""
    agent = tenant.new_agent(alias="buyer")["id"]
    tenant.new_policy(
        agent,
        {"type": "tool_allowlist", "tools": ["http.*"]},
        {"type": "rate_limit", "tools": ["http.post"], "rateLimit": {"maxCalls": 1, "windowSeconds": 3600}},
        {"type": "approval_required", "tools": ["http.delete"]},
    )
    yield agent
    tenant.admin.delete(f"/v1/agents/{agent}")


@pytest.mark.usefixtures("buyer")
def test_a_client_cannot_multiply_an_answer(ask_once, tenant):
    """An Idempotency-Key is the enforcement point's word. From a gateway's client it repeats no answer, breaks none."""
    key = [("Idempotency-Key", "mine")]
    assert [ask_once("POST", key) for _ in range(3)] == [200, 403, 403]
    assert ask_once("DELETE", key) == 403
    waiting = tenant.admin.get("/v1/approvals", params={"status": "pending"}).json()
    tenant.admin.post(f"/v1/approvals/{waiting[0]['id']}/approve", json={}).raise_for_status()
    assert [ask_once("DELETE", key) for _ in range(2)] == [200, 403]
    odd = [("Idempotency-Key", "a"), ("idempotency-key", "b"), ("Idempotency_Key", "c"), ("Idempotency-Key", "x" * 999)]
    assert [ask_once("GET", [header, key[0]]) for header in odd] == [200] * len(odd)
    assert tenant.log(limit=1)[0]["toolName"] == "http.get"


class Gateway:
    """nginx with the configuration of docs/gateways.md, of which only addresses, key and agent are changed."""

    def __init__(self, program, folder, key, remit_port, backend_port, agent="browser"):
        self.port = free_port()
        text = re.search(r"```nginx\n(.*?)```", PAGE, re.DOTALL)[1]
        for old, new in (
            ("127.0.0.1:8080", f"127.0.0.1:{remit_port}"),
            ("127.0.0.1:9000", f"127.0.0.1:{backend_port}"),
            ("127.0.0.1:8443", f"127.0.0.1:{self.port}"),
            ("svc_" + "0" * 32, key),
            ('"shop-browser"', f'"{agent}"'),
        ):
            assert old in text
            text = text.replace(old, new)
        kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        temporary = "".join(f"{kind}_temp_path {folder}/{kind}; " for kind in kinds)
        whole = f"pid {folder}/pid; events {{}} http {{ access_log off; {temporary}\n{text} }}"
        (folder / "nginx.conf").write_text(whole)
        command = [program, "-p", str(folder), "-c", str(folder / "nginx.conf"), "-e", "stderr", "-g", "daemon off;"]
        self.process = subprocess.Popen(command)
        wait_for_port(self.port, self.process)

    def stop(self):
        self.process.terminate()
        self.process.wait(60)


@pytest.fixture(scope="module")
def backend():
    running = Backend()
    yield running
    running.close()


@pytest.fixture(scope="module")
def nginx(program, tenant, backend, tmp_path_factory):
    running = Gateway(
        program("nginx", "docs/gateways.md"),
        tmp_path_factory.mktemp("gateway"),
        tenant.read_key,
        tenant.replica.port,
        backend.port,
    )
    yield running
    running.stop()


@pytest.fixture(scope="module")
def nginx_of_buyers(program, tenant, backend, tmp_path_factory):
    running = Gateway(
        program("nginx", "docs/gateways.md"),
        tmp_path_factory.mktemp("buyers"),
        tenant.read_key,
        tenant.replica.port,
        backend.port,
        "buyer",
    )
    yield running
    running.stop()


def test_nginx_lets_pass_what_is_allowed_and_nothing_else(nginx, backend, tenant):
    """With its own method; the client's header cannot name another agent, and its key is not used."""
    before = len(backend.got)
    assert raw_status(nginx.port, "GET /shop/cart?id=7", agent="nobody") == 200
    assert raw_status(nginx.port, "HEAD /shop/cart") == 200
    assert backend.got[before:] == [("GET", "/shop/cart?id=7"), ("HEAD", "/shop/cart")]
    assert raw_status(nginx.port, "GET /admin", tenant.admin_key) == 403
    assert raw_status(nginx.port, "DELETE /shop/cart") == 403
    assert raw_status(nginx.port, "POST /shop/cart", more="Content-Length: 0\r\n") == 403
    assert len(backend.got) == before + 2


def test_a_client_of_nginx_reads_the_reason(nginx):
    connection = http.client.HTTPConnection("127.0.0.1", nginx.port, timeout=30)
    connection.request("GET", "/admin")
    answer = connection.getresponse()
    assert (answer.status, "/shop" in answer.read().decode()) == (403, True)
    connection.close()


@pytest.mark.parametrize("target", HOSTILE)
def test_no_hostile_spelling_reaches_the_backend(nginx, backend, target):
    """In none of the ways in which a backend could read it does one lead out of /shop."""
    before = len(backend.got)
    assert raw_status(nginx.port, f"GET {target}") != 200
    assert [path for _, path in backend.got[before:]] == []


@pytest.mark.parametrize("head", HOSTILE_LINES)
def test_a_hostile_request_line_reaches_no_backend(nginx, backend, head):
    before = len(backend.got)
    raw_status(nginx.port, head)
    paths = [unquote(path) for _, path in backend.got[before:]]
    assert [path for path in paths if not path.startswith("/shop")] == []


def test_a_client_of_nginx_cannot_choose_whose_failures_count(program, tenant, store, backend, tmp_path):
    """Though nginx is a trusted proxy: it does not pass on X-Forwarded-For, which is its client's."""
    strict = Replica(
        store.url, REMIT_COMPACT="false", REMIT_AUTH_FAILURES_PER_MINUTE="3", REMIT_TRUSTED_PROXIES="127.0.0.1"
    )
    gateway = Gateway(program("nginx", "docs/gateways.md"), tmp_path, "svc_" + "1" * 32, strict.port, backend.port)
    try:
        statuses = [raw_status(gateway.port, "GET /shop", more=f"X-Forwarded-For: 10.0.0.{n}\r\n") for n in range(4)]
        assert statuses == [401, 401, 401, 500]  # nginx answers 500 for 429, which is no decision either
        with strict.client("svc_" + "2" * 32) as victim:
            assert victim.get("/v1/agents", headers={"X-Forwarded-For": "10.0.0.1"}).status_code == 401
    finally:
        gateway.stop()
        strict.stop()


def test_without_remit_nothing_passes(program, tenant, backend, tmp_path):
    """Not even what was allowed a moment ago."""
    gateway = Gateway(program("nginx", "docs/gateways.md"), tmp_path, tenant.read_key, free_port(), backend.port)
    before = len(backend.got)
    try:
        assert raw_status(gateway.port, "GET /shop/cart") == 500
    finally:
        gateway.stop()
    assert len(backend.got) == before
