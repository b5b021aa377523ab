"""The processes that `remit serve` forks, replicas on their sockets and the compactor: they share what it loaded."""

import contextlib
import ctypes
import gc
import logging
import os
import signal
import socket
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from functools import partial
from typing import Self

from msgspec.structs import replace

from app.http.routes import prepare_pages
from app.runtime.gc_freeze import freeze_heap
from app.runtime.logs import configure_logging
from app.runtime.metrics import ROW_BYTES
from app.serve.embedded_store import die_with_parent
from app.serve.jobs import run_background
from app.serve.worker import DRAIN_SECONDS, serve_replica
from app.settings import Settings

log = logging.getLogger(__name__)
_RESPAWN_SECONDS = 1.0
_KILL_SECONDS = DRAIN_SECONDS + 5.0
_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_PR_SET_NAME = 15


class Child:
    """A process that is kept running: a fork in which `run` is called, until it returns.

    name: as messages say it; `ps` shows it after "remit-", in 15 letters. keeps: the descriptors that it has of this
    process, besides the standard three. returncode: its exit code, or minus the signal that ended it; None while it
    runs.
    """

    def __init__(self, name: str, run: Callable[[], None], keeps: Sequence[int] = ()) -> None:
        self.name = name
        self._run = run
        self._keeps = keeps
        self.start()

    def start(self) -> None:
        """Start the process; it ends when this one does. No thread may run in this one. Raises OSError."""
        _flush()
        arrange = die_with_parent()
        before = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
        try:
            self.pid = os.fork()
            if self.pid == 0:
                self._be(arrange)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        self.returncode: int | None = None
        self._born = time.monotonic()

    def _be(self, arrange: Callable[[], None]) -> None:
        """Be the child, to its end: nothing of what this process has begun is its own to finish."""
        code = 1
        try:
            arrange()
            os.setsid()  # Ctrl-C goes to the supervisor, which stops the children in order
            _close_all_but(self._keeps)
            if sys.platform == "linux":
                ctypes.CDLL(None).prctl(_PR_SET_NAME, f"remit-{self.name.replace(' ', '')}".encode())
            for number in _SIGNALS:
                if signal.getsignal(number) is not signal.SIG_IGN:
                    signal.signal(number, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
            self._run()
            code = 0
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(end.code is not None)
        except BaseException:  # noqa: BLE001 - as the interpreter does
            traceback.print_exc()
        finally:
            _flush()
            os._exit(code)

    def poll(self) -> int | None:
        """Its exit code, or minus the signal that ended it; None while it runs."""
        return self._reap(os.WNOHANG)

    def wait(self) -> int | None:
        """The same, once it has ended."""
        return self._reap(0)

    def send(self, number: signal.Signals) -> None:
        """Send it a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def _reap(self, options: int) -> int | None:
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, options)
            self.returncode = os.waitstatus_to_exitcode(status) if pid else None
        return self.returncode

    def keep(self) -> None:
        """Start the process again if it has died, at most once a second."""
        if self.poll() is not None and time.monotonic() - self._born >= _RESPAWN_SECONDS:
            log.error("%s (pid %s) ended with %s; starting another", self.name, self.pid, self.returncode)
            try:
                self.start()
            except OSError as error:
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
        rows = 2 * len(listeners)  # a replica is two processes
        self._shared = os.memfd_create("remit-metrics")
        os.ftruncate(self._shared, rows * ROW_BYTES)
        settings = replace(settings, bootstrap_key=None)  # which is stored by now
        # What all need is made once, and then not written to, so that its memory stays shared.
        prepare_pages()
        freeze_heap()
        gc.enable()
        self._replicas = []
        for place, listener in enumerate(listeners):
            sockets = [listener] if unix is None else [listener, unix]
            run = partial(_logging, settings, partial(serve_replica, settings, sockets, self._shared, rows, 2 * place))
            keeps = [self._shared, *(each.fileno() for each in sockets)]
            self._replicas.append(Child(f"replica {place + 1}", run, keeps))
        compacts = settings.compact
        compact = partial(_logging, settings, partial(run_background, settings))
        self._compactors = [Child("compactor", compact)] if compacts else []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop(hurry=lambda: False)
        os.close(self._shared)

    def dead(self) -> list[str]:
        """Names of the children that have ended."""
        return [child.name for child in self._all() if child.poll() is not None]

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
        ended = [_end([child for child in group if child.poll() is None], hurry) for group in groups]
        return all(ended)

    def _all(self) -> list[Child]:
        return [*self._replicas, *self._compactors]


def _end(children: Sequence[Child], hurry: Callable[[], bool]) -> bool:
    """End the children; return True if they ended by themselves, and well."""
    for child in children:
        child.send(signal.SIGTERM)
    deadline = time.monotonic() + _KILL_SECONDS
    while any(child.poll() is None for child in children) and time.monotonic() < deadline and not hurry():
        time.sleep(0.02)
    left = [child for child in children if child.poll() is None]
    for child in left:
        log.error("%s (pid %s) had to be killed", child.name, child.pid)
        child.send(signal.SIGKILL)
        child.wait()
    return not left and all(child.returncode == 0 for child in children)


def _logging(settings: Settings, run: Callable[[], None]) -> None:
    """Run it with a log of its own: that of the supervisor has a descriptor that is closed here."""
    configure_logging(settings.log_level, settings.log_format)
    run()


def _flush() -> None:
    """Write what is buffered, which the other process of a fork would write once more."""
    for each in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):  # the terminal may be closed
            each.flush()


def _close_all_but(kept: Sequence[int]) -> None:
    before = 2
    for each in [*sorted(kept), os.sysconf("SC_OPEN_MAX")]:
        os.closerange(before + 1, each)
        before = each
