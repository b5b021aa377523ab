"""Whether both lanes are ready: what each finds out for itself, what it is told, and what it concludes from silence."""

import asyncio
import socket

import pytest

from app.errors import StoreUnavailable
from app.redis_client.clients import open_client
from app.runtime.lanes.lane import Lane
from app.store import readiness
from app.store.readiness import Readiness

AWAY = "The store is out of reach"
FULL = "Every backlog is full"


class Connections:
    """The connections of decisions; they can be broken and blocked."""

    def __init__(self):
        self.asked, self.is_broken = 0, False
        self.was_asked, self.goes_on = asyncio.Event(), asyncio.Event()
        self.goes_on.set()

    async def call(self, *_):
        self.asked += 1
        self.was_asked.set()
        await self.goes_on.wait()
        if self.is_broken:
            raise StoreUnavailable(AWAY)


class Outside:
    """What else readiness depends on: the time, and whether some workspace has room."""

    def __init__(self):
        self.seconds, self.asked, self.has_room = 0.0, 0, True

    def now(self):
        return self.seconds

    async def require_room(self):
        self.asked += 1
        if not self.has_room:
            raise StoreUnavailable(FULL)


@pytest.fixture
def outside():
    return Outside()


@pytest.fixture
async def client(redis_store):
    opened = open_client(redis_store.url, 5_000)
    yield opened
    await opened.close()


@pytest.fixture
async def lanes(client, outside, monkeypatch):
    """Each lane with its connections, the fast one first; checks follow each other without a pause."""
    monkeypatch.setattr(readiness, "APART_SECONDS", 0)
    ends = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    made = []
    for place, end in enumerate(ends):
        lane, connections = Lane(), Connections()
        lane.attach(end, is_fast=not place)
        made.append((lane, connections, Readiness(lane, client, [connections], outside.require_room, outside.now)))
        lane.listen(asyncio.get_running_loop(), lambda _: None)
    yield made
    for end in ends:
        asyncio.get_running_loop().remove_reader(end)
        end.close()


async def test_a_slow_store_is_ready_and_known_as_slow(lanes, outside):
    """By the fastest of the replies that decisions would have waited for."""
    _, mine, readiness = lanes[0]

    async def late(*_):
        outside.seconds += 0.2

    await readiness.require()
    assert readiness.reply_ms == 0
    mine.call = late
    await readiness.require()
    assert readiness.reply_ms == pytest.approx(200)


@pytest.mark.parametrize("asked", [0, 1])
async def test_both_lanes_must_reach_the_store(lanes, asked):
    """Whichever is asked. It says which one does not."""
    (_, mine, readiness), (_, others, _) = lanes[asked], lanes[not asked]
    await readiness.require()
    others.is_broken = True
    with pytest.raises(StoreUnavailable, match=rf"^The replica's {('slow', 'fast')[asked]} lane is not ready: {AWAY}$"):
        await readiness.require()
    mine.is_broken, others.is_broken = True, False
    with pytest.raises(StoreUnavailable, match=f"^{AWAY}$"):
        await readiness.require()
    mine.is_broken = False
    await readiness.require()


async def test_a_lane_that_does_not_answer_is_not_ready(lanes, monkeypatch):
    monkeypatch.setattr(readiness, "OTHER_SECONDS", 0.05)
    others = lanes[0][1]
    others.goes_on.clear()
    with pytest.raises(StoreUnavailable, match=r"fast lane is not ready: it has not answered within 0.05 s$"):
        await lanes[1][2].require()
    others.goes_on.set()
    monkeypatch.setattr(readiness, "OTHER_SECONDS", 20)
    await lanes[1][2].require()


async def test_a_lane_that_is_alone_answers_for_itself(lanes):
    lanes[0][0].close(lambda _: None)
    lanes[0][1].is_broken = True
    with pytest.raises(StoreUnavailable, match=f"^{AWAY}$"):
        await lanes[0][2].require()
    lanes[1][0].is_alone = True
    await lanes[1][2].require()


async def test_many_who_ask_at_once_cost_the_other_lane_one_attempt(lanes):
    others = lanes[0][1]
    others.goes_on.clear()
    asking = [asyncio.create_task(lanes[1][2].require()) for _ in range(50)]
    await others.was_asked.wait()
    others.goes_on.set()
    await asyncio.gather(*asking)
    assert others.asked == 1


async def test_a_lane_that_is_only_busy_is_as_ready_as_it_last_said(lanes, outside, monkeypatch):
    """For half a minute: a slow lane that others keep busy is no reason to take its replica away from calls."""
    monkeypatch.setattr(readiness, "OTHER_SECONDS", 0.05)
    others = lanes[1][1]
    await lanes[0][2].require()
    others.goes_on.clear()
    outside.seconds += readiness.TOLD_SECONDS - 1
    await lanes[0][2].require()
    outside.seconds += 1
    with pytest.raises(StoreUnavailable, match="slow lane is not ready: it has not answered"):
        await lanes[0][2].require()


@pytest.mark.parametrize("asked", [0, 1])
async def test_room_is_looked_for_in_the_slow_lane_alone(lanes, outside, asked):
    """Whichever is asked: it takes commands for every workspace, and nobody says that a lane is at fault."""
    await lanes[asked][2].require()
    assert outside.asked == 1
    outside.has_room = False
    with pytest.raises(StoreUnavailable, match=f"^{FULL}$"):
        await lanes[asked][2].require()


async def test_checks_are_apart_however_often_somebody_asks(lanes, outside, monkeypatch):
    """A probe waits for the next check, so what it learns is never older than itself."""
    monkeypatch.setattr(readiness, "APART_SECONDS", 1.0)
    slept = []

    async def sleep(seconds):
        slept.append(seconds)
        outside.seconds += max(0.0, seconds)

    monkeypatch.setattr(readiness.asyncio, "sleep", sleep)
    for _ in range(3):
        await asyncio.gather(*[lanes[0][2].require() for _ in range(20)])
    assert slept[1:] == [1.0, 1.0]
