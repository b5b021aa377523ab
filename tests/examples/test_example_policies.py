"""The airline's policies at chosen times, which a replay by the service's clock cannot show."""

import json
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import msgspec
import pytest

from app.http.api.policies import CreatePolicy
from app.model.agents import Agent
from app.model.decisions import AuthorizeRequest, Result
from app.model.policies import Policy
from app.pdp import compile_agent, decide

EXAMPLES = Path(__file__).parents[2] / "examples"
CALLS = [json.loads(line) for line in (EXAMPLES / "data/airline.jsonl").read_text().splitlines()]
CHICAGO = ZoneInfo("America/Chicago")
CHANGING = {
    "book_reservation",
    "cancel_reservation",
    "send_certificate",
    "update_reservation_baggages",
    "update_reservation_flights",
    "update_reservation_passengers",
}
WRONG = 4
"""Calls that name no means of payment for a change, whenever they are made."""
README = (EXAMPLES / "README.md").read_text()
TOOLS = json.loads((EXAMPLES / "data/tools.json").read_text())
FILES = ("airline/policies.json", *(f"assistants/{name}.json" for name in sorted(TOOLS.keys() - {"airline"})))
READING = ("get_", "search_", "read_", "check_", "list_")
AGENT = Agent(id="0" * 8, name="airline", created_ms=0, updated_ms=0, version="")


def compiled(file):
    """The agent of a policy file, from bodies that the API takes."""
    bodies = json.loads((EXAMPLES / file).read_text())["policies"]
    created = [
        msgspec.convert(body | {"agent_id": "00000000-0000-4000-8000-000000000000"}, CreatePolicy) for body in bodies
    ]
    policies = [
        Policy(
            id=str(number),
            agent_id=AGENT.id,
            kind=body.kind,
            name=body.name,
            rules=tuple(body.rules),
            priority=body.priority,
            enabled=body.enabled,
            created_ms=number,
            updated_ms=number,
            version=1,
        )
        for number, body in enumerate(created)
    ]
    return compile_agent(AGENT, policies, lambda _: False)


def policies_of(file):
    """The bodies as they stand in a file."""
    return json.loads((EXAMPLES / file).read_text())["policies"]


def judged(agent, tool, arguments, context=None):
    """The outcome of one call, all quotas having room."""
    request = AuthorizeRequest(AGENT.id, tool, "authorize", arguments, b"", context=context)
    return decide(agent, request, 0).outcome


def outcomes(agent, moment):
    """The outcome of every call at this moment, all quotas having room."""
    now_us = int(moment.astimezone(UTC).timestamp()) * 1_000_000
    requests = [
        AuthorizeRequest(
            AGENT.id, call["tool"], "authorize", call["arguments"], b"", context={"session": call["conversation"]}
        )
        for call in CALLS
    ]
    return [(request.tool_name, decide(agent, request, now_us).outcome) for request in requests]


def test_on_a_sunday_nothing_is_changed_without_a_person():
    """As the README counts them: escalated because of the window, or denied for a mistake; reads continue."""
    sunday = outcomes(compiled("airline/policies.json"), datetime(2026, 11, 22, 12, 0, tzinfo=CHICAGO))
    counts = Counter(outcome.result for tool, outcome in sunday if tool in CHANGING)
    assert counts[Result.ALLOWED] == 0
    asked, denied = counts[Result.ESCALATED], counts[Result.DENIED]
    assert all(outcome.result is Result.ALLOWED for tool, outcome in sunday if tool not in CHANGING)
    assert f"on a Sunday, a person is asked about {asked} of the {len(CALLS)} calls, and {denied} are denied" in README


@pytest.mark.parametrize("month", [1, 7], ids=["winter", "summer"])
@pytest.mark.parametrize(("hour", "minute", "is_open"), [(7, 59, False), (8, 0, True), (19, 59, True), (20, 0, False)])
def test_the_desk_opens_at_8_and_closes_at_20_in_chicago(month, hour, minute, is_open):
    """By local time, before and after the change to daylight saving."""
    weekday = datetime(2026, month, 6 if month == 7 else 5, hour, minute, tzinfo=CHICAGO)
    assert weekday.isoweekday() == 1
    counts = Counter(
        outcome.result for tool, outcome in outcomes(compiled("airline/policies.json"), weekday) if tool in CHANGING
    )
    assert (counts[Result.ALLOWED] > 0) is is_open
    assert counts[Result.DENIED] == WRONG


def test_an_allowlist_stands_only_in_guardrails():
    """In a grant it would deny what the others allow."""
    for file in FILES:
        for policy in policies_of(file):
            types = {rule["type"] for rule in policy["rules"]}
            assert policy.get("kind") == "guardrail" or "tool_allowlist" not in types, (file, policy["name"])


@pytest.mark.parametrize("name", TOOLS)
def test_the_policies_name_the_tools_of_their_agents_and_no_others(name):
    """A misspelt tool in a policy would match no call, and nobody would see it."""
    [file] = [file for file in FILES if name in file]
    patterns = {tool for policy in policies_of(file) for rule in policy["rules"] for tool in rule["tools"]}
    covered = {pattern: {tool for tool in TOOLS[name] if covers(pattern, tool)} for pattern in patterns}
    assert [pattern for pattern, tools in covered.items() if not tools] == []
    assert set().union(*covered.values()) == set(TOOLS[name])


def covers(pattern, tool):
    """As docs/semantics.md defines it."""
    return pattern == tool or (pattern.endswith("*") and tool.startswith(pattern[:-1]))


@pytest.mark.parametrize("name", sorted(TOOLS.keys() - {"airline"}))
def test_an_assistant_changes_nothing_by_itself(name):
    """Whatever the arguments, and before anything was read: the structure protects, not a list of known attacks."""
    agent = compiled(f"assistants/{name}.json")
    free = {tool for tool in TOOLS[name] if judged(agent, tool, {}).result is Result.ALLOWED}
    assert [tool for tool in free if not tool.startswith(READING)] == []
    for tool in sorted(set(TOOLS[name]) - free):
        for arguments in ({}, {"amount": 1, "participants": []}, {"amount": 1, "participants": None}):
            assert judged(agent, tool, arguments).result is not Result.ALLOWED, (tool, arguments)


class TestTheCodingAgent:
    """examples/coding-agent, asked as the coding agent's hook asks."""

    SHOP = "/home/ann/shop"

    @pytest.fixture
    def agent(self):
        return compiled("coding-agent/policies.json")

    def result(self, agent, tool, arguments, cwd=SHOP):
        return str(judged(agent, tool, arguments, {"session": "s1", "source": "claude-code", "cwd": cwd}).result)

    @pytest.mark.parametrize(
        "command",
        [
            "ls",
            "ls -la app",
            "cat app/main.py",
            "git status",
            "git diff --stat",
            "pytest -q tests/test_a.py",
            "make test",
            "make test\n",
            " ls",
            "cat a\tb",
            "cat app//main.py",
            "cd ./app && grep -rn TODO . --include='*.py' | head -20",
            "git add -A && git commit -m 'Fix the cart'",
            "npm run lint && npx tsc --noEmit 2>&1 | tail -5",
            "git show HEAD --stat; (ls; pwd) >/dev/null",
        ],
    )
    def test_the_coding_agents_everyday_commands_run(self, agent, command):
        assert self.result(agent, "Bash", {"command": command}) == "allowed"

    @pytest.mark.parametrize(
        "command",
        [
            *("rm -rf .", "git push", "curl https://evil.example", "pip install x", "python -c 1", "sh a.sh"),
            *(
                "ls; rm a",
                "ls && rm a",
                "ls | sh",
                "ls > a",
                "ls\nrm a",
                "cat $(a)",
                "cat `a`",
                "ls &",
                "X=1 ls",
            ),
            *(
                "cat /etc/passwd",
                "cat ../secret",
                "cat a/../../b",
                "cat ~/.ssh/id_rsa",
                "cat .env",
                "cat app/.env",
                "cat prod.env",
                "grep -r KEY .",
                "git show HEAD:.env",
            ),
            *(
                "cat server.pem",
                "cat id_ed25519",
                "head conf/tls.key",
                "ls -la --hyperlink=a",
                "git -c core.pager=a log",
            ),
            *(
                "git diff --output=a",
                "git diff --ext-diff",
                "git log -p",
                "pytest -p evil",
                "pytest --rootdir=a",
                "pytest -c a",
            ),
            *(
                "make deploy",
                "make test SHELL=a",
                "make -f a test",
                "make test\n\rls",
                "LS",
                "ls\u00a0a",
                "cat \uff0fetc",
                "",
                "cd app && ls",
                "cd ./app; git status",
                "npx evil",
                "node -e 1",
                "find . -delete",
                "sort -oconftest.py a",
                "cp a package.json",
            ),
        ],
    )
    def test_every_other_command_asks(self, agent, command):
        """Anything beyond the everyday commands needs a person."""
        assert self.result(agent, "Bash", {"command": command}) == "escalated"

    @pytest.mark.parametrize(
        ("tool", "arguments", "result"),
        [
            ("Read", {"file_path": "/home/ann/shop/app/main.py"}, "allowed"),
            ("Write", {"file_path": "/home/ann/shop/app/new.py", "content": "x"}, "allowed"),
            ("Edit", {"file_path": "/home/ann/shop/app/main.py"}, "allowed"),
            ("Edit", {"file_path": "/home/ann/shop/./app//main.py"}, "denied"),
            ("Read", {"file_path": "/home/ann/shop/../.ssh/id_rsa"}, "denied"),
            ("Read", {"file_path": "/home/ann/shopping/a"}, "denied"),
            ("Read", {"file_path": "app/main.py"}, "denied"),
            ("Read", {"file_path": "/home/ann/shop/%2e%2e/a"}, "denied"),
            ("Read", {"file_path": "/home/ann/shop/a\u0000b"}, "denied"),
            ("Read", {"file_path": ["/home/ann/shop/a"]}, "denied"),
            ("Read", {}, "denied"),
            ("Read", {"file_path": "/home/ann/shop/.env.local"}, "escalated"),
            ("Read", {"file_path": "/home/ann/shop/deploy/TLS.KEY"}, "escalated"),
            ("Write", {"file_path": "/home/ann/shop/.git/hooks/pre-commit"}, "escalated"),
            ("Write", {"file_path": "/home/ann/shop/.github/workflows/ci.yml"}, "escalated"),
            ("Edit", {"file_path": "/home/ann/shop/Makefile"}, "escalated"),
            ("Edit", {"file_path": "/home/ann/shop/tests/conftest.py"}, "escalated"),
            ("Write", {"file_path": "/home/ann/shop/deploy.sh"}, "escalated"),
            ("Read", {"file_path": "/home/ann/shop/conf/service-account.json"}, "escalated"),
            ("Grep", {"pattern": "key", "path": "/home/ann/shop/.env"}, "denied"),
            ("Glob", {"pattern": "**/*.py"}, "allowed"),
            ("Glob", {"pattern": "/etc/*"}, "denied"),
            ("Glob", {"pattern": "../*"}, "denied"),
            ("Grep", {"pattern": "key", "path": "/home/ann/.ssh"}, "denied"),
            ("Grep", {"pattern": "key", "path": "/home/ann/shop/app"}, "allowed"),
            ("WebFetch", {"url": "https://docs.python.org/3/", "prompt": "x"}, "allowed"),
            ("WebFetch", {"url": "https://pandas.readthedocs.io/"}, "denied"),
            ("WebFetch", {"url": "http://docs.python.org/"}, "denied"),
            ("WebFetch", {"url": "https://docs.python.org.evil.example/"}, "denied"),
            ("WebFetch", {"url": "https://docs.python.org@evil.example/"}, "denied"),
            ("WebFetch", {"url": "https://evil.example/?q=docs.python.org"}, "denied"),
            ("WebFetch", {"url": "https://169.254.169.254/"}, "denied"),
            ("WebSearch", {"query": "x"}, "escalated"),
            ("mcp__github__create_issue", {}, "escalated"),
            ("mcp__prod__query", {}, "denied"),
            ("TodoWrite", {"todos": []}, "allowed"),
            ("SomethingNew", {}, "denied"),
        ],
    )
    def test_files_and_hosts_are_allowed_asked_about_or_denied_as_the_policy_says(self, agent, tool, arguments, result):
        assert self.result(agent, tool, arguments) == result

    @pytest.mark.parametrize("cwd", ["/home/ann", "/home/ann/shop/../.ssh", "shop", ""])
    def test_no_command_runs_outside_the_project(self, agent, cwd):
        assert self.result(agent, "Bash", {"command": "ls"}, cwd) == "denied"

    def test_no_command_runs_without_its_sandbox(self, agent):
        assert self.result(agent, "Bash", {"command": "ls", "dangerouslyDisableSandbox": True}) == "denied"
        assert self.result(agent, "Bash", {"command": "ls", "run_in_background": True}) == "escalated"


def test_the_notice_counts_the_calls_it_licenses():
    """Both files in full."""
    notice = (EXAMPLES / "data/NOTICE.md").read_text()
    for file in ("airline", "injections"):
        count = len((EXAMPLES / f"data/{file}.jsonl").read_text().splitlines())
        assert f"`{file}.jsonl`: {count} tool calls" in notice
