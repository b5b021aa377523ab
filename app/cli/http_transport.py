"""Requests to a running service, over HTTP with an API key."""

import http.client
import signal
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from urllib.parse import urlsplit

import click

from app.cli.api import Answer

_PIECE_BYTES = 65_536


class HttpTransport:
    """A service at one address. seconds: how long to wait for an answer's next bytes, unless it is endless."""

    def __init__(self, url: str, key: str, seconds: float) -> None:
        self._seconds = seconds
        self.where = f"the service is {url}"
        self._parts = urlsplit(url)
        self._authorization = f"Bearer {key}".encode()

    @contextmanager
    def send(
        self, method: str, path: str, body: bytes | None, headers: Mapping[str, bytes], *, endless: bool
    ) -> Iterator[Answer]:
        """The answer, while it is read."""
        parts, timeout_s = self._parts, None if endless else self._seconds
        prefix = "" if parts.scheme == "unix" else parts.path
        connection: http.client.HTTPConnection
        if parts.scheme == "unix":
            connection = _UnixConnection(parts.path, timeout_s)
        else:
            kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
            connection = kind(parts.hostname or "", parts.port, timeout=timeout_s)
        interrupted: Callable[[], bool] = lambda: False  # noqa: E731 - until there is what can be interrupted
        watching = ExitStack()
        typed = {} if body is None else {"content-type": b"application/json"}
        try:
            sent: dict[str, str | bytes] = {"authorization": self._authorization, **typed, **headers}
            connection.connect()
            if endless:
                interrupted = watching.enter_context(_shut_by_ctrl_c(connection.sock))
            connection.request(method, prefix + path, body, sent)
            answer = connection.getresponse()
            names = {name.lower(): value for name, value in answer.headers.items()}
            yield Answer(answer.status, names, _pieces(answer, interrupted))
        except (OSError, http.client.HTTPException) as error:
            if interrupted():
                raise KeyboardInterrupt from None
            raise click.ClickException(
                f"No service answers at {self._parts.geturl()} ({error}); set REMIT_URL, or `remit serve` starts one"
            ) from None
        finally:
            watching.close()
            connection.close()

    def workspace_id(self) -> str | None:
        """Only the service knows it."""
        return None

    def close(self) -> None:
        """Nothing is kept open between requests."""


def _pieces(answer: http.client.HTTPResponse, interrupted: Callable[[], bool]) -> Iterator[bytes]:
    while piece := answer.read1(_PIECE_BYTES):
        yield piece
    if interrupted():
        raise KeyboardInterrupt


@contextmanager
def _shut_by_ctrl_c(sock: socket.socket) -> Iterator[Callable[[], bool]]:
    """Until then, Ctrl-C shuts the socket; say whether it has.

    Python's own handler runs between two steps of the main thread. If the signal comes just before a read, that is when
    the read ends; and what it raises in a finalizer is dropped.
    """
    if threading.current_thread() is not threading.main_thread():  # which alone can be told of signals
        yield lambda: False
        return
    interrupted, (told, telling) = threading.Event(), socket.socketpair()
    telling.setblocking(False)

    def watch() -> None:
        while numbers := told.recv(64):
            if signal.SIGINT in numbers:
                interrupted.set()
                with suppress(OSError):
                    socket.socket.shutdown(sock, socket.SHUT_RDWR)  # TLS would drop its state, which a read still uses

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    before = signal.set_wakeup_fd(telling.fileno(), warn_on_full_buffer=False)
    try:
        yield interrupted.is_set
    finally:
        signal.set_wakeup_fd(before)
        telling.close()
        watcher.join()
        told.close()


class _UnixConnection(http.client.HTTPConnection):
    """A connection to the service's Unix socket."""

    def __init__(self, path: str, timeout_s: float | None) -> None:
        super().__init__("localhost", timeout=timeout_s)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)
