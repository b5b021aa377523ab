"""No page, workflow or message has the name of a program or package that is not ours, or can become another's."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
READ = [
    *(path for suffix in ("md", "yml", "yaml", "toml", "sh") for path in ROOT.glob(f"docs/**/*.{suffix}")),
    *(path for suffix in ("md", "yml", "yaml", "sh") for path in ROOT.glob(f"examples/**/*.{suffix}")),
    *ROOT.glob("*.md"),
    *(path for client in ("python", "typescript") for path in (ROOT / "clients" / client).glob("*.md")),
]
SPOKEN = [
    path
    for folder in ("app", "deploy", "clients/python/src", "clients/typescript/src")
    for path in (ROOT / folder).rglob("*")
    if path.suffix in {".py", ".ts", ".js", ".sh", ".yaml", ".txt"}
]
"""What prints messages: one test reads all."""
BY_NAME = re.compile(
    r"\b(?:pipx?|uv|uvx|poetry|npm|npx)\s[^`\n]*?[\s'\"](?:@[\w-]+/)?remit(?:-client)?(?:\[|[\s'\"`=]|$)"
)
NAME = re.compile(r"(?<![\w./@-])remit-[a-z]+(?:-[a-z]+)*")
NAMES = {
    "remit-client": "our package for Python and JavaScript, and its program",
    "remit-policies-apply": "a man page of `remit`",
    "remit-command-line": "an example of a client at an identity provider",
    "remit-admins": "a group there",
    "remit-approvers": "a group there",
    "remit-checkpoint": "an object in a cluster",
    "remit-metrics": "memory that processes share",
    "remit-witness": "what the witness calls itself in headers",
    **dict.fromkeys(
        ("remit-fast", "remit-slow", "remit-replica", "remit-compactor", "remit-buckets"),
        "processes and what they share",
    ),
    **dict.fromkeys(
        ("remit-answer", "remit-approval", "remit-code", "remit-decision", "remit-reason", "remit-result"),
        "headers, after X-",
    ),
}
"""All names that pages and messages have, and what they are. A package or program with another is a stranger's."""
LISTS_OF_PROGRAMS = {"shell-lines.md", "shell_surroundings.py"}
"""They name the programs of shell lines that are judged, and run none."""
FETCHED = re.compile(r"\b(?:npx|uvx|pipx run|bunx|dlx)\b[\s\"',]+(?:-\S+[\s\"',]+)*(?![@\w-]+/)([\w-]+)")


@pytest.mark.parametrize("path", READ, ids=lambda path: str(path.relative_to(ROOT)))
def test_nothing_is_installed_by_a_name_that_nobody_holds(path):
    """From a checkout, or by a commit."""
    assert BY_NAME.findall(path.read_text()) == []


def test_no_message_says_to_install_by_name():
    """Nor does a script."""
    assert len(SPOKEN) > 300
    assert {path.name: found for path in SPOKEN if (found := BY_NAME.findall(path.read_text()))} == {}


def test_every_name_that_begins_with_ours_is_ours():
    """`remit-mcp` and `remit-cli` on PyPI are strangers' programs: whoever types what a page shows would run theirs."""
    read = [path.read_text() for path in (*READ, *SPOKEN) if "vendor" not in path.parts]
    assert {name for text in read for name in NAME.findall(text)} - NAMES.keys() == set()


def test_nothing_is_fetched_and_run_by_a_name_that_anybody_may_take():
    """An example that begins another's program names a file, or a package with the name of its owner."""
    read = {path.name: path.read_text() for path in (*READ, *SPOKEN) if "vendor" not in path.parts}
    for name in LISTS_OF_PROGRAMS:
        del read[name]
    assert {name: found for name, text in read.items() if (found := FETCHED.findall(text))} == {}


@pytest.mark.parametrize(
    "line", ["pip install remit", "pip install 'remit-client[mcp]'", "npm install remit", "uv add remit"]
)
def test_what_would_be_found_is_found(line):
    """The pattern is not an empty promise."""
    assert BY_NAME.search(line)
    assert FETCHED.findall('"args": ["--", "npx", "-y", "some-mcp-server"]; npx @owner/package; uvx remit-mcp') == [
        "some-mcp-server",
        "remit-mcp",
    ]
