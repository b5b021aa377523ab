"""Each page's program, run against a real service, prints what the page shows, but for ids."""

import pytest
from pages import output_of, run_page, without_ids
from service import ADMIN_KEY

from remit_client import calls

PAGES = ["python.md"]


@pytest.mark.parametrize("page", PAGES)
def test_a_page_does_what_it_says(page, service, asking_key, agent, tmp_path):
    ran = run_page(page, tmp_path, agent, REMIT_URL=service.url, REMIT_API_KEY=asking_key, PERSON_KEY=ADMIN_KEY)
    assert ran.returncode == 0, ran.stderr
    assert without_ids(ran.stdout) == without_ids(output_of(page))


def test_the_agent_of_the_pages_is_the_one_of_the_tests(admin, agent):
    """The pages say which policy their run needs; it is this one."""
    assert [policy.name for policy in admin.send(calls.list_policies(agent))] == ["refunds and mail"]
