"""Dates and times of RFC 3339."""

import pytest

from app.language.ambiguous import Ambiguous
from app.language.dates import moment_of


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("2026-11-20", "2026-11-21"),
        ("0001-01-01", "9999-12-31"),
        ("2026-11-20T12:00:00Z", "2026-11-20T12:00:01Z"),
        ("2026-11-20T12:00:00+01:00", "2026-11-20T12:00:00Z"),
        ("2026-11-20T23:00:00-02:00", "2026-11-21T01:00:00.000001Z"),
        ("2026-11-20T12:00:00.45Z", "2026-11-20T12:00:00.5Z"),
        ("2026-11-20T12:00:00.1234567891Z", "2026-11-20T12:00:00.1234567892Z"),
        ("9999-12-31T23:59:59Z", "9999-12-31T23:59:59-23:59"),
    ],
)
def test_an_earlier_time_sorts_first(earlier, later):
    """By the instant and to the last digit, wherever the clock stands."""
    assert moment_of(earlier) < moment_of(later)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("2026-11-20T12:00:00Z", "2026-11-20t12:00:00z"),
        ("2026-11-20T12:00:00Z", "2026-11-20 13:00:00+01:00"),
        ("2026-11-20T12:00:00Z", "2026-11-20T12:00:00.000Z"),
        ("2026-11-20T12:00:00Z", "2026-11-20T12:00:00-00:00"),
    ],
)
def test_one_instant_is_itself(one, other):
    """In all its spellings."""
    assert moment_of(one) == moment_of(other)


@pytest.mark.parametrize(
    "text",
    [
        *("", "now", "2026", "2026-11", "20261120", "2026-11-31", "2026-02-29", "2026-13-01", "0000-01-01"),
        *("2026-11-20T12:00:00", "2026-11-20T12:00Z", "2026-11-20T24:00:00Z", "2026-11-20T12:00:60Z", "2026-W47-5"),
        *("2026-11-20T12:00:00+24:00", "2026-11-20T12:00:00+01:60", "2026-11-20T12:00:00+01", "2026-11-20T12:00:00,5Z"),
        *(" 2026-11-20", "2026-11-20\n", "-2026-11-20", "2026-1-2", "\u0662\u0660\u0662\u0666-11-20", "1763640000"),
        "2026-11-20T12:00:00." + "1" * 60 + "Z",
    ],
)
def test_a_string_that_names_no_day_or_instant_is_refused(text):
    """Including local times, which name no instant."""
    with pytest.raises(Ambiguous):
        moment_of(text)


def test_a_day_and_an_instant_cannot_be_compared():
    """Which of them is earlier has no answer, so the kind comes first."""
    assert moment_of("2026-11-20")[0] != moment_of("2026-11-20T00:00:00Z")[0]
