"""Turns on the loop: long work takes one per pass, and a workspace has a limited number at once."""

import asyncio
from pathlib import Path

import pytest

from app.errors import Overloaded
from app.runtime.fairness.asking_key import asking_key
from app.runtime.fairness.loop_turns import WorkspaceSlots, take_turn


async def in_steps(steps, said, name):
    """Work of some steps, each of which says its name."""
    for _ in range(steps):
        said.append(name)
        await take_turn()


async def test_one_of_all_long_tasks_gets_a_turn_in_each_pass():
    """So short work waits for one step of one of them, however many there are."""
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
    """If it is cancelled while waiting, those behind it still get their turns."""
    said = []
    works = [asyncio.create_task(in_steps(3, said, name)) for name in "abc"]
    await asyncio.sleep(0)
    works[0].cancel()
    await asyncio.gather(*works, return_exceptions=True)
    assert (said.count("a"), said.count("b"), said.count("c")) == (1, 3, 3)
    await take_turn()


async def test_a_workspace_runs_a_limited_number_at_once_and_others_do_not_wait():
    """The rest waits in order, up to a bound; beyond it, 503."""
    slots, opened, inside = WorkspaceSlots(most=2, waiting_max=1), asyncio.Event(), []

    async def read(workspace_id, name):
        async with slots.slot(workspace_id):
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


async def test_the_keys_of_a_workspace_take_turns():
    """However many tasks one of them has waiting; and they leave the others room to wait."""
    slots, opened, inside = WorkspaceSlots(most=1, waiting_max=8), asyncio.Event(), []

    async def read(key, name):
        asking_key.set(key)
        async with slots.slot("workspace"):
            inside.append(name)
            await opened.wait()

    storm = [asyncio.create_task(read("storm", f"s{number}")) for number in range(5)]
    await asyncio.sleep(0)
    with pytest.raises(Overloaded, match="of this key"):
        await read("storm", "one too many")
    others = [asyncio.create_task(read(key, key)) for key in ("a", "b")]
    for _ in range(5):
        await asyncio.sleep(0)
    assert inside == ["s0"]
    opened.set()
    await asyncio.gather(*storm, *others)
    assert inside == ["s0", "s1", "a", "b", "s2", "s3", "s4"]


@pytest.mark.parametrize("granted", [False, True], ids=["while it waits", "once its turn has come"])
async def test_a_task_that_is_cancelled_leaves_its_place_to_the_next(granted):
    """In neither case does the workspace lose a slot."""
    slots, inside = WorkspaceSlots(most=1), []

    async def read(name):
        async with slots.slot("workspace"):
            inside.append(name)

    async with slots.slot("workspace"):
        gone, next_one = (asyncio.create_task(read(name)) for name in ("gone", "next"))
        await asyncio.sleep(0)
        if not granted:
            gone.cancel()
            await asyncio.sleep(0)
    gone.cancel()
    await asyncio.wait_for(next_one, 5)
    assert inside == ["next"]
    await asyncio.wait_for(read("again"), 5)


async def test_tasks_that_are_cancelled_while_they_wait_fill_no_place():
    """Callers that give up leave room for others of their key, and of the workspace."""
    slots = WorkspaceSlots(most=1, waiting_max=4)

    async def read(key):
        asking_key.set(key)
        async with slots.slot("workspace"):
            pass

    async with slots.slot("workspace"):
        for key in ("a", "b") * 3:
            gone = [asyncio.create_task(read(key)) for _ in range(2)]
            await asyncio.sleep(0)
            for each in gone:
                each.cancel()
            assert all(
                isinstance(each, asyncio.CancelledError) for each in await asyncio.gather(*gone, return_exceptions=True)
            )
        waiting = asyncio.create_task(read("a"))
        await asyncio.sleep(0)
    await asyncio.wait_for(waiting, 5)


def test_long_work_pauses_only_by_taking_turns():
    """With `sleep(0)`, all of them would continue in every pass."""
    app = Path(__file__).parents[2] / "app"
    named = {path.relative_to(app).as_posix() for path in app.rglob("*.py") if "sleep(0)" in path.read_text()}
    assert named == {"http/protocol/exchange.py", "runtime/fairness/loop_turns.py"}
