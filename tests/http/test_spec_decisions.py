"""The tests and pages that docs/spec-decisions.md names exist."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/spec-decisions.md").read_text()


def test_every_test_that_the_page_names_exists():
    """As a function anywhere in tests/, or as a file."""
    named = set(re.findall(r"`(test_\w+)`", PAGE))
    written = {
        name for path in (ROOT / "tests").rglob("test_*.py") for name in re.findall(r"def (test_\w+)", path.read_text())
    }
    assert named
    assert named <= written
    assert all((ROOT / path).is_file() for path in re.findall(r"`(tests/[\w/]+\.py)`", PAGE))


def test_every_page_that_the_page_links_exists():
    """Relative to docs/."""
    links = re.findall(r"\]\(([^)]+)\)", PAGE)
    assert links
    assert all((ROOT / "docs" / link.partition("#")[0]).is_file() for link in links)


def test_every_decision_says_what_remit_does():
    """Only the reason may be empty, where the answer is reason enough."""
    rows = [line.strip("|").split("|") for line in PAGE.splitlines() if line.startswith("| ") and "---" not in line]
    assert all(len(row) == 4 and all(cell.strip() for cell in row[:3]) for row in rows)
