"""A replica's estimate of the store's clock."""

import random

import pytest

from app.runtime import clock as module
from app.runtime.clock import StoreClock

SECOND = 1_000_000


@pytest.fixture
def clock(monkeypatch):
    """A clock whose own time stands at 0 unless a test says otherwise."""
    monkeypatch.setattr(module, "monotonic_us", lambda: 0)
    return StoreClock()


def test_before_the_first_reply_it_is_the_systems_time(clock, monkeypatch):
    """Good enough to plan with; the commit checks."""
    monkeypatch.setattr(module.time, "time_ns", lambda: 1_800_000_000 * 10**9)
    assert StoreClock().now_us() == 1_800_000_000 * SECOND


def test_a_reply_bounds_the_offset_from_both_sides(clock):
    """Sent at 100, received at 300, the store said 1000: it was 1000 at some time in between."""
    clock.observe(100, 300, 1000)
    assert clock.at(100) <= 1000 <= clock.at(300)


def test_an_estimate_within_the_bounds_stays(clock):
    """A slow round trip says little, so it does not undo what a fast one said."""
    clock.observe(100, 101, 1000)
    before = clock.at(0)
    clock.observe(200, 90_200, 50_000)
    assert clock.at(0) == before


@pytest.mark.parametrize("step_us", [-600 * SECOND, 600 * SECOND, -1, 1])
def test_a_step_of_the_stores_clock_is_noticed_at_once(clock, step_us):
    """One reply suffices, in either direction."""
    clock.observe(0, 10, 5_000)
    clock.observe(1_000, 1_010, 6_000 + step_us)
    assert abs(clock.at(1_005) - (6_005 + step_us)) <= 10


def test_it_is_never_wrong_by_more_than_the_last_round_trip(clock):
    """Whatever the delays there and back, and though the store's clock runs fast and steps."""
    chance = random.Random(1)
    offset, now = 10**15, 0
    for _ in range(2_000):
        now += chance.randrange(50_000)
        offset += chance.choice([0, 0, 1, 3, -2, 90_000, -90_000])
        sent, there, back = now, chance.randrange(300), chance.randrange(300)
        now += there + back
        clock.observe(sent, now, sent + there + offset)
        assert abs(clock.at(now) - (now + offset)) <= there + back


def test_now_goes_on_with_our_own_clock_between_replies(clock, monkeypatch):
    """A moment remembered from before has its time of then."""
    clock.observe(0, 0, 1_000)
    monkeypatch.setattr(module, "monotonic_us", lambda: 250)
    assert clock.now_us() == 1_250
    assert clock.at(100) == 1_100
