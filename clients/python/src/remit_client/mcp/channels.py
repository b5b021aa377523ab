"""Lines in and out: what a channel is, and the one to a server that is our child."""

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
    """One peer."""

    def listen(self, heard: Heard) -> None:
        """From now on `heard` is called with each line, without its end, and with None once the peer has gone."""

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
        self._early: list[bytes] | None = []
        self._heard: Heard = _nobody

    def listen(self, heard: Heard) -> None:
        """Tells `heard` all lines, those that came before it listened first."""
        self._heard = heard
        early, self._early = self._early or [], None
        for chunk in early:
            self.feed(chunk)

    def feed(self, chunk: bytes) -> None:
        """More has arrived; nothing: the end has."""
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
    """Hears a line before anybody listens; `Lines` keeps them instead."""


class Child(asyncio.SubprocessProtocol):
    """An MCP server that runs as our child: it ends with us, and its whole process group with it."""

    def __init__(self) -> None:
        self._lines = Lines()
        self._exited = asyncio.Event()
        self._silent = False
        self._transport: Any = None
        self._stdin: Any = None

    @classmethod
    async def start(cls, command: Sequence[str]) -> Child:
        """Starts the server, without our API key in its environment. Raises OSError."""
        env = {name: value for name, value in os.environ.items() if name != "REMIT_API_KEY"}
        own_group = sys.platform != "win32"
        loop = asyncio.get_running_loop()
        _, child = await loop.subprocess_exec(cls, *command, stderr=None, env=env, start_new_session=own_group)
        return child

    def listen(self, heard: Heard) -> None:
        """The server's lines."""
        self._lines.listen(heard)

    def send(self, line: bytes) -> None:
        """A line for the server."""
        self._stdin.write(line)

    @property
    def ended(self) -> str:
        """How the server ended, for a person."""
        code = self._transport.get_returncode()
        return "closed its output" if code is None else f"ended with exit code {code}"

    async def stop(self) -> None:
        """The server has ended: asked by the end of its input, then by SIGTERM, then by SIGKILL."""
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
            # The exit code, which `ended` tells, comes a moment later, if it comes.
            asyncio.get_running_loop().call_later(0.0 if self._exited.is_set() else 0.2, self._lines.feed, b"")

    def process_exited(self) -> None:
        self._exited.set()
        if self._silent:
            self._lines.feed(b"")
