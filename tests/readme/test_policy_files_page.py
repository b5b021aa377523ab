"""docs/policy-files.md: its session prints what the page shows, and its workflow runs commands that there are."""

import re
import sys
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner
from servers import clean_env
from sessions import BLOCKS, commands, require_printed, run, shell_in
from tenants import Tenant

from app.cli.main import main

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/policy-files.md").read_text()
FILE = re.search(r"```yaml\n(agent: .*?)```", PAGE, re.DOTALL)[1]
TESTS = re.search(r"```yaml\n(policies: .*?)```", PAGE, re.DOTALL)[1]
WORKFLOW = yaml.safe_load((ROOT / "examples/github-actions/policies.yml").read_text())


@pytest.mark.slow
def test_the_session_prints_what_the_page_shows(store, replica, tmp_path):
    """In one shell, in a workspace of its own."""
    tenant = Tenant(store.url, replica)
    remit = tmp_path / "remit"
    workspace = f'case $2 in test|lint) ;; *) set -- "$@" --workspace {tenant.id};; esac'
    remit.write_text(f'#!/bin/sh\n{workspace}\nexec {sys.executable} -m app.cli "$@"\n')
    remit.chmod(0o755)
    (tmp_path / "policies").mkdir()
    (tmp_path / "policies/refund-bot.yaml").write_text(FILE)
    (tmp_path / "policies/refund-bot.test.yaml").write_text(TESTS)
    environment = clean_env() | {"REMIT_REDIS_URL": replica.env["REMIT_REDIS_URL"], "PYTHONPATH": str(ROOT)}
    environment["PATH"] = f"{tmp_path}:{environment['PATH']}"
    with shell_in(tmp_path, environment) as shell:
        for block in BLOCKS.findall(PAGE):
            for command, wanted in commands(block):
                require_printed(command, wanted, run(shell, command))
    tenant.close()


def test_the_workflow_runs_commands_that_there_are():
    """With options that they have; on pull requests it only looks."""
    runs = {
        name: [step["run"] for step in job["steps"] if "remit policy" in step.get("run", "")]
        for name, job in WORKFLOW["jobs"].items()
    }
    assert [len(each) for each in runs.values()] == [3, 1]
    for line in (line for lines in runs.values() for line in lines):
        words = re.match(r"remit (policy \w+)((?: --[\w-]+)*)", line)
        told = CliRunner().invoke(main, [*words[1].split(), "--help"])
        assert told.exit_code == 0
        assert all(option in told.output for option in words[2].split())
    assert "apply" not in str(runs["review"])
    assert "pull_request" in WORKFLOW["jobs"]["review"]["if"]
    assert WORKFLOW["jobs"]["apply"]["if"] == "github.event_name == 'push'"
