"""The tables of docs/ that `make doc-tables` writes are as the code is."""

import re
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def tables():
    """docs/tables.py."""
    sys.path.insert(0, str(DOCS))
    try:
        import tables  # noqa: PLC0415 - a script of the documentation's folder

        return tables
    finally:
        sys.path.remove(str(DOCS))


def test_the_pages_are_as_they_would_be_made(tables):
    """A scope, an error or a command that is new, or is not there any more, needs `make doc-tables`."""
    assert {page: (DOCS / page).read_text() for page in tables.made()} == tables.made()


def test_a_row_that_is_missing_or_wrong_is_made_anew(tables, tmp_path, monkeypatch):
    """Otherwise the test above could not fail."""
    for page in tables.made():
        text = (DOCS / page).read_text()
        (tmp_path / page).write_text(re.sub(r"^\| `?(?:GET|4|remit a).*\n", "", text, count=3, flags=re.MULTILINE))
    monkeypatch.setattr(tables, "DOCS", tmp_path)
    for page, made in tables.made().items():
        assert made != (tmp_path / page).read_text()
        assert page == "errors.md" or made == (DOCS / page).read_text()


def test_each_error_says_what_to_do():
    """The one column that no code knows."""
    rows = re.findall(r"^\| \d+ \| `\w+` \| .+? \| (.*) \|$", (DOCS / "errors.md").read_text(), re.MULTILINE)
    assert len(rows) > 30
    assert all(advice.endswith(".") for advice in rows)
