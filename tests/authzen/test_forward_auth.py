"""docs/forward-auth.md: its nginx asks about what a gateway's headers describe, and about nothing else."""

import re
import subprocess
from pathlib import Path

import httpx
import pytest
from gateway_steps import HOSTILE
from servers import free_port, wait_for_port

PAGE = (Path(__file__).parents[2] / "docs/forward-auth.md").read_text()
READ = ["http.get", "http.head"]


@pytest.fixture(scope="module")
def ask(program, tenant, tmp_path_factory):
    """The status of the page's nginx for what Traefik and APISIX send about a request of their client."""
    folder = tmp_path_factory.mktemp("forward-auth")
    agent = tenant.new_agent(alias="shop-browser")["id"]
    below = {"path": {"path": {"under": ["/shop"]}}}
    rules = {"type": "tool_grant", "tools": READ}, {"type": "parameter_constraint", "tools": READ, "parameters": below}
    tenant.new_policy(agent, *rules)
    port = free_port()
    [text] = re.findall(r"```nginx\n(.*?)```", PAGE, re.DOTALL)
    for page, here in (
        ("127.0.0.1:8080", f"127.0.0.1:{tenant.replica.port}"),
        ("127.0.0.1:8444", f"127.0.0.1:{port}"),
        ("svc_" + "0" * 32, tenant.read_key),
    ):
        assert page in text
        text = text.replace(page, here)
    temporary = "".join(
        f"{name}_temp_path {folder}/{name};" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    whole = f"pid {folder}/pid; events {{}} http {{ access_log off; {temporary} {text} }}"
    (folder / "nginx.conf").write_text(whole)
    nginx = program("nginx", "docs/forward-auth.md")
    command = [nginx, "-p", folder, "-c", folder / "nginx.conf", "-e", "stderr", "-g", "daemon off;"]
    with subprocess.Popen(command) as running:
        wait_for_port(port, running)
        # APISIX and Traefik ask with a GET; what their client sent besides comes along, its key and its agent too.
        sent = {"Authorization": f"Bearer {tenant.admin_key}", "X-Remit-Agent": "nobody", "X-Forwarded-Host": "shop"}
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", headers=sent, timeout=30) as client:

            def status(method=None, uri=None, path="/ask", **more):
                given = {"X-Forwarded-Method": method, "X-Forwarded-Uri": uri} | more
                return client.get(path, headers={name: each for name, each in given.items() if each}).status_code

            yield status
        running.terminate()


def test_what_the_headers_describe_is_judged(ask, tenant):
    """By its own method and query, with the key and the agent of nginx."""
    assert ask("GET", "/shop/cart?id=7") == 204
    assert ask("HEAD", "/shop/cart") == 204
    assert ask("POST", "/shop/cart") == 403
    assert ask("GET", "/admin") == 403
    [entry] = tenant.reader.get("/v1/audit-logs", params={"tool_name": "http.head"}).json()
    assert (entry["parameters"]["path"], entry["result"]) == ("/shop/cart", "allowed")


def test_what_no_gateway_has_described_passes_nothing(ask):
    assert [ask("GET", None), ask(None, "/shop"), ask(None, None), ask("GET", "@evil"), ask("get", "/shop")] == [
        403
    ] * 5
    assert ask("GET", "/shop", path="/shop") == 403
    assert ask("GET", "/shop", path="/ask/shop") == 403


@pytest.mark.parametrize("target", [each for each in HOSTILE if each.isascii() and each.isprintable()])
def test_no_hostile_spelling_in_a_header_passes(ask, target):
    assert ask("GET", target) != 204
