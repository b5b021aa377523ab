"""The pool for long work: fair between workspaces, bounded, and left by callers that go away."""

import ast
import asyncio
import os
import sys
import threading
from contextvars import copy_context
from pathlib import Path

import pytest

from app.cancellation import Cancelled, raise_if_cancelled
from app.errors import Overloaded
from app.runtime.fairness.asking_key import asking_key
from app.runtime.fairness.thread_pool import AT_ONCE, NICENESS, FairThreadPool, InTurns

APP = Path(__file__).parents[2] / "app"


class Gate:
    """Work that is blocked until the test releases it."""

    def __init__(self):
        self.opened, self.begun, self.order = threading.Event(), threading.Semaphore(0), []

    def wait(self, name="held"):
        self.order.append(name)
        self.begun.release()
        self.opened.wait(30)
        return name


@pytest.fixture
def gate():
    made = Gate()
    yield made
    made.opened.set()


async def settle():
    """Let everything that is due on the loop happen."""
    for _ in range(5):
        await asyncio.sleep(0)


async def begun(gate):
    await asyncio.to_thread(gate.begun.acquire)


async def test_a_caller_gets_what_the_function_returns_or_raises():
    """Results and exceptions both come out of the thread."""
    pool = FairThreadPool()
    assert await pool.run("w", threading.get_ident) != threading.get_ident()
    with pytest.raises(ZeroDivisionError):
        await pool.run("w", lambda: 1 / 0)
    with pytest.raises(TimeoutError):
        await pool.run("w", exec, "raise TimeoutError")


async def test_a_workspace_never_has_every_thread(gate):
    """However much one workspace has running and waiting, another's work begins at once."""
    pool = FairThreadPool(threads=2)
    hostile = [asyncio.create_task(pool.run("hostile", gate.wait)) for _ in range(12)]
    await begun(gate)
    assert await pool.run("other", str.upper, "done") == "DONE"
    assert (gate.order, pool.waiting) == (["held"], 11)
    gate.opened.set()
    assert await asyncio.gather(*hostile) == ["held"] * 12


async def test_workspaces_take_turns(gate):
    """One with ten waiting jobs gets no more turns than one with a single job."""
    pool = FairThreadPool(threads=1)
    first = asyncio.create_task(pool.run("first", gate.wait, "first"))
    await begun(gate)
    rest = [asyncio.create_task(pool.run("a", gate.wait, f"a{n}")) for n in range(3)]
    await settle()
    rest += [asyncio.create_task(pool.run(name, gate.wait, name)) for name in ("b", "c")]
    await settle()
    gate.opened.set()
    await asyncio.gather(first, *rest)
    assert gate.order == ["first", "a0", "b", "c", "a1", "a2"]


async def test_a_caller_that_goes_away_frees_its_place(gate):
    """Work that has not begun never begins."""
    pool = FairThreadPool(threads=1)
    running = asyncio.create_task(pool.run("w", gate.wait, "running"))
    await begun(gate)
    waiting = [asyncio.create_task(pool.run("w", gate.wait, f"waiting {n}")) for n in range(3)]
    await settle()
    for task in waiting[:2]:
        task.cancel()
    await settle()
    assert pool.waiting == 1
    gate.opened.set()
    await asyncio.gather(running, *waiting, return_exceptions=True)
    assert gate.order == ["running", "waiting 2"]


async def test_a_workspace_with_too_much_waiting_is_refused_and_others_are_not(gate):
    """503 OVERLOADED with Retry-After; each workspace has its own queue."""
    pool = FairThreadPool(threads=2, waiting_max=3)
    held = [asyncio.create_task(pool.run("hostile", gate.wait)) for _ in range(4)]
    await begun(gate)
    with pytest.raises(Overloaded, match="nothing was decided") as refused:
        await pool.run("hostile", gate.wait)
    assert (refused.value.status, refused.value.code, dict(refused.value.headers)) == (
        503,
        "OVERLOADED",
        {"Retry-After": "1"},
    )
    assert await pool.run("other", str.upper, "done") == "DONE"
    gate.opened.set()
    await asyncio.gather(*held)


async def test_a_caller_that_waits_too_long_is_refused_and_the_thread_is_used_again(gate):
    """In the queue or in the thread; a late result is discarded."""
    pool = FairThreadPool(threads=1, patience_s=0.01)
    answers = await asyncio.gather(*(pool.run("w", gate.wait) for _ in range(2)), return_exceptions=True)
    assert [type(answer) for answer in answers] == [Overloaded, Overloaded]
    gate.opened.set()
    patient = FairThreadPool(threads=1)
    assert await patient.run("w", str.upper, "done") == "DONE"
    assert gate.order == ["held"]


async def test_unwanted_work_stops_when_it_checks(gate):
    """Its thread is free again at once; wanted work continues."""
    ended = threading.Event()

    def work():
        try:
            gate.wait()
            raise_if_cancelled()
            gate.order.append("went on")
        except Cancelled:
            gate.order.append("stopped")
            raise
        finally:
            ended.set()

    impatient = FairThreadPool(threads=1, patience_s=0.01)
    with pytest.raises(Overloaded):
        await impatient.run("w", work)
    gate.opened.set()
    await asyncio.to_thread(ended.wait)
    assert gate.order == ["held", "stopped"]
    await FairThreadPool(threads=1).run("w", work)
    assert gate.order[2:] == ["held", "went on"]


@pytest.mark.skipif(sys.platform != "linux", reason="a thread has no niceness of its own there")
async def test_the_loop_has_its_core_before_the_threads():
    """On a shared core, a decision does not wait for a long search's time slice."""

    def niceness():
        return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())

    assert await FairThreadPool().run("w", niceness) == min(19, niceness() + NICENESS)


OF_EVERYBODY = {"to_thread", "run_in_executor"}


def test_nothing_in_the_service_uses_the_default_threads():
    """Long work goes through the pool, where workspaces take turns."""
    elsewhere = [
        path for path in APP.rglob("*.py") if path.relative_to(APP).as_posix() != "runtime/fairness/thread_pool.py"
    ]
    names = {
        (path.relative_to(APP).as_posix(), node.attr)
        for path in elsewhere
        if any(name in path.read_text() for name in OF_EVERYBODY)
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute) and node.attr in OF_EVERYBODY
    }
    assert names == set()


def asked(pool, key, *call):
    """A task that makes the call in the pool, for this key."""
    context = copy_context()
    context.run(asking_key.set, key)
    return asyncio.create_task(pool.run("w", *call), context=context)


async def test_the_keys_of_a_workspace_take_turns(gate):
    """One that asks for much delays the others by one piece of work each."""
    pool = FairThreadPool(threads=2)
    first = asked(pool, "greedy", gate.wait, "first")
    await begun(gate)
    names = [("greedy", "g1"), ("greedy", "g2"), ("modest", "m1"), ("", "nobody's"), ("greedy", "g3"), ("modest", "m2")]
    others = [asked(pool, key, gate.wait, name) for key, name in names]
    await settle()
    gate.opened.set()
    await asyncio.gather(first, *others)

    assert gate.order == ["first", "g1", "m1", "nobody's", "g2", "m2", "g3"]
    assert pool.waiting == 0


async def test_a_key_with_half_of_the_line_is_refused_and_the_others_are_not(gate):
    """It starves neither its workspace nor another."""
    pool = FairThreadPool(threads=2, waiting_max=4)
    running = asked(pool, "greedy", gate.wait)
    await begun(gate)
    waiting = [asked(pool, "greedy", gate.wait) for _ in range(2)]
    await settle()
    with pytest.raises(Overloaded, match="from this key"):
        await asked(pool, "greedy", gate.wait)
    waiting.append(asked(pool, "modest", gate.wait))
    await settle()
    assert pool.waiting == 3
    gate.opened.set()
    await asyncio.gather(running, *waiting)


async def test_nothing_else_of_a_request_runs_once_some_of_it_is_refused(gate):
    """The request has failed, and what still waited would take a thread for minutes after its answer."""
    pool = FairThreadPool(threads=1, patience_s=0.05)
    held = asyncio.ensure_future(pool.run("w", gate.wait))
    await begun(gate)
    turns = InTurns(pool)
    asked = [asyncio.ensure_future(turns.run("w", gate.order.append, n)) for n in range(3 * AT_ONCE)]
    await asyncio.wait(asked[:AT_ONCE])
    gate.opened.set()
    outcomes = await asyncio.gather(*asked, return_exceptions=True)
    assert {type(each) for each in outcomes} == {Overloaded}
    assert gate.order == ["held"]
    await asyncio.gather(held, return_exceptions=True)
