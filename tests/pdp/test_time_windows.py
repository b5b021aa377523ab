"""Time windows: what `compile_time_window` assumes about zones, and its messages."""

import re
import zoneinfo
from importlib import resources
from zoneinfo import _common as tzif

import pytest

from app.model.time_windows import OpenSpan, TimeWindow
from app.pdp.rules.time_based import compile_time_window

JAN_1973 = 94_694_400
THURSDAY_1200 = 29_726_520
"""2026-07-09 12:00 in Berlin, minutes since the epoch."""


def zone_file(name):
    package, _, file = f"tzdata.zoneinfo.{name.replace('/', '.')}".rpartition(".")
    with resources.files(package).joinpath(file).open("rb") as data:
        return tzif.load_data(data)


def test_zones_change_on_whole_minutes_by_whole_minutes():
    """In every zone since 1973, so an answer holds for its whole minute of UTC."""
    seen = 0
    for name in sorted(zoneinfo.available_timezones()):
        kinds, changes, offsets, _, _, footer = zone_file(name)
        later = [(change, offsets[kind]) for change, kind in zip(changes, kinds, strict=True) if change >= JAN_1973]
        assert [change for change, _ in later if change % 60] == [], name
        assert [offset for _, offset in later if offset % 60] == [], name
        # The rule for years after the last change: hours, or hours and minutes, never seconds.
        assert not re.search(rb":\d\d:", footer or b""), name
        seen += len(later)
    assert seen > 10_000


SPANS = [OpenSpan(start="22:00", end="06:00", days=[5]), OpenSpan(start="09:00", end="11:30")]


def window(**fields):
    return compile_time_window(TimeWindow(**fields))


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"allowed_hours": [9]}, "(hours 9)"),
        ({"allowed_hours": [17, 9, 10, 11]}, "(hours 9-11, 17)"),
        ({"allowed_hours": [0, 23, 1]}, "(hours 0-1, 23)"),
        ({"allowed_days": [0, 1, 7]}, "(Mon, Sun)"),
        ({"allowed_days": [6, 5]}, "(Fri, Sat)"),
        ({"allowed_hours": [9], "allowed_days": [1]}, "(hours 9; Mon)"),
        ({"windows": SPANS}, "(Fri 22:00-06:00; 09:00-11:30)"),
        ({"windows": SPANS[1:], "excepted": ["2026-07-09"]}, "(09:00-11:30; not on 2026-07-09)"),
    ],
)
def test_a_refusal_says_what_time_it_is_and_when_to_retry(fields, sentence):
    """Local time and day, the zone, and the window in a few words."""
    assert window(**fields, timezone="Europe/Berlin")(THURSDAY_1200) == (
        f"It is Thursday 12:00 in Europe/Berlin, outside the window {sentence}"
    )


def test_a_refusal_says_that_the_day_is_excepted():
    """With the local date."""
    assert window(excepted=["2026-07-08/2026-07-09"], timezone="Europe/Berlin")(THURSDAY_1200) == (
        "It is 2026-07-09 in Europe/Berlin, a day that the window excepts (not on 2026-07-08/2026-07-09)"
    )


def test_an_answer_is_not_kept_for_another_minute():
    """The last answer is cached only for its own minute."""
    check = window(allowed_hours=[8])
    answers = [check(minute) is None for minute in (479, 480, 480, 539, 540, 539, 479, 480)]
    assert answers == [False, True, True, True, False, True, False, True]
