"""When a process counts as standing still."""

import os

import pytest

from app.runtime.lanes.heartbeats import BEAT_SECONDS, MISSED_MAX, Heartbeats


@pytest.fixture
def hearts():
    return Heartbeats(2)


def looks(hearts, place=0, number=MISSED_MAX) -> list[bool]:
    return [hearts.stands_still(place) for _ in range(number)]


def test_one_that_has_not_beaten_is_starting_however_long_that_takes(hearts):
    assert looks(hearts, number=100) == [False] * 100


def test_one_that_stops_beating_stands_still_after_some_looks_and_not_before(hearts):
    hearts.beat(0)
    assert looks(hearts, number=1 + MISSED_MAX) == [False] * MISSED_MAX + [True]


def test_each_beat_is_good_for_as_many_looks_again(hearts):
    for _ in range(3):
        hearts.beat(0)
        assert looks(hearts) == [False] * MISSED_MAX


def test_what_it_waited_for_a_core_does_not_count(hearts):
    """Of each second it has the core for a quarter; so it stands still after four times as many looks."""
    hearts.beat(0)
    found = [hearts.stands_still(0, waited_s=0.75 * look) for look in range(1 + 4 * MISSED_MAX)]
    assert found == [False] * 4 * MISSED_MAX + [True]


def test_a_wait_counts_as_soon_as_it_has_ended(hearts):
    """The system adds it to the sum only then."""
    hearts.beat(0)
    found = [hearts.stands_still(0, waited_s) for waited_s in [0.0] * MISSED_MAX + [9.0] * MISSED_MAX]
    assert found == [False] * (2 * MISSED_MAX - 1) + [True]


def test_the_other_one_has_a_heart_of_its_own(hearts):
    hearts.beat(0)
    looks(hearts)
    assert (hearts.stands_still(0), hearts.stands_still(1)) == (True, False)


def test_a_successor_is_starting_again(hearts):
    hearts.beat(1)
    looks(hearts, 1)
    hearts.begin(1)
    assert looks(hearts, 1) == [False] * MISSED_MAX


def test_a_forked_process_is_heard(hearts):
    child = os.fork()
    if not child:
        hearts.beat(1)
        os._exit(0)
    os.waitpid(child, 0)
    assert looks(hearts, 1, MISSED_MAX + 1)[-1]


def test_a_loop_goes_on_beating(hearts):
    timers = []
    hearts.keep_beating(0, lambda seconds, beat: timers.append((seconds, beat)))
    for _ in range(3 * MISSED_MAX):
        seconds, beat = timers.pop()
        assert (seconds, hearts.stands_still(0)) == (BEAT_SECONDS, False)
        beat()
    assert len(timers) == 1
