"""Versions and rollback over HTTP, and the reason that a change carries."""

import pytest
from tenants import tenant_on

UNKNOWN = "00000000-0000-7000-8000-000000000000"
READ = [{"type": "tool_allowlist", "tools": ["file.read"]}]


tenant = tenant_on()


@pytest.fixture
def policy(tenant):
    """A policy as its creation answered."""
    return tenant.new_policy(tenant.new_agent()["id"], *READ)


def error(answer):
    return answer.status_code, answer.json()["error"]["code"], answer.json()["error"]["message"]


def test_an_impossible_rollback_says_why(tenant, policy):
    """An unknown policy, an unknown version, or a newer change: each has its own code, and nothing is written."""
    path = f"/v1/policies/{policy['id']}"
    assert error(tenant.admin.get(f"/v1/policies/{UNKNOWN}/versions"))[:2] == (404, "POLICY_NOT_FOUND")
    assert error(tenant.admin.post(f"/v1/policies/{UNKNOWN}/rollback", json={"version": 1}))[1] == "POLICY_NOT_FOUND"
    message = "The policy is at version 1; there was no version 2 yet"
    refused = tenant.admin.post(f"{path}/rollback", json={"version": 2})
    assert error(refused) == (404, "POLICY_VERSION_NOT_FOUND", message)
    for body in ({}, {"version": 0}, {"version": "1"}, {"version": 1, "reason": "x"}):
        assert error(tenant.admin.post(f"{path}/rollback", json=body))[:2] == (400, "VALIDATION_ERROR")
    overtaken = tenant.admin.post(f"{path}/rollback", json={"version": 1}, headers={"If-Match": '"9"'})
    assert error(overtaken)[:2] == (412, "VERSION_CONFLICT")
    assert len(tenant.admin.get(f"{path}/versions").json()) == 1


def test_a_version_too_many_changes_ago_is_gone(tenant, policy):
    """It is 410, and the list ends with the hundredth version."""
    path = f"/v1/policies/{policy['id']}"
    for number in range(101):
        assert tenant.admin.patch(path, json={"priority": number}).status_code == 200
    versions = tenant.admin.get(f"{path}/versions").json()
    assert [each["version"] for each in versions] == list(range(102, 2, -1))
    message = "Version 2 of the policy is no longer kept"
    assert error(tenant.admin.post(f"{path}/rollback", json={"version": 2})) == (410, "VERSION_NOT_KEPT", message)


@pytest.mark.parametrize("reason", ["because", "weil es schöner ist", "改善 · x" * 3, "x" * 500])
def test_a_reason_is_in_the_trail_as_given(tenant, reason):
    """In UTF-8, for agents, policies and keys."""
    header = {"Change-Reason": reason.encode()}
    agent = tenant.admin.post("/v1/agents", json={"name": "a"}, headers=header).json()["id"]
    tenant.admin.patch(f"/v1/agents/{agent}", json={"name": "b"}, headers=header)
    body = {"name": "p", "rules": READ, "agent_id": agent}
    policy = tenant.admin.post("/v1/policies", json=body, headers=header).json()["id"]
    tenant.admin.delete(f"/v1/policies/{policy}", headers=header)
    tenant.admin.delete(f"/v1/agents/{agent}", headers=header)
    key = tenant.admin.post("/v1/api-keys", json={"name": "k", "scopes": ["read"]}, headers=header).json()["id"]
    tenant.admin.delete(f"/v1/api-keys/{key}", headers=header)
    assert [each["reason"] for each in tenant.admin.get("/v1/changes", params={"limit": 7}).json()] == [reason] * 7


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([b""], "must have 1 to 500 characters, not 0"),
        ([b"x" * 501], "must have 1 to 500 characters, not 501"),
        ([b"\xff"], "is not UTF-8"),
        ([b"a", b"b"], "is given twice; give it once"),
        (["a\u202eb".encode()], "has the invisible character U+202E at position 1; remove it"),
        ([b"svc_" + b"0" * 32], "contains an API key; leave it out, and revoke it if it is in use"),
    ],
)
def test_a_reason_that_cannot_be_kept_is_refused_and_nothing_changes(tenant, policy, given, message):
    """It is 400, and the message names the header."""
    path = f"/v1/policies/{policy['id']}"
    headers = [(b"Change-Reason", value) for value in given]
    refused = tenant.admin.patch(path, json={"priority": 7}, headers=headers)
    assert error(refused) == (400, "VALIDATION_ERROR", f"Change-Reason: {message}")
    assert tenant.admin.get(path).json() == policy
