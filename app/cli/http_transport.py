"""Requests to a running service, over HTTP with an API key."""

import http.client
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
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
        typed = {} if body is None else {"content-type": b"application/json"}
        try:
            sent: dict[str, str | bytes] = {"authorization": self._authorization, **typed, **headers}
            connection.request(method, prefix + path, body, sent)
            answer = connection.getresponse()
            names = {name.lower(): value for name, value in answer.headers.items()}
            yield Answer(answer.status, names, iter(lambda: answer.read1(_PIECE_BYTES), b""))
        except (OSError, http.client.HTTPException) as error:
            raise click.ClickException(
                f"No service answers at {self._parts.geturl()} ({error}); set REMIT_URL, or `remit serve` starts one"
            ) from None
        finally:
            connection.close()

    def workspace_id(self) -> str | None:
        """Only the service knows it."""
        return None

    def close(self) -> None:
        """Nothing is kept open between requests."""


class _UnixConnection(http.client.HTTPConnection):
    """A connection to the service's Unix socket."""

    def __init__(self, path: str, timeout_s: float | None) -> None:
        super().__init__("localhost", timeout=timeout_s)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)
