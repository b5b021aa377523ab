"""The far end of a connection, played by a test, which sends and receives bytes and lets time pass."""

import asyncio
from functools import partial
from types import SimpleNamespace

from uvicorn.server import ServerState

from app.http.application import build_application
from app.http.protocol.connection import ClientConnection
from tests.support import parts


class Clock:
    """The loop that a connection is given: tasks are the real loop's, time is the test's."""

    def __init__(self):
        self.now, self.timers = 1000.0, []

    def time(self):
        return self.now

    def create_task(self, coroutine):
        return asyncio.get_running_loop().create_task(coroutine)

    def call_at(self, when, callback):
        timer = SimpleNamespace(when=when, callback=callback)
        timer.cancel = lambda: timer in self.timers and self.timers.remove(timer)
        self.timers.append(timer)
        return timer

    def call_soon(self, callback):
        asyncio.get_running_loop().call_soon(callback)

    def call_later(self, seconds, callback, *arguments):
        return self.call_at(self.now + seconds, partial(callback, *arguments))

    def pass_time(self, seconds):
        """Run everything that is due by then, in order."""
        end = self.now + seconds
        while due := [each for each in self.timers if each.when <= end]:
            timer = min(due, key=lambda each: each.when)
            self.timers.remove(timer)
            self.now = max(self.now, timer.when)
            timer.callback()
        self.now = end


class Transport:
    """A stand-in for the socket. While `reads` is false it keeps everything, like a client that does not read."""

    def __init__(self, far_end):
        self.far_end = far_end
        self.written = b""
        self.held = 0
        self.closed = self.aborted = self.ended = self.paused = False
        self.reads = True
        self.socket = None

    def write(self, data):
        assert not self.closed, "written after the close"
        self.written += data
        if not self.reads:
            self.held += len(data)
            if self.held > 64 * 1024 and not self.far_end.is_full:
                self.far_end.is_full = True
                self.far_end.connection.pause_writing()

    def writelines(self, parts):
        for part in parts:
            self.write(part)

    def write_eof(self):
        self.ended = True

    def set_write_buffer_limits(self, high=64 * 1024):
        if self.held > high and not self.far_end.is_full:
            self.far_end.is_full = True
            self.far_end.connection.pause_writing()

    def get_write_buffer_size(self):
        return self.held

    def close(self):
        self.closed = True
        asyncio.get_running_loop().call_soon(self.far_end.connection.connection_lost, None)

    def abort(self):
        self.aborted = True
        self.close()

    def is_closing(self):
        return self.closed

    def get_extra_info(self, name):
        ends = {"peername": ("192.0.2.1", 1234), "sockname": ("127.0.0.1", 8080), "socket": self.socket}
        return ends.get(name)

    def pause_reading(self):
        self.paused = True

    def resume_reading(self):
        self.paused = False


class FarEnd:
    """A connection to `application`, or to Remit's own with `services` behind it."""

    def __init__(self, application=None, services=None, shared=None, socket=None, moved=None):
        if application is None:
            application = build_application(None)
            application.state.services = services
        config = SimpleNamespace(loaded_app=application)
        self.reasons = []
        self.shared = shared or parts.connections(self.reasons.append)
        self.server = ServerState()
        self.clock, self.transport = Clock(), Transport(self)
        self.transport.socket = socket
        self.connection = ClientConnection(config, self.server, {}, _loop=self.clock, shared=self.shared, moved=moved)
        self.is_full = False
        self._waiting = b""
        self.connection.connection_made(self.transport)

    @property
    def state(self):
        return self.connection.state.value

    async def send(self, data, piece=None):
        """Deliver the bytes in pieces of this size; unread bytes wait, as in a socket."""
        self._waiting += data
        while self._waiting and not self.transport.paused and not self.transport.closed:
            buffer = self.connection.get_buffer(-1)
            size = min(len(self._waiting), len(buffer), piece or len(buffer))
            buffer[:size] = self._waiting[:size]
            self._waiting = self._waiting[size:]
            self.connection.buffer_updated(size)
            await settle()
        await settle()

    async def flush(self):
        """Deliver what has waited, if it is wanted by now."""
        await self.send(b"")

    async def end(self):
        """Stop sending (SHUT_WR). The socket stays open if the protocol keeps it open."""
        if self.connection.eof_received() is False and not self.transport.closed:
            self.transport.close()
        await settle()

    async def read_all(self, goes_on=True):
        """Read all that is there, and then go on reading or stop."""
        self.transport.held, self.transport.reads = 0, goes_on
        if self.is_full:
            self.is_full = False
            self.connection.resume_writing()
        await settle()

    async def pass_time(self, seconds):
        await settle()
        self.clock.pass_time(seconds)
        await settle()

    @property
    def answers(self):
        """Status and body of every answer so far."""
        found, left = [], self.transport.written
        while left:
            head, _, left = left.partition(b"\r\n\r\n")
            fields = dict(line.split(b": ", 1) for line in head.split(b"\r\n")[1:])
            if b"transfer-encoding" in fields:
                body = b""
                while size := int(left.split(b"\r\n", 1)[0], 16):
                    left = left.split(b"\r\n", 1)[1]
                    body, left = body + left[:size], left[size + 2 :]
                left = left[5:]
            else:
                length = int(fields.get(b"content-length", 0))
                body, left = left[:length], left[length:]
            found.append((int(head.split()[1]), fields, body))
        return found

    @property
    def statuses(self):
        return [status for status, _, _ in self.answers]


async def settle():
    """Wait until every task has run as far as it can."""
    for _ in range(12):
        await asyncio.sleep(0)


class Recorder:
    """An application that reads every request to its end, remembers it, and answers with its number."""

    def __init__(self):
        self.requests = []

    async def __call__(self, scope, receive, send):
        body = b""
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return await answer(send, 400, b"")
            body += message["body"]
            if not message["more_body"]:
                break
        self.requests.append(
            (scope["method"].encode(), scope["raw_path"], scope["query_string"], scope["headers"], body)
        )
        return await answer(send, 200, b"%d" % len(self.requests))


async def answer(send, status, body):
    """A whole answer, as an application gives it."""
    headers = [(b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
