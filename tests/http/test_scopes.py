"""Which scope opens which route: the table of operations, the guards and the answers agree."""

import re

import pytest
from litestar.handlers import ASGIRouteHandler, HTTPRouteHandler

from app.http.application import PUBLIC as UNBOUNDED
from app.http.doors import DOORS
from app.http.endpoint import endpoint_of
from app.http.routes import ENDPOINTS, ROUTES
from app.model.api_keys import Scope

SIGN_IN = {
    ("POST", "/v1/session"),
    ("GET", "/console/sign-in"),
    ("GET", "/console/callback"),
    ("POST", "/console/workspace"),
    ("POST", "/console/backchannel-logout"),
    ("POST", "/v1/slack"),
}
"""They prove who they are from in other ways."""
PUBLIC = {
    "/",
    "/console",
    "/livez",
    "/readyz",
    "/metrics",
    "/docs",
    "/docs/api",
    "/openapi.json",
    "/v1/policies/schema.json",
}
WELL_KNOWN = "/.well-known/authzen-configuration"
PUBLIC |= {"/v1/sign-in", WELL_KNOWN, f"{WELL_KNOWN}/{{workspace_id:str}}"}
ID = "00000000-0000-7000-8000-000000000000"
GATEWAYS = "/access/v1/ext-authz/{path}"

SPEC = {
    ("POST", "/v1/authorize"): Scope.READ,
    ("GET", "/v1/agents"): Scope.READ,
    ("GET", "/v1/agents/{agent_id}"): Scope.READ,
    ("POST", "/v1/agents"): Scope.ADMIN,
    ("PATCH", "/v1/agents/{agent_id}"): Scope.ADMIN,
    ("DELETE", "/v1/agents/{agent_id}"): Scope.ADMIN,
    ("GET", "/v1/policies"): Scope.READ,
    ("GET", "/v1/policies/{policy_id}"): Scope.READ,
    ("POST", "/v1/policies"): Scope.ADMIN,
    ("PATCH", "/v1/policies/{policy_id}"): Scope.ADMIN,
    ("DELETE", "/v1/policies/{policy_id}"): Scope.ADMIN,
    ("GET", "/v1/audit-logs"): Scope.READ,
    ("POST", "/v1/api-keys"): Scope.ADMIN,
    ("GET", "/v1/api-keys"): Scope.ADMIN,
    ("DELETE", "/v1/api-keys/{key_id}"): Scope.ADMIN,
}
"""Scope x route as the specification has it; what came later stands in the table of operations alone."""


def guard_scopes(handler):
    return [guard.scopes for guard in handler.guards or () if hasattr(guard, "scopes")]


@pytest.mark.parametrize("handler", [each for each in ROUTES if isinstance(each, HTTPRouteHandler)], ids=str)
def test_every_route_has_one_guard_or_is_public(handler):
    """A new route has a guard or is on the list of public routes."""
    declared = endpoint_of(handler)
    if handler.paths & PUBLIC or (declared and (declared.method, declared.path) in SIGN_IN):
        assert guard_scopes(handler) == []
    else:
        assert len(guard_scopes(handler)) == 1


def test_only_doors_check_the_key_without_a_guard():
    """The commit has the last word there."""
    unguarded = [path for each in ROUTES if isinstance(each, ASGIRouteHandler) for path in each.paths]
    assert {*unguarded} == {door.path.replace("path}", "path:path}") for door in DOORS.values()}


def test_only_public_paths_are_not_bounded():
    """Locked-out addresses and keys that ask too fast are refused everywhere else."""
    assert UNBOUNDED == PUBLIC


def test_the_scopes_are_those_of_the_specification():
    """They must not change by accident."""
    table = {(each.method, each.path): next(iter(each.scopes), None) for each in ENDPOINTS}
    assert {route: table.get(route) for route in SPEC} == SPEC


def call(client, method, path):
    for name in re.findall(r"{\w+_id}", path):
        path = path.replace(name, ID)
    path = path.replace("{group}", "crew").replace("{tool}", "file.read")
    # Without reading it to its end: one of the answers has none.
    with client.stream(method, path, content=b"{}" if method in {"POST", "PATCH", "PUT"} else None) as answer:
        if answer.status_code >= 400:
            answer.read()
    return answer


CLOSED = [(each.method, each.path, each.scopes) for each in ENDPOINTS if each.scopes]
ENDLESS = {each.path for each in ENDPOINTS if "text/event-stream" in each.media}


@pytest.fixture(scope="module")
def by_scope(tenant):
    """A client for each scope."""
    made = {scope: tenant.replica.client(tenant.new_key([scope])["key"]) for scope in Scope}
    yield made
    for client in made.values():
        client.close()


@pytest.mark.parametrize(("method", "path", "scopes"), CLOSED, ids=str)
def test_a_scope_opens_what_the_table_says_and_nothing_else(by_scope, method, path, scopes):
    """Every scope on every route, before the body or the id is read; a refusal lists the scopes that would suffice."""
    if path == "/v1/hooks/claude-code":  # its answers are 200; tests/http/test_claude_code_hook.py has them
        return
    for scope, client in by_scope.items():
        opens = scope is Scope.ADMIN or scope in scopes
        if opens and path in {*ENDLESS, GATEWAYS}:  # a gateway's 403 is an answer; tests/authzen/test_gateways.py
            continue
        answer = call(client, method, path)
        if opens:
            assert answer.status_code not in {401, 403}, scope
        else:
            message = f"This endpoint requires the scope {' or '.join(scopes)}; the key has {scope}"
            assert (answer.status_code, refusal_in(answer.json())) == (403, message), scope


def refusal_in(told):
    """The sentence of a refusal: an error of ours, problem details, or, as AuthZEN wants it, nothing else."""
    if not isinstance(told, dict):
        return told
    if "detail" in told:
        return told["detail"]
    assert (told["error"]["code"], told["error"]["details"]) == ("INSUFFICIENT_SCOPE", [])
    return told["error"]["message"]


@pytest.mark.parametrize("path", sorted(PUBLIC))
def test_a_public_route_needs_no_key_and_ignores_any(tenant, replica, path):
    """Even with a wrong key, because balancers may send one."""
    for headers in ({"Authorization": ""}, {"Authorization": "Bearer nonsense"}, {}):
        # This replica has no URL that AuthZEN's metadata could name; tests/authzen has one that does.
        wanted = 302 if path in {"/", "/docs"} else 404 if path.startswith(WELL_KNOWN) else 200
        assert tenant.admin.get(path, headers=headers).status_code == wanted


def test_a_read_key_that_is_refused_has_changed_nothing(tenant):
    """Every write to an existing resource is 403."""
    agent = tenant.new_agent()
    policy = tenant.new_policy(agent["id"])
    for path, body in ((f"/v1/agents/{agent['id']}", {"name": "x"}), (f"/v1/policies/{policy['id']}", {"priority": 9})):
        before = tenant.reader.get(path).json()
        assert tenant.reader.patch(path, json=body).status_code == 403
        assert tenant.reader.delete(path).status_code == 403
        assert tenant.reader.get(path).json() == before


def test_nothing_that_view_opens_changes_anything():
    """But the end of one's own session."""
    assert [each.path for each in ENDPOINTS if Scope.VIEW in each.scopes and each.changes] == ["/v1/session"]


def test_who_reads_reads_as_much_with_view():
    """The difference between the two scopes is exactly what changes something."""
    for each in ENDPOINTS:
        if Scope.READ in each.scopes:
            assert (Scope.VIEW in each.scopes) is (not each.changes or each.path == "/v1/session"), each.path


def test_a_view_key_changes_nothing(tenant):
    """It explains what would be decided, and nothing is taken, counted, logged or asked; it may not ask in any way."""
    agent = tenant.new_agent()
    limit = {"type": "rate_limit", "tools": ["*"], "rateLimit": {"maxCalls": 1, "windowSeconds": 60}}
    tenant.new_policy(agent["id"], {"type": "tool_allowlist", "tools": ["*"]}, limit)
    call = {"agent_id": agent["id"], "tool_name": "file.read"}
    with tenant.replica.client(tenant.new_key(["view"])["key"]) as viewer:
        before = len(tenant.log())
        for _ in range(3):
            assert viewer.post("/v1/explain", json=call).json()["result"] == "allowed"
        assert viewer.post("/v1/authorize", json=call).status_code == 403
        hook = {"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "ls"}}
        assert "allow" not in viewer.post("/v1/hooks/claude-code", json=hook).text.replace("allowed", "")
        assert len(tenant.log()) == before
    assert tenant.authorize(agent["id"])["result"] == "allowed"
