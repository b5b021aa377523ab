"""Which core a process has, and what it spent of it."""

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

from msgspec import Struct

from app.serve.embedded_store import die_with_parent


class Cores(Struct, frozen=True):
    """The service has one core to itself; the store and the load generator share the other.

    More cores would be left idle: the numbers of two machines are then about the same thing.
    """

    service: int
    others: int


def two_cores() -> Cores:
    """The first two cores this process may use. Raises RuntimeError where there is only one."""
    usable = sorted(os.sched_getaffinity(0))
    if len(usable) < 2:
        raise RuntimeError("these benchmarks need two cores: one for the service, one for the store and the load")
    return Cores(usable[0], usable[1])


def pinned(core: int) -> Callable[[], None]:
    """For a child before it becomes another program: this core alone, and no longer than its parent."""
    arrange_end = die_with_parent()

    def enter() -> None:
        os.sched_setaffinity(0, {core})
        arrange_end()

    return enter


@contextlib.contextmanager
def moved_to(core: int) -> Iterator[None]:
    """This process runs on the core while inside."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {core})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def family(pid: int) -> list[int]:
    """The process and everything it has started that still runs."""
    pids = [pid]
    for each in pids:
        for task in Path(f"/proc/{each}/task").iterdir():
            pids += [int(child) for child in (task / "children").read_text().split()]
    return pids


def cpu_us(pid: int) -> float:
    """What the process has spent of its cores so far, all threads, us."""
    spent_ns = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        spent_ns += int((task / "schedstat").read_text().split()[0])
    return spent_ns / 1000


def waited_us(pid: int) -> float:
    """How long the process was ready to run while somebody else had its core, us."""
    return sum(int((task / "schedstat").read_text().split()[1]) / 1000 for task in Path(f"/proc/{pid}/task").iterdir())
