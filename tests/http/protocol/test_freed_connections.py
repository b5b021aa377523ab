"""What a connection leaves is freed when it ends, not by the collector, which skips what was alive at a freeze."""

import asyncio
import gc
import socket
import struct
from collections import Counter
from types import SimpleNamespace

import pytest
import uvloop
from far_ends import Recorder, answer
from uvicorn.server import ServerState

from app.errors import AppError
from app.http.protocol.connection import ClientConnection
from app.runtime.gc_freeze import freeze_heap
from app.runtime.lanes.lane import Lane
from tests.support import parts

GET = b"GET /x HTTP/1.1\r\nHost: h\r\n\r\n"
POST = b"POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nbody"
AT_ONCE = struct.pack("ii", 1, 0)
"""SO_LINGER: closing resets the connection."""


async def slow(_scope, _receive, send):
    await asyncio.sleep(0.1)
    await answer(send, 200, b"")


async def large(_scope, _receive, send):
    await answer(send, 200, b"x" * 32 * 1024 * 1024)


async def whole(_scope, receive, send):
    """Read the body as the hot path does."""
    try:
        await receive.__self__.body(100)
    except AppError:
        await answer(send, 400, b"")


async def fails(_scope, _receive, _send):
    raise RuntimeError("as a mistake in the application does")


@pytest.fixture
def garbage():
    """What only the collector could free, since the test began."""
    gc.unfreeze()
    gc.collect()
    gc.disable()

    def found():
        gc.unfreeze()
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        kinds = Counter(f"{type(each).__module__}.{type(each).__qualname__}" for each in gc.garbage)
        return {kind: count for kind, count in kinds.items() if kind.startswith(("app.", "uvloop."))}

    yield found
    gc.set_debug(0)
    gc.garbage.clear()
    gc.enable()
    gc.freeze()  # as it was: no later test's collections walk through all that pytest has collected


async def end_of(application, sent, *, resets=False, lane=None):
    """A connection sends these bytes, is alive when the heap is frozen, and ends."""
    loop, reasons = asyncio.get_running_loop(), asyncio.Queue()
    state, shared = ServerState(), parts.connections(reasons.put_nowait, lane=lane)
    config = SimpleNamespace(loaded_app=application)
    server = await loop.create_server(lambda: ClientConnection(config, state, {}, shared=shared), "127.0.0.1", 0)
    with socket.create_connection(server.sockets[0].getsockname()) as client:
        await asyncio.sleep(0.02)
        freeze_heap()
        client.sendall(sent)
        await asyncio.sleep(0.02)
        freeze_heap()
        if resets:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, AT_ONCE)
    await asyncio.wait_for(reasons.get(), 10)
    await asyncio.gather(*state.tasks)
    server.close()
    await asyncio.sleep(0.01)


ENDS = {
    "silent": (Recorder(), b""),
    "half a head": (Recorder(), GET[:9]),
    "answered": (Recorder(), GET * 2),
    "half a body": (Recorder(), POST[:-2]),
    "answered with a body": (Recorder(), POST),
    "refused": (Recorder(), b"GET\r\n\r\n"),
    "broken off": (whole, POST[:-2]),
    "being answered": (slow, GET),
    "unread": (large, GET * 2),
    "failed": (fails, GET),
}
"""Where a connection can be when it ends."""


@pytest.mark.parametrize("resets", [False, True])
def test_a_connection_that_ends_leaves_nothing_to_the_collector(garbage, resets):
    """However it ends, and wherever it was. All have ended when the heap is searched: that is most of the work."""

    async def end_everywhere():
        for application, sent in ENDS.values():
            await end_of(application, sent, resets=resets)
        return garbage()

    assert uvloop.run(end_everywhere()) == {}


def test_a_connection_that_moves_leaves_nothing_to_the_collector(garbage):
    """Each call of the other lane moves it there, and the next of this one back."""
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with here, there:
        lane = Lane()
        lane.attach(here, is_fast=True)

        async def end_after_a_move():
            await end_of(Recorder(), GET, lane=lane)
            return garbage()

        assert uvloop.run(end_after_a_move()) == {}
        assert there.recv(1 << 16).endswith(GET)
