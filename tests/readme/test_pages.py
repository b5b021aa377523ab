"""Pages of docs/: their sessions print what the page shows."""

import sys
from pathlib import Path

import pytest
from servers import clean_env
from sessions import BLOCKS, commands, require_printed, run, shell_in
from tenants import Tenant

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("page", ["breakers", "names", "shadow", "tools"])
def test_the_sessions_print_what_the_page_shows(page, store, replica, program, tmp_path):
    """In one shell, in a workspace of its own."""
    for name in ("curl", "jq"):
        program(name, f"the sessions of docs/{page}.md")
    tenant = Tenant(store.url, replica)
    remit = tmp_path / "remit"
    workspace = f'case $1 in authorize|explain) ;; *) set -- "$@" --workspace {tenant.id};; esac'
    remit.write_text(f'#!/bin/sh\n{workspace}\nexec {sys.executable} -m app.cli "$@"\n')
    remit.chmod(0o755)
    environment = clean_env() | {
        "REMIT_REDIS_URL": replica.env["REMIT_REDIS_URL"],
        "REMIT_URL": replica.base_url,
        "REMIT_API_KEY": tenant.admin_key,
        "PYTHONPATH": str(ROOT),
    }
    environment["PATH"] = f"{tmp_path}:{environment['PATH']}"
    with shell_in(tmp_path, environment) as shell:
        for block in BLOCKS.findall((ROOT / f"docs/{page}.md").read_text()):
            for command, wanted in commands(block):
                require_printed(command, wanted, run(shell, command))
    tenant.close()
