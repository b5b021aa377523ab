"""Each page's program, run against a real service, prints what the page shows, but for ids."""

import json
import string

import httpx
import pytest
from pages import ROOT, begins_with_lines_of_code, blocks, code_of, output_of, run_page, without_ids
from service import ADMIN_KEY

from remit_client import calls

PAGES = ["any-framework.md", "python.md"]


@pytest.mark.parametrize("page", PAGES)
def test_a_page_does_what_it_says(page, service, asking_key, agent, tmp_path):
    ran = run_page(page, tmp_path, agent, REMIT_URL=service.url, REMIT_API_KEY=asking_key, PERSON_KEY=ADMIN_KEY)
    assert ran.returncode == 0, ran.stderr
    assert without_ids(ran.stdout) == without_ids(output_of(page))


def test_a_page_can_be_followed_from_the_overview(service, tmp_path):
    """Its program creates the agent, under the alias of the pages, and the key. A page then runs exactly as printed."""
    env = {"REMIT_URL": service.url, "PERSON_KEY": ADMIN_KEY}
    made = run_page("README.md", tmp_path, "refund-bot", **env)
    assert made.returncode == 0, made.stderr
    key = made.stdout.removeprefix("export REMIT_API_KEY=").strip()
    ran = run_page("python.md", tmp_path, "refund-bot", REMIT_API_KEY=key, **env)
    assert ran.returncode == 0, ran.stderr
    assert without_ids(ran.stdout) == without_ids(output_of("python.md"))


@pytest.fixture
def coding_agent(admin):
    """The agent of examples/coding-agent; the id of it."""
    example = json.loads((ROOT / "examples/coding-agent/policies.json").read_text())
    named = {name: value for name, value in example["agent"].items() if name != "alias"}  # each test has its own
    made = admin.send(calls.create_agent(**named))
    admin.send(calls.put_policies(example["policies"], made.id))
    return made.id


def test_the_hook_of_a_coding_agent_answers_as_its_page_says(admin, service, asking_key, coding_agent, tmp_path):
    person = admin.send(calls.create_api_key("ann", ["approve"])).key
    env = {"REMIT_URL": service.url, "REMIT_API_KEY": asking_key, "PERSON_KEY": person}
    ran = run_page("claude-code.md", tmp_path, coding_agent, alias="coding-agent", **env)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout == output_of("claude-code.md")


def test_the_settings_of_its_page_are_those_that_the_coding_agent_reads(service, asking_key, coding_agent):
    """An HTTP hook before every tool, whose headers name the variables that they may read; and the service answers.

    tests/frameworks/test_claude_code.py has the coding agent itself read them.
    """
    [(_, text)] = [block for block in blocks("claude-code.md") if block[0] == "json"]
    [matcher] = json.loads(text)["hooks"]["PreToolUse"]
    [hook] = matcher["hooks"]
    assert (matcher["matcher"], hook["type"], hook["onFailure"]) == ("*", "http", "block")
    assert hook.keys() == {"type", "url", "timeout", "onFailure", "headers", "allowedEnvVars"}
    variables = {"REMIT_API_KEY": asking_key, "REMIT_AGENT": coding_agent, "REMIT_PROJECT": "/home/ann/shop"}
    assert set(hook["allowedEnvVars"]) == set(variables)
    headers = {name: string.Template(value).substitute(variables) for name, value in hook["headers"].items()}
    event = {"session_id": "1", "hook_event_name": "PreToolUse", "cwd": "/home/ann/shop", "tool_name": "TodoWrite"}
    url = hook["url"].replace("http://127.0.0.1:8080", service.url)
    said = httpx.post(url, headers=headers, json=event | {"tool_input": {"todos": []}}, verify=False).json()
    assert said["hookSpecificOutput"]["permissionDecision"] == "allow"


OF_PYTHON = {path.name for path in (ROOT / "docs/clients").glob("[!R]*.md")} - {"go.md"}


@pytest.mark.parametrize("page", sorted(OF_PYTHON))
def test_a_page_gates_a_tool_in_three_lines_and_ends_with_a_run(page):
    """It begins with a few lines besides imports, and ends with a program where a person approves, and its output."""
    kinds = [kind for kind, _ in blocks(page)]
    assert begins_with_lines_of_code(page, 5), "a decorated function or a configuration takes five"
    assert {"python", "text"} <= set(kinds[1:])
    assert "person.approve(" in code_of(page)


def test_the_agent_of_the_pages_is_the_one_of_the_tests(admin, agent):
    """The pages say which policy their run needs; it is the one used here."""
    assert [policy.name for policy in admin.send(calls.list_policies(agent))] == ["refunds and mail"]
