"""Warnings of `remit policies`, about stored policies and about new ones."""

import json

import pytest
from servers import clean_env
from tenants import Tenant

pytestmark = pytest.mark.slow

CAP = {
    "name": "cap",
    "rules": [{"type": "rate_limit", "tools": ["*"], "rateLimit": {"maxCalls": 5, "windowSeconds": 60}}],
}
READS = {"name": "reads", "rules": [{"type": "tool_allowlist", "tools": ["file.read"]}]}
WRITES = {"name": "writes", "rules": [{"type": "tool_allowlist", "tools": ["file.write"]}]}


@pytest.fixture
def tenant(store, replica):
    """A workspace of its own with an agent in a group."""
    made = Tenant(store.url, replica)
    made.agent = made.new_agent(name="bot", alias="bots/one", groups=["crew"])["id"]
    yield made
    made.close()


@pytest.fixture
def remit(tenant, replica, run_remit):
    def run(*words, stdin=None, **env):
        env = clean_env() | {"REMIT_REDIS_URL": replica.env["REMIT_REDIS_URL"]} | env
        text = None if stdin is None else json.dumps(stdin)
        where = [] if "REMIT_URL" in env else ["-w", tenant.id]
        return run_remit(["policies", *words, *where], env, stdin=text)

    return run


def test_a_written_policy_has_its_warnings(remit, tenant):
    """On stderr, or in JSON as in the API. With --strict nothing is written; --quiet still prints only the id."""
    made = remit("create", "bot", "-f", "-", stdin=CAP)
    assert made.returncode == 0
    assert made.stdout.startswith("policy ")
    [line] = made.stderr.splitlines()
    assert line.startswith("Warning: $.rules[0]: grants_by_restriction: this policy grants by restriction")

    shown = json.loads(remit("create", "bot", "-f", "-", "--json", stdin=CAP).stdout)
    body = {"agent_id": tenant.agent, **CAP}
    assert shown["warnings"] == tenant.admin.post("/v1/policies", json=body).json()["warnings"]
    quiet = remit("create", "bot", "-f", "-", "-q", stdin=CAP)
    assert (quiet.returncode, quiet.stderr, len(quiet.stdout)) == (0, "", 37)

    before = tenant.admin.get("/v1/policies").json()
    refused = remit("create", "bot", "-f", "-", "--strict", stdin=CAP)
    assert (refused.returncode, refused.stdout) == (3, "")
    assert refused.stderr.splitlines() == [line, "Nothing was written"]
    fine = remit("create", "bot", "-f", "-", "--strict", stdin=CAP | {"kind": "guardrail", "priority": 9})
    assert (fine.returncode, fine.stderr) == (0, "")
    policy_id = fine.stdout.split()[1]
    change = ("update", policy_id, "-f", "-")
    assert remit(*change, "--strict", stdin={"kind": "grant"}).returncode == 3
    assert tenant.admin.get("/v1/policies").json()[1:] == before
    changed = remit(*change, "--json", "--priority", "3", stdin={"kind": "grant"})
    assert [each["code"] for each in json.loads(changed.stdout)["warnings"]] == ["grants_by_restriction"]
    assert remit("update", policy_id, "--name", "other").stderr.count("Warning: ") == 1


def test_policies_of_groups_and_of_everybody(remit, tenant):
    """A grant needs an agent or a group; the message says how to name one."""
    group = json.loads(remit("create", "--group", "crew", "-f", "-", "--json", stdin=READS).stdout)
    assert (group["agentId"], group["group"]) == (None, "crew")
    guard = json.loads(remit("create", "-f", "-", "--json", stdin=READS | {"kind": "guardrail"}).stdout)
    assert (guard["agentId"], guard["group"], guard["kind"]) == (None, None, "guardrail")
    refused = remit("create", "-f", "-", stdin=READS)
    assert refused.returncode == 1
    assert refused.stderr.startswith("Error: <stdin>: $.agent_id: is missing: a grant names agent_id or group")
    assert "Give AGENT or --group" in refused.stderr
    assert remit("create", "bot", "--group", "crew", "-f", "-", stdin=READS).returncode == 2


@pytest.mark.parametrize("where", ["store", "service"])
def test_whole_sets_of_the_store_are_judged(remit, tenant, replica, where):
    """Together with what governs the same agents: for an agent, a group or all; with an exit code."""
    key = tenant.new_key(["policies"])["key"]
    env = {"REMIT_URL": replica.base_url, "REMIT_API_KEY": key} if where == "service" else {}
    assert remit("lint", **env).stdout == "No warnings.\n"
    capped = tenant.new_policy(tenant.agent, *CAP["rules"], name="cap")
    tenant.new_policy(tenant.agent, *READS["rules"], name="reads", priority=5)
    tenant.admin.post("/v1/policies", json={"group": "crew", **WRITES}).raise_for_status()

    agent = remit("lint", "--agent", "bots/one", **env)
    assert (agent.returncode, agent.stderr) == (0, "")
    *lines, last = agent.stdout.splitlines()
    assert last == "2 warnings"
    assert all(line.startswith('agent bots/one: "cap" $.') for line in lines)
    assert remit("lint", "--group", "crew", **env).stdout == "No warnings.\n"
    told = json.loads(remit("lint", "--json", **env).stdout)
    found = {(each["owner"], each["policyId"], each["policyName"], each["code"], each["path"]) for each in told}
    assert found == {
        ("agent bots/one", capped["id"], "cap", "grants_by_restriction", "$.rules[0]"),
        ("agent bots/one", capped["id"], "cap", "never_decides", "$.priority"),
    }
    assert remit("lint", "--strict", **env).returncode == 3
    assert remit("lint", "--strict", "--group", "crew", **env).returncode == 0
    assert remit("lint", "--group", "crew", "--agent", "bot", **env).returncode == 2
    assert "`remit agents list`" in remit("lint", "--agent", "nobody", **env).stderr


def test_an_agent_without_a_policy_is_not_just_free_of_warnings(remit, tenant):
    """Every call of a newcomer's agent is denied then."""
    linted = remit("lint", "--agent", "bots/one")
    assert (linted.returncode, linted.stdout) == (0, "No warnings.\n")
    assert linted.stderr == "The agent bots/one has no policy of its own; without others, every call is denied\n"
    tenant.new_policy(tenant.agent, *READS["rules"])
    assert remit("lint", "--agent", "bots/one").stderr == ""
