"""docs/users-request.md: its session prints what the page shows."""

from pathlib import Path

import pytest
from forked import put_remit_in
from servers import clean_env
from sessions import BLOCKS, commands, require_printed, run, shell_in

PAGE = (Path(__file__).parents[2] / "docs/users-request.md").read_text()


@pytest.mark.slow
def test_the_session_prints_what_the_page_shows(tenant, tmp_path):
    """With an admin's key, and no agent yet."""
    env = clean_env() | {
        "REMIT_URL": tenant.replica.base_url,
        "REMIT_API_KEY": tenant.admin_key,
        "PATH": f"{put_remit_in(tmp_path / 'bin')}:{clean_env()['PATH']}",
    }
    with shell_in(tmp_path, env) as shell:
        for session in BLOCKS.findall(PAGE):
            for command, wanted in commands(session):
                require_printed(command, wanted, run(shell, command))
