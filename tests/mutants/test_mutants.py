"""The list of mutants names places that exist."""

from pathlib import Path

import pytest
from mutants import MUTANTS

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mutants_place_occurs_once(mutant):
    """Whoever rewrites the code moves the mistake; `tests/mutants/run.py` then says whether it is still caught."""
    text = (ROOT / mutant.file).read_text("utf-8")
    assert text.count(mutant.old) == 1
    assert mutant.old != mutant.new


def test_no_mutant_is_listed_twice():
    """Neither a name nor a mistake."""
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS) >= 40
    assert len({mutant[1:4] for mutant in MUTANTS}) == len(MUTANTS)
