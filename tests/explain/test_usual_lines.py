"""A shell line is compared by its programs and flags, not letter by letter."""

import json

import pytest
from msgspec import UNSET, Raw

from app.explain.usual_lines import programs_of
from app.explain.usual_values import usual_of
from app.model.usual import Difference

EARLIER = [
    "git status",
    "git commit -m 'first part'",
    "git commit --message='second part'",
    "git push origin main",
    "npm test -- --watch=false",
    "ls -la src && git diff --stat",
    "grep -rn TODO src | head -n 5",
]


def beside(line, earlier=EARLIER, lines=("command",)):
    """The difference and the words of a line beside earlier ones; None if nothing is unusual."""
    made = [Raw(json.dumps({"command": each}).encode()) for each in earlier]
    [row] = usual_of(Raw(json.dumps({"command": line}).encode()), made, lines=lines).values
    return None if row.difference is UNSET else (row.difference, row.unusual)


@pytest.mark.parametrize(
    "line",
    [
        "git push origin feature/other-name",
        "git commit -m 'something quite different' && git push origin main",
        "grep -rn FIXME tests | head -n 50",
        "npm test -- --coverage",
        "ls -la docs",
    ],
)
def test_other_words_of_the_same_programs_and_flags_are_nothing_unusual(line):
    """Letter by letter, most of them are in no earlier call."""
    assert beside(line) is None


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("curl https://example.com", "runs curl, which no earlier call did; usual: git, npm, ls"),
        ("git status && (cd src; rm -rf build)", "runs cd, which no earlier call did; usual: git, npm, ls"),
        ("git push --force origin main", "git with --force, which 5 earlier calls did not have"),
        ("git push --force=yes", "git with --force, which 5 earlier calls did not have"),
        ("head -c 5 x", "head with -c, which 1 earlier call did not have"),
    ],
)
def test_a_program_or_a_flag_that_no_call_had_is_new(line, words):
    assert beside(line) == (Difference.NEW, words)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("gti status", "runs gti, which looks like git (5 earlier calls)"),
        ("git status; npn test", "runs npn, which looks like npm (1 earlier call)"),
        ("curl x; g1t push", "runs g1t, which looks like git (5 earlier calls)"),
    ],
)
def test_a_program_that_looks_like_a_usual_one_is_grave(line, words):
    """Before one that is only new."""
    assert beside(line) == (Difference.LOOK_ALIKE, words)


def test_a_letter_of_another_script_is_grave_in_a_line_too():
    kind, words = beside("git commit -m 'p\u0430yment'")
    assert (kind, "U+0430" in words) == (Difference.LOOK_ALIKE, True)


def test_a_line_that_cannot_be_read_is_compared_with_nothing():
    """The rule says why it asks; and an earlier one of that kind counts for nothing."""
    assert programs_of("git status $(curl x)") is None
    assert beside("git status $(curl x)") is None
    assert beside("git status", ["$(curl x)", *EARLIER]) is None
    assert beside("curl x", ["$(curl x)"]) is None


def test_the_first_line_of_an_agent_is_new():
    """Nothing was given there before; without calls to compare with, nothing is said."""
    assert beside("git status", []) is None


def test_what_is_no_shell_line_is_compared_as_before():
    """Only the parameters that a rule reads as lines are."""
    assert beside("deploy to production", ["deploy to staging"] * 5, lines=()) == (
        Difference.NEW,
        "new; usual: deploy to staging",
    )


def test_words_after_two_dashes_are_no_flags():
    [npm] = programs_of("npm test -- --watch")
    assert (npm.name, npm.flags) == ("npm", frozenset())
