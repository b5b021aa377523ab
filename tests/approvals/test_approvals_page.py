"""docs/approvals.md: its session prints what the page shows."""

from pathlib import Path

import pytest
from approval_steps import ALLOW, ASK
from forked import put_remit_in
from servers import clean_env
from sessions import BLOCKS, commands, require_printed, run, shell_in

PAGE = (Path(__file__).parents[2] / "docs/approvals.md").read_text()


@pytest.mark.slow
def test_the_session_prints_what_the_page_shows(tenant, tmp_path):
    """With an agent and the two keys that it needs."""
    agent = tenant.new_agent(alias="refund-bot")
    tenant.new_policy(agent["id"], ALLOW, ASK)
    env = clean_env() | {
        "REMIT_URL": tenant.replica.base_url,
        "REMIT_API_KEY": tenant.read_key,
        "APPROVER": tenant.new_key(["approve", "read"], name="ann")["key"],
        "PATH": f"{put_remit_in(tmp_path / 'bin')}:{clean_env()['PATH']}",
    }
    [session] = BLOCKS.findall(PAGE)
    with shell_in(tmp_path, env) as shell:
        for command, wanted in commands(session):
            require_printed(command, wanted, run(shell, command))
