"""One request and its answer: `body` and `finish` for the hot path, `receive` and `send` for ASGI."""

import asyncio
import logging
import re
from http import HTTPStatus
from typing import Any, Final, NamedTuple, Protocol, cast
from urllib.parse import unquote

from app.errors import AppError, Invalid
from app.http.answers import Header, RawResponse
from app.http.bodies import ANY_LENGTH, too_large
from app.http.hot_path import Door
from app.http.open_streams import HALF_CLOSED, OPEN_STREAM
from app.http.problems import error_answer, unexpected
from app.http.protocol.body import ChunkedBody, SizedBody
from app.http.protocol.head import CHUNKED, RequestHead
from app.http.protocol.states import REST_BYTES

log = logging.getLogger(__name__)
CONTINUE: Final = b"HTTP/1.1 100 Continue\r\n\r\n"
_BODILESS = frozenset({204, 304})
_breaks_a_line = re.compile(rb"[\r\n\0]").search
STATUS_LINES: Final = {status.value: b"HTTP/1.1 %d %b\r\n" % (status, status.phrase.encode()) for status in HTTPStatus}
CLOSE: Final = b"connection: close\r\n"
_absolute = re.compile(rb"https?://[^/?]*([^?]*)(?:\?(.*))?", re.IGNORECASE).fullmatch


class ExchangeOwner(Protocol):
    """The connection, as its exchange sees it.

    want_body: more of the body. keeps_open: whether another request may follow this one. common_headers: those of every
    answer. answered: the answer is complete. move: the other lane is to answer this request. abort: the answer cannot
    be completed.
    """

    outgoing: "Outgoing"

    def want_body(self) -> None: ...
    def keeps_open(self, exchange: "Exchange") -> bool: ...
    def common_headers(self) -> bytes: ...
    def answered(self) -> None: ...
    def move(self, head: RequestHead, request: bytes, arrived_us: int) -> None: ...
    def abort(self, reason: str) -> None: ...


class Exchange:
    """A request, arriving or complete, and what has been sent of its answer.

    received: body bytes not taken yet. taken: the body, once the hot path has it. is_complete: all of the body has
    arrived. error: why it never will. owed: announced bytes of the answer not yet handed to the connection. scope: the
    ASGI scope; a call of the hot path has a door instead. arrived_us: when a call arrived, by the monotonic clock.
    """

    received: bytes | bytearray = b""
    taken = b""
    arrived_us = 0
    is_complete = is_started = is_answering = is_answered = is_gone = keep_alive = False
    error: AppError | None = None
    owed = 0
    task: asyncio.Task[None]
    _framing: SizedBody | ChunkedBody | None = None
    _waiter: asyncio.Future[None] | None = None
    _was_asked = _was_told_all = _is_chunked = _is_open_ended = False
    _unsent_head = b""

    def __init__(
        self, owner: ExchangeOwner, head: RequestHead, peer: str | None, scope: dict[str, Any] | None, door: Door | None
    ) -> None:
        self._owner = owner
        self.head = head
        self.headers = head.headers
        self.peer = peer
        self.scope = scope
        self.door = door

    def feed(self, data: bytes) -> bytes:
        """Take the bytes that belong to the body; return those that follow it. Raises Invalid or HeadTooLarge."""
        length = self.head.length
        if self._framing is None:
            if 0 <= length <= len(data):
                self.received, self.is_complete = data[:length], True
                return data[length:]
            self.received = bytearray()
            self._framing = ChunkedBody(len(self.head.raw)) if length == CHUNKED else SizedBody(length)
        after = self._framing.feed(data, cast("bytearray", self.received))
        self.is_complete = self._framing.is_complete
        return after

    def drop_received(self) -> None:
        """Drop the received bytes, which will not be used."""
        if self.received:
            self.received = bytearray()

    @property
    def is_wanted(self) -> bool:
        """True if a task is waiting for more of the body."""
        return self._waiter is not None

    @property
    def rest_is_short(self) -> bool:
        """True if so little of the body is missing that it can be waited for after the answer."""
        if self.is_complete:
            return True
        return self.error is None and self._framing is not None and self._framing.left <= REST_BYTES

    @property
    def is_long(self) -> bool:
        """True if its answer is a stream or an export, for which a stopping replica does not wait."""
        return self.scope is not None and OPEN_STREAM in self.scope["state"]

    def wake(self) -> None:
        """Note that more has arrived, or never will."""
        waiter, self._waiter = self._waiter, None
        if waiter is not None and not waiter.done():
            waiter.set_result(None)

    def break_off(self, error: AppError) -> None:
        """Note that nothing more of the body will arrive."""
        self.error = error
        self.wake()

    def end_requests(self) -> None:
        """Note that the client has closed its sending side, and may be gone."""
        if self.scope is not None:
            self.scope["extensions"][HALF_CLOSED].set()

    def lose(self) -> None:
        """Note that the client is gone: nothing more arrives or is sent."""
        self.is_gone = True
        self.break_off(Invalid.at("$", "the body ended before it was complete"))

    @property
    def most(self) -> int:
        """The size of the body if it is complete or announced; otherwise more than any body may have."""
        return len(self.received) if self.is_complete else self.head.length if self.head.length >= 0 else ANY_LENGTH

    async def body(self, max_bytes: int) -> bytes:
        """The whole body. Raises PayloadTooLarge as soon as it is too large, or the error that broke it off."""
        while not self.is_complete:
            if self.error is not None:
                raise self.error
            if max(len(self.received), self.head.length) > max_bytes:
                raise too_large(max_bytes)
            await self._more()
        if len(self.received) > max_bytes:
            raise too_large(max_bytes)
        whole = self.taken = bytes(self.received)
        self.drop_received()
        return whole

    async def receive(self) -> dict[str, Any]:
        """ASGI receive: the next part of the body, then nothing until the client is gone or the answer complete."""
        while self._was_told_all or not (self.received or self.is_complete):
            if self.is_answered or self.error is not None:
                return {"type": "http.disconnect"}
            await self._more()
        part = bytes(self.received)
        self.drop_received()
        self._was_told_all = self.is_complete
        return {"type": "http.request", "body": part, "more_body": not self._was_told_all}

    async def _more(self) -> None:
        if self.head.expects and not (self._was_asked or self.is_answering or self.received or self.is_complete):
            self._owner.outgoing.write(CONTINUE)
        self._was_asked = True
        self._waiter = asyncio.get_running_loop().create_future()
        self._owner.want_body()
        await self._waiter

    def finish(self, answer: RawResponse) -> None:
        """Send the whole answer in one write."""
        if self.is_gone:
            return
        self._begin()
        if self.head.method == b"HEAD":
            answer = answer._replace(headers=[*answer.headers, (b"content-length", b"%d" % len(answer.body))], body=b"")
        self._owner.outgoing.write(encode_answer(answer, self._owner.common_headers(), keep_alive=self.keep_alive))
        self._end()

    async def send(self, message: Any) -> None:
        """ASGI send: a part of the answer. It returns when the client has read enough of the earlier parts."""
        await self._owner.outgoing.drain()
        if self.is_gone:
            # An application that sends without ever awaiting must not block the loop.
            await asyncio.sleep(0)
            return
        kind = message["type"]
        if kind == "http.response.start" and not self.is_answering:
            self._unsent_head = self._head_of(message["status"], message.get("headers", ()))
        elif kind == "http.response.body" and self.is_answering and not self.is_answered:
            self._send_body(message.get("body", b""), is_last=not message.get("more_body", False))
        else:
            raise RuntimeError(f"{kind} is not possible now")

    def _begin(self) -> None:
        self.is_answering = True
        self.keep_alive = self._owner.keeps_open(self)

    def _head_of(self, status: int, headers: list[Header]) -> bytes:
        self._begin()
        parts = [STATUS_LINES[status], self._owner.common_headers(), b"" if self.keep_alive else CLOSE]
        has_length = False
        for raw_name, value in headers:
            if _breaks_a_line(raw_name) or _breaks_a_line(value):
                raise RuntimeError("a header of the answer contains a line break")
            name = raw_name.lower()
            if name in {b"connection", b"transfer-encoding"}:
                continue  # this decides the framing of the answer
            if name == b"content-length":
                has_length, self.owed = True, int(value)
            parts += (name, b": ", value, b"\r\n")
        if self.head.method == b"HEAD" or status in _BODILESS:
            self.owed = 0
        elif not has_length and self.head.minor:
            self._is_chunked = True
            parts.append(b"transfer-encoding: chunked\r\n")
        else:
            self._is_open_ended = not has_length  # HTTP/1.0: the answer ends with the connection
        return b"".join((*parts, b"\r\n"))

    def _send_body(self, body: bytes, *, is_last: bool) -> None:
        parts: list[bytes] = [self._unsent_head]
        if self.head.method == b"HEAD":
            pass
        elif self._is_chunked:
            parts += (b"%x\r\n" % len(body), body, b"\r\n") if body else ()
            parts += (b"0\r\n\r\n",) if is_last else ()
        else:
            parts.append(body)
            self._count(len(body), is_last=is_last)
        self._unsent_head = b""
        self._owner.outgoing.write(*parts)
        if is_last:
            self._end()

    def _count(self, size: int, *, is_last: bool) -> None:
        if self._is_open_ended:
            return
        self.owed -= size
        if self.owed < 0 or (is_last and self.owed):
            raise RuntimeError("the answer does not have the Content-Length that it announces")

    def _end(self) -> None:
        self.is_answered = True
        self.owed = 0
        self.wake()
        self._owner.answered()

    def move(self) -> None:
        """Hand the whole call to the other lane, including what has been read of it."""
        self._owner.move(self.head, self.head.rebuilt(self.taken), self.arrived_us)

    def fail(self, error: Exception) -> None:
        """Log the exception, and answer if nothing has been sent yet."""
        problem = unexpected(error)
        if self.is_answered or self.is_gone:
            return
        if self._unsent_head or not self.is_answering:
            self._unsent_head, self._is_chunked = b"", False
            self.finish(error_answer(problem))
        else:
            self._owner.abort("failed")


class Outgoing:
    """The writing half of a connection. It is full while more than 64 KiB, the high-water mark, are buffered."""

    __slots__ = ("_room", "_transport", "is_full")

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._room: asyncio.Event | None = None
        self.is_full = False

    def write(self, *parts: bytes) -> None:
        """Write the bytes; if the connection is closed, drop them."""
        if self._transport.is_closing():
            return
        if len(parts) == 1:
            self._transport.write(parts[0])
        else:
            self._transport.writelines([part for part in parts if part])

    async def drain(self) -> None:
        """Wait until there is room, or the connection is closed."""
        if self._room is not None:
            await self._room.wait()

    def fill(self) -> None:
        """Note that the client does not read."""
        self.is_full = True
        self._room = self._room or asyncio.Event()
        self._room.clear()

    def make_room(self) -> None:
        """Note that the client has read, or is gone."""
        self.is_full = False
        if self._room is not None:
            self._room.set()


def encode_answer(answer: RawResponse, common_headers: bytes, *, keep_alive: bool) -> bytes:
    """The bytes of a complete answer. common_headers: the headers of every answer, encoded."""
    parts = [STATUS_LINES[answer.status], common_headers]
    for name, value in answer.headers:
        parts += (name, b": ", value, b"\r\n")
    if not keep_alive:
        parts.append(CLOSE)
    if answer.body:
        parts.append(b"content-length: %d\r\n" % len(answer.body))
    parts += (b"\r\n", answer.body)
    return b"".join(parts)


class Ends(NamedTuple):
    """The two ends of a connection: address and port, None where unknown."""

    client: tuple[str, int] | None
    server: tuple[str, int] | None

    @classmethod
    def of(cls, transport: asyncio.BaseTransport) -> "Ends":
        return cls(_end(transport.get_extra_info("peername")), _end(transport.get_extra_info("sockname")))

    @property
    def peer(self) -> str | None:
        return None if self.client is None else self.client[0]


def _end(name: Any) -> tuple[str, int] | None:
    return (str(name[0]), int(name[1])) if isinstance(name, tuple) else None


def scope_of(head: RequestHead, ends: Ends, state: dict[str, Any]) -> dict[str, Any]:
    """The ASGI scope of a request. Raises Invalid if the target is malformed."""
    raw_path, query = split_target(head)
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1" if head.minor else "1.0",
        "method": head.method.decode(),
        "scheme": "http",
        "path": unquote(raw_path.decode()),
        "raw_path": raw_path,
        "query_string": query,
        "root_path": "",
        "headers": list(head.headers),
        "client": ends.client,
        "server": ends.server,
        "state": state.copy(),
        "extensions": {HALF_CLOSED: asyncio.Event()},
    }


def split_target(head: RequestHead) -> tuple[bytes, bytes]:
    """The path of a request as written, and its query (RFC 9112, section 3.2). Raises Invalid."""
    target = head.target
    if head.method == b"CONNECT":
        raise Invalid.at("HTTP", "CONNECT asks for a tunnel, and there is none here")
    if target.startswith(b"/"):
        raw_path, _, query = target.partition(b"?")
        return raw_path, query
    if match := _absolute(target):
        return match[1] or b"/", match[2] or b""
    if target == b"*" and head.method == b"OPTIONS":
        return target, b""
    raise Invalid.at("HTTP", "the target of a request is a path, or a URL that begins with http://")
