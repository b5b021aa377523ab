"""Each page's program, run against a real service, prints what the page shows, but for ids."""

import os
import subprocess
import sys

import pytest
from pages import code_of, output_of, without_ids

from remit_client import calls

PAGES = ["python.md"]


@pytest.mark.parametrize("page", PAGES)
def test_a_page_does_what_it_says(page, service, asking_key, agent, tmp_path):
    program = tmp_path / "page.py"
    program.write_text(code_of(page).replace('"refund-bot"', repr(agent)))
    env = {"PATH": os.environ["PATH"], "REMIT_URL": service.url, "REMIT_API_KEY": asking_key}
    ran = subprocess.run([sys.executable, program], env=env, capture_output=True, text=True, timeout=60)
    assert ran.returncode == 0, ran.stderr
    assert without_ids(ran.stdout) == without_ids(output_of(page))


def test_the_agent_of_the_pages_is_the_one_of_the_tests(admin, agent):
    """The pages say which policy their run needs; it is this one."""
    assert [policy.name for policy in admin.send(calls.list_policies(agent))] == ["refunds and mail"]
