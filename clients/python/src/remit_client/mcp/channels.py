"""Channels carry lines to and from a peer. Defined here: the interface, and the channel to a server we started."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Callable, Sequence
from typing import Any, Protocol

GRACE_S = 2.0


Heard = Callable[[bytes | None], None]


class Channel(Protocol):
    """Lines to and from one peer."""

    def listen(self, heard: Heard) -> None:
        """Call `heard` with each line from now on, without its line end, and with None when the peer disconnects."""

    def send(self, line: bytes) -> None:
        """Send a line, which includes its line end. Lines go out in the order in which they were sent."""


class Server(Channel, Protocol):
    """An MCP server, which may end before we do."""

    @property
    def ended(self) -> str:
        """How it ended, as the end of a sentence for a person."""


class Lines:
    """Splits incoming bytes into lines."""

    def __init__(self) -> None:
        self._rest: list[bytes] = []
        self._early: list[bytes] | None = []
        self._heard: Heard = _nobody

    def listen(self, heard: Heard) -> None:
        """Pass each line to `heard`, starting with those that have already arrived."""
        self._heard = heard
        early, self._early = self._early or [], None
        for chunk in early:
            self.feed(chunk)

    def feed(self, chunk: bytes) -> None:
        """Take bytes that have arrived; empty bytes mean the end of input."""
        if self._early is not None:
            self._early.append(chunk)
            return
        *lines, rest = chunk.split(b"\n")
        for line in lines:
            whole = b"".join([*self._rest, line]) if self._rest else line
            self._rest.clear()
            self._heard(whole)
        if rest:
            self._rest.append(rest)
        if not chunk:
            self._heard(None)


def _nobody(line: bytes | None) -> None:
    """Stands in until somebody listens. Never called: `Lines` keeps the bytes until then."""


class Child(asyncio.SubprocessProtocol):
    """An MCP server that runs as our child. When we end, it ends, together with its whole process group."""

    def __init__(self) -> None:
        self._lines = Lines()
        self._exited = asyncio.Event()
        self._silent = False
        self._transport: Any = None
        self._stdin: Any = None

    @classmethod
    async def start(cls, command: Sequence[str]) -> Child:
        """Start the server. Its environment does not contain our API key. Raises OSError."""
        env = {name: value for name, value in os.environ.items() if name != "REMIT_API_KEY"}
        own_group = sys.platform != "win32"
        loop = asyncio.get_running_loop()
        _, child = await loop.subprocess_exec(cls, *command, stderr=None, env=env, start_new_session=own_group)
        return child

    def listen(self, heard: Heard) -> None:
        """Receive the server's lines."""
        self._lines.listen(heard)

    def send(self, line: bytes) -> None:
        """Send a line to the server."""
        self._stdin.write(line)

    @property
    def ended(self) -> str:
        """How the server ended, as the end of a sentence for a person."""
        code = self._transport.get_returncode()
        return "closed its output" if code is None else f"ended with exit code {code}"

    async def stop(self) -> None:
        """End the server: close its input, then send SIGTERM, then SIGKILL, with time to react after each."""
        self._stdin.close()
        for action in (None, signal.SIGTERM, signal.SIGKILL):
            if action is not None:
                self._signal(action)
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._exited.wait(), GRACE_S)
                break
        self._transport.close()

    def _signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if sys.platform == "win32":
                self._transport.send_signal(number)
            else:
                os.killpg(self._transport.get_pid(), number)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        self._stdin = self._transport.get_pipe_transport(0)

    def pipe_data_received(self, fd: int, data: bytes) -> None:  # noqa: ARG002 - asyncio's
        self._lines.feed(data)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's
        if fd == 1:
            self._silent = True
            # `ended` reports the exit code, which arrives a moment after the output closes, if at all.
            asyncio.get_running_loop().call_later(0.0 if self._exited.is_set() else 0.2, self._lines.feed, b"")

    def process_exited(self) -> None:
        self._exited.set()
        if self._silent:
            self._lines.feed(b"")
