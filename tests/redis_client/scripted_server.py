"""A server that sends whatever a test wants, valid or not."""

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from pathlib import Path

import hiredis

from app.errors import StoreUnavailable

OK = b"+OK\r\n"
Answer = Callable[["Connection", list[bytes]], Awaitable[None]]


class Connection:
    """One client's connection, counted from 0 in the order in which they came."""

    def __init__(self, number: int, writer: asyncio.StreamWriter) -> None:
        self.number = number
        self._writer = writer

    async def say(self, *parts: bytes) -> None:
        """Send each part in a write of its own."""
        for part in parts:
            self._writer.write(part)
            await self._writer.drain()
            await asyncio.sleep(0)

    def hang_up(self) -> None:
        self._writer.close()


class ScriptedServer:
    """Asks `answer` for every command that arrives, except SCRIPT, AUTH and SELECT if `handshake` is kept.

    commands: what arrived, each with its connection's number. open_connections: how many have not ended.
    """

    def __init__(self, answer: Answer, *, handshake: bool = True) -> None:
        self._answer = answer
        self._handshake = handshake
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self.accepted = 0
        self.open_connections = 0
        self.all_gone = asyncio.Event()
        self.commands: list[tuple[int, list[bytes]]] = []
        self.port = 0

    async def listen(self, tls: ssl.SSLContext | None = None, path: Path | None = None) -> "ScriptedServer":
        if path is not None:
            self._server = await asyncio.start_unix_server(self._serve, path)
        else:
            self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port, ssl=tls)
            self.port = self._server.sockets[0].getsockname()[1]
        return self

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}"

    async def close(self) -> None:
        """Stop listening and end every connection."""
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    def names(self, number: int = 0) -> list[str]:
        """The commands of one connection, by name."""
        return [command[0].decode() for connection, command in self.commands if connection == number]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = Connection(self.accepted, writer)
        self.accepted += 1
        self.open_connections += 1
        self.all_gone.clear()
        task = asyncio.current_task()
        self._tasks.add(task)
        try:
            await self._converse(connection, reader)
        except (ConnectionError, asyncio.CancelledError):
            pass  # the client hung up, or the test is over
        finally:
            writer.close()
            self._tasks.discard(task)
            self.open_connections -= 1
            if not self.open_connections:
                self.all_gone.set()

    async def _converse(self, connection: Connection, reader: asyncio.StreamReader) -> None:
        parser = hiredis.Reader()
        while data := await reader.read(65536):
            parser.feed(data)
            while (command := parser.gets()) is not False:
                self.commands.append((connection.number, command))
                if self._handshake and command[0] in {b"SCRIPT", b"AUTH", b"SELECT"}:
                    await connection.say(OK)
                else:
                    await self._answer(connection, command)


def bulk(text: bytes) -> bytes:
    """`text` as a reply."""
    return b"$%d\r\n%s\r\n" % (len(text), text)


async def echo(connection: Connection, command: list[bytes]) -> None:
    """Answers ECHO as a store does."""
    await connection.say(bulk(command[1]))


async def answer_of(link, *command):
    """The reply, retried until the client has reconnected."""
    while True:
        try:
            return await link.call(*command)
        except StoreUnavailable:
            await asyncio.sleep(0.005)
