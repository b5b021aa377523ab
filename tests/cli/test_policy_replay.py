"""`remit policy replay` as a person and a pipeline run it."""

import json

import pytest
from servers import clean_env
from tenants import FREE, Tenant

pytestmark = pytest.mark.slow

DENIED = {"type": "tool_denylist", "tools": ["file.read"]}


@pytest.fixture
def tenant(store, replica):
    """A workspace with one call of an agent that may do everything."""
    made = Tenant(store.url, replica)
    made.agent = made.new_agent(name="bot", alias="bots/one")["id"]
    made.new_policy(made.agent, name="all | of `it`")
    made.authorize(made.agent)
    yield made
    made.close()


@pytest.fixture
def remit(tenant, replica, tmp_path, run_remit):
    def run(*words):
        env = clean_env() | {"REMIT_REDIS_URL": replica.env["REMIT_REDIS_URL"]}
        return run_remit(["policy", *words, "-w", tenant.id], env, cwd=tmp_path)

    return run


def test_a_file_that_was_exported_says_whose_policies_it_has(remit, tenant, tmp_path):
    """Unchanged it flips nothing; edited, the exit code says so, and the JSON is the API's report."""
    exported = remit("export", "--agent", "bots/one")
    (tmp_path / "bot.yaml").write_text(exported.stdout)
    same = remit("replay", "bot.yaml", "--exit-code")
    assert same.returncode == 0, same.stderr
    assert same.stdout.startswith("1 call judged from ")
    assert same.stdout.endswith(": nothing flips\n")

    assert "leave out --agent and --group" in remit("replay", "bot.yaml", "--agent", "bot").stderr
    (tmp_path / "draft.json").write_text(json.dumps([{"name": "none", "rules": [DENIED]}]))
    flipped = remit("replay", "draft.json", "--agent", "bot", "--json", "--exit-code")
    assert flipped.returncode == 3, flipped.stderr
    report = json.loads(flipped.stdout)
    (flip,) = report["flips"]
    assert (flip["was"], flip["becomes"], flip["count"]) == ("allowed", "denied", 1)
    body = {"agent_id": "bots/one", "policies": [{"name": "none", "rules": [DENIED]}]}
    answer = tenant.reader.post("/v1/replay", json=body, timeout=60)
    assert json.loads(answer.text.splitlines()[-1])["report"]["flips"] == report["flips"]


def test_markdown_shows_strings_as_plain_text(remit, tmp_path):
    """Names and reasons can produce neither tables nor markup, and mention nobody."""
    (tmp_path / "draft.json").write_text(json.dumps({"policies": [{"name": "@all | <b>", "rules": [DENIED]}]}))
    ran = remit("replay", "draft.json", "--agent", "bot", "--markdown")
    assert ran.returncode == 0, ran.stderr
    rows = [line for line in ran.stdout.splitlines() if line.startswith("| 1 |")]
    assert len(rows) == 1
    assert rows[0].count("|") == 7
    assert "`" not in rows[0]
    assert "@" not in ran.stdout
    assert "<b>" not in ran.stdout


def test_a_file_that_is_wrong_is_refused_with_its_line(remit, tmp_path):
    """Contradictory options are a misuse."""
    (tmp_path / "wrong.yaml").write_text("- name: p\n  rules:\n  - type: tool_allowlist\n    tools: []\n")
    ran = remit("replay", "wrong.yaml", "--agent", "bot")
    assert ran.returncode == 1
    assert "wrong.yaml:4: $[0].rules[0].tools" in ran.stderr
    (tmp_path / "one.json").write_text(json.dumps({"name": "p", "rules": [FREE]}))
    assert remit("replay", "one.json", "--agent", "bot", "--group", "g").returncode == 2
    assert remit("replay", "one.json", "--agent", "bot", "--json", "--markdown").returncode == 2
    assert remit("replay", "one.json", "--agent", "nobody").returncode == 1
