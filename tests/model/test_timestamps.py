"""Times: reading and writing them, which are inverse."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.model.times import parse_moment_ms, parse_time_ms, rfc3339

LAST_MS = 253_402_300_799_999


@pytest.mark.parametrize(
    ("time_ms", "text"),
    [
        (0, "1970-01-01T00:00:00.000Z"),
        (1, "1970-01-01T00:00:00.001Z"),
        (1_795_178_096_789, "2026-11-20T12:34:56.789Z"),
        (951_782_400_000, "2000-02-29T00:00:00.000Z"),
        (LAST_MS, "9999-12-31T23:59:59.999Z"),
    ],
)
def test_a_time_is_written_in_utc_with_milliseconds(time_ms, text):
    """RFC 3339, always of the same length, so strings sort by time."""
    assert rfc3339(time_ms) == text
    assert parse_time_ms(text) == time_ms


@given(st.integers(0, LAST_MS))
def test_what_is_written_is_read_back(time_ms):
    """No millisecond is lost on the way out or in."""
    assert parse_time_ms(rfc3339(time_ms)) == time_ms


@pytest.mark.parametrize(
    "text",
    [
        "2026-11-20T12:34:56Z",
        "2026-11-20T12:34:56",
        "2026-11-20T13:34:56+01:00",
        "2026-11-20T18:19:56+05:45",
        "2026-11-20T02:04:56-10:30",
        "2026-11-20T12:34:56.000000Z",
        "2026-11-20T12:34:56.0009Z",
        "20261120T123456Z",
        "2026-W47-5T12:34:56Z",
    ],
)
def test_spellings_of_one_time_are_read_alike(text):
    """Any offset; none means UTC; digits finer than a millisecond are dropped."""
    assert rfc3339(parse_time_ms(text)) == "2026-11-20T12:34:56.000Z"


@pytest.mark.parametrize("text", ["2026-11-20", "20261120", "2026-W47-5", "2026W475"])
def test_a_date_is_its_first_instant_or_its_last(text):
    """`from=2026-11-20` is the day's beginning in UTC, `to=2026-11-20` its end, in whichever spelling."""
    assert rfc3339(parse_time_ms(text)) == "2026-11-20T00:00:00.000Z"
    assert rfc3339(parse_time_ms(text, end=True)) == "2026-11-20T23:59:59.999Z"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "now",
        "1795178096",
        "2026-13-01T00:00:00Z",
        "2026-W47",
        "2026W47",
        "2026-02-30T00:00:00Z",
        "2026-11-20T24:00:00Z",
        "2026-11-20T23:59:60Z",
        "2026-11-20T12:34:56 CET",
        "1969-12-31T23:59:59.999Z",
        "0001-01-01T00:00:00+14:00",
        "9999-12-31T23:59:59-00:01",
        "10000-01-01T00:00:00Z",
        "\uff12\uff10\uff12\uff16-11-20T12:34:56Z",
        "2026-11-20T12:34:56Z" + " " * 30,
        "2026-11-20T12:34:56Z\n",
    ],
)
def test_an_invalid_time_is_refused_with_an_example(text):
    """The same sentence for every kind of error."""
    with pytest.raises(ValueError, match="is not an ISO 8601 time from 1970 to 9999 such as 2026-11-20T12:34:56Z"):
        parse_time_ms(text)


NOW = "2026-11-22T10:30:00.000Z"


@pytest.mark.parametrize(
    ("said", "begin", "end"),
    [
        ("now", NOW, NOW),
        ("-90s", "2026-11-22T10:28:30.000Z", "2026-11-22T10:28:30.000Z"),
        ("-24h", "2026-11-21T10:30:00.000Z", "2026-11-21T10:30:00.000Z"),
        ("-2w", "2026-11-08T10:30:00.000Z", "2026-11-08T10:30:00.000Z"),
        ("-999999999w", "1970-01-01T00:00:00.000Z", "1970-01-01T00:00:00.000Z"),
        ("today", "2026-11-22T00:00:00.000Z", "2026-11-22T23:59:59.999Z"),
        ("yesterday", "2026-11-21T00:00:00.000Z", "2026-11-21T23:59:59.999Z"),
        ("2026-11-21", "2026-11-21T00:00:00.000Z", "2026-11-21T23:59:59.999Z"),
        ("20261121", "2026-11-21T00:00:00.000Z", "2026-11-21T23:59:59.999Z"),
        ("2026-W47-6", "2026-11-21T00:00:00.000Z", "2026-11-21T23:59:59.999Z"),
        ("2026W476", "2026-11-21T00:00:00.000Z", "2026-11-21T23:59:59.999Z"),
        ("2026-11-21T00", "2026-11-21T00:00:00.000Z", "2026-11-21T00:00:00.000Z"),
        ("20261121T0000", "2026-11-21T00:00:00.000Z", "2026-11-21T00:00:00.000Z"),
        ("2026-11-21T00:00:00Z", "2026-11-21T00:00:00.000Z", "2026-11-21T00:00:00.000Z"),
        ("2026-11-21T01:00:00+02:00", "2026-11-20T23:00:00.000Z", "2026-11-20T23:00:00.000Z"),
    ],
)
def test_everyday_words_for_times_are_understood(said, begin, end):
    """A day means its start in `from` and its end in `to`."""
    now_ms = parse_time_ms(NOW)
    assert rfc3339(parse_moment_ms(said, now_ms)) == begin
    assert rfc3339(parse_moment_ms(said, now_ms, end=True)) == end


@pytest.mark.parametrize("said", ["", "tomorrow", "24h", "-24", "- 24h", "-1y", "-\u0661h", "Yesterday", "2026-11-31"])
def test_an_invalid_time_is_answered_with_all_forms(said):
    """In one sentence."""
    with pytest.raises(
        ValueError, match="is not a time such as 2026-11-20T12:34:56Z, 2026-11-20, yesterday, today, now"
    ):
        parse_moment_ms(said, 0)
