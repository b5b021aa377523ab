"""The channel to the MCP client: our standard input and output."""

from __future__ import annotations

import asyncio
import contextlib
import os
import queue
import stat
import sys
import threading
from typing import Any, Protocol

from remit_client.mcp.channels import GRACE_S, Channel, Heard, Lines

CHUNK = 1 << 16


class OwnStdio(Channel, Protocol):
    """Lines to and from the client."""

    async def flush(self) -> None:
        """Wait until everything sent has been written, or the client no longer reads."""


async def open_own_stdio() -> OwnStdio:
    """The channel to the client. From now on, anything else this process prints goes to standard error."""
    reads, writes = os.dup(0), os.dup(1)
    os.dup2(2, 1)
    if not _are_two_pipes(reads, writes):
        return Threads(reads, writes)
    pipes, loop = Pipes(), asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: pipes, os.fdopen(reads, "rb", 0))
    await loop.connect_write_pipe(lambda: pipes.writing, os.fdopen(writes, "wb", 0))
    return pipes


def _are_two_pipes(reads: int, writes: int) -> bool:
    """Whether the event loop can serve them. It cannot serve files, and it would leave a terminal non-blocking."""
    ends = [os.fstat(one) for one in (reads, writes)]
    piped = all(stat.S_ISFIFO(end.st_mode) or stat.S_ISSOCK(end.st_mode) for end in ends)
    return sys.platform != "win32" and piped and not os.path.samestat(*ends)


class Pipes(asyncio.Protocol):
    """Pipes or sockets. The event loop reads and writes them itself, so no line has to wake a thread."""

    def __init__(self) -> None:
        self._lines = Lines()
        self.writing = Writing()

    def listen(self, heard: Heard) -> None:
        """Receive the client's lines."""
        self._lines.listen(heard)

    def send(self, line: bytes) -> None:
        """Send a line to the client."""
        self.writing.transport.write(line)

    async def flush(self) -> None:
        """Wait until everything sent has been written, or the client no longer reads."""
        self.writing.transport.close()
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self.writing.closed.wait(), GRACE_S)

    def data_received(self, data: bytes) -> None:
        self._lines.feed(data)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's
        self._lines.feed(b"")


class Writing(asyncio.BaseProtocol):
    """The pipe to the client."""

    def __init__(self) -> None:
        self.transport: Any = None
        self.closed = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's
        self.closed.set()


class Threads:
    """Files and terminals, and pipes on Windows. One thread reads, another writes."""

    def __init__(self, reads: int, writes: int) -> None:
        self._lines = Lines()
        self._loop = asyncio.get_running_loop()
        self._out: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._written = threading.Event()
        self._reads, self._writes = reads, writes
        threading.Thread(target=self._read, daemon=True).start()
        threading.Thread(target=self._write, daemon=True).start()

    def listen(self, heard: Heard) -> None:
        """Receive the client's lines."""
        self._lines.listen(heard)

    def send(self, line: bytes) -> None:
        """Send a line to the client."""
        self._out.put(line)

    async def flush(self) -> None:
        """Wait until everything sent has been written, or the client no longer reads."""
        self._out.put(None)
        self._written.wait(GRACE_S)

    def _read(self) -> None:
        chunk = b"-"
        while chunk:
            try:
                chunk = os.read(self._reads, CHUNK)
            except OSError:
                chunk = b""
            with contextlib.suppress(RuntimeError):  # the loop is closed
                self._loop.call_soon_threadsafe(self._lines.feed, chunk)

    def _write(self) -> None:
        with contextlib.suppress(OSError):
            while (line := self._out.get()) is not None:
                view = memoryview(line)
                while view:
                    view = view[os.write(self._writes, view) :]
        self._written.set()
