"""The two processes of a replica: the fast lane answers calls that take no time, the slow lane everything else.

The fast lane accepts all connections. A connection whose next request belongs in the other lane moves there: its socket
is sent over a Unix socket (SCM_RIGHTS, unix(7)), with the bytes already read. No request is answered on
behalf of the other lane, and nothing that the slow lane does takes the interpreter's lock or the loop from a call.

Either lane can answer any request. A lane whose other lane is missing or about to end keeps all connections.
"""

import asyncio
import contextlib
import errno
import fcntl
import logging
import socket
import struct
import termios
import time
from collections import deque
from collections.abc import Callable
from enum import IntEnum, StrEnum
from typing import Final, NamedTuple

log = logging.getLogger(__name__)
MESSAGE_BYTES: Final = 192 * 1024
"""The most bytes that move with a connection; a socket's default send buffer takes a little more."""

AGAIN_SECONDS: Final = 0.002
"""Seconds between attempts while the other lane is busy."""

STRANGERS_BYTES: Final = 8 * 1024
"""A stranger's connection moves only while less waits for the other lane; one counts about a kilobyte, all hold 280."""

_AT_ONCE = 16
_header = struct.Struct("<q")
_DESCRIPTORS = socket.CMSG_SPACE(struct.calcsize("i"))
_number = struct.Struct("i")


class MoveToSlowLane(BaseException):
    """The call belongs in the slow lane. Nothing has been decided, so it can be answered there from the beginning.

    It is not an Exception, because it is not a failure, and handlers of failures must not answer it.
    """


class Message(IntEnum):
    """The kinds of messages to the other lane, sent in place of a request's time of arrival."""

    ASKS_READINESS = -1
    TELLS_READINESS = -2
    KEYS_HAVE_WORKED = -3
    ASKS_FOR_KEYS = -4


class MoveResult(StrEnum):
    """The result of trying to move a connection."""

    MOVED = "moved"
    BUSY = "busy"
    """The other lane has not taken the earlier ones yet."""
    ALONE = "alone"
    """The other lane takes no more connections."""
    TOO_LARGE = "too large"
    """The bytes already read do not fit into a message."""


class MovedConnection(NamedTuple):
    """A connection from the other lane.

    request: its next request, or the first bytes of it. arrived_us: when the request arrived, by the machine's
    monotonic clock; 0 if that was not noted.
    """

    connection: socket.socket
    request: bytes
    arrived_us: int


class Lane:
    """This process's end of the channel between the lanes. Without a channel it is alone and keeps everything."""

    def __init__(self, count: Callable[[bool], None] = lambda _to_fast: None) -> None:
        """count: called for each connection that has been sent; its argument is True if it went to the fast lane."""
        self._count = count
        self.is_fast = True
        self.is_alone = True
        self.can_hand_over = False
        self._channel: socket.socket | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._buffer = bytearray()
        self._receivers: dict[int, Callable[[bytes], None]] = {}
        self._lost, self._says_lost_at = 0, 0.0
        self._waiting: dict[bool, deque[Callable[[], None]]] = {True: deque(), False: deque()}
        self._is_waiting = False

    def attach(self, channel: socket.socket, *, is_fast: bool, can_hand_over: bool = True) -> None:
        """Be one of two lanes from now on.

        channel: one end of a pair of SOCK_SEQPACKET. can_hand_over: a call that turns out to take long may still
        move.
        """
        channel.setblocking(False)
        self._channel, self.is_fast, self.is_alone = channel, is_fast, False
        self.can_hand_over = can_hand_over and is_fast
        self._buffer = bytearray(MESSAGE_BYTES)

    def require_short(self) -> None:
        """In the fast lane, raise MoveToSlowLane: what follows is for the slow lane, as long as there is one."""
        if self.can_hand_over and not self.is_alone:
            raise MoveToSlowLane

    def send(self, connection: int, request: bytes, arrived_us: int, *, goes_first: bool = True) -> MoveResult:
        """Send the socket to the other lane. If it has MOVED, close it here: it stays open there.

        goes_first: its client is known. All others have a small share of what can wait for the other lane.
        """
        if self._channel is None or self.is_alone:
            return MoveResult.ALONE
        if len(request) + _header.size > MESSAGE_BYTES:
            return MoveResult.TOO_LARGE
        if not goes_first and self._unread_bytes(self._channel) > STRANGERS_BYTES:
            return MoveResult.BUSY
        try:
            socket.send_fds(self._channel, [_header.pack(arrived_us), request], [connection])
        except BlockingIOError:
            return MoveResult.BUSY
        except OSError as error:
            if error.errno in {errno.ENOBUFS, errno.ENOMEM, errno.ETOOMANYREFS}:
                return MoveResult.BUSY
            if error.errno not in {errno.EPIPE, errno.ECONNRESET}:
                log.warning("no connection can be sent to the other lane (%s); this one answers them", error)
            self.is_alone = True
            return MoveResult.ALONE
        self._count(not self.is_fast)
        return MoveResult.MOVED

    def send_message(self, message: Message, text: bytes = b"") -> None:
        """Best effort: the message is lost if the other lane is busy or gone."""
        if self._channel is not None and not self.is_alone:
            with contextlib.suppress(OSError):
                self._channel.send(_header.pack(message) + text)

    def on_message(self, message: Message, receive: Callable[[bytes], None]) -> None:
        """Call `receive` with the text of each such message from the other lane."""
        self._receivers[message] = receive

    @staticmethod
    def _unread_bytes(channel: socket.socket) -> int:
        """The memory of what the other lane has not read yet (SIOCOUTQ, unix(7))."""
        (unread,) = _number.unpack(fcntl.ioctl(channel, termios.TIOCOUTQ, bytes(_number.size)))
        return int(unread)

    def wait(self, loop: asyncio.AbstractEventLoop, send_again: Callable[[], None], *, goes_first: bool = True) -> None:
        """Call `send_again` when it is this connection's turn, in the order in which they began to wait.

        goes_first: as `send` has it.
        """
        self._waiting[goes_first].append(send_again)
        if not self._is_waiting:
            self._is_waiting = True
            loop.call_later(AGAIN_SECONDS, self._send_waiting, loop)

    def _send_waiting(self, loop: asyncio.AbstractEventLoop) -> None:
        """Send until the other lane is busy again; one timer for all, however many wait."""
        self._is_waiting = False
        for goes_first in (True, False):
            waiting, self._waiting[goes_first] = self._waiting[goes_first], deque()
            for _ in range(_AT_ONCE):
                if not waiting or self._waiting[goes_first]:
                    break
                waiting.popleft()()
            if waiting:
                self.wait(loop, waiting.popleft(), goes_first=goes_first)
                self._waiting[goes_first].extend(waiting)

    def listen(self, loop: asyncio.AbstractEventLoop, adopt: Callable[[MovedConnection], None]) -> None:
        """Call `adopt` with each connection that the other lane sends."""
        if self._channel is not None:
            self._loop = loop
            loop.add_reader(self._channel, self._receive, adopt)

    def close(self, adopt: Callable[[MovedConnection], None]) -> None:
        """Adopt the connections on their way; from then on, each lane keeps its own."""
        self.is_alone = True
        if self._channel is not None and self._loop is not None:
            self._loop.remove_reader(self._channel)
            self._loop = None
            self._channel.shutdown(socket.SHUT_RD)
            while (moved := self._next()) is not None:
                adopt(moved)

    def _receive(self, adopt: Callable[[MovedConnection], None]) -> None:
        for _ in range(_AT_ONCE):
            moved = self._next()
            if moved is None:
                return
            adopt(moved)

    def _next(self) -> MovedConnection | None:
        """The next connection, or None if none is waiting."""
        channel = self._channel
        while channel is not None:
            try:
                size, ancillary, _, _ = channel.recvmsg_into([self._buffer], _DESCRIPTORS)
            except OSError:
                return None
            if not size:
                return None
            data = bytes(memoryview(self._buffer)[:size])
            (arrived_us,) = _header.unpack_from(data)
            if arrived_us < 0:
                self._receivers[arrived_us](data[_header.size :])
                continue
            for level, kind, descriptors in ancillary:
                if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                    (descriptor,) = struct.unpack_from("i", descriptors)
                    return MovedConnection(socket.socket(fileno=descriptor), data[_header.size :], arrived_us)
            self._count_lost()
        return None

    def _count_lost(self) -> None:
        """A connection was closed because this process may open no more files; say so at most once a second."""
        self._lost += 1
        now = time.monotonic()
        if now >= self._says_lost_at:
            log.warning("connections from the other lane were closed, %d in all: no more files may be open", self._lost)
            self._says_lost_at = now + 1.0
