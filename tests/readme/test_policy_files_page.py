"""docs/policy-files.md: its session prints what the page shows."""

import re
import sys
from pathlib import Path

import pytest
from servers import clean_env
from sessions import BLOCKS, commands, require_printed, run, shell_in
from tenants import Tenant

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/policy-files.md").read_text()
FILE = re.search(r"```yaml\n(agent: .*?)```", PAGE, re.DOTALL)[1]
TESTS = re.search(r"```yaml\n(policies: .*?)```", PAGE, re.DOTALL)[1]


@pytest.mark.slow
def test_the_session_prints_what_the_page_shows(store, replica, tmp_path):
    """In one shell, in a workspace of its own."""
    tenant = Tenant(store.url, replica)
    remit = tmp_path / "remit"
    workspace = f'case $1/$2 in authorize/*|*/test|*/lint) ;; *) set -- "$@" --workspace {tenant.id};; esac'
    remit.write_text(f'#!/bin/sh\n{workspace}\nexec {sys.executable} -m app.cli "$@"\n')
    remit.chmod(0o755)
    (tmp_path / "policies").mkdir()
    (tmp_path / "policies/refund-bot.yaml").write_text(FILE)
    (tmp_path / "policies/refund-bot.test.yaml").write_text(TESTS)
    environment = clean_env() | {"REMIT_REDIS_URL": replica.env["REMIT_REDIS_URL"], "PYTHONPATH": str(ROOT)}
    environment |= {"SERVICE": replica.base_url, "REMIT_API_KEY": tenant.read_key}
    environment["PATH"] = f"{tmp_path}:{environment['PATH']}"
    with shell_in(tmp_path, environment) as shell:
        for block in BLOCKS.findall(PAGE):
            for command, wanted in commands(block):
                require_printed(command, wanted, run(shell, command))
    tenant.close()
