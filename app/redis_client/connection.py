"""A single connection for decisions."""

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from typing import Any, cast

import hiredis

from app.errors import StoreUnavailable
from app.redis_client.packed_call import NoScript
from app.redis_client.replies import StoreAway

log = logging.getLogger(__name__)
AWAY = "The store cannot be reached; nothing was decided"
GONE = "The store did not answer in time; whether the decision was recorded is not known"
_FULL = "ERR max number of clients reached"
_HEAD_START = 16
"""If the store is idle, this many commands are sent early, so that it works on them during the rest of the tick.

A write costs a fifth of a decision, so it does not pay for fewer commands.
"""


class NoConnection(StoreAway):
    """There is no connection to the store, or it was lost: unlike a store that is loading, this one says nothing."""


class Connection(asyncio.Protocol):
    """One connection: a buffer of commands, a queue of futures, a reader of replies.

    timeout_s: a call without a reply for this long fails, and the connection with it.
    written: called with the number of commands sent in each write.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, timeout_s: float, written: Callable[[int], None]) -> None:
        self._loop = loop
        self._written = written
        self._timeout_s = timeout_s
        self._reader = hiredis.Reader(encoding="utf-8", errors="surrogateescape", notEnoughData=_NOTHING)
        self._buffer: list[bytes] = []
        self._waiting: deque[tuple[float, asyncio.Future[Any]]] = deque()
        self._late: asyncio.Future[Any] | None = None
        self._transport: asyncio.Transport | None = None
        self._watch: asyncio.TimerHandle | None = None
        self.made_at = loop.time()
        self.lost = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._watch = self._loop.call_later(self._timeout_s, self._check_deadline)

    def send(self, command: bytes) -> asyncio.Future[Any]:
        """The future of the command's reply. Commands of one tick of the loop are sent in one write, or in two."""
        if self.lost.is_set():
            raise NoConnection(AWAY)
        future: asyncio.Future[Any] = self._loop.create_future()
        if not self._buffer:
            self._loop.call_soon(self._flush)
        self._buffer.append(command)
        self._waiting.append((self._loop.time(), future))
        if len(self._buffer) == _HEAD_START == len(self._waiting):
            self._flush()
        return future

    def _flush(self) -> None:
        commands, self._buffer = self._buffer, []
        if self._transport is not None and commands:
            self._transport.write(commands[0] if len(commands) == 1 else b"".join(commands))
            self._written(len(commands))

    def data_received(self, data: bytes) -> None:
        reader, waiting = self._reader, self._waiting
        try:
            reader.feed(data)
            while (reply := reader.gets()) is not _NOTHING:
                _, future = waiting.popleft()
                if future.done():
                    continue  # its caller gave up, but the reply must be consumed, or the next call would get it
                if isinstance(reply, hiredis.ReplyError):
                    self._refuse(future, reply)
                else:
                    future.set_result(reply)
        except (hiredis.ProtocolError, IndexError, MemoryError):
            log.exception("the store broke the protocol; the connection is closed")
            self.close()

    def connection_lost(self, error: Exception | None) -> None:
        if self._watch is not None:
            self._watch.cancel()
        self._transport = None
        self.lost.set()
        while self._waiting:
            _fail(self._waiting.popleft()[1], NoConnection(GONE))
        if error is not None:
            log.warning("lost the connection to the store: %s", type(error).__name__)

    def close(self) -> None:
        """Close without waiting for the other side; every unanswered call fails."""
        if self._transport is not None:
            self._transport.abort()

    def _refuse(self, future: asyncio.Future[Any], reply: hiredis.ReplyError) -> None:
        code = str(reply).partition(" ")[0]
        if code == "NOSCRIPT":
            _fail(future, NoScript("The store does not know a script of ours"))
            return
        # The error's text may contain arguments, so only its code is shown.
        shown = code if code.isupper() else "an error without a code"
        passes = code == "LOADING" or str(reply) == _FULL
        kind = StoreAway if passes else StoreUnavailable
        _fail(future, kind(f"The store refused the command ({shown}); nothing was decided"))
        if code == "READONLY":
            log.warning("the store has become a replica; reconnecting")
            self.close()

    def _check_deadline(self) -> None:
        # One timer for all: replies come in order, so the oldest call is the first to be late.
        sent_at, oldest = self._waiting[0] if self._waiting else (self._loop.time(), None)
        left_s = sent_at + self._timeout_s - self._loop.time()
        if left_s <= 0 and oldest is self._late:
            log.warning("the store has been silent for %.0f ms; reconnecting", self._timeout_s * 1000)
            self.close()
            return
        # The loop itself may be late: the socket is read once more before a call is given up.
        self._late = oldest if left_s <= 0 else None
        self._watch = self._loop.call_later(max(left_s, 0.001), self._check_deadline)


_NOTHING = object()


def _fail(future: asyncio.Future[Any], error: StoreUnavailable) -> None:
    """Fail the future if it is still pending."""
    if not future.done():
        future.set_exception(error)
        future.exception()
