"""docs/threat-model.md: every line names the tests that hold it, and they exist."""

import re
from pathlib import Path

import pytest

from app.http.doors import DOORS
from app.http.protocol import states
from app.http.protocol.states import State

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/threat-model.md").read_text()
_CONNECTION = PAGE.split("### A connection, and what it may take\n", 1)[1].split("\n## ", 1)[0]
_WAYS = PAGE.split("### Each way in, and each way to differ\n", 1)[1].split("\n`=`: ", 1)[0]
ROWS = [
    [cell.strip() for cell in line.strip("|").split(" | ")]
    for line in PAGE.replace(_CONNECTION, "").replace(_WAYS, "").splitlines()
    if line.startswith("| ") and not line.startswith(("| What could go wrong", "| Letter"))
]
WRITTEN = {
    name
    for folder in ("tests", "clients/python/tests")
    for path in (ROOT / folder).rglob("test_*.py")
    for name in re.findall(r"^(?: {4})?(?:async )?def (test_\w+)", path.read_text(), re.MULTILINE)
}


def test_the_rows_are_read_at_all():
    """If the table's format changes, the tests below must not pass on nothing."""
    assert len(ROWS) > 40
    assert all(len(row) == 3 for row in ROWS)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0][:60])
def test_every_line_is_held_by_tests_that_exist(row):
    """A line without a test belongs under "Not protected against"."""
    named = re.findall("`([^`]+)`", row[2])  # titles of tests in TypeScript are looked up by the next test
    assert named
    assert {name for name in named if name.startswith("test_")} <= WRITTEN


def test_each_way_in_has_a_test_for_each_way_to_differ():
    """The page's matrix is whole: all paths that decide, all adapters, and letters that its second table explains."""
    header, _, *rows = [
        [cell.strip() for cell in line.strip("| ").split("|")] for line in _WAYS.strip().splitlines()[2:]
    ]
    python = {
        path.stem for path in (ROOT / "clients/python/src/remit_client").glob("*.py") if "Options" in path.read_text()
    }
    typescript = {
        path.stem for path in (ROOT / "clients/typescript/src").glob("*.ts") if "new Gate(" in path.read_text()
    }
    named = {row[0] for row in rows}
    assert named == {
        "`POST /v1/authorize/batch`",
        "`POST /access/v1/evaluations`",
        *(f"`{door.path.removesuffix('/{path}')}`" for door in DOORS.values() if door.read_at is not None),
        *(f"`POST {door.path}`" for door in DOORS.values() if door.read_at is None),
        *("`remit-client mcp`", "Python: guard", "TypeScript: guard", "Go: gate"),
        *(f"Python: `{name}`" for name in python - {"enforcement", "gate"}),
        *(f"TypeScript: `{name}`" for name in typescript),
    }
    letters = {row[0]: row[2] for row in ROWS if len(row[0]) == 1}
    used = {cell for row in rows for cell in row[1:]}
    assert all(len(row) == len(header) for row in rows)
    assert used - {"=", "-"} == set(letters)
    written = [*(ROOT / "clients/typescript/tests").rglob("*.ts"), *(ROOT / "clients/go").glob("*_test.go")]
    scripts = "".join(path.read_text() for path in written)
    titles = [
        name for tests in letters.values() for name in re.findall("`([^`]+)`", tests) if not name.startswith("test_")
    ]
    assert titles
    assert all(title in scripts for title in titles)


def test_every_header_that_the_code_reads_has_its_row():
    """In the table of whose word it is. What is not read is written: the headers of answers."""
    section = PAGE.split("### Whose word it is\n", 1)[1].split("\n### ", 1)[0]
    named = {
        name.lower()
        for row in re.findall(r"^\| (.+?) \|", section, re.MULTILINE)
        for name in re.findall(r"`([\w-]+)`", row)
    }
    written = {
        *("allow", "cache-control", "content-security-policy", "content-type", "cross-origin-opener-policy", "etag"),
        *("cross-origin-resource-policy", "idempotency-replayed", "location", "permissions-policy", "referrer-policy"),
        *("remit-approval", "remit-code", "remit-decision", "remit-reason", "remit-result", "retry-after", "vary"),
        *("strict-transport-security", "www-authenticate", "x-content-type-options", "x-ratelimit-limit"),
        *("x-ratelimit-remaining", "x-ratelimit-reset"),
    }
    values = {"chunked", "close", "gzip", "identity", "true", "false", "e", "egex"}
    values |= {"no-cache", "no-referrer", "nosniff", "same-origin"}
    found = set()
    for path in [*(ROOT / "app/http").rglob("*.py"), ROOT / "app/serve/otel_spans.py"]:
        if "openapi" not in path.parts:
            text = path.read_text()
            found |= set(re.findall(r'\bb"([a-z]+(?:-[a-z]+)*)"', text))
            found |= set(re.findall(r'headers\.get\("([a-z-]+)"', text))
    assert len(found) > 40
    assert found - written - values - named == set()


def test_what_counts_as_an_outage_is_held_by_tests_that_exist():
    """In the page of the clients, each line of its table."""
    section = (
        (ROOT / "docs/clients/README.md").read_text().split("## What counts as an outage\n", 1)[1].split("\n## ", 1)[0]
    )
    rows = [line for line in section.splitlines() if line.startswith("| ") and not line.startswith("| What happens")]
    assert len(rows) >= len(("no connection", "late", "gateway", "store", "large", "overloaded", "proxy", "500"))
    assert all(set(named) <= WRITTEN and named for named in (re.findall(r"`(test_\w+)`", row) for row in rows))


def test_every_link_leads_somewhere():
    """Relative to docs/."""
    links = {link.partition("#")[0] for link in re.findall(r"\]\(([^)]+)\)", PAGE)}
    assert links
    assert all((ROOT / "docs" / link).is_file() for link in links)


def test_the_bounds_of_a_connection_are_those_of_the_code():
    """Every constant has its row, with its number."""
    shown = re.findall(r"\| `([A-Z_]+)` \| ([\d,.]+) \|$", _CONNECTION, re.MULTILINE)
    constants = {name: value for name, value in vars(states).items() if re.search(r"_(BYTES|SECONDS|MAX)$", name)}
    assert {name: float(number.replace(",", "")) for name, number in shown} == constants


def test_every_state_of_a_connection_has_its_row():
    """And no row describes a state that the code lacks."""
    first_cells = re.findall(r"^\| ([^|]+) \|", _CONNECTION, re.MULTILINE)
    named = set(re.findall(r"`([a-z]+)`", " ".join(first_cells)))
    assert named | {"closed"} == {each.value for each in State}
