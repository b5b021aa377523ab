"""Requests of an Envoy's clients: the configuration of docs/gateways.md, run by Envoy itself."""

import http.client
import re
import subprocess
from pathlib import Path

import pytest
from gateway_steps import HOSTILE, HOSTILE_LINES, Backend, raw_status
from servers import Replica, free_port, wait_for_port
from sessions import commands, require_printed, run, shell_in
from tenants import Tenant

ROOT = Path(__file__).parents[2]
ENVOY = ROOT / ".venv/deploy/bin/envoy"
_, CONFIGURATION, SESSION = re.search(
    r"## Envoy\n(.*?)```yaml\n(.*?)```\n\n```sh\n(.*?)```", (ROOT / "docs/gateways.md").read_text(), re.DOTALL
).groups()
AGENT = "shop-browser"
INDENT = "\n" + " " * 16
"""Separates the fields of the connection manager."""


@pytest.fixture(scope="module")
def remit(store):
    running = Replica(store.url, REMIT_COMPACT="false", REMIT_EXT_AUTHZ_HEADERS="X-Tenant")
    yield running
    running.stop()


@pytest.fixture(scope="module")
def tenant(remit, store):
    """A workspace whose agent may read the shop and order there, for any tenant but one."""
    made = Tenant(store.url, remit)
    agent = made.new_agent(alias=AGENT)["id"]
    tools = ["http.get", "http.head", "http.post"]
    asked = {"path": {"path": {"under": ["/shop"]}}, "headers.x-tenant": {"regex": "^[a-z]+$", "required": False}}
    made.new_policy(
        agent,
        {"type": "tool_allowlist", "tools": tools},
        {"type": "parameter_constraint", "tools": tools, "parameters": asked},
    )
    yield made
    made.close()


@pytest.fixture(scope="module")
def backend():
    running = Backend()
    yield running
    running.close()


@pytest.fixture(scope="module")
def envoy_between(program, tenant, backend, tmp_path_factory):
    """Starts an Envoy with the page's configuration, of which only ports and the key are changed, and `changes`."""
    envoy, running = program(str(ENVOY), "docs/gateways.md (make .venv/deploy.stamp)"), []

    def start(remit_port, **changes):
        port, text = free_port(), CONFIGURATION
        changed = {
            "127.0.0.1:8080": f"127.0.0.1:{remit_port}",
            "port_value: 8080": f"port_value: {remit_port}",
            "port_value: 9000": f"port_value: {backend.port}",
            "port_value: 8443": f"port_value: {port}",
            "svc_" + "0" * 32: tenant.read_key,
        }
        for old, new in (changed | changes).items():
            assert old in text
            text = text.replace(old, new)
        path = tmp_path_factory.mktemp("envoy") / "envoy.yaml"
        path.write_text(text)
        options = ("--use-dynamic-base-id", "--log-level", "error", "--concurrency", "1")
        running.append(subprocess.Popen([envoy, "--config-path", path, *options]))
        wait_for_port(port, running[-1], 60)
        return port

    yield start
    for process in running:
        process.terminate()
        process.wait(20)


@pytest.fixture(scope="module")
def gateway(envoy_between, remit):
    """The port of an Envoy that asks Remit."""
    return envoy_between(remit.port)


def test_the_pages_session_prints_what_it_shows(gateway, tmp_path):
    """But for the first command, which starts Envoy."""
    with shell_in(tmp_path, {"PATH": "/usr/bin:/bin"}) as shell:
        started, *others = commands(SESSION)
        assert started[0].startswith("envoy --config-path")
        for command, wanted in others:
            printed = run(shell, command.replace(":8443", f":{gateway}"))
            require_printed(command, wanted, printed.rstrip())


def test_envoy_lets_pass_what_is_allowed_and_nothing_else(gateway, backend, tenant):
    """With its own method; the client can name no other agent, and neither its key nor Remit's reaches anybody."""
    before = len(backend.got)
    assert raw_status(gateway, "GET /shop/cart?id=7", tenant.admin_key, "nobody") == 200
    assert backend.headers["authorization"] == f"Bearer {tenant.admin_key}", "what the client sent is the backend's"
    assert tenant.read_key not in str(backend.headers)
    assert raw_status(gateway, "HEAD /shop/cart") == 200
    assert backend.got[before:] == [("GET", "/shop/cart?id=7"), ("HEAD", "/shop/cart")]
    assert raw_status(gateway, "GET /admin", tenant.admin_key) == 403
    assert raw_status(gateway, "DELETE /shop/cart") == 403
    assert len(backend.got) == before + 2
    assert tenant.log(limit=1)[0]["toolName"] == "http.delete"


def answer_to(port, method, path, **request):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request(method, path, **request)
    answer = connection.getresponse()
    answer.read()
    connection.close()
    return answer


def test_a_client_of_envoy_reads_the_reason(gateway):
    answer = answer_to(gateway, "GET", "/admin")
    assert (answer.status, answer.headers["remit-code"]) == (403, "parameter_invalid")
    assert "/shop" in answer.headers["remit-reason"]


@pytest.mark.parametrize("target", HOSTILE)
def test_no_hostile_spelling_reaches_the_backend(gateway, backend, target):
    """Envoy changes no path before it asks, nor afterwards."""
    before = len(backend.got)
    assert raw_status(gateway, f"GET {target}") != 200
    assert backend.got[before:] == []


@pytest.mark.parametrize("target", HOSTILE)
def test_a_path_that_envoy_normalises_is_judged_as_the_backend_gets_it(normalising, backend, target):
    """What passes is below /shop in every reading."""
    before = len(backend.got)
    raw_status(normalising, f"GET {target}")
    passed = [path for _, path in backend.got[before:]]
    assert all(re.fullmatch(r"/shop(/[a-z]*)*(\?/?[a-z]*)?", path) for path in passed), passed


def test_a_normalised_path_that_is_allowed_passes(normalising, backend):
    assert raw_status(normalising, "GET /x/../shop//cart") == 200
    assert backend.got[-1] == ("GET", "/shop/cart")


@pytest.fixture(scope="module")
def normalising(envoy_between, remit):
    """The port of an Envoy that resolves dot segments and repeated slashes before it asks."""
    plain = "stat_prefix: shop"
    return envoy_between(
        remit.port, **{plain: f"{plain}, normalize_path: true, merge_slashes: true".replace(", ", INDENT)}
    )


@pytest.mark.parametrize("head", HOSTILE_LINES)
def test_a_hostile_request_line_reaches_no_backend(gateway, backend, head):
    before = len(backend.got)
    raw_status(gateway, head)
    assert [path for _, path in backend.got[before:] if not path.startswith("/shop")] == []


@pytest.mark.parametrize(
    ("headers", "wanted"),
    [
        ("X-Tenant: blue\r\n", 200),
        ("X-Tenant: BLUE\r\n", 403),
        ("x-tenant: blue\r\nX-Tenant: BLUE\r\n", 403),
        ("X-Tenant: blue\r\nX-TENANT: blue\r\n", 403),
        ("X-Tenant: blue\n X-Tenant: BLUE\r\n", 403),
        ("X-Tenant: BLUE\r\nConnection: x-tenant\r\n", 200),
        ("X-Remit-Agent: nobody\r\nX-Remit-Agent: another\r\n", 200),
        ("Authorization: Bearer nobody\r\n", 200),
        ("X-Envoy-Original-Path: /shop\r\n", 200),
        ("X-HTTP-Method-Override: DELETE\r\n", 200),
    ],
)
def test_a_clients_headers_are_judged_or_do_not_matter(gateway, backend, headers, wanted):
    """The backend gets what was judged: not even a header that the client names as one of the connection slips past."""
    before = len(backend.got)
    status = raw_status(gateway, "GET /shop/cart", more=headers)
    assert (status == 200, len(backend.got) - before) == (wanted == 200, int(wanted == 200)), status
    assert wanted != 200 or backend.headers.get("x-tenant", "blue") == "blue"


def test_a_path_in_another_header_does_not_count(gateway, backend):
    before = len(backend.got)
    for header in ("X-Envoy-Original-Path", "X-Original-URL", "X-Rewrite-URL", ":path"):
        assert raw_status(gateway, "GET /admin", more=f"{header}: /shop\r\n") != 200
    assert len(backend.got) == before


@pytest.mark.parametrize("encode_chunked", [False, True])
def test_a_body_is_neither_judged_nor_bounded(gateway, backend, encode_chunked):
    """Not even one that is larger than any that Remit would read: it goes to the backend alone."""
    body, headers = b"x" * (3 << 20), {"Transfer-Encoding": "chunked"} if encode_chunked else {}
    sent = (body,) if encode_chunked else body
    request = {"body": sent, "headers": headers, "encode_chunked": encode_chunked}
    assert (answer_to(gateway, "POST", "/shop/order", **request).status, backend.size) == (200, len(body))


def test_without_remit_nothing_passes(envoy_between, backend):
    """The configuration says 503."""
    before = len(backend.got)
    assert raw_status(envoy_between(free_port()), "GET /shop/cart") == 503
    assert len(backend.got) == before


def silent(handler):
    handler.connection.settimeout(5)
    handler.rfile.read(1)  # until Envoy has given up


def answering(status):
    def answer(handler):
        handler.send_response(status)
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    return answer


def test_only_200_lets_a_request_pass(envoy_between, backend):
    """Whatever else an answer is, or if there is none: 5xx, and what comes too late, is 503."""
    remit = Backend()
    try:
        port, before = envoy_between(remit.port), len(backend.got)
        for answer, wanted in (
            (silent, 503),
            *((answering(status), 503) for status in (500, 502, 503, 504)),
            *((answering(status), status) for status in (201, 204, 302, 400, 401, 403, 404, 429)),
        ):
            remit.answers.append(answer)
            assert raw_status(port, "GET /shop/cart") == wanted
        assert len(backend.got) == before
    finally:
        remit.close()
