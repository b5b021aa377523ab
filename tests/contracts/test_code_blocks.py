"""Each code block of the documentation is run by a test, or says why not; each page says first who it is for."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TRACKED = subprocess.check_output(["git", "-C", str(ROOT), "ls-files", "*.md"], text=True).split()
BLOCK = re.compile(
    r"^(?P<why><!-- not run: .+ -->\n)?^ *```(?P<language>\w*)\n(?P<text>.*?)^ *```$", re.MULTILINE | re.DOTALL
)
DRAWN = {"", "text"}
"""Pictures, and what a block above prints."""

RUN_BY = {
    "README.md": "tests/readme/test_readme.py",
    "docs/access-requests.md": "tests/readme/test_pages.py",
    "docs/approvals.md": "tests/approvals/test_approvals_page.py",
    "docs/audit.md": "tests/audit/test_audit_page.py",
    "docs/authzen.md": "tests/readme/test_pages.py",
    "docs/breakers.md": "tests/readme/test_pages.py",
    "docs/checkpoints.md": "tests/transparency/test_signing.py",
    "docs/clients/README.md": "clients/python/tests/test_pages.py",
    "docs/clients/any-framework.md": "clients/python/tests/test_pages.py",
    "docs/clients/claude-code.md": "clients/python/tests/test_pages.py",
    "docs/clients/go.md": "clients/go/page_test.go",
    "docs/clients/litellm.md": "clients/python/tests/frameworks/test_litellm_gateway.py",
    "docs/clients/mcp.md": "clients/python/tests/frameworks/test_framework_pages.py",
    "docs/clients/python.md": "clients/python/tests/test_pages.py",
    "docs/coming-from-opa-or-cedar.md": "tests/readme/test_pages.py",
    "docs/command-line.md": "tests/readme/test_pages.py",
    "docs/explain.md": "tests/readme/test_pages.py",
    "docs/forward-auth.md": "tests/authzen/test_forward_auth.py",
    "docs/gateways.md": "tests/authzen/test_gateways.py",
    "docs/identity-providers.md": "tests/identity/test_identity_providers_page.py",
    "docs/keyspace.md": "tests/contracts/test_keyspace.py",
    "docs/language.md": "tests/pdp/test_language_page.py",
    "docs/lost-at-restart.md": "tests/faults/test_lost_at_restart.py",
    "docs/mcp-gateways.md": "tests/authzen/test_mcp_gateways.py",
    "docs/names.md": "tests/readme/test_pages.py",
    "docs/office-hours.md": "tests/readme/test_pages.py",
    "docs/operations.md": "tests/contracts/test_operations_page.py",
    "docs/policy-files.md": "tests/readme/test_pages.py",
    "docs/policy-warnings.md": "tests/readme/test_pages.py",
    "docs/propose.md": "tests/readme/test_pages.py",
    "docs/replay.md": "tests/replay/test_replay_page.py",
    "docs/reviews.md": "tests/readme/test_pages.py",
    "docs/shadow.md": "tests/readme/test_pages.py",
    "docs/shell-lines.md": "tests/shell/test_shell_lines_page.py",
    "docs/sign-in.md": "tests/readme/test_pages.py",
    "docs/slack.md": "tests/approvals/test_in_slack.py",
    "docs/tools.md": "tests/readme/test_pages.py",
    "docs/users-request.md": "tests/approvals/test_users_request_page.py",
    "docs/webhooks.md": "tests/webhooks/test_page.py",
    "examples/README.md": "tests/examples/test_replay.py",
}
"""The test that runs a page's blocks, by page. Folders of pages, one for each framework, are run by one test."""

FOLDERS = {
    "docs/clients/typescript/": "clients/typescript/pages.mjs",
    "docs/clients/": "clients/python/tests/frameworks/test_framework_pages.py",
}


def runner(page):
    """The test of a page; None if no test runs it."""
    return RUN_BY.get(page) or next((test for folder, test in FOLDERS.items() if page.startswith(folder)), None)


@pytest.mark.parametrize("page", TRACKED)
def test_each_code_block_is_run_or_says_why_not(page):
    """`<!-- not run: why -->` stands above a block that no test runs."""
    blocks = [block for block in BLOCK.finditer((ROOT / page).read_text()) if block["language"] not in DRAWN]
    unsaid = [block["text"][:80] for block in blocks if block["why"] is None]
    assert runner(page) is not None or unsaid == []


@pytest.mark.parametrize(("page", "test"), RUN_BY.items())
def test_the_test_that_runs_a_page_reads_it(page, test):
    """So a page that is dropped from its test has unsaid blocks again."""
    assert page in TRACKED
    text, name = (ROOT / test).read_text(), Path(page).name
    assert name in text or f'"{name.removesuffix(".md")}"' in text, f"{test} does not name {page}"


@pytest.mark.parametrize("page", [page for page in TRACKED if re.match(r"docs/(clients/)?[a-zR][\w-]+\.md$", page)])
def test_each_page_says_first_whom_it_is_for(page):
    """Pages of frameworks begin with what they gate, and so do those of languages."""
    first = (ROOT / page).read_text().split("\n\n")[1]
    assert first.startswith(("For ", "Gate ", "Put Remit in front of "))
