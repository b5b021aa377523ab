"""Requests of a gateway's clients: asked about at /access/v1/ext-authz, alone and behind a real nginx."""

import http.client
import json
import re
import socket
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote

import pytest
from servers import Replica, free_port, wait_for_port
from tenants import Tenant

PAGE = (Path(__file__).parents[2] / "docs/gateways.md").read_text()
PREFIX = "/access/v1/ext-authz"
AGENT = {"X-Remit-Agent": "browser"}


@pytest.fixture(scope="module")
def asked_replica(store):
    running = Replica(store.url, REMIT_COMPACT="false", REMIT_EXT_AUTHZ_HEADERS="X-Tenant, Host")
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


HOSTILE = [
    "/shop/../admin",
    "/shop/%2e%2e/admin",
    "/shop/.%2E/admin",
    "/shop/%252e%252e/admin",
    "/shop/..%2fadmin",
    "/shop%2f..%2fadmin",
    "/shop/..;/admin",
    "/shop/..%3b/admin",
    "/shop;/../admin",
    "/shop/x;y=1",
    "/shop/..\\admin",
    "/shop%5c..%5cadmin",
    "/shop//../admin",
    "//shop/x",
    "/shop//x",
    "/./shop",
    "/shop/.",
    "/shop/%",
    "/shop/%zz",
    "/shop/%c0%ae%c0%ae/admin",
    "/shop/%ff",
    "/shop/%00",
    "/shop/x%0d%0aHost:%20evil",
    "/shop/x%0a",
    "/shop/%E2%80%AEx",
    "/shop/%EF%BC%8E%EF%BC%8E/admin",
    "/shop/%E2%88%95admin",
    "/shop/%20",
    "/shop/...",
    "/shop/x?a=1;b=2",
    "/shop/x?a=%zz",
    "/shop/x?a=%00",
    "/SHOP/x",
    "/Shop",
    "/%61dmin",
    "/shopping",
    "/shop\u00e9",
    "/../shop",
    "/shop/x/../../admin?/shop",
    "/admin?x=/shop",
    "/admin#/shop",
    "http://shop/admin",
]


@pytest.mark.parametrize("target", HOSTILE)
def test_a_hostile_spelling_never_passes(tenant, target):
    """Whatever it is: refused, or another path that is not allowed."""
    assert raw_status(tenant.replica.port, f"GET {PREFIX}{target}", tenant.read_key, "browser") != 200


def raw_status(port, line, key=None, agent=None, *, more=""):
    """The status of a request whose line is sent byte by byte; 0 if there is none, as in HTTP/0.9."""
    head = f"{line} HTTP/1.1\r\nHost: shop\r\nConnection: close\r\n{more}"
    head += f"Authorization: Bearer {key}\r\n" if key else ""
    head += f"X-Remit-Agent: {agent}\r\n" if agent else ""
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        connection.sendall(f"{head}\r\n".encode())
        answer = b""
        while part := connection.recv(65536):
            answer += part
    return int(answer.split(b" ", 2)[1]) if answer.startswith(b"HTTP/") else 0


class Backend:
    """Keeps the target of every request that reaches it."""

    def __init__(self):
        self.got = []
        got = self.got

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                got.append((self.command, self.path))
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def do_HEAD(self):
                self.do_GET()

            def do_POST(self):
                self.do_GET()

            def do_DELETE(self):
                self.do_GET()

            def log_message(self, *_):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self._server.server_port
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))
        self._thread.start()

    def close(self):
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class Gateway:
    """nginx with the configuration of docs/gateways.md, of which only addresses, key and agent are changed."""

    def __init__(self, program, folder, tenant, remit_port, backend_port):
        self.port = free_port()
        text = re.search(r"```nginx\n(.*?)```", PAGE, re.DOTALL)[1]
        for old, new in (
            ("127.0.0.1:8080", f"127.0.0.1:{remit_port}"),
            ("127.0.0.1:9000", f"127.0.0.1:{backend_port}"),
            ("127.0.0.1:8443", f"127.0.0.1:{self.port}"),
            ("svc_" + "0" * 32, tenant.read_key),
            ('"shop-browser"', '"browser"'),
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
        self.process.wait(10)


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
        tenant,
        tenant.replica.port,
        backend.port,
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


@pytest.mark.parametrize(
    "head",
    [
        "GET /shop\r\nX: y",
        "get /shop",
        "GET /shop/x /admin",
        "GET\t/admin",
        "GET /admin\nGET /shop",
        "GET http://shop/admin",
        "OPTIONS *",
        "CONNECT /shop",
    ],
)
def test_a_hostile_request_line_reaches_no_backend(nginx, backend, head):
    before = len(backend.got)
    raw_status(nginx.port, head)
    paths = [unquote(path) for _, path in backend.got[before:]]
    assert [path for path in paths if not path.startswith("/shop")] == []


def test_without_remit_nothing_passes(program, tenant, backend, tmp_path):
    """Not even what was allowed a moment ago."""
    gateway = Gateway(program("nginx", "docs/gateways.md"), tmp_path, tenant, free_port(), backend.port)
    before = len(backend.got)
    try:
        assert raw_status(gateway.port, "GET /shop/cart") == 500
    finally:
        gateway.stop()
    assert len(backend.got) == before
