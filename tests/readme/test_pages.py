"""The sessions of docs/ print what their pages show, to a reader who pastes one page after the other."""

import itertools
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from forked import put_remit_in
from servers import Replica, clean_env, free_port, wait_until_ready
from sessions import BLOCKS, commands, require_printed, run, shell_in
from tenants import Tenant

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
SET_UP = re.search(
    r"## Sessions in these pages\n.*?```sh\n(.*?)```", (ROOT / "docs/command-line.md").read_text(), re.DOTALL
)[1]
MADE = re.compile(r"""remit agents create ('[^']+'|"[^"]+"|\S+)(?: --alias (\S+))?""")
IN_ORDER = ["policy-files", "breakers", "policy-warnings", "shadow", "names", "explain", "sign-in"]
"""Pages that can be pasted in README's order, in the workspace where README's session has been."""


@pytest.fixture(scope="module")
def reader(tmp_path_factory):
    """A shell beside a service as `make run` starts it, set up as docs/command-line.md says."""
    folder, port = tmp_path_factory.mktemp("reader"), free_port()
    put_remit_in(folder / ".venv/bin")
    home = {"XDG_DATA_HOME": str(folder / "home")}
    env = clean_env() | home | {"REMIT_PORT": str(port)}
    service = subprocess.Popen([Path(sys.prefix) / "bin/remit", "serve"], cwd=folder, env=env)
    wait_until_ready(f"http://127.0.0.1:{port}", service)
    write_policy_files(folder / "policies")
    with shell_in(folder, clean_env() | home) as shell:
        assert "127.0.0.1:8080" in SET_UP
        assert run(shell, SET_UP.replace(":8080", f":{port}")) == ""
        for command in re.findall(r"remit agents create refund-bot --quiet", README):
            run(shell, command)
        yield shell
    service.send_signal(signal.SIGINT)
    assert service.wait(timeout=30) == 0


def write_policy_files(folder):
    """The two files that docs/policy-files.md shows, under the names that it gives them."""
    page = (ROOT / "docs/policy-files.md").read_text()
    folder.mkdir()
    (folder / "shop-bot.yaml").write_text(re.search(r"```yaml\n(agent: .*?)```", page, re.DOTALL)[1])
    (folder / "shop-bot.test.yaml").write_text(re.search(r"```yaml\n(policies: .*?)```", page, re.DOTALL)[1])


@pytest.mark.slow
@pytest.mark.parametrize("page", IN_ORDER)
def test_one_reader_pastes_the_sessions_of_all_pages(page, reader, program):
    """In one shell and one workspace: no page is disturbed by what another leaves behind."""
    for name in ("curl", "jq"):
        program(name, f"the sessions of docs/{page}.md")
    for command, wanted in session(page):
        require_printed(command, wanted, run(reader, command))


@pytest.mark.slow
def test_the_sessions_about_tools_print_what_the_page_shows(store, replica, program, tmp_path):
    """In a separate workspace, because the page lists all tools of a workspace."""
    paste("tools", store, replica, program, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("page", ["office-hours", "coming-from-opa-or-cedar"])
def test_the_sessions_with_tests_of_policies_print_what_the_page_shows(page, tmp_path):
    """They need no service: the tests of a policy say when they run."""
    environment = clean_env()
    environment["PATH"] = f"{put_remit_in(tmp_path / 'bin')}:{environment['PATH']}"
    with shell_in(tmp_path, environment) as shell:
        for command, wanted in session(page):
            require_printed(command, wanted, run(shell, command))


@pytest.mark.slow
def test_the_session_of_proposals_prints_what_the_page_shows(store, replica, program, tmp_path):
    """In a separate workspace, because it needs all tools of the catalogue."""
    paste("propose", store, replica, program, tmp_path)


@pytest.mark.slow
def test_the_session_of_authzen_prints_what_the_page_shows(store, replica, program, tmp_path):
    """In a separate workspace."""
    paste("authzen", store, replica, program, tmp_path)


@pytest.mark.slow
def test_the_session_about_gateways_prints_what_the_page_shows(store, replica, program, tmp_path):
    """In a separate workspace."""
    paste("gateways", store, replica, program, tmp_path)


@pytest.mark.slow
def test_the_session_of_access_requests_prints_what_the_page_shows(store, program, tmp_path):
    """At a replica that knows the URL in the page."""
    replica = Replica(store.url, REMIT_PUBLIC_URL="https://pdp.example.com", REMIT_SECRET="0123456789abcdef" * 2)
    try:
        paste("access-requests", store, replica, program, tmp_path)
    finally:
        replica.stop()


@pytest.mark.slow
def test_the_session_of_reviews_prints_what_the_page_shows(store, program, tmp_path):
    """Over HTTP alone, at a replica where changes of policies wait."""
    for name in ("curl", "jq"):
        program(name, "the sessions of docs/reviews.md")
    replica = Replica(store.url, REMIT_REVIEW="policies")
    try:
        tenant = Tenant(store.url, replica)
        environment = clean_env() | {"REMIT_URL": replica.base_url, "REMIT_API_KEY": tenant.admin_key}
        environment["PATH"] = f"{put_remit_in(tmp_path / 'bin')}:{environment['PATH']}"
        with shell_in(tmp_path, environment) as shell:
            for command, wanted in session("reviews"):
                require_printed(command, wanted, run(shell, command))
        tenant.close()
    finally:
        replica.stop()


def paste(page, store, replica, program, tmp_path):
    """Run the page's sessions in a workspace of their own, and compare what they print."""
    for name in ("curl", "jq"):
        program(name, f"the sessions of docs/{page}.md")
    tenant = Tenant(store.url, replica)
    asks = f'case "$1 $2" in approvals*|authorize*|*" test") ;; *) set -- "$@" --workspace {tenant.id};; esac'
    remit = put_remit_in(tmp_path / "bin", asks)
    environment = clean_env() | {
        "REMIT_REDIS_URL": replica.env["REMIT_REDIS_URL"],
        "REMIT_URL": replica.base_url,
        "REMIT_API_KEY": tenant.admin_key,
    }
    environment["PATH"] = f"{remit}:{environment['PATH']}"
    with shell_in(tmp_path, environment) as shell:
        for command, wanted in session(page):
            require_printed(command, wanted, run(shell, command))
    tenant.close()


def session(page):
    """Every command of the page with what it shall print; a line after `> ` continues the command."""
    for block in BLOCKS.findall((ROOT / f"docs/{page}.md").read_text()):
        for command, wanted in commands(block):
            lines = wanted.split("\n")
            typed = list(itertools.takewhile(lambda line: line.startswith("> "), lines))
            whole = "\n".join([command, *(line.removeprefix("> ") for line in typed)])
            yield whole, "\n".join(lines[len(typed) :])


def test_no_two_pages_make_an_agent_that_is_found_by_the_same_name():
    """Otherwise the name would be ambiguous for a reader of both, or lead to the other agent."""
    texts = [README, *(path.read_text() for path in sorted((ROOT / "docs").glob("*.md")))]
    names = [alias or name for text in texts for name, alias in MADE.findall(text)]
    assert len(names) > 6
    assert sorted(set(names)) == sorted(names)


def test_each_page_with_a_session_says_how_to_set_up_the_shell():
    """Readers must be told to set `$REMIT_URL` and `$REMIT_API_KEY`."""
    for path in (ROOT / "docs").glob("*.md"):
        page = path.read_text()
        if any("$REMIT_URL" in block or "remit authorize" in block for block in BLOCKS.findall(page)):
            assert "command-line.md#sessions-in-these-pages" in page, path.name
