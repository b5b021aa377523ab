"""Patterns: RE2, so linear; bounded; and correct even if the engine runs out of memory."""

import random
import re
import weakref

import pytest
import re2
from hypothesis import given, settings
from hypothesis import strategies as st
from profiles import examples

from app.language.schemas.patterns import MAX_REGEX_LENGTH, REGEX_MEMORY_BYTES, compile_regex

EXPLODING = [
    (r"^(a+)+$", "a", "!"),
    (r"^(a|aa)+$", "a", "!"),
    (r"^(a|a?)+$", "a", "!"),
    (r"^(.*a){20}$", "a", "!"),
    (r"^(([a-z])+.)+[A-Z]([a-z])+$", "a", "!"),
    (r"^([a-zA-Z0-9]+\s?)*$", "a", "!"),
    (r"(x+x+)+y", "x", "x"),
    (r"^(\w+\s?)*\$$", "word ", "!"),
    (r"^(?:(?:a?){50}){20}$", "a", "!"),
]


@pytest.mark.parametrize(("pattern", "piece", "end"), EXPLODING)
def test_patterns_that_explode_in_other_engines_are_answered_here(pattern, piece, end):
    """For 60,000 characters, backtracking would outlast the universe; here the answer is immediate."""
    assert not compile_regex(pattern).search(piece * (60_000 // len(piece)) + end)


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        (r"(?=a)", "invalid perl operator: (?="),
        (r"(?!a)", "invalid perl operator: (?!"),
        (r"(?<=a)b", "invalid perl operator: (?<="),
        (r"(?>a)", "invalid perl operator: (?>"),
        (r"(a)\1", r"invalid escape sequence: \1"),
        (r"(?P<n>a)(?P=n)", "invalid"),
        (r"a**", "bad repetition operator: **"),
        (r"a{1001}", "invalid repetition size: {1001}"),
        (r"((a{100}){100}){100}", "invalid repetition size"),
        (r"[z-a]", "invalid character class range: z-a"),
        (r"(", "missing ): ("),
        ("\\", "trailing \\"),
        (r".{1000}.{1000}", "pattern too large"),
        (r"\pL{200}", "pattern too large"),
    ],
)
def test_unsupported_syntax_is_refused_with_its_message(pattern, message):
    """Look-around and back-references make other engines slow; sheer size would make this one slow."""
    with pytest.raises(ValueError, match="is not a regular expression in RE2 syntax") as raised:
        compile_regex(pattern)
    assert message in str(raised.value)


@pytest.mark.parametrize(
    "pattern",
    [
        "^.{1,1000}$",
        r"^[\w .-]{1,255}$",
        r"^[\pL\pN '-]+$",
        r"(?i)^[^@\s]+@[^@\s]+\.[a-z]{2,24}$",
        "^(" + "|".join("ab" * 3) + ")$",
    ],
)
def test_everyday_patterns_compile(pattern):
    """The bound leaves room for lengths, names in any script, addresses and lists of words."""
    compile_regex(pattern)


def test_a_pattern_keeps_no_groups():
    """They are not used, and finding them takes the engine a slower second pass."""
    assert compile_regex("(a)(b)|(c)").regexp.groups == 0


def test_a_pattern_is_compiled_once_for_all_who_have_it():
    """A thousand agents with the same policy share it, and it is freed with the last of them."""
    first = compile_regex("^shared$")
    for number in range(1000):
        compile_regex(f"^{number}$")
    assert compile_regex("^shared$") is first

    gone = weakref.ref(first)
    del first
    for number in range(1000):
        compile_regex(f"^{number}$")
    assert gone() is None


@given(st.text(max_size=MAX_REGEX_LENGTH))
def test_any_string_compiles_or_is_refused(pattern):
    """A string either raises ValueError or compiles within the memory bound."""
    try:
        compiled = compile_regex(pattern)
    except ValueError:
        return
    assert compiled.regexp.options.max_mem == REGEX_MEMORY_BYTES
    compiled.search("any text\0\n")


def test_an_engine_that_runs_out_of_memory_still_gives_the_right_answer(capfd):
    """It goes on with an automaton that needs none; running out is neither a match nor an error.

    The pattern needs 2^40 states. That the bound is reached is seen on a twin that says so.
    """
    gap = 40
    pattern = f"a[ab]{{{gap}}}c"
    twin = re2.Options()
    twin.max_mem, twin.never_capture = REGEX_MEMORY_BYTES, True
    chance = random.Random(7)
    noise = "".join(chance.choice("ab") for _ in range(60_000))

    for text in (noise, noise + "c", noise + "a" + "a" * gap + "c", noise + "b" + "a" * gap + "c", "c" + noise):
        truth = any(text[place] == "c" and text[place - gap - 1] == "a" for place in range(gap + 1, len(text)))
        assert bool(compile_regex(pattern).search(text)) is truth
        assert bool(re2.compile(pattern, twin).search(text)) is truth
    assert "DFA out of memory" in capfd.readouterr().err


pieces = st.sampled_from(
    ["a", "b", ".", "[ab]", "[^a]", "(a|b)", "(ab|c)", "^", "$", r"\.", r"\b", "(?:a|)", "(?:c{2})"]
)
patterns = st.lists(
    st.tuples(pieces, st.sampled_from(["", "", "*", "+", "?", "{0,3}"])).map(
        lambda pair: pair[0] if pair[0] in ("^", "$", r"\b") else "".join(pair)
    ),
    max_size=8,
).map("".join)


@settings(max_examples=examples(500))
@given(patterns, st.text(alphabet="abc.\n", max_size=12))
def test_a_search_agrees_with_another_engine(pattern, text):
    """Python's own `re` on the syntax that both share, with `$` as the end of the text."""
    theirs = re.search(pattern.replace("$", r"\Z"), text)
    assert bool(compile_regex(pattern).search(text)) is bool(theirs)
