"""examples/github-actions/policies.yml: its steps run against a service, as the runner would run them."""

import re
import subprocess
from pathlib import Path

import httpx
import pytest
import yaml
from forked import put_remit_in
from servers import clean_env
from tenants import Tenant

ROOT = Path(__file__).parents[2]
WORKFLOW = yaml.safe_load((ROOT / "examples/github-actions/policies.yml").read_text())
SHELLS = {"bash": ["bash", "--noprofile", "--norc", "-eo", "pipefail"], None: ["bash", "-e"]}
"""What the runner starts for a step's `shell`."""

REFUNDS = """\
agent: refund-bot
policies:
  - name: refunds
    rules:
      - {{type: tool_allowlist, tools: [refund.create]}}
      - {{type: parameter_constraint, tools: [refund.create], parameters: {{amount: {{{bounds}}}}}}}
"""
TESTS = """\
tests:
  - {name: thirty are refunded, call: {tool: refund.create, parameters: {amount: 30}}, want: allowed}
"""


def test_the_workflow_is_one_that_github_reads():
    """Jobs of known fields; on pull requests it only looks, and no step trusts a text of the pull request."""
    assert set(WORKFLOW) == {"name", True, "permissions", "concurrency", "jobs"}  # YAML 1.1 reads `on` as true
    assert set(WORKFLOW[True]) == {"pull_request", "push"}
    for job in WORKFLOW["jobs"].values():
        assert set(job) <= {"if", "runs-on", "permissions", "environment", "env", "steps"}
        for step in job["steps"]:
            assert ("uses" in step) != ("run" in step)
            assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", step.get("uses", f"a/b@{'0' * 40}"))
            assert set(step) <= {"name", "uses", "with", "run", "shell", "env"}
            assert set(re.findall(r"\$\{\{ *([^ }]+)", step.get("run", ""))) <= {
                "github.event.pull_request.number",
                "github.repository",
            }
    review, apply = WORKFLOW["jobs"]["review"], WORKFLOW["jobs"]["apply"]
    applied = [step["run"] for step in review["steps"] if "policy apply" in step.get("run", "")]
    assert all("--dry-run" in each for each in applied)
    assert "pull_request" in review["if"]
    assert "secrets.REMIT_API_KEY" not in str(review)
    assert apply["if"] == "github.event_name == 'push'"
    assert apply["environment"] == "production"


@pytest.fixture
def tenant(store, replica):
    """A workspace of its own: an agent that may refund up to 20, and was refused 30."""
    made = Tenant(store.url, replica)
    agent = made.new_agent(name="refund-bot")["id"]
    allowed = {"type": "tool_allowlist", "tools": ["refund.create"]}
    bounded = {
        "type": "parameter_constraint",
        "tools": ["refund.create"],
        "parameters": {"amount": {"min": 0, "max": 20}},
    }
    made.new_policy(agent, allowed, bounded, name="refunds")
    made.authorize(agent, "refund.create", parameters={"amount": 10})
    made.authorize(agent, "refund.create", parameters={"amount": 30})
    yield made
    made.close()


@pytest.fixture
def run(tenant, replica, tmp_path):
    """Runs a job's steps in a checkout, until one fails; gives the exit codes of those that were run."""
    tools = put_remit_in(tmp_path / "tools")
    scripts = {
        "make": 'test "$*" = "-C .remit .venv/run.stamp"',
        "gh": f'cat "$7" > {tmp_path}/commented; echo "$@" > {tmp_path}/asked; test -n "$GH_TOKEN"',
    }
    for name, script in scripts.items():
        (tools / name).write_text(f"#!/bin/sh\n{script}\n")
        (tools / name).chmod(0o755)
    known = {
        "vars.REMIT_URL": replica.base_url,
        "secrets.REMIT_VIEW_KEY": tenant.new_key(["view"])["key"],
        "secrets.REMIT_API_KEY": tenant.new_key(["policies"], name="deploy")["key"],
        "github.token": "a token",
        "github.event.pull_request.number": "7",
        "github.repository": "org/repository",
    }
    home = clean_env() | {"GITHUB_STEP_SUMMARY": str(tmp_path / "summary")}
    home |= {"GITHUB_PATH": str(tmp_path / "path"), "GITHUB_REPOSITORY": "org/repository", "GITHUB_SHA": "0badcafe"}
    home["PATH"] = f"{tools}:{home['PATH']}"

    def filled(text):
        return re.sub(r"\$\{\{ *(\S+) *\}\}", lambda found: known[found[1]], text)

    def run(job):
        codes = []
        for step in WORKFLOW["jobs"][job]["steps"]:
            if "run" in step:
                given = WORKFLOW["jobs"][job].get("env", {}) | step.get("env", {})
                env = home | {name: filled(value) for name, value in given.items()}
                (tmp_path / "step.sh").write_text(filled(step["run"]))
                command = [*SHELLS[step.get("shell")], str(tmp_path / "step.sh")]
                ran = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True, check=False)
                codes.append(ran.returncode)
                run.printed = ran.stdout + ran.stderr
                if ran.returncode:
                    break
        return codes

    return run


@pytest.fixture
def checkout(tmp_path):
    """The pull request: 50 instead of 20."""
    folder = tmp_path / "policies"
    folder.mkdir()
    (folder / "refund-bot.yaml").write_text(REFUNDS.format(bounds="min: 0, max: 50"))
    (folder / "refund-bot.test.yaml").write_text(TESTS)
    return folder


@pytest.mark.slow
def test_a_pull_request_is_told_what_changes_and_what_flips(run, checkout, tenant, tmp_path):
    """In one comment and in the summary of the job; the last step says no, as something is newly allowed."""
    before = tenant.admin.get("/v1/policies").json()

    assert run("review") == [0, 0, 0, 0, 0, 3], run.printed

    told = (tmp_path / "commented").read_text()
    assert "rules[1].parameters.amount.max  20 → 50" in told
    assert ": 1 call flips**" in told
    assert 'denied → allowed  refund.create {"amount":21}' in told
    assert "Nothing else changes: 2 kinds of tools" in told
    assert "| 1 | denied | **allowed** | <code>refund&#46;create</code> |" in told
    assert (tmp_path / "summary").read_text() == told
    asked = (tmp_path / "asked").read_text()
    assert asked == "pr comment 7 --repo org/repository --body-file comment.md --edit-last --create-if-none\n"
    assert tenant.admin.get("/v1/policies").json() == before

    assert run("apply") == [0, 0], run.printed
    assert tenant.admin.get("/v1/policies").json()[0]["version"] == 2
    change = tenant.admin.get("/v1/changes").json()[0]
    assert (change["actorName"], change["reason"]) == ("deploy", "org/repository@0badcafe")
    assert run("review") == [0, 0, 0, 0, 0, 0], run.printed
    assert "Nothing changes." in (tmp_path / "commented").read_text()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("bounds", "codes", "printed"),
    [
        ("min: 0, max: 25", [0, 0, 3], "thirty are refunded"),
        ("max: 50", [0, 3], "refund-bot.yaml:6: $.policies[0].rules[1].parameters.amount: min_missing"),
        ("max: many", [0, 1], "refund-bot.yaml:6: $.policies[0].rules[1].parameters.amount.max: must be a number"),
    ],
    ids=["a test fails", "a warning", "no policy"],
)
def test_a_step_that_says_no_ends_the_job(run, checkout, tmp_path, bounds, codes, printed):
    """With 3 if the answer is no, with 1 if a file is invalid; then there is no comment."""
    (checkout / "refund-bot.yaml").write_text(REFUNDS.format(bounds=bounds))
    assert run("review") == codes, run.printed
    assert printed in run.printed
    assert not (tmp_path / "commented").exists()


@pytest.mark.slow
def test_a_service_that_is_away_is_no_empty_comment(run, checkout, monkeypatch):
    """The pipe does not hide a failure of its first command."""
    monkeypatch.setitem(WORKFLOW["jobs"]["review"]["env"], "REMIT_URL", "http://127.0.0.1:1")
    assert run("review") == [0, 0, 0, 1]
    assert "No service answers" in run.printed


@pytest.mark.slow
def test_the_key_of_a_review_changes_nothing(tenant, replica):
    """Anyone who can push a branch can run anything with this key."""
    headers = {"Authorization": f"Bearer {tenant.read_key}"}
    refused = httpx.put(f"{replica.base_url}/v1/workspace/policies", json={"policies": []}, headers=headers)
    assert refused.status_code == 403
