"""docs/semantics.md and the cases name each other, so neither can say more than the other."""

import re
from pathlib import Path

from case_files import CASES, cases_by_file

PAGE = (Path(__file__).parents[2] / "docs" / "semantics.md").read_text()
LINK = re.compile(r"\[`([a-z0-9-]+)`\]\[(\w+)\]")


def test_the_page_names_every_case_once_and_no_other():
    """A case missing from the page, or a sentence without a case, fails here."""
    named = LINK.findall(PAGE)
    existing = [(case.name, file) for file, cases in cases_by_file().items() for case in cases]
    assert sorted(named) == sorted(existing)


def test_every_row_of_a_table_names_a_case():
    """The header rows end in "Cases" or "cases"."""
    rows = [line for line in PAGE.splitlines() if line.startswith("| ")]
    assert len(rows) > 100
    heads = ("Cases |", "Refused in the cases |")
    assert [row for row in rows if not LINK.search(row) and not row.endswith(heads)] == []


def test_links_lead_to_the_files():
    """With one reference for each file of cases."""
    targets = re.findall(r"^\[(\w+)\]: \.\./tests/cases/(\w+)\.json$", PAGE, re.MULTILINE)
    files = sorted(path.stem for path in CASES.glob("*.json"))
    assert targets == [(file, file) for file in files]


def test_a_case_says_in_a_sentence_what_it_shows():
    """Names are for links, descriptions for readers."""
    cases = [case for cases in cases_by_file().values() for case in cases]
    assert [case.name for case in cases if not case.description.endswith(".")] == []
