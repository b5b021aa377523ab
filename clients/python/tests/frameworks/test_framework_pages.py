"""The pages of the frameworks: each program, run through the framework itself, prints what the page shows."""

import pytest
from pages import ROOT, output_of, run_page, without_ids
from scripted import OLDER_MCP
from service import ADMIN_KEY

NEEDING_AN_OLDER_MCP = ["crewai.md", "strands.md"]
PAGES = [
    "agent-framework.md",
    "claude-agent-sdk.md",
    "fastmcp.md",
    "google-adk.md",
    "langchain.md",
    "llama-index.md",
    "mcp.md",
    "openai-agents.md",
    "pydantic-ai.md",
]


@pytest.mark.parametrize("page", NEEDING_AN_OLDER_MCP if OLDER_MCP else PAGES)
def test_a_page_does_what_it_says(page, service, asking_key, agent, tmp_path):
    ran = run_page(page, tmp_path, agent, REMIT_URL=service.url, REMIT_API_KEY=asking_key, PERSON_KEY=ADMIN_KEY)
    assert ran.returncode == 0, ran.stderr
    assert without_ids(ran.stdout) == without_ids(output_of(page))


def test_every_page_is_run():
    """A page that is added and not run would rot."""
    pages = {path.name for path in (ROOT / "docs/clients").glob("*.md")}
    assert pages - {"README.md", "any-framework.md", "claude-code.md", "go.md", "litellm.md", "python.md"} == {
        *PAGES,
        *NEEDING_AN_OLDER_MCP,
    }
