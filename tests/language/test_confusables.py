"""Texts that look alike, held against the pairs of Unicode and against the textbook's distance."""

import sys
from pathlib import Path

import pytest
from confusable_homoglyphs.confusables import confusables_data
from hypothesis import given
from hypothesis import strategies as st

from app.language.confusables import EDITS_MAX, edits, mixed_scripts, skeleton

ROOT = Path(__file__).parents[2]
near_texts = st.text("ab1", max_size=12)


def distance(one, other):
    """Optimal string alignment, as a table."""
    rows = [[*range(len(other) + 1)]]
    for i, left in enumerate(one, 1):
        row = [i]
        for j, right in enumerate(other, 1):
            fewest = min(rows[-1][j] + 1, row[-1] + 1, rows[-1][j - 1] + (left != right))
            if i > 1 and j > 1 and left == other[j - 2] and one[i - 2] == right:
                fewest = min(fewest, rows[-2][j - 2] + 1)
            row.append(fewest)
        rows.append(row)
    return rows[-1][-1]


@given(near_texts, near_texts)
def test_edits_are_those_of_the_textbook(one, other):
    for most in (1, EDITS_MAX):
        apart = distance(one, other)
        assert edits(one, other, most) == (apart if apart <= most else None)


@given(st.text("abcdefghij", min_size=8, max_size=40), st.data())
def test_two_edits_anywhere_are_found(text, data):
    """In texts of which a look at parts rules out most others."""
    changed = text
    for _ in range(EDITS_MAX):
        place = data.draw(st.integers(0, len(changed)))
        inserted, left_out = data.draw(st.text("abc", max_size=1)), data.draw(st.integers(0, 1))
        changed = changed[:place] + inserted + changed[place + left_out :]
    apart = distance(text, changed)
    assert apart <= EDITS_MAX
    assert edits(text, changed, EDITS_MAX) == apart


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("p\u0430ypal", "paypal"),
        ("rnicrosoft", "microsoft"),
        ("DE89O704", "DE890704"),
        ("examp\u200ble.com", "example.com"),
        ("Mu\u0308ller", "M\u00fcller"),
        ("\uff21\uff23\uff2d\uff25", "ACME"),
        ("lnvoice", "Invoice"),
    ],
)
def test_texts_that_look_the_same_have_one_skeleton(one, other):
    assert one != other
    assert skeleton(one) == skeleton(other)


def test_others_have_not():
    texts = ["paypal", "paypa1s", "Muller", "M\u00fcller", "ACME", "acme", "", "rn m"]
    assert len({skeleton(text) for text in texts}) == len(texts)


def test_every_look_alike_of_an_ascii_character_is_known():
    """All pairs of the locked version; what is written from right to left stands there between marks."""
    known = {
        (each["c"].strip("\u200e"), name)
        for name, others in confusables_data.items()
        if name.isascii() and (len(name) == 1 or name in {"rn", "''"})
        for each in others
        if len(each["c"].strip("\u200e")) == 1
    }
    assert len(known) > 1_500
    assert [pair for pair in known if skeleton(pair[0]) != skeleton(pair[1])] == []


def test_the_table_is_made_from_the_locked_version():
    """`make confusables` writes it."""
    sys.path.insert(0, str(ROOT / "requirements"))
    try:
        from confusables import text  # noqa: PLC0415
    finally:
        sys.path.pop(0)
    assert text() == (ROOT / "app/language/confusables.txt").read_text("utf-8")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("p\u0430ypal at once", ["\u0430"]),
        ("\u0430\u0440\u0440le", ["l", "e"]),
        ("\u0430b", ["\u0430"]),
        ("\uff50aypal", ["\uff50"]),
        ("Acme \u041e\u041e\u041e", []),
        ("\u0410cme \u041e\u041e\u041e", ["\u0410"]),
        ("T\u30b7\u30e3\u30c4", []),
        ("5 \u00b5m, 3 \u00aa, M\u00fcller, stra\u00dfe", []),
        ("alpha_\u03b2eta", ["\u03b2"]),
    ],
)
def test_letters_of_another_script_within_a_word_are_found(text, found):
    """Words of one script each may stand beside each other, and Japanese ones mix with Latin."""
    assert mixed_scripts(text) == found
