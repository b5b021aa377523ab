"""What a workspace may spend of the fast lane's time on agents that are not in its cache."""

import contextlib
import socket

import pytest

from app.authorize.load_budget import LoadBudget
from app.lane import Lane, TakesLong


class Clock:
    now = 1000.0

    def __call__(self):
        return self.now


@pytest.fixture
def lane():
    ends = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    made = Lane()
    made.take(ends[0], is_fast=True)
    yield made
    for end in ends:
        end.close()


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def budget(lane, clock):
    return LoadBudget(lane, clock)


def loads(budget, seconds, workspace_id="w") -> int:
    """How many agents of this size are loaded here before the slow lane has to."""
    for number in range(10_000):
        try:
            budget.begin(workspace_id)
        except TakesLong:
            return number
        budget.end(workspace_id, seconds)
    return 10_000


def test_small_agents_take_a_quarter_of_the_time_at_most(budget, clock):
    """A second's worth of a quarter is there at the beginning, and comes back in a second."""
    assert loads(budget, 0.0005) in range(499, 503)
    clock.now += 1.0
    assert loads(budget, 0.0005) in range(499, 503)


def test_what_delays_others_noticeably_is_dearer(budget, clock):
    """Ten milliseconds: once, and again two seconds later; so they are one in two hundred."""
    assert loads(budget, 0.01) == 1
    clock.now += 0.5
    assert loads(budget, 0.01) == 0
    clock.now += 1.5
    assert loads(budget, 0.01) == 1


def test_loads_that_have_begun_count_before_they_have_ended(budget):
    """Otherwise all that begin at once would be let in, however many they are."""
    began = 0
    for _ in range(1_000):
        with contextlib.suppress(TakesLong):
            budget.begin("w")
            began += 1
    assert began in range(249, 253)


def test_workspaces_have_a_budget_each(budget):
    assert loads(budget, 0.1, "a") == 1
    assert loads(budget, 0.0005, "b") in range(499, 503)


def test_without_a_slow_lane_everything_is_loaded_here(clock):
    assert loads(LoadBudget(Lane(), clock), 1.0) == 10_000


def test_workspaces_that_have_spent_nothing_lately_are_forgotten(budget, clock):
    for number in range(5_000):
        budget.begin(f"w{number}")
        budget.end(f"w{number}", 0.0001)
        clock.now += 0.001
    assert len(budget._full_at) < 2_000
