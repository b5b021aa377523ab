"""What rules count stays exactly as long as it counts, by quota time, and is dropped afterwards."""

import asyncio

import pytest
from commit_scene import ALLOWED, MINUTE, MS, START
from counted import KINDS

from app.model.plans import Mark, Plan
from app.serve.jobs import drop_all_spent_counts
from app.store.keyspace import counting_workspace

CENTURY_MS = 100 * 365 * 24 * 60 * MINUTE // MS


async def counted(scene):
    """The keys of this workspace in which rules count."""
    return {name for name in await scene.everything() if counting_workspace(name) == scene.workspace_id}


async def dropped(scene, at):
    """How many keys are dropped after a commit at this time."""
    await scene.commit(at=START + at)
    return await drop_all_spent_counts(scene.client, asyncio.Event())


@pytest.mark.parametrize("kind", KINDS)
async def test_what_is_counted_is_kept_until_its_window_is_over_by_quota_time(scene, kind):
    """Only time that a commit has seen counts. By the store's own timer, it would be kept for two centuries."""
    await KINDS[kind].count(scene, START)
    names = await counted(scene)
    assert names
    for name in names:
        assert await scene.client.call("PTTL", name) > CENTURY_MS

    assert await dropped(scene, MINUTE - 1) == 0
    assert await counted(scene) == names
    assert await dropped(scene, -MINUTE) == 0  # a step back: quota time stays where it was
    assert await dropped(scene, -MINUTE + MS + 1) == len(names)
    assert await counted(scene) == set()


@pytest.mark.parametrize("kind", KINDS)
async def test_what_has_been_dropped_counted_no_more(scene, kind):
    """A moment earlier it does count, and what counts again is kept for a window from then on."""
    await KINDS[kind].count(scene, START)
    assert await KINDS[kind].counts(scene, START + MINUTE - 1)
    assert await dropped(scene, MINUTE - 1) == 0


async def test_a_later_mark_that_counts_for_less_does_not_shorten_its_sessions_life(scene):
    """One hash holds all marks of a session."""
    for within in (2 * MINUTE, MINUTE):
        await scene.commit(plan=Plan(ALLOWED, (), session="5e", marks=(Mark("ad" * 16, within, 0),)))
    names = await counted(scene)
    assert await dropped(scene, 2 * MINUTE - 1) == 0
    assert await dropped(scene, 2 * MINUTE + MS) == len(names) == 2


async def test_a_life_that_an_earlier_release_set_is_left_alone_and_replaced_by_the_next_commit(scene):
    """Short, or a century from the last call on, which says nothing about when its window is over."""
    await KINDS["limit"].count(scene, START)
    [name] = await counted(scene)
    for life_ms in (60_000, CENTURY_MS):
        await scene.client.call("PEXPIRE", name, life_ms)
        assert await dropped(scene, 0) == 0
    await dropped(scene, 2 * MINUTE)
    await KINDS["limit"].count(scene, START + 2 * MINUTE)
    assert await scene.client.call("PTTL", name) > 1.9 * CENTURY_MS


async def test_a_workspace_that_cannot_be_cleared_holds_up_no_other(scene, ids):
    """Something else has written to its keys."""
    await KINDS["limit"].count(scene, START)
    await scene.commit(at=START + 2 * MINUTE)
    other = ids.new(0)
    await scene.client.call("SET", f"remit:{{{other}}}:commits", "")
    await scene.client.call("RPUSH", f"remit:{{{other}}}:quota:p:f", START)
    assert await drop_all_spent_counts(scene.client, asyncio.Event()) == 1
