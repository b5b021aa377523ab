"""Requests to a running service, over HTTP with an API key."""

import http.client
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from urllib.parse import urlsplit

import click

from app.cli.api import Answer

_SECONDS = 75.0
_PIECE_BYTES = 65_536


class HttpTransport:
    """A service at one address."""

    def __init__(self, url: str, key: str) -> None:
        self.where = f"the service is {url}"
        self._parts = urlsplit(url)
        self._authorization = f"Bearer {key}".encode()

    @contextmanager
    def send(
        self, method: str, path: str, body: bytes | None, headers: Mapping[str, bytes], *, endless: bool
    ) -> Iterator[Answer]:
        """The answer, while it is read."""
        kind = http.client.HTTPSConnection if self._parts.scheme == "https" else http.client.HTTPConnection
        connection = kind(self._parts.hostname or "", self._parts.port, timeout=None if endless else _SECONDS)
        typed = {} if body is None else {"content-type": b"application/json"}
        try:
            sent: dict[str, str | bytes] = {"authorization": self._authorization, **typed, **headers}
            connection.request(method, self._parts.path + path, body, sent)
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
