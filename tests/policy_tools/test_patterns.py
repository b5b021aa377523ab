"""Texts by pattern: each matches as RE2 says, and no combination that RE2 knows is missing.

EXAMPLES=5000 pytest tests/policy_tools/test_patterns.py looks for longer.
"""

from itertools import product

import pytest
import re2
from hypothesis import given, settings
from hypothesis import strategies as st
from profiles import examples

from app.policy_tools.compare.patterns import Unreadable, sample_texts, texts_by_match

WRITTEN = [
    *("^[A-Z0-9]{6}$", "[A-Z0-9]{6}$", "^(credit_card|gift_card)_[0-9]{7}$", r"^(credit|gift)_card_\d{7}$"),
    *("^[a-z]+_[a-z]+_[0-9]{4}$", "^[a-zA-Z]+_[a-z]+_[0-9]{4}$", "/[.]{0,2}(/|$)", "(?i)/([.]env[^/]*|[^/]*[.]env)$"),
    *("^a{1,20}$", "^a{1,21}$", "a*", "(ab)*c", "^(a|b*)$", "x?y+z*", "^$", "", "[^a-c]", "(?i)k", "(?s).", "^.$"),
    *(r"\Aab\z", "^(?:ab){2,}$", "(a*)*b", "[[:alpha:]]+-", r"^\x{e9}$", "^a{0}$", "^a{0,2}b{3}$", "^(a?){3}$"),
    *("[]a]", "[a-]$", "^-?[0-9]+$", r"^[\w.-]+@corp\.com$", "^(?P<n>a)|b$", "^(?i:a)b$", r"^[^\d\s]$", "^a{,2}$"),
]


def matches(patterns, text):
    return tuple(re2.search(pattern, text) is not None for pattern in patterns)


@pytest.mark.parametrize("pattern", WRITTEN)
def test_each_text_matches_as_re2_says(pattern):
    """Beside each other pattern of the list, too."""
    for other in WRITTEN:
        found, _ = texts_by_match([pattern, other])
        assert [matches([pattern, other], text) for text in found.values()] == list(found)


PARTS = st.sampled_from(["a", "b", "1", "[ab]", "[^a]", ".", r"\d", r"\W", "^", "$", "(?i:B)", r"[^\n1]", "(?s:.)"])
PATTERNS = st.recursive(
    PARTS,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map(lambda two: f"(?:{two[0]}|{two[1]})"),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "{0}", "{2}", "{0,2}", "{1,}", "{2,}", "*?"])).map(
            lambda two: f"(?:{two[0]}){two[1]}"
        ),
    ),
    max_leaves=6,
)
TEXTS = ["".join(letters) for size in range(5) for letters in product("aB1\n", repeat=size)]


@settings(max_examples=examples(300, least=30))
@given(st.lists(PATTERNS, min_size=1, max_size=3))
def test_no_combination_of_short_texts_is_missing(patterns):
    """Every text of up to four letters is one of the combinations; the shortest of each is found."""
    found, is_all = texts_by_match(patterns)
    assert is_all
    by_re2 = {}
    for text in TEXTS:
        by_re2.setdefault(matches(patterns, text), text)
    for combination, text in by_re2.items():
        assert len(found[combination]) <= len(text)
    for combination, text in found.items():
        assert matches(patterns, text) == combination


@pytest.mark.parametrize("pattern", [r"\bword\b", r"\pL", "(?m)^a$", "(?i)é", r"\Qa\E", "a**", "(?U)a*", "a" * 6000])
def test_what_is_not_read_is_refused(pattern):
    """RE2 knows more; such a pattern is tried without its own texts."""
    with pytest.raises(Unreadable):
        texts_by_match([pattern])
    assert list(sample_texts([pattern])) == []
    assert set(sample_texts([pattern, "^a$"])) == {"", "a"}


def test_a_search_that_takes_too_long_says_so():
    """Past a number of states it ends; two spellings of one pattern differ nowhere, which needs all states."""
    count = 9
    patterns = [f"^(a|b)*a(a|b){{{count}}}$", f"^[ab]*a[ab]{{{count}}}$"]
    for most, complete in ((300, False), (20_000, True)):
        found, is_all = texts_by_match(patterns, max_states=most)
        assert is_all is complete
        assert set(found) <= {(True, True), (False, False)}
