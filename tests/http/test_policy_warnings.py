"""Warnings about policies, in every answer to a write and in `POST /v1/policies/lint`."""

import re
from pathlib import Path

import pytest
from forked import put_remit_in
from servers import clean_env
from sessions import BLOCKS, commands, require_printed, run, shell_in
from tenants import Tenant

from app.policy_tools.lint import Code

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/policy-warnings.md").read_text()
CAP = {"type": "rate_limit", "tools": ["*"], "rateLimit": {"maxCalls": 5, "windowSeconds": 60}}
READS = {"type": "tool_allowlist", "tools": ["file.read"]}
NAMED = {"type": "tool_allowlist", "tools": ["refund.*"]}
AMOUNT = {"type": "parameter_constraint", "tools": ["refund.*"], "parameters": {"amount": {"max": 5}}}
DENY = {"type": "tool_denylist", "tools": ["refund.delete"]}


def told(answer, status=200):
    """Code and place of each warning."""
    assert answer.status_code == status, answer.text
    return [(each["code"], each["path"]) for each in answer.json().get("warnings", [])]


@pytest.fixture
def agent(tenant):
    return tenant.new_agent()["id"]


def test_a_new_policy_is_warned_about_in_view_of_existing_ones(tenant, agent):
    """On its own, and together with what governs the same agent."""
    body = {"agent_id": agent, "name": "p", "rules": [CAP]}
    assert told(tenant.admin.post("/v1/policies", json=body), 201) == [("grants_by_restriction", "$.rules[0]")]
    assert told(tenant.admin.post("/v1/policies", json=body | {"rules": [AMOUNT]}), 201) == [
        ("min_missing", "$.rules[0].parameters.amount")
    ]
    fine = tenant.new_agent()["id"]
    assert told(tenant.admin.post("/v1/policies", json=body | {"agent_id": fine, "rules": [READS]}), 201) == []
    low = {"agent_id": fine, "name": "low", "priority": 1, "rules": [DENY]}
    assert told(tenant.admin.post("/v1/policies", json=low), 201) == []
    high = {"agent_id": fine, "name": "high", "priority": 9, "rules": [NAMED]}
    assert ("silences_below", "$.priority") in told(tenant.admin.post("/v1/policies", json=high), 201)


def test_a_policy_is_compared_with_the_catalogue(store, replica):
    """Unknown tools and parameters get warnings; without a catalogue, nothing is suspect."""
    tenant = Tenant(store.url, replica)
    agent = tenant.new_agent()["id"]
    rule = {"type": "parameter_constraint", "parameters": {"amuont": {"min": 1}}}
    rules = [rule | {"tools": ["refund.create"]}, rule | {"tools": ["refnud.*"]}]
    draft = {"agent_id": agent, "policies": [{"name": "p", "rules": rules}]}
    assert told(tenant.admin.post("/v1/policies/lint", json=draft)) == []
    schema = {"type": "object", "properties": {"amount": {"type": "number"}}}
    tenant.admin.put("/v1/catalog/tool/refund.create", json={"inputSchema": schema})
    wanted = [
        ("unknown_parameter", "$.policies[0].rules[0].parameters.amuont"),
        ("unknown_tool", "$.policies[0].rules[1].tools[0]"),
    ]
    answer = tenant.admin.post("/v1/policies/lint", json=draft)
    assert told(answer) == wanted
    message = '"amuont" is not a parameter of "refund.create", by the schema in the catalogue; there are amount'
    assert answer.json()["warnings"][0]["message"] == message
    tenant.close()


def test_a_grant_of_what_cannot_be_undone_is_warned_about_once_a_person_said_so(store, replica):
    """Not before, however the server calls it."""
    tenant = Tenant(store.url, replica)
    agent = tenant.new_agent()["id"]
    tool = {"name": "mail.send", "annotations": {"destructiveHint": True}}
    tenant.admin.put("/v1/catalog", json={"tools": [tool]})
    body = {"agent_id": agent, "name": "mails", "rules": [{"type": "tool_grant", "tools": ["mail.*"]}]}
    made = tenant.admin.post("/v1/policies", json=body)
    assert told(made, 201) == []
    tenant.admin.patch("/v1/catalog", json={"tools": {"mail.send": {"consequence": "irreversible"}}})
    again = tenant.admin.patch(f"/v1/policies/{made.json()['id']}", json={"name": "sends mail"})
    assert told(again) == [("irreversible_unasked", "$.rules[0].tools")]
    tenant.close()


def test_groups_and_the_workspace_count_for_an_agent_and_each_for_itself(tenant):
    """An agent's policy is judged with the workspace's guardrail and its group's policy."""
    guard = {"kind": "guardrail", "name": "g", "rules": [READS]}
    made = tenant.admin.post("/v1/policies", json=guard)
    assert told(made, 201) == []
    agent = tenant.new_agent(groups=["crew"])["id"]
    disjoint = ("allowlists_disjoint", "$.rules[0].tools")
    for owner in ({"agent_id": agent}, {"group": "crew"}):
        body = {**owner, "name": "p", "rules": [NAMED]}
        assert disjoint in told(tenant.admin.post("/v1/policies", json=body), 201)
    tenant.admin.delete(f"/v1/policies/{made.json()['id']}")


def test_a_change_is_judged_as_it_becomes(tenant, agent):
    """Its former state does not count; a change refused for a warning is not made."""
    policy = tenant.new_policy(agent, READS)
    path = f"/v1/policies/{policy['id']}"
    assert told(tenant.admin.patch(path, json={"rules": [CAP]})) == [("grants_by_restriction", "$.rules[0]")]
    assert told(tenant.admin.patch(path, json={"rules": [READS]})) == []
    before = tenant.admin.get(path).json()
    assert "warnings" not in before
    strict = {"strict": "true"}
    for answer in (
        tenant.admin.patch(path, params=strict, json={"rules": [CAP]}),
        tenant.admin.post("/v1/policies", params=strict, json={"agent_id": agent, "name": "p", "rules": [CAP]}),
        tenant.admin.post(f"{path}/rollback", params=strict, json={"version": 2}),
    ):
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, "VALIDATION_ERROR")
        [detail] = answer.json()["error"]["details"]
        assert detail["path"] == "$.rules[0]"
        assert detail["message"].startswith("grants_by_restriction: ")
    assert tenant.admin.get(path).json() == before
    assert len(tenant.admin.get("/v1/policies", params={"agent_id": agent}).json()) == 1
    assert told(tenant.admin.post(f"{path}/rollback", json={"version": 2})) == [("grants_by_restriction", "$.rules[0]")]
    assert tenant.admin.patch(path, params=strict, json={"rules": [READS]}).status_code == 200
    assert tenant.admin.patch(path, params={"strict": "yes"}, json={}).status_code == 400


def test_a_set_is_judged_with_what_stays(tenant, agent):
    """Paths begin at the body; with pruning, deleted policies do not count."""
    tenant.new_policy(agent, READS, name="stays")
    path = f"/v1/agents/{agent}/policies"
    policies = {"policies": [{"name": "a", "rules": [READS]}, {"name": "b", "rules": [NAMED]}]}
    disjoint = ("allowlists_disjoint", "$.policies[1].rules[0].tools")
    assert disjoint in told(tenant.admin.put(path, json=policies))
    only = {"policies": [{"name": "b", "rules": [NAMED]}]}
    assert told(tenant.admin.put(path, params={"prune": "false", "strict": "false"}, json=only)) != []
    refused = tenant.admin.put(path, params={"strict": "true"}, json=only)
    assert refused.status_code == 400
    assert told(tenant.admin.put(path, params={"prune": "true", "strict": "true"}, json=only)) == []


def test_a_draft_is_judged_and_not_stored(tenant, agent):
    """Drafts are judged together; a draft of a stored policy replaces it."""
    stored = tenant.new_policy(agent, CAP, name="cap", key="cap")
    body = {"agent_id": agent, "policies": [{"key": "cap", "name": "cap", "rules": [CAP], "kind": "guardrail"}]}
    before = tenant.admin.get("/v1/changes").json()
    assert told(tenant.reader.post("/v1/policies/lint", json=body)) == []
    two = [{"name": "a", "rules": [READS]}, {"name": "b", "rules": [NAMED]}]
    found = told(tenant.reader.post("/v1/policies/lint", json={"agent_id": agent, "policies": two}))
    assert ("allowlists_disjoint", "$.policies[0].rules[0].tools") in found
    assert ("allowlists_disjoint", "$.policies[1].rules[0].tools") in found
    strict = tenant.reader.post(
        "/v1/policies/lint", params={"strict": "true"}, json={"agent_id": agent, "policies": two}
    )
    assert strict.status_code == 400
    assert tenant.admin.get(f"/v1/policies/{stored['id']}").json()["version"] == 1
    assert tenant.admin.get("/v1/changes").json() == before
    grant = {"policies": [{"name": "a", "rules": [READS]}]}
    refused = tenant.reader.post("/v1/policies/lint", json=grant)
    assert (refused.status_code, refused.json()["error"]["details"][0]["path"]) == (400, "$.policies[0].kind")
    assert told(tenant.reader.post("/v1/policies/lint", json=grant | {"group": "nobody here"})) == []
    nobody = tenant.reader.post("/v1/policies/lint", json=grant | {"agent_id": "nobody"})
    assert nobody.status_code == 404


def test_the_page_has_every_code():
    """And no other code."""
    assert re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE) == list(Code)


def test_the_pages_session_prints_what_it_shows(tenant, program, tmp_path):
    for name in ("curl", "jq"):
        program(name, "the session of docs/policy-warnings.md")
    tenant.new_agent(alias="team/booking")
    remit = put_remit_in(tmp_path, f'set -- "$@" --workspace {tenant.id}')
    environment = clean_env() | {"REMIT_URL": tenant.replica.base_url, "REMIT_API_KEY": tenant.read_key}
    environment |= {"REMIT_REDIS_URL": tenant.store_url}
    environment["PATH"] = f"{remit}:{environment['PATH']}"
    with shell_in(tmp_path, environment) as shell:
        for block in BLOCKS.findall(PAGE):
            for command, wanted in commands(block):
                require_printed(command, wanted, run(shell, command))
