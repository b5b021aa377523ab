"""A worker opens its sockets once the whole replica can answer."""

import asyncio
import socket

import uvicorn

from app.runtime.lanes.lane import Lane
from app.serve.listeners import is_open
from app.serve.worker import Worker


async def never(_scope, _receive, _send):
    raise AssertionError


async def started(listener, *, other_lane_serves):
    """A worker's start on the socket, once it has asked twice whether the other lane serves, or is done."""
    asked, twice = [], asyncio.Event()

    def may_open():
        asked.append(is_open(listener))
        if len(asked) == 2:
            twice.set()
        return other_lane_serves()

    config = uvicorn.Config(never, lifespan="off", log_config=None)
    config.load()
    worker = Worker(config, Lane(), may_open, lambda: None, lambda: None)
    worker.lifespan = config.lifespan_class(config)
    start = asyncio.create_task(worker.startup([listener]))
    asking = asyncio.create_task(twice.wait())
    await asyncio.wait([start, asking], return_when=asyncio.FIRST_COMPLETED)
    asking.cancel()
    return worker, start, asked


async def close(worker):
    for server in worker.servers:
        server.close()


async def test_a_socket_listens_only_when_the_other_lane_serves_too():
    """What a connection asks for may be for the other lane."""
    serves = []
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        worker, start, asked = await started(listener, other_lane_serves=lambda: bool(serves))
        assert asked == [False, False]
        assert not is_open(listener)
        serves.append(True)
        await start
        assert is_open(listener)
        await close(worker)


async def test_a_socket_that_listens_already_is_served_at_once():
    """Its clients have waited since the lane's predecessor ended, whatever the other lane does."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        worker, start, asked = await started(listener, other_lane_serves=lambda: False)
        await start
        assert asked == []
        await close(worker)


async def test_a_worker_told_to_end_before_it_may_open_never_listens():
    """Otherwise a client could still connect to it."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        worker, start, _ = await started(listener, other_lane_serves=lambda: False)
        worker.should_exit = True
        await start
        assert not is_open(listener)
