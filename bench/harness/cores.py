"""Pins processes to cores, and reads their CPU time."""

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

from msgspec import Struct

from app.serve.embedded_store import die_with_parent


class Cores(Struct, frozen=True):
    """The service has one core to itself; the store and the load generator share the other.

    Further cores stay idle, so that numbers from different machines are comparable.
    """

    service: int
    others: int


def two_cores() -> Cores:
    """The first two cores this process may use. Raises RuntimeError if there is only one."""
    usable = sorted(os.sched_getaffinity(0))
    if len(usable) < 2:
        raise RuntimeError("these benchmarks need two cores: one for the service, one for the store and the load")
    return Cores(usable[0], usable[1])


def pinned(core: int) -> Callable[[], None]:
    """Called in a child before exec: run on this core only, and end with the parent."""
    arrange_end = die_with_parent()

    def enter() -> None:
        os.sched_setaffinity(0, {core})
        arrange_end()

    return enter


@contextlib.contextmanager
def moved_to(core: int) -> Iterator[None]:
    """Run this process on the core until the end of the block."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {core})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def family(pid: int) -> list[int]:
    """The process and its running descendants."""
    pids = [pid]
    for each in pids:
        for task in Path(f"/proc/{each}/task").iterdir():
            pids += [int(child) for child in (task / "children").read_text().split()]
    return pids


def cpu_us(pid: int) -> float:
    """CPU time of the process so far, over all threads, in us."""
    spent_ns = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        spent_ns += int((task / "schedstat").read_text().split()[0])
    return spent_ns / 1000


def waited_us(pid: int) -> float:
    """How long the process was ready to run while another had its core, in us."""
    return sum(int((task / "schedstat").read_text().split()[1]) / 1000 for task in Path(f"/proc/{pid}/task").iterdir())
