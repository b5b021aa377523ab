"""The decisions' way to the store: one connection, commands of one tick written together, replies in order.

redis-py costs a replica 40 us of its core for every command, this about 5 (design measurement; bench/ repeats
it). What it does not do: retry. A command that was sent and got no reply may have run, and a decision that runs
twice takes two calls from a quota, so its caller gets 503 and decides.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Sequence
from typing import Any, cast

import hiredis
from redis.asyncio import Connection, SSLConnection, UnixDomainSocketConnection
from redis.asyncio.connection import parse_url

from app.errors import StoreUnavailable
from app.store.client import Value
from app.store.scripts import Script

log = logging.getLogger(__name__)
_BACKOFF_S = (0.01, 0.02, 0.05, 0.1, 0.25, 0.5)
_GONE = "The store did not answer in time; whether the decision was recorded is not known"
_AWAY = "The store cannot be reached; nothing was decided"


class PipelinedLink:
    """A connection that stays: it reconnects by itself, and while it is away every call fails at once.

    Invariant: replies come in the order of the commands, so every future that was sent stays in the queue until
    its reply has been read, even if its caller has given up. Anything that breaks the order closes the connection.
    """

    def __init__(self, url: str, timeout_ms: int, scripts: Sequence[Script] = ()) -> None:
        self._url = url
        self._timeout_s = timeout_ms / 1000
        self._scripts = scripts
        self._wire: _Wire | None = None
        self._task: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Connect; raises StoreUnavailable if the store is not there. From then on it reconnects by itself."""
        self._wire = await self._connect()
        self._task = asyncio.create_task(self._keep())

    async def close(self) -> None:
        """Stop reconnecting and drop the connection; calls under way fail."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        if self._wire is not None:
            self._wire.close()

    def call(self, *args: Value) -> asyncio.Future[Any]:
        """The reply of one command, to be awaited. Error replies are raised as StoreUnavailable."""
        wire = self._wire
        if wire is None or wire.lost.done():
            raise StoreUnavailable(_AWAY)
        return wire.send(_packed(*args))

    async def run(self, script: Script, keys: Sequence[str], args: Sequence[Value]) -> Any:
        """The reply of a script; where the store has lost it (restart, failover), it is sent in full once more."""
        try:
            return await self.call("EVALSHA", script.sha, len(keys), *keys, *args)
        except NoScript:
            return await self.call("EVAL", script.text, len(keys), *keys, *args)

    async def _keep(self) -> None:
        """Reconnect whenever the connection is lost, sooner at first and at least twice a second."""
        attempt = 0
        while True:
            if self._wire is not None:
                await self._wire.lost
                self._wire = None
                attempt = 0
            try:
                self._wire = await self._connect()
                log.info("connected to the store again")
            except StoreUnavailable:
                await asyncio.sleep(_BACKOFF_S[min(attempt, len(_BACKOFF_S) - 1)])
                attempt += 1

    async def _connect(self) -> "_Wire":
        """A connection that is logged in and knows the scripts."""
        # redis-py reads the URL, logs in and selects the database; then its socket becomes ours.
        options = parse_url(self._url)
        kind = cast("type[Connection]", options.pop("connection_class", Connection))
        try:
            async with asyncio.timeout(max(self._timeout_s, 1.0)):
                wire = await _open_wire(kind, dict(options), self._timeout_s)
                for script in self._scripts:
                    await wire.send(_packed("SCRIPT", "LOAD", script.text))
        except (OSError, TimeoutError) as error:
            raise StoreUnavailable(_AWAY) from error
        return wire


class NoScript(StoreUnavailable):
    """The store does not know the script: it certainly did not run."""


class _Wire(asyncio.Protocol):
    """One connection's life: a buffer of commands, a queue of futures, a reader of replies."""

    def __init__(self, timeout_s: float) -> None:
        self._loop = asyncio.get_running_loop()
        self._timeout_s = timeout_s
        self._reader = hiredis.Reader(encoding="utf-8", errors="surrogateescape", notEnoughData=_NOTHING)
        self._buffer: list[bytes] = []
        self._waiting: deque[tuple[float, asyncio.Future[Any]]] = deque()
        self._transport: asyncio.Transport | None = None
        self._watch: asyncio.TimerHandle | None = None
        self.lost: asyncio.Future[None] = self._loop.create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._watch = self._loop.call_later(self._timeout_s / 4, self._check_deadline)

    def send(self, command: bytes) -> asyncio.Future[Any]:
        """The future of the command's reply. Commands of one tick of the loop leave in one write."""
        future: asyncio.Future[Any] = self._loop.create_future()
        if not self._buffer:
            self._loop.call_soon(self._flush)
        self._buffer.append(command)
        self._waiting.append((self._loop.time(), future))
        return future

    def _flush(self) -> None:
        commands, self._buffer = self._buffer, []
        if self._transport is not None and commands:
            self._transport.write(commands[0] if len(commands) == 1 else b"".join(commands))

    def data_received(self, data: bytes) -> None:
        reader, waiting = self._reader, self._waiting
        try:
            reader.feed(data)
            while (reply := reader.gets()) is not _NOTHING:
                _, future = waiting.popleft()
                if future.done():
                    continue  # its caller gave up; its reply is read all the same, or the next would get it
                if isinstance(reply, hiredis.ReplyError):
                    future.set_exception(_error_of(reply))
                else:
                    future.set_result(reply)
        except (hiredis.ProtocolError, IndexError):
            log.exception("the store broke the protocol; the connection is closed")
            self.close()

    def connection_lost(self, error: Exception | None) -> None:
        if self._watch is not None:
            self._watch.cancel()
        self._transport = None
        while self._waiting:
            _, future = self._waiting.popleft()
            if not future.done():
                future.set_exception(StoreUnavailable(_GONE))
                future.exception()  # its caller may have gone; that is no reason to log
        if not self.lost.done():
            self.lost.set_result(None)
        if error is not None:
            log.warning("lost the connection to the store: %s", type(error).__name__)

    def close(self) -> None:
        """Drop the connection without waiting for the other side; everything unanswered fails."""
        if self._transport is not None:
            self._transport.abort()

    def _check_deadline(self) -> None:
        # One timer for all: replies come in order, so the oldest call is the one that is late first.
        waiting = self._waiting
        if waiting and self._loop.time() - waiting[0][0] > self._timeout_s:
            log.warning("the store has been silent for %.0f ms; reconnecting", self._timeout_s * 1000)
            self.close()
            return
        self._watch = self._loop.call_later(self._timeout_s / 4, self._check_deadline)


_NOTHING = object()


def _packed(*args: Value) -> bytes:
    return hiredis.pack_command(args)  # type: ignore[arg-type]  # its stub knows one argument only


def _error_of(reply: hiredis.ReplyError) -> StoreUnavailable:
    code = str(reply).partition(" ")[0]
    if code == "NOSCRIPT":
        return NoScript("The store does not know a script of ours")
    return StoreUnavailable(f"The store refused the command ({code}); nothing was decided")


async def _open_wire(kind: type[Connection], options: dict[str, Any], timeout_s: float) -> _Wire:
    loop = asyncio.get_running_loop()

    def made() -> _Wire:
        return _Wire(timeout_s)

    if issubclass(kind, UnixDomainSocketConnection):
        _, wire = await loop.create_unix_connection(made, options["path"])
    else:
        context = None
        if issubclass(kind, SSLConnection):
            context = SSLConnection(**_known(options)).ssl_context.get()
        host, port = options.get("host", "localhost"), options.get("port", 6379)
        _, wire = await loop.create_connection(made, host, port, ssl=context)
    try:
        if options.get("password"):
            login = (options["username"],) if options.get("username") else ()
            await wire.send(_packed("AUTH", *login, options["password"]))
        if options.get("db"):
            await wire.send(_packed("SELECT", int(options["db"])))
    except BaseException:
        wire.close()
        raise
    return wire


def _known(options: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if name.startswith("ssl") or name in {"host", "port"}}
