"""The processes that `remit serve` starts: replicas on their sockets, and the compactor."""

import logging
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import Self

from app.runtime.metrics import ROW_BYTES
from app.serve.embedded_store import die_with_parent
from app.settings import Settings

log = logging.getLogger(__name__)
DRAIN_SECONDS = 20
"""The time that requests under way may take once a replica has been told to stop."""
_RESPAWN_SECONDS = 1.0
_KILL_SECONDS = DRAIN_SECONDS + 5.0


class Child:
    """A process that is kept running.

    command: arguments of the Python interpreter, which imports nothing from the current folder. descriptors: what it
    inherits.
    """

    def __init__(self, name: str, command: Sequence[str], env: dict[str, str], descriptors: Sequence[int]) -> None:
        self.name = name
        self._command = [sys.executable, "-P", *command]
        self._env = env
        self._descriptors = descriptors
        self.start()

    def start(self) -> None:
        """Start the process; it ends when this one does."""
        self.process = subprocess.Popen(  # noqa: S603 - our own module
            self._command,
            env=self._env,
            start_new_session=True,  # Ctrl-C goes to the supervisor, which stops the children in order
            pass_fds=self._descriptors,
            preexec_fn=die_with_parent(),
        )
        self._born = time.monotonic()

    def keep(self) -> None:
        """Restart the process if it has died, at most once a second."""
        if self.process.poll() is not None and time.monotonic() - self._born >= _RESPAWN_SECONDS:
            log.error(
                "%s (pid %s) ended with %s; starting another", self.name, self.process.pid, self.process.returncode
            )
            try:
                self.start()
            except (OSError, subprocess.SubprocessError) as error:
                self._born = time.monotonic()
                log.error("%s cannot be started: %s; trying again", self.name, error)  # noqa: TRY400 - a sentence says it


class Children:
    """All children of one `remit serve`. Leaving the context ends them all.

    listeners: one bound socket per replica, which listens once it can answer. They stay open here, too, so that
    connections to a replica that has died wait for its successor instead of being refused. unix: a socket on which all
    replicas accept, or None.
    """

    def __init__(self, settings: Settings, listeners: Sequence[socket.socket], unix: socket.socket | None) -> None:
        self._listeners = listeners
        shared = () if unix is None else (unix.fileno(),)
        env = dict(os.environ) | {"REMIT_REDIS_URL": settings.redis_url or ""}
        if settings.secret is not None:
            env["REMIT_SECRET"] = settings.secret
        rows = 2 * len(listeners)  # a replica is two processes
        self._shared = os.memfd_create("remit-metrics")
        os.ftruncate(self._shared, rows * ROW_BYTES)
        self._replicas = [
            Child(
                f"replica {place + 1}",
                ("-m", "app.serve.worker", *map(str, (listener.fileno(), self._shared, rows, 2 * place, *shared))),
                env,
                (listener.fileno(), self._shared, *shared),
            )
            for place, listener in enumerate(listeners)
        ]
        self._compactors = [Child("compactor", ("-m", "app.cli", "compact"), env, ())] if settings.compact else []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop(hurry=lambda: False)
        os.close(self._shared)

    def dead(self) -> list[str]:
        """Names of the children that have ended."""
        return [child.name for child in self._all() if child.process.poll() is not None]

    def keep(self) -> None:
        """Restart children that have died."""
        for child in self._all():
            child.keep()

    def stop(self, hurry: Callable[[], bool]) -> bool:
        """End all: first the replicas, which answer what they have accepted, then the compactor.

        hurry: returns true once waiting must end. Returns True if all ended by themselves, and well.
        """
        for listener in self._listeners:
            listener.close()
        groups = (self._replicas, self._compactors)
        ended = [_end([child for child in group if child.process.poll() is None], hurry) for group in groups]
        return all(ended)

    def _all(self) -> list[Child]:
        return [*self._replicas, *self._compactors]


def _end(children: Sequence[Child], hurry: Callable[[], bool]) -> bool:
    """End the children; return True if they ended by themselves, and well."""
    for child in children:
        child.process.terminate()
    deadline = time.monotonic() + _KILL_SECONDS
    while any(child.process.poll() is None for child in children) and time.monotonic() < deadline and not hurry():
        time.sleep(0.02)
    left = [child for child in children if child.process.poll() is None]
    for child in left:
        log.error("%s (pid %s) had to be killed", child.name, child.process.pid)
        child.process.kill()
        child.process.wait()
    return not left and all(child.process.returncode == 0 for child in children)
