"""What a workspace may take of the fast lane's loop, and when the slow lane answers instead."""

import contextlib
import socket

import pytest

from app.runtime.fairness.loop_budget import NOTICED_S, LoopBudget
from app.runtime.lanes.lane import Lane, MoveToSlowLane


class Clock:
    """Time passes when a test says so, and only work takes CPU time."""

    now = 1000.0
    cpu = 0.0

    def __call__(self):
        return self.now

    def cpu_time(self):
        return self.cpu

    def work(self, seconds, error=None):
        """Use this much CPU time."""
        self.now += seconds
        self.cpu += seconds
        if error is not None:
            raise error


@pytest.fixture
def lane():
    ends = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    made = Lane()
    made.attach(ends[0], is_fast=True)
    yield made
    for end in ends:
        end.close()


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def budget(lane, clock):
    """The budget of a replica with calls of several workspaces."""
    made = LoopBudget(lane, clock, clock.cpu_time)
    call(made, "a")
    call(made, "b")
    return made


def call(budget, workspace_id) -> None:
    """A short call of the workspace."""
    budget.run(workspace_id, workspace_id, lambda: None)


def steps(budget, seconds, workspace_id="w", beside=0.0, key="") -> int:
    """How many steps of this length run here before the slow lane must answer."""
    key = key or workspace_id
    for number in range(10_000):
        try:
            budget.begin(workspace_id, key)
        except MoveToSlowLane:
            return number
        budget.end(workspace_id, key, seconds, beside)
    return 10_000


def test_short_steps_take_a_quarter_of_the_time_at_most(budget, clock):
    """A second's worth of a quarter is there at the beginning, and comes back in a second."""
    assert steps(budget, 0.0002) in range(1_249, 1_254)
    clock.now += 1.0
    assert steps(budget, 0.0002) in range(1_249, 1_254)


def test_steps_that_delay_others_take_a_thousandth_of_the_time(budget, clock):
    """Whatever their length, over ten minutes of asking as often as possible."""
    for seconds in (0.002, 0.004, 0.02):
        spent, end = 0.0, clock.now + 600.0
        while clock.now < end:
            call(budget, "a")  # others are there, too
            call(budget, "b")
            spent += steps(budget, seconds, f"w{seconds}") * (seconds - NOTICED_S)
            clock.now += 0.01
        assert 0.5 < spent <= 0.001 * 600.0 + 0.02


def long_steps(budget, clock, key, error=None, workspace_id="w") -> int:
    """How many long steps run here, and fail if there is an error, before the slow lane has to answer."""
    for number in range(100):
        try:
            budget.run(workspace_id, key, clock.work, 0.004, error)
        except ValueError:
            pass
        except MoveToSlowLane:
            return number
    return 100


def test_a_key_is_measured_from_its_first_long_step_on_even_if_that_fails(budget, clock):
    """A call that is refused has been read as well."""
    for error in (None, ValueError):
        key = f"k{error}"
        assert budget.run(f"w{error}", key, lambda made: made, 5) == 5
        assert f"w{error}" not in budget._watched_until
        assert long_steps(budget, clock, key, error, f"w{error}") == 2


def test_a_step_that_waits_for_a_core_is_not_long(budget, clock):
    """On a busy machine, others run in the middle of it; the key has taken nothing from anybody."""

    def interrupted():
        clock.now += 0.1

    budget.run("w", "w", interrupted)
    assert "w" not in budget._watched_until


def test_a_key_whose_calls_are_short_for_a_minute_is_no_longer_measured(budget, clock):
    """A long step begins the minute anew."""
    assert long_steps(budget, clock, "w") == 2
    clock.now += 59.0
    assert long_steps(budget, clock, "w") == 1
    for seconds, is_watched in ((59.0, True), (2.0, False)):
        clock.now += seconds
        call(budget, "w")
        assert ("w" in budget._watched_until) == is_watched


def test_work_in_a_thread_counts_no_more_than_its_time(budget):
    assert steps(budget, 0.0, beside=0.01) in range(24, 28)


def test_steps_count_from_when_they_begin(budget):
    """Otherwise all that begin at once would be let in, however many they are."""
    began = 0
    for _ in range(5_000):
        with contextlib.suppress(MoveToSlowLane):
            budget.begin("w", "w")
            began += 1
    assert began in range(999, 1_004)


def test_each_workspace_has_a_budget_of_its_own(budget):
    assert steps(budget, 0.1, "a") == 1
    assert steps(budget, NOTICED_S, "b") in range(999, 1_004)


def test_a_key_that_overdraws_the_budget_moves_no_other_key_of_its_workspace(budget, clock):
    """Even if the workspace is the only one: its keys may be those of different services."""
    assert long_steps(budget, clock, "storm") == 2
    for _ in range(100):
        budget.run("w", "calm", clock.work, 0.0001)
        with pytest.raises(MoveToSlowLane):
            budget.run("w", "storm", lambda: None)


def test_keys_with_long_calls_have_equal_parts_of_their_workspaces_budget(budget, clock):
    """Together they have no more than one key alone, and none pays for another."""
    assert long_steps(budget, clock, "storm") == 2
    budget.run("w", "calm", clock.work, 0.0003)  # it is measured from now on
    assert long_steps(budget, clock, "storm") == 0
    for _ in range(1_000):
        budget.run("w", "calm", clock.work, 0.0001)
        clock.now += 0.002
    clock.now += 30.0
    for key in ("storm", "calm"):
        assert steps(budget, 0.0002, "w", key=key) in range(624, 628)


def test_keys_that_have_gone_leave_their_parts_to_the_others(budget, clock):
    """Sessions and runs end: without it, each would make the part of those that follow smaller."""
    for number in range(20):
        assert long_steps(budget, clock, f"gone {number}") >= 1
    clock.now += 61.0
    for each in "ab":  # others are there, too
        call(budget, each)
    assert steps(budget, 0.0002, "w", key="new") in range(1_249, 1_254)


def test_a_person_in_two_workspaces_has_a_part_in_each(budget, clock):
    """A root may be that of a person, whose sessions are those of several workspaces."""
    assert long_steps(budget, clock, "pat", workspace_id="v") == 2
    assert long_steps(budget, clock, "pat") == 2


def test_without_a_slow_lane_nothing_moves(clock):
    alone = LoopBudget(Lane(), clock, clock.cpu_time)
    call(alone, "a")
    call(alone, "b")
    assert steps(alone, 1.0) == 10_000


def test_a_key_that_is_the_only_one_delays_nobody(budget, lane, clock):
    """From the beginning, and again a minute after the last call of another one."""
    only = LoopBudget(lane, clock, clock.cpu_time)
    call(only, "w")
    assert steps(only, 0.004) == 10_000
    clock.now += 59.0
    assert steps(budget, 0.004) == 1
    clock.now += 2.0
    assert steps(budget, 0.004) == 10_000


def test_workspaces_that_have_taken_nothing_lately_are_forgotten(budget, clock):
    for number in range(5_000):
        budget.begin(f"w{number}", f"w{number}")
        budget.end(f"w{number}", f"w{number}", 0.0001)
        budget.run(f"w{number}", f"w{number}", clock.work, 0.001)
    assert len(budget._full_at) < 2_000
    assert sum((f"w{number}" in budget._watched_until) for number in range(5_000)) < 2_000
