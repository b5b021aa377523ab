"""Lines in and out: of this process, and of a server that is its child."""

from __future__ import annotations

import asyncio
import contextlib
import os
import queue
import signal
import sys
import threading
from collections.abc import Sequence
from typing import Protocol

CHUNK = 1 << 16
GRACE_S = 2.0


class Channel(Protocol):
    """One peer: lines without their end, None once it has gone."""

    async def receive(self) -> bytes | None:
        """The next line, or None."""

    def send(self, line: bytes) -> None:
        """Lets a line, with its end, go out in the order of the calls."""


class Server(Channel, Protocol):
    """A peer that may end before us."""

    @property
    def ended(self) -> str:
        """How it ended, for a person."""


class Lines:
    """Cuts what arrives into lines."""

    def __init__(self) -> None:
        self._rest: list[bytes] = []
        self.ready: asyncio.Queue[bytes | None] = asyncio.Queue()

    def feed(self, chunk: bytes) -> None:
        """More has arrived; nothing: the end has."""
        *lines, rest = chunk.split(b"\n")
        for line in lines:
            self.ready.put_nowait(b"".join([*self._rest, line]))
            self._rest.clear()
        if rest:
            self._rest.append(rest)
        if not chunk:
            self.ready.put_nowait(None)


class OwnStdio:
    """Our standard input and output: the MCP client. Threads read and write, since either may be a file."""

    def __init__(self) -> None:
        self._lines = Lines()
        self._loop = asyncio.get_running_loop()
        self._out: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._written = threading.Event()
        # Whatever else in this process prints must not reach the client.
        self._out_fd, self._in_fd = os.dup(1), os.dup(0)
        os.dup2(2, 1)
        threading.Thread(target=self._read, daemon=True).start()
        threading.Thread(target=self._write, daemon=True).start()

    async def receive(self) -> bytes | None:
        """The client's next line."""
        return await self._lines.ready.get()

    def send(self, line: bytes) -> None:
        """A line for the client."""
        self._out.put(line)

    def flush(self) -> None:
        """All that was sent is written, or the client no longer reads."""
        self._out.put(None)
        self._written.wait(GRACE_S)

    def _read(self) -> None:
        chunk = b"-"
        while chunk:
            try:
                chunk = os.read(self._in_fd, CHUNK)
            except OSError:
                chunk = b""
            with contextlib.suppress(RuntimeError):  # the loop has ended
                self._loop.call_soon_threadsafe(self._lines.feed, chunk)

    def _write(self) -> None:
        with contextlib.suppress(OSError):
            while (line := self._out.get()) is not None:
                view = memoryview(line)
                while view:
                    view = view[os.write(self._out_fd, view) :]
        self._written.set()


class Child:
    """An MCP server that runs as our child: it ends with us, and its whole process group with it."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._lines = Lines()
        self._reading = asyncio.create_task(self._read())

    @classmethod
    async def start(cls, command: Sequence[str]) -> Child:
        """Starts the server, without our API key in its environment. Raises OSError."""
        env = {name: value for name, value in os.environ.items() if name != "REMIT_API_KEY"}
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env=env,
            start_new_session=sys.platform != "win32",
        )
        return cls(process)

    async def receive(self) -> bytes | None:
        """The server's next line."""
        return await self._lines.ready.get()

    def send(self, line: bytes) -> None:
        """A line for the server."""
        if self._process.stdin is not None:
            self._process.stdin.write(line)

    @property
    def ended(self) -> str:
        """How the server ended, for a person."""
        code = self._process.returncode
        return "closed its output" if code is None else f"ended with exit code {code}"

    async def stop(self) -> None:
        """The server has ended: asked by the end of its input, then by SIGTERM, then by SIGKILL."""
        process = self._process
        if process.stdin is not None:
            process.stdin.close()
        for action in (None, signal.SIGTERM, signal.SIGKILL):
            if action is not None:
                self._signal(action)
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(process.wait(), GRACE_S)
                break
        self._reading.cancel()

    def _signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if sys.platform == "win32":
                self._process.send_signal(number)
            else:
                os.killpg(self._process.pid, number)

    async def _read(self) -> None:
        stdout, chunk = self._process.stdout, b"-"
        while stdout is not None and chunk:
            chunk = await stdout.read(CHUNK)
            if not chunk:
                with contextlib.suppress(asyncio.TimeoutError):  # so that `ended` can tell the exit code
                    await asyncio.wait_for(asyncio.shield(self._process.wait()), 0.2)
            self._lines.feed(chunk)
