"""Patterns in schemas compared with RE2. Schemas are read with `re`, and with `u` in JavaScript."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from profiles import examples

from app.language.schemas.patterns import compile_regex
from app.model.constraints import Constraint
from app.pdp.value_schemas import UNKNOWN, portable_pattern, value_schema

ESCAPES = [r"\d", r"\w", r"\s", r"\-", r"\@", r"\\", r"\]", r"\.", r"\t"]
PIECES = [*"ab]^$.(|)*?+", "{2}", *ESCAPES]
MEMBERS = st.lists(st.sampled_from([*"ad-]^.[", "a-c", *ESCAPES]), max_size=5).map("".join)
CLASSES = st.builds("[{}{}]".format, st.sampled_from(["", "^"]), MEMBERS)
TEXTS = ["", *map(chr, range(32, 127)), "\t", "\n", "ab", "a-b", "a@b", "aa", "]a", "\\d", "é", "a\n"]


@pytest.mark.parametrize(
    ("regex", "portable"),
    [
        (r"[\w-.]", r"[0-9A-Za-z_\-.]"),
        (r"[\s-a]", r"[\t\n\f\r \-a]"),
        (r"[^\d-]", r"[^0-9\-]"),
        (r"[\\d]", r"[\\d]"),
        (r"a\-b\@[\-\@]", r"a-b@[\-@]"),
        (r"[][a]", None),
        (r"[+--a]", None),
        (r"[+-\-a]", r"[+-\-a]"),
        ("^*a", None),
        ("$?", None),
        ("a{2}{3}", None),
    ],
)
def test_a_pattern_is_written_as_every_engine_reads_it(regex, portable):
    assert portable_pattern(regex) == portable


@settings(max_examples=examples(300, least=100))
@given(st.lists(st.sampled_from(PIECES) | CLASSES, max_size=5).map("".join))
def test_a_portable_pattern_matches_what_re2_matches(regex):
    try:
        compiled = compile_regex(regex)
    except ValueError:
        return
    portable = portable_pattern(regex)
    if portable is not None:
        found = re.compile(portable)
        assert [text for text in TEXTS if found.search(text)] == [t for t in TEXTS if compiled.search(t.encode())]


def test_a_forbidden_pattern_that_is_not_portable_leaves_no_empty_enum():
    """Some validators reject a schema with one."""
    assert value_schema(Constraint(not_regex="(?i)abc")).schema == {"type": ["boolean", "number", "string"]}
    assert value_schema(Constraint(not_enum=["a"], not_regex="(?i)abc")).schema == {
        "type": "string",
        "not": {"enum": ["a"]},
    }
    assert UNKNOWN.is_exact is value_schema(Constraint(not_regex="(?i)abc")).is_exact
