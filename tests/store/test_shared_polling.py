"""Shared polling."""

import asyncio

import pytest

from app.errors import StoreUnavailable, Unauthorized
from app.store.shared_polling import SharedPolling


class Looks:
    """Stands in for the store: what it shows next, and how often it was polled."""

    def __init__(self):
        self.value, self.count, self.looked = 0, 0, asyncio.Event()

    async def __call__(self, subject):
        self.count += 1
        self.looked.set()
        if isinstance(self.value, Exception):
            raise self.value
        return self.value

    async def next(self):
        self.looked.clear()
        await self.looked.wait()
        await asyncio.sleep(0)


@pytest.fixture
def looks():
    return Looks()


@pytest.fixture
async def stopping():
    event = asyncio.Event()
    yield event
    event.set()
    await asyncio.sleep(0)


async def test_the_store_is_asked_once_however_many_watch(looks, stopping):
    """Once at first, then at intervals."""
    watch = SharedPolling(looks, 3600, stopping)
    wakes = [asyncio.Event() for _ in range(800)]
    watching = [watch.on("w", wake) for wake in wakes]
    seen = [await each.__aenter__() for each in watching]
    assert looks.count == 1
    assert len({id(each) for each in seen}) == len(watch) == 1
    for each in watching:
        await each.__aexit__(None, None, None)
    assert len(watch) == 0


async def test_a_change_wakes_all_watchers_and_nothing_else_does(looks, stopping):
    """Idle ones are not woken."""
    watch, wakes = SharedPolling(looks, 0, stopping), [asyncio.Event(), asyncio.Event()]
    async with watch.on("w", wakes[0]) as one, watch.on("w", wakes[1]) as other:
        await looks.next()
        await looks.next()
        assert not any(wake.is_set() for wake in wakes)
        looks.value = 7
        await asyncio.gather(*(wake.wait() for wake in wakes))
        assert (one.value, other.value) == (7, 7)


async def test_an_error_ends_watching_only_while_it_lasts(looks, stopping):
    """Watching that begins after an outage is not ended by it."""
    watch, wake = SharedPolling(looks, 0, stopping), asyncio.Event()
    async with watch.on("w", wake) as watched:
        looks.value = StoreUnavailable("away")
        await wake.wait()
        assert isinstance(watched.error, StoreUnavailable)
        looks.value = 0
        while watched.error is not None:
            await looks.next()
        assert watched.value == 0


async def test_a_failed_first_look_ends_watching(looks, stopping):
    """If the first poll fails."""
    looks.value = Unauthorized("no")
    watch = SharedPolling(looks, 3600, stopping)
    with pytest.raises(Unauthorized):
        await watch.on("w", asyncio.Event()).__aenter__()
    assert len(watch) == 0


async def test_a_replica_that_stops_wakes_everybody(looks, stopping):
    """They notice the stop, and end."""
    watch, wake = SharedPolling(looks, 3600, stopping), asyncio.Event()
    async with watch.on("w", wake):
        await asyncio.sleep(0)
        stopping.set()
        await wake.wait()
