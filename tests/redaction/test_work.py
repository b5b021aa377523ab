"""The work of redacting a call is bounded: counted in steps, each of which is bounded by the form of the patterns."""

import re
import re._constants as parts
import re._parser as parser

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pdp_and_mirror import REDACTOR

from app.errors import PayloadTooLarge
from app.http.api.authorize import read_call
from app.http.tool_calls import Reading
from app.redaction import commands, named_values
from app.redaction.recording import KEPT_CHARACTERS, MAX_RECORDED_BYTES, recorded
from app.redaction.redactor import Redactor
from app.redaction.signer import UNSIGNED, Signer
from app.redaction.text import without_named_values
from app.redaction.work import KEPT_STEPS, MAX_STEPS, TooMuchWork, Work
from app.replay.calls import hidden_places

SIGNER = Signer([b"n" * 32])
AGENT = "8a3d2a52-6f0e-4f39-8d3b-0a8a4b4c4b4c"
PATTERNS = {
    pattern.pattern: pattern
    for each in (*vars(named_values).values(), *vars(commands).values(), *named_values.NAMED_VALUES, commands._options)
    for pattern in (each if isinstance(each, tuple) else (each,))
    if isinstance(pattern, re.Pattern)
}
PIECES = st.sampled_from(
    [
        *(
            "password",
            "token: ",
            "a=",
            "=",
            '"',
            "'",
            "\\",
            '\\"',
            "\n",
            " ",
            "<a>",
            "(",
            "{",
            'id="a"',
            'value="',
            "-u ",
        ),
        *("echo ", "--password-stdin", "secret generic ", "'" * 3, '"password": ', "curl ", "|", "x" * 50, "AKIA"),
    ]
)
DENSE = ("password=x a=b id='c': " * 100)[:1_900]


def going_back(items, *, is_last):
    """The parts that repeat without end, may give characters back, and are followed by something."""
    for at, (kind, inside) in enumerate(items):
        ends = is_last and at == len(items) - 1
        if kind in (parts.MAX_REPEAT, parts.MIN_REPEAT):
            if inside[1] is parts.MAXREPEAT and not ends:
                yield inside[2]
            yield from going_back(inside[2], is_last=ends and inside[1] == 1)
        elif kind is parts.POSSESSIVE_REPEAT:
            yield from going_back(inside[2], is_last=False)
        elif kind is parts.SUBPATTERN:
            yield from going_back(inside[3], is_last=ends)
        elif kind is parts.BRANCH:
            for branch in inside[1]:
                yield from going_back(branch, is_last=ends)
        elif kind in (parts.ASSERT, parts.ASSERT_NOT):
            yield from going_back(inside[1], is_last=False)


def test_patterns_are_found():
    """The names of secrets, their values, and the options of commands."""
    assert len(PATTERNS) > 40


@pytest.mark.parametrize("pattern", PATTERNS)
def test_no_pattern_reads_on_without_end_and_then_goes_back(pattern):
    """Otherwise a string makes it read the same characters again and again: the square of its length."""
    flags = PATTERNS[pattern].flags & ~re.UNICODE
    assert list(going_back(list(parser.parse(pattern, flags)), is_last=True)) == []


@given(unit=st.lists(PIECES, min_size=1, max_size=6).map("".join), size=st.sampled_from([9, 300, 1_900, 4_000]))
def test_the_strings_of_a_call_take_bounded_work(unit, size):
    """Whatever they contain."""
    text = ("password " + unit * size)[:size]
    work = Work()
    try:
        recorded({"a": [text] * (200_000 // size)}, REDACTOR, SIGNER, "w", is_large=True, work=work)
    except TooMuchWork:
        assert size < MAX_RECORDED_BYTES // 100
    assert work.left >= 0


def test_work_is_what_patterns_read_and_find():
    """A text costs its length for each pattern that may be in it, and each name that is found costs more."""
    without_named_values(REDACTOR.is_secret, "=" * 1_000, few := Work())
    without_named_values(REDACTOR.is_secret, "a=" * 500, many := Work())
    assert MAX_STEPS - few.left >= 2 * 1_000
    assert few.left - many.left >= 500 * 16


@given(unit=st.lists(PIECES, max_size=6).map("".join))
def test_a_form_that_is_not_looked_for_is_not_there(unit):
    """What the forms need is checked first, in one pass."""
    text = unit + "hunter2 " + unit + 'value="x"'
    every = tuple(form._replace(needs=()) for form in named_values.NAMED_VALUES)
    expected = without_named_values(REDACTOR.is_secret, text)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("app.redaction.text.NAMED_VALUES", every)
        patched.setattr("app.redaction.text.may_name", lambda _: True)
        assert without_named_values(REDACTOR.is_secret, text) == expected


def test_what_is_not_reached_is_recorded_as_beginning_length_and_mac():
    """Beginnings are redacted; where not even they can be searched, nothing is shown. No secret remains."""
    kept = msgspec.json.decode(recorded({"a": ["password=hunter2 " + DENSE] * 300}, REDACTOR, SIGNER, "w"))["a"]

    assert isinstance(kept[0], str)
    assert {"length": 17 + len(DENSE), "beginning": ""}.items() <= kept[-1].items()
    assert any(isinstance(each, dict) and 0 < len(each["beginning"]) <= KEPT_CHARACTERS for each in kept)
    assert "hunter2" not in str(kept)
    assert len({each["hmac"] for each in kept if isinstance(each, dict)}) == 1


def test_a_replay_knows_that_the_log_hides_what_was_not_reached():
    """As with every shortened string."""
    kept = msgspec.json.decode(recorded({"a": [DENSE] * 200}, REDACTOR, UNSIGNED, "w"))
    assert ("parameters", "a[*]") in hidden_places(kept, {})


def test_parameters_and_context_share_the_work():
    """It is bounded for the call."""
    body = {"agent_id": AGENT, "tool_name": "t", "parameters": {"a": [DENSE] * 25}, "context": {"a": [DENSE] * 2}}
    request = read_call(msgspec.json.encode(body), Reading(REDACTOR, "w", SIGNER))
    alone = read_call(msgspec.json.encode({**body, "parameters": {}}), Reading(REDACTOR, "w", SIGNER))

    assert b'"beginning"' in request.recorded_context
    assert b'"beginning"' not in alone.recorded_context


def test_the_calls_of_a_batch_share_the_work():
    """They are read with one `Reading`."""
    body = msgspec.json.encode({"agent_id": AGENT, "tool_name": "t", "parameters": {"a": [DENSE] * 15}})
    reading = Reading(REDACTOR, "w", SIGNER)
    first, second = (read_call(body, reading).recorded_parameters for _ in range(2))

    assert first.count(b'"beginning"') < second.count(b'"beginning"') == 15


def test_a_call_of_too_many_strings_to_shorten_is_refused():
    """It would not fit into the log; this is known before each of them is signed."""
    texts = {"a": ["pw a=b "] * 1_400}
    for parts_given in (
        {"parameters": {**texts, "b": texts["a"] * 5}},
        {"parameters": {"a": [DENSE] * 40}, "context": texts},
    ):
        with pytest.raises(PayloadTooLarge, match="1024 strings"):
            read_call(
                msgspec.json.encode({"agent_id": AGENT, "tool_name": "t", **parts_given}),
                Reading(REDACTOR, "w", SIGNER),
            )


def test_some_work_is_kept_for_beginnings():
    """A search may not take all of it."""
    with pytest.raises(TooMuchWork):
        Work().spend(MAX_STEPS - KEPT_STEPS + 1)


@pytest.mark.parametrize("value", [["x"], "x", {"a": "x"}, [1, ["x"]]])
def test_tokens_that_are_strings_are_secret(value):
    """Tokens in a list, too."""
    value = {"tokens": value, "pageTokens": value}
    assert REDACTOR.redacted(value) == dict.fromkeys(value, "[REDACTED]")


@pytest.mark.parametrize("value", [512, "512", "1,000", "128k", [1, 2], None, True, {}, []])
def test_numbers_of_tokens_are_not_secret(value):
    """`max_tokens` is a bound, not a secret."""
    assert REDACTOR.redacted({"tokens": value, "max_tokens": value}) == {"tokens": value, "max_tokens": value}


def test_names_are_forgotten_when_there_are_too_many():
    """And then remembered again, so that callers cannot make all later calls slow."""
    redactor = Redactor(["password"])
    for number in range(10_001):
        redactor.is_secret(f"n{number}")
    assert list(redactor._roles) == ["n10000"]
