"""`remit policy propose` as a person runs it: from a log to files that are tested and applied."""

import json

import pytest
import yaml
from servers import clean_env
from tenants import Tenant

pytestmark = pytest.mark.slow

USERS = ("ann", "bob", "cleo", "dan", "eve")


@pytest.fixture
def tenant(store, replica):
    """A workspace with an agent that may do everything, and five users who each looked, changed and paid."""
    made = Tenant(store.url, replica)
    made.agent = made.new_agent(name="Front desk", alias="desk")["id"]
    made.new_policy(made.agent, name="everything")
    tools = ("orders.read", "orders.change", "orders.pay")
    for tool in tools:
        assert made.admin.put(f"/v1/catalog/tool/{tool}", json={}).status_code in (200, 201)
    marks = dict(zip(tools, ("none", "reversible", "irreversible"), strict=True))
    said = {tool: {"consequence": each, "foreign": False} for tool, each in marks.items()}
    assert made.admin.patch("/v1/catalog", json={"tools": said}).status_code == 200
    for number, user in enumerate(USERS):
        for tool in tools:
            called(made, tool, user, order=f"A-10{number}", note="gift" if user == "eve" else None)
    yield made
    made.close()


def called(tenant, tool, user, **parameters):
    """The answer to a call of a user in a session of theirs."""
    given = {name: value for name, value in parameters.items() if value is not None}
    body = {"agent_id": "desk", "tool_name": tool, "parameters": given}
    context = {"user": user, "session": f"of {user}"}
    return tenant.reader.post("/v1/authorize", json=body | {"context": context}).json()


@pytest.fixture
def remit(tenant, replica, tmp_path, run_remit):
    def run(*words, code=0):
        env = clean_env() | {"REMIT_REDIS_URL": replica.env["REMIT_REDIS_URL"]}
        where = [] if words[:2] == ("policy", "test") else ["-w", tenant.id]
        ran = run_remit([*words, *where], env, cwd=tmp_path)
        assert ran.returncode == code, ran.stdout + ran.stderr
        return ran.stdout or ran.stderr

    return run


def test_a_proposal_is_written_tested_and_applied(remit, tenant, tmp_path):
    """Afterwards what users did is allowed, what cannot be undone asks, and what is new asks."""
    said = remit("policy", "propose", "desk", "--out", "policies")
    assert said.startswith(
        "15 calls of 5 users, 3 tools.\n  free 1 tool · bounded 1 tool: orders.change · ask 1 tool: orders.pay\n"
    )
    assert "Left out, because too few users did it: 1 value, e.g. orders.change note" in said
    assert "Replayed: 9 allowed, 6 asked, 0 denied." in said
    assert "none passes." in said
    assert "Wrote policies/agents/desk.yaml (6 rules" in said

    assert "4 passed, 0 failed" in remit("policy", "test", "policies", "--strict")
    remit("policy", "apply", "policies", "--prune")
    results = {
        (tool, order): called(tenant, tool, "fay", order=order)["result"]
        for tool, order in (
            ("orders.read", "A-999"), ("orders.change", "A-999"), ("orders.change", "../A"), ("orders.pay", "A-100"),
        )
    }  # fmt: skip
    assert results == {
        ("orders.read", "A-999"): "allowed",
        ("orders.change", "A-999"): "allowed",
        ("orders.change", "../A"): "escalated",
        ("orders.pay", "A-100"): "escalated",
    }
    assert called(tenant, "orders.delete", "fay")["result"] == "denied"


def test_each_rule_says_in_its_file_what_it_was_made_from(remit, tmp_path):
    """With an entry of the log that exists."""
    remit("policy", "propose", "desk", "--out", "policies")
    text = (tmp_path / "policies/agents/desk.yaml").read_text()
    lines = text.splitlines()
    rules = [at for at, line in enumerate(lines) if line.startswith("      - type: ")]
    assert len(rules) == sum(len(each["rules"]) for each in yaml.safe_load(text)["policies"])
    for at in rules:
        assert lines[at - 1].strip().startswith("# "), lines[at]
    [comment] = [line for line in lines if "left out" in line]
    entry = comment.rpartition("entry ")[2].rstrip(")")
    assert "orders.change" in remit("audit", "query", "--id", entry)


def test_the_same_log_gives_the_same_bytes(remit, tmp_path):
    for folder in ("one", "two"):
        remit("policy", "propose", "desk", "--from", "2026-01-01", "--out", folder)
    for name in ("desk.yaml", "desk.test.yaml"):
        assert (tmp_path / "one/agents" / name).read_bytes() == (tmp_path / "two/agents" / name).read_bytes()


def test_in_shadow_nothing_changes_and_every_difference_is_counted(remit, tenant, tmp_path):
    """What the proposal would deny or ask about, and what is not in it at all."""
    said = remit("policy", "propose", "desk", "--out", "policies", "--shadow")
    assert not (tmp_path / "policies/agents/desk.test.yaml").exists()
    assert "remit policy apply policies" in said
    remit("policy", "apply", "policies")
    calls = [("orders.read", "A-1"), ("orders.change", "A-999"), ("orders.pay", "A-1"), ("orders.delete", "A-1")]
    assert [called(tenant, tool, "fay", order=order)["result"] for tool, order in calls] == ["allowed"] * 4
    would = [
        (each["toolName"], each["shadow"]["result"])
        for each in tenant.log()
        if "shadow" in each and each["context"]["user"] == "fay"
    ]
    assert sorted(would) == [("orders.delete", "denied"), ("orders.pay", "escalated")]


def test_in_shadow_an_enforced_proposal_stays_enforced(remit, tenant):
    """Its policies were made from the same log and are called alike: none of them turns into a shadow."""
    remit("policy", "propose", "desk", "--out", "policies")
    remit("policy", "apply", "policies")
    path = f"/v1/agents/{tenant.agent}/policies"
    enforced = tenant.admin.get(path).json()["policies"]
    remit("policy", "propose", "desk", "--out", "policies", "--shadow")
    for _ in range(2):
        remit("policy", "apply", "policies")
        now = tenant.admin.get(path).json()["policies"]
        assert [each for each in now if each["mode"] == "enforce"] == enforced
        assert len(now) == 2 * len(enforced)  # "everything" has no shadow, and the guardrail is only one


def test_an_agents_own_policies_stay_if_nothing_asks_for_a_change(remit, tenant, tmp_path):
    """Then nothing is varied, and nothing said of variations."""
    own = {"agent": "desk", "policies": [{"name": "own", "rules": [{"type": "tool_grant", "tools": ["orders.read"]}]}]}
    (tmp_path / "own").mkdir()
    (tmp_path / "own/desk.yaml").write_text(yaml.safe_dump(own))
    remit("policy", "apply", "own", "--prune")
    said = remit("policy", "propose", "desk")
    assert "15 calls of 5 users.\n  Its policies need no change" in said
    assert "Replayed: 5 allowed, 0 asked, 10 denied.\n" in said


def test_a_rule_lists_the_calls_that_made_it(remit):
    """By its path, or by its tool."""
    said = remit("policy", "propose", "desk", "--explain", "orders.change")
    assert "parameters.order: pattern, 5 calls, 5 users" in said
    assert '"A-100"  1 user, e.g. entry ' in said
    assert "left out  note  1 user, e.g. entry " in said
    assert "No rule is called" in remit("policy", "propose", "desk", "--explain", "nothing", code=1)


def test_with_json_the_answer_is_the_services(remit):
    found = json.loads(remit("policy", "propose", "desk", "--json", "--user", "ann", "--user", "bob"))
    assert found["learned"]["calls"] == 6
    assert [each["why"] for each in found["tools"] if each["name"] == "orders.change"] == [
        "few: 2 users, and 3 are needed"
    ]


def test_nothing_to_learn_from_is_an_error(remit):
    assert "no call of this agent" in remit(
        "policy", "propose", "desk", "--exclude-session", "x", "--user", "x", code=1
    )
