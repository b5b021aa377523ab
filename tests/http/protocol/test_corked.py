"""Answers leave in one write."""

import asyncio

from app.http.protocol.corked import CorkedTransport


class Recorder:
    """Stands for the socket: what was written, in which pieces."""

    def __init__(self):
        self.written = []
        self.closed = False

    def write(self, data):
        assert not self.closed, "written after the close"
        self.written.append(data)

    def close(self):
        self.closed = True

    def is_closing(self):
        return self.closed


async def test_what_is_written_in_one_tick_leaves_in_one_write():
    """Head and body are one system call."""
    socket = Recorder()
    corked = CorkedTransport(socket, asyncio.get_running_loop())

    corked.write(b"head ")
    corked.write(b"body")
    assert socket.written == []
    await asyncio.sleep(0)

    assert socket.written == [b"head body"]


async def test_closing_writes_first_what_is_held():
    """A last answer before `connection: close` is not lost."""
    socket = Recorder()
    corked = CorkedTransport(socket, asyncio.get_running_loop())

    corked.write(b"last")
    corked.close()
    await asyncio.sleep(0)

    assert socket.written == [b"last"]
    assert corked.is_closing()
