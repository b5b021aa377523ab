"""Until there is a release, no page, workflow or message installs Remit by a name that somebody else could take."""

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
    r"\b(?:pipx?|uv|uvx|poetry|npm|npx)\s[^`\n]*?[\s'\"](?:@[\w-]+/)?remit(?:-client|-mcp)?(?:\[|[\s'\"`=]|$)"
)


@pytest.mark.parametrize("path", READ, ids=lambda path: str(path.relative_to(ROOT)))
def test_nothing_is_installed_by_a_name_that_nobody_holds(path):
    """From a checkout, or by a commit."""
    assert BY_NAME.findall(path.read_text()) == []


def test_no_message_says_to_install_by_name():
    """Nor does a script."""
    assert len(SPOKEN) > 300
    assert {path.name: found for path in SPOKEN if (found := BY_NAME.findall(path.read_text()))} == {}


@pytest.mark.parametrize(
    "line", ["pip install remit", "pip install 'remit-client[mcp]'", "npm install remit", "uv add remit"]
)
def test_what_would_be_found_is_found(line):
    """The pattern is not an empty promise."""
    assert BY_NAME.search(line)
