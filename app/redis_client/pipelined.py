"""The decisions' client of the store: one connection, the commands of a tick written together, replies in order.

redis-py costs a replica 40 us of its core for every command, this about 5 (measured by bench/). It never retries: a
command that got no reply may have run, and a decision that runs twice takes two calls from a quota. So the caller gets
503 and chooses.
"""

import asyncio
import logging
import random
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Any, cast

import hiredis
from redis.asyncio import Connection as RedisConnection
from redis.asyncio import SSLConnection, UnixDomainSocketConnection
from redis.asyncio.connection import parse_url

from app.errors import StoreUnavailable
from app.redis_client.client import Value
from app.redis_client.packed_call import NoScript, PackedCall, pack
from app.redis_client.replies import StoreAway
from app.redis_client.scripts import Script
from app.redis_client.tls import require_same_kind, tls_context, tls_fault

log = logging.getLogger(__name__)
AWAY = "The store cannot be reached; nothing was decided"
GONE = "The store did not answer in time; whether the decision was recorded is not known"
_REDIRECTIONS = frozenset({"MOVED", "ASK", "TRYAGAIN"})
_FULL = "ERR max number of clients reached"
_HEAD_START = 16
"""If the store is idle, this many commands are sent early, so that it works on them during the rest of the tick.

A write costs a fifth of a decision, so it does not pay for fewer commands.
"""
_BACKOFF_S = (0.01, 0.02, 0.05, 0.1, 0.25, 0.5)
_SETTLED_S = 1.0
"""A connection that lasted this long was sound; a shorter one counts as a failed attempt."""
_NOTHING = object()


class NoConnection(StoreAway):
    """There is no connection to the store, or it was lost: unlike a store that is loading, this one says nothing."""


class Redirected(StoreUnavailable):
    """A node of a cluster refuses a command because its slot is, or is about to be, elsewhere; it has not run.

    kind: MOVED, ASK or TRYAGAIN. to: slot and node, as the node names them.
    """

    def __init__(self, kind: str, to: str) -> None:
        super().__init__("The key's slot of the cluster is moving; nothing was decided")
        self.kind, self.to = kind, to


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
        code, _, rest = str(reply).partition(" ")
        if code == "NOSCRIPT":
            _fail(future, NoScript("The store does not know a script of ours"))
            return
        if code in _REDIRECTIONS:
            _fail(future, Redirected(code, rest))
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


def _fail(future: asyncio.Future[Any], error: StoreUnavailable) -> None:
    """Fail the future if it is still pending."""
    if not future.done():
        future.set_exception(error)
        future.exception()


class PipelinedClient:
    """A lasting connection that reconnects by itself; while it is down, every call fails at once.

    Invariant: replies come in the order of the commands, so every future that was sent stays in the queue until its
    reply has been read, even if its caller has given up. Anything that breaks the order closes the connection.

    url: the server's, or a function that is called for it before every connection, for a master that moves.
    timeout_ms: a call without a reply for this long fails, and the connection with it.
    scripts: loaded on every new connection. written: called with the number of commands sent in each write.
    sleep: waits for some seconds; for tests.
    """

    def __init__(
        self,
        url: str | Callable[[], Awaitable[str]],
        timeout_ms: int,
        scripts: Sequence[Script] = (),
        *,
        written: Callable[[int], None] = lambda _commands: None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._url = url
        self._timeout_s = timeout_ms / 1000
        self._scripts = scripts
        self._written = written
        self._sleep = sleep
        self._connection: Connection | None = None
        self._task: asyncio.Task[None] | None = None
        self._may_connect = asyncio.Event()
        self._may_connect.set()
        self._old: Connection | None = None

    async def open(self, *, required: bool = True) -> None:
        """Connect; from then on it reconnects by itself. Raises StoreUnavailable if the store cannot be reached.

        required: if False, it does not raise; calls fail until there is a connection.
        """
        try:
            self._connection = await self._connect()
        except StoreUnavailable as error:
            if required:
                if isinstance(error, NoConnection):
                    await self._require_same_kind()
                raise
            log.warning("no store yet: %s", error)
        self._task = asyncio.create_task(self._keep())

    async def close(self) -> None:
        """Close the connection for good; pending calls fail."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()
            await connection.lost.wait()

    def pause(self) -> None:
        """Send nothing more to this master; answers to earlier commands still arrive."""
        self._may_connect.clear()
        self._old, self._connection = self._connection or self._old, None

    def resume_on_new_master(self) -> None:
        """Connect to the current master; calls that another one has not answered fail."""
        old, self._old = self._old or self._connection, None
        self._may_connect.set()
        if old is not None:
            old.close()

    def call(self, *args: Value) -> asyncio.Future[Any]:
        """The reply of one command, to be awaited. Error replies are raised as StoreUnavailable."""
        return self.send(pack(args))

    def prepare(self, script: Script, keys: Sequence[str], per_call: int, fixed: Sequence[Value]) -> PackedCall:
        """A reusable call of a script; its last arguments are fixed."""
        return PackedCall(self.send, script, keys, per_call, fixed)

    async def reset_connections(self) -> None:
        """Open a new connection: a reply did not match its command, so any reply on this one may be wrong."""
        if self._connection is not None:
            self._connection.close()

    def send(self, command: bytes) -> asyncio.Future[Any]:
        """The reply of one command in the wire format."""
        if self._connection is None:
            raise NoConnection(AWAY)
        return self._connection.send(command)

    async def _keep(self) -> None:
        """Reconnect whenever the connection is lost: at once if it was sound, otherwise after a growing pause.

        The pauses protect a store that accepts connections and drops them. Half of each is random, so that replicas do
        not all reconnect at the same moment.
        """
        loop = asyncio.get_running_loop()
        failures = 0
        while True:
            if (connection := self._connection or self._old) is not None:
                await connection.lost.wait()
                if loop.time() - connection.made_at >= _SETTLED_S:
                    failures = 0
                self._connection = self._old = None
            if failures:
                longest_s = _BACKOFF_S[min(failures, len(_BACKOFF_S)) - 1]
                await self._sleep(longest_s * random.uniform(0.5, 1))  # noqa: S311 - it spreads, it hides nothing
            failures += 1
            await self._may_connect.wait()
            try:
                self._connection = await self._connect()
                log.info("connected to the store again")
            except StoreUnavailable as error:
                log.debug("still no store: %s", error)
            except Exception:  # a connection that stopped trying would mean 503 for ever
                log.exception("unexpected failure to connect to the store")

    async def _connect(self) -> Connection:
        """A connection that is logged in and has loaded the scripts."""
        try:
            async with asyncio.timeout(max(self._timeout_s, 1.0)):
                kind, options = await self._options()
                connection = await _open_connection(kind, options, self._timeout_s, self._written)
                try:
                    for command in (*_login(options), *(("SCRIPT", "LOAD", each.text) for each in self._scripts)):
                        await connection.send(pack(command))
                except BaseException:
                    connection.close()
                    raise
        except (OSError, TimeoutError) as error:
            fault = tls_fault(error)
            raise (NoConnection(AWAY) if fault is None else StoreUnavailable(fault)) from error
        return connection

    async def _options(self) -> tuple[type[RedisConnection], dict[str, Any]]:
        """The kind of the connection and its options: redis-py reads the URL and builds the TLS context."""
        options = dict(parse_url(self._url if isinstance(self._url, str) else await self._url()))
        return cast("type[RedisConnection]", options.pop("connection_class", RedisConnection)), options

    async def _require_same_kind(self) -> None:
        kind, options = await self._options()
        if not issubclass(kind, UnixDomainSocketConnection):
            await require_same_kind(options, tls_context(options) if issubclass(kind, SSLConnection) else None)


async def _open_connection(
    kind: type[RedisConnection], options: dict[str, Any], timeout_s: float, written: Callable[[int], None]
) -> Connection:
    loop = asyncio.get_running_loop()

    def made() -> Connection:
        return Connection(loop, timeout_s, written)

    if issubclass(kind, UnixDomainSocketConnection):
        _, connection = await loop.create_unix_connection(made, options["path"])
        return connection
    context = tls_context(options) if issubclass(kind, SSLConnection) else None
    host, port = options.get("host", "localhost"), options.get("port", 6379)
    _, connection = await loop.create_connection(made, host, port, ssl=context)
    return connection


def _login(options: Mapping[str, Any]) -> Iterator[tuple[Value, ...]]:
    """The first commands of a new connection: login, name and database."""
    username, password = options.get("username"), options.get("password")
    if username or password:
        yield ("AUTH", *([username] if username else []), password or "")
    if options.get("db"):
        yield "SELECT", int(options["db"])
