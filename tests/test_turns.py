"""Turns on the loop: long work takes one per pass, and a workspace has a limited number at once."""

import asyncio
from pathlib import Path

import pytest

from app.errors import Overloaded
from app.turns import Shares, in_turns, pause


async def in_steps(steps, said, name):
    """Work of some steps, each of which says its name."""
    for _ in range(steps):
        said.append(name)
        await pause()


async def test_one_of_all_long_tasks_has_a_turn_in_each_pass():
    """So what is short waits for one step of one of them, however many there are."""
    said = []
    works = [asyncio.create_task(in_steps(5, said, name)) for name in "abcdefgh"]
    await asyncio.sleep(0)
    said.clear()
    passes = 0
    while said.count("h") < 2:
        before = len(said)
        await asyncio.sleep(0)
        passes += 1
        assert len(said) - before <= 1
    assert said[:16] == list("abcdefgh") * 2
    assert passes >= 16
    await asyncio.gather(*works)


async def test_a_cancelled_task_keeps_nobody_from_a_turn():
    """Cancelled while it waits; those behind it have theirs."""
    said = []
    works = [asyncio.create_task(in_steps(3, said, name)) for name in "abc"]
    await asyncio.sleep(0)
    works[0].cancel()
    await asyncio.gather(*works, return_exceptions=True)
    assert (said.count("a"), said.count("b"), said.count("c")) == (1, 3, 3)
    await pause()


async def asks(said, name, waits):
    """Work that waits for what comes at the same moment for everybody."""
    for each in waits:
        said.append(name)
        await each
    return name


async def test_of_the_steps_of_all_requests_one_is_made_in_each_pass():
    """Though what all of them wait for comes at once, as many replies of the store do."""
    loop, said = asyncio.get_running_loop(), []
    first, second = loop.create_future(), loop.create_future()
    works = [asyncio.create_task(in_turns(asks(said, name, (first, second)))) for name in "abcd"]
    for number, each in enumerate((first, second), 1):
        most = 0
        while len(said) < 4 * number:
            before = len(said)
            await asyncio.sleep(0)
            most = max(most, len(said) - before)
        assert (most, said[-4:]) == (1, list("abcd"))
        each.set_result(None)
    assert await asyncio.gather(*works) == list("abcd")


async def test_a_pause_within_turns_waits_for_one_turn_and_not_for_two():
    said = []
    works = [asyncio.create_task(in_turns(in_steps(3, said, "a"))), asyncio.create_task(in_steps(3, said, "b"))]
    await asyncio.gather(*works)
    assert said in (list("ababab"), list("bababa"))


async def test_what_is_raised_in_turns_reaches_the_work_and_its_caller():
    """A failed wait, one that is cancelled, and a turn that is."""
    loop = asyncio.get_running_loop()
    failed, met = loop.create_future(), []

    async def meets(waited):
        try:
            await waited
        except BaseException as error:
            met.append(type(error))
            raise

    work = asyncio.create_task(in_turns(meets(failed)))
    for _ in range(4):
        await asyncio.sleep(0)
    failed.set_exception(ValueError("failed"))
    with pytest.raises(ValueError, match="failed"):
        await work
    waiting, late = loop.create_future(), loop.create_future()
    for waited in (waiting, late):
        work = asyncio.create_task(in_turns(meets(waited)))
        for _ in range(4):
            await asyncio.sleep(0)
        if waited is late:  # it has come, and the work waits for its turn
            late.set_result(None)
            await asyncio.sleep(0)
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work
    assert met == [ValueError, asyncio.CancelledError, asyncio.CancelledError]


async def test_a_workspace_runs_so_many_at_once_and_others_do_not_wait():
    """The rest waits in order, up to a bound; then 503 and try again."""
    shares, opened, inside = Shares(most=2, waiting_max=1), asyncio.Event(), []

    async def read(workspace_id, name):
        async with shares.share(workspace_id):
            inside.append(name)
            await opened.wait()

    hostile = [asyncio.create_task(read("hostile", f"h{number}")) for number in range(3)]
    other = asyncio.create_task(read("other", "o"))
    for _ in range(5):
        await asyncio.sleep(0)
    assert inside == ["h0", "h1", "o"]
    with pytest.raises(Overloaded):
        await read("hostile", "one too many")
    opened.set()
    await asyncio.gather(*hostile, other)
    assert inside == ["h0", "h1", "o", "h2"]
    await read("hostile", "again")


def test_long_work_pauses_in_no_other_way():
    """`sleep(0)` lets all of them go on in every pass."""
    app = Path(__file__).parents[1] / "app"
    named = {path.relative_to(app).as_posix() for path in app.rglob("*.py") if "sleep(0)" in path.read_text()}
    assert named == {"http/protocol/exchange.py", "turns.py"}
