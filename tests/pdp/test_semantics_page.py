"""docs/semantics.md and the cases name each other, so neither can say more than the other."""

import re
from pathlib import Path

import pytest
from case_files import CASES, cases_by_file

PAGE = (Path(__file__).parents[2] / "docs" / "semantics.md").read_text()
LINK = re.compile(r"\[`([a-z0-9-]+)`\]\[(\w+)\]")


def test_the_page_names_every_case_once_and_no_other():
    """A case missing from the page, or a sentence without a case, fails here."""
    named = LINK.findall(PAGE)
    existing = [(case.name, file) for file, cases in cases_by_file().items() for case in cases]
    assert sorted(named) == sorted(existing)


@pytest.mark.parametrize("row", [line for line in PAGE.splitlines() if line.startswith("| ")])
def test_every_row_of_a_table_names_a_case(row):
    """The header rows end in "Cases" or "cases"."""
    assert LINK.search(row) or row.endswith(("Cases |", "Refused in the cases |"))


def test_links_lead_to_the_files():
    """With one reference for each file of cases."""
    targets = re.findall(r"^\[(\w+)\]: \.\./tests/cases/(\w+)\.json$", PAGE, re.MULTILINE)
    files = sorted(path.stem for path in CASES.glob("*.json"))
    assert targets == [(file, file) for file in files]


@pytest.mark.parametrize(("file", "cases"), cases_by_file().items())
def test_a_case_says_in_a_sentence_what_it_shows(file, cases):
    """Names are for links, descriptions for readers."""
    assert [case.name for case in cases if not case.description.endswith(".")] == []
