"""The oldest version of a framework that an extra or a page names is the one that the clients' tests run with."""

import json
import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

ROOT = Path(__file__).parents[2]
PYTHON, TYPESCRIPT = ROOT / "clients/python", ROOT / "clients/typescript"
EXTRAS = tomllib.loads((PYTHON / "pyproject.toml").read_text())["project"]["optional-dependencies"]
PACKAGES = {
    "ai-sdk": "ai",
    "claude-agent-sdk": "@anthropic-ai/claude-agent-sdk",
    "langchain": "langchain",
    "mastra": "@mastra/core",
    "mcp": "@modelcontextprotocol/sdk",
    "openai-agents": "@openai/agents",
}


@pytest.mark.parametrize("extra", EXTRAS)
def test_an_extra_allows_no_older_version_than_is_tested(extra):
    locks = [(PYTHON / f"requirements/frameworks-{name}.txt").read_text() for name in ("lowest", "older-mcp-lowest")]
    (requirement,) = map(Requirement, EXTRAS[extra])
    (bound,) = requirement.specifier
    tested = [
        found for lock in locks for found in re.findall(rf"^{re.escape(requirement.name)}==(\S+)", lock, re.MULTILINE)
    ]
    assert bound.operator == ">="
    assert Version(bound.version) in map(Version, tested)


def test_every_page_of_typescript_is_about_a_package():
    pages = {path.stem for path in (ROOT / "docs/clients/typescript").glob("*.md")}
    assert pages - {"README"} == set(PACKAGES)


@pytest.mark.parametrize("page", PACKAGES)
def test_a_page_names_no_older_version_than_is_tested(page):
    text = " ".join((ROOT / f"docs/clients/typescript/{page}.md").read_text().split())
    tested = json.loads((TYPESCRIPT / "frameworks/lowest/package.json").read_text())["dependencies"][PACKAGES[page]]
    (named,) = re.findall(r"Works (?:from|with) (?:versions? |`\S+` from )(\d+(?:\.\d+)*)", text)
    assert f"{tested}.".startswith(f"{named}.")
