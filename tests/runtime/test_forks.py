"""Processes forked from one parent: which ones are forked again, when all end, and what a dead parent leaves."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from serving import all_gone, children_of, is_running, kill

pytestmark = pytest.mark.slow

PROGRAM = """
import mmap, os, signal, sys, time
from app.runtime.lanes import forks
from app.runtime.lanes import heartbeats
from app.runtime.lanes.heartbeats import Heartbeats
forks.BEAT_SECONDS = heartbeats.BEAT_SECONDS = 0.02
hearts = Heartbeats(2)
starts = mmap.mmap(-1, 2)
place = forks.forked(["first", "second"], lambda: os.write(1, b"ending\\n"), hearts)
starts[place] += 1
{first}
os.write(1, f"{{place}} {{os.getpid()}}\\n".encode())
{then}
while True:
    signal.pause()
"""


class Family:
    """The parent and its two children; what they print is read line by line.

    first: what a child does before it prints its place. then: what it does afterwards.
    """

    def __init__(self, then="", first="") -> None:
        program = PROGRAM.format(then=then, first=first)
        self.parent = subprocess.Popen(
            [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self.pids = dict(self.next_child() for _ in range(2))

    def next_child(self) -> tuple[int, int]:
        """The place and the pid of the child that begins next."""
        place, pid = self.parent.stdout.readline().split()
        return int(place), int(pid)

    def end(self) -> int:
        """The parent's exit code; nothing is left of the family."""
        code = self.parent.wait(60)
        assert all_gone(list(self.pids.values()), 10)
        return code


@pytest.fixture
def make_family():
    made = []

    def make(then="", first=""):
        made.append(Family(then, first))
        return made[-1]

    yield make
    for family in made:
        with family.parent as parent:
            parent.kill()


def test_each_child_knows_its_place_and_its_name(make_family):
    family = make_family()
    assert sorted(family.pids) == [0, 1]
    for place, name in enumerate(("first", "second")):
        assert Path(f"/proc/{family.pids[place]}/comm").read_text() == f"{name}\n"
    assert set(children_of(family.parent.pid)) == set(family.pids.values())


def test_a_child_that_is_killed_is_forked_again_and_the_other_goes_on(make_family):
    family = make_family()
    kill(family.pids[0])
    place, pid = family.next_child()
    assert (place, pid != family.pids[0]) == (0, True)
    assert is_running(family.pids[1])
    family.pids[0] = pid
    family.parent.terminate()
    assert family.end() == 0
    assert "first was killed by signal 9; starting another" in family.parent.stderr.read()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_all_end_when_the_parent_is_told_to(make_family, number):
    family = make_family()
    family.parent.send_signal(number)
    assert family.end() == 0
    assert family.parent.stdout.read() == "ending\n"


@pytest.mark.parametrize(
    ("then", "code"), [("sys.exit(3) if place else None", 3), ("sys.exit(0) if place else None", 1)]
)
def test_all_end_when_one_ends_by_itself(make_family, then, code):
    """The parent ends with its exit code; even an exit code of 0 ends the others."""
    assert make_family(then).end() == code


def test_all_end_when_one_is_told_to(make_family):
    """A lane that has drained would be alone if it were forked again."""
    family = make_family()
    os.kill(family.pids[1], signal.SIGTERM)
    assert family.end() == 1


def test_no_child_outlives_its_parent(make_family):
    family = make_family()
    kill(family.parent.pid)
    assert family.end() == -signal.SIGKILL


def test_a_child_that_stands_still_is_killed_and_forked_again(make_family):
    """It beats once and never again. The other one, which has not started beating, is left alone."""
    family = make_family("hearts.beat(place) if place else None")
    place, pid = family.next_child()
    assert (place, pid != family.pids[1]) == (1, True)
    assert is_running(family.pids[0])
    family.parent.terminate()
    assert family.end() == 0
    assert "second has stood still for" in family.parent.stderr.read()


def test_a_child_that_stands_still_does_not_keep_the_others_from_ending(make_family):
    """It is killed although all end. What it had not finished is lost, so the code is not 0."""
    takes_no_end = "signal.signal(signal.SIGTERM, lambda *_: hearts.beat(place))"
    family = make_family(first=f"if place: {takes_no_end}")
    family.parent.terminate()
    assert family.end() == 1
    assert "second has stood still for" in family.parent.stderr.read()


STARVED = """
if not place:
    hearts.beat(0)
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    if not os.fork():
        signal.alarm(30)
        while os.getppid() != 1:
            pass
        os._exit(0)
    os.nice(5)
    until = time.thread_time() + 4 * forks.BEAT_SECONDS
    while time.thread_time() < until:
        pass
    hearts.beat(0)
    os.write(1, f"0 {os.getpid()}\\n".encode())
    os._exit(0)
"""


def test_a_child_that_waits_for_a_core_does_not_stand_still(make_family):
    """It needs four beats' time of the core, and gets a quarter of it beside a process that takes all it can."""
    family = make_family(STARVED)
    assert family.next_child() == (0, family.pids[0])
    assert family.end() == 1
    assert "stood still" not in family.parent.stderr.read()


def test_a_successor_that_does_not_start_is_tried_again_and_the_other_goes_on(make_family):
    """As long as the store is away, for example. A first child that does not start ends all: see above."""
    family = make_family("sys.exit(3) if place and starts[place] == 2 else None")
    kill(family.pids[1])
    assert family.next_child()[0] == 1
    place, family.pids[1] = family.next_child()
    assert (place, is_running(family.pids[0])) == (1, True)
    family.parent.terminate()
    assert family.end() == 0
    assert "second did not start (code 3); trying again" in family.parent.stderr.read()


def test_a_child_that_is_killed_again_and_again_is_forked_once_a_second(make_family):
    family = make_family()
    began = time.monotonic()
    for _ in range(2):
        kill(family.pids[0])
        family.pids[0] = family.next_child()[1]
    assert time.monotonic() - began >= 1.0
