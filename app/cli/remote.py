"""Calls to a running service over HTTP, for commands where it matters whose key is used."""

import http.client
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import click

from app.cli.addresses import LOCAL, ServiceUrl, require_sendable
from app.cli.addresses import URL as ENV_URL

_SECONDS = 75.0
LISTENING = "listening"
URL = click.option(
    "--url", type=ServiceUrl(), envvar=ENV_URL, default=LOCAL, show_default=True, help="The URL of the service."
)


class Remote:
    """The API at one address, with the key of `REMIT_API_KEY`."""

    def __init__(self, url: str, key: str) -> None:
        self._parts = urlsplit(url)
        self._key = key

    @classmethod
    def from_env(cls, url: str, whose: str = "") -> "Remote":
        """Raises UsageError without a key, because the caller's identity matters.

        whose: the key needed, if not an approver's.
        """
        key = os.environ.get("REMIT_API_KEY", "")
        if not key and whose:
            raise click.UsageError(f"REMIT_API_KEY is not set; it must be {whose}")
        if not key:
            raise click.UsageError(
                "REMIT_API_KEY is not set. Approvals are decided by people, each with a key of their own: "
                "`remit keys create --name ann --scope approve --scope view` creates one"
            )
        require_sendable(key)
        return cls(url, key)

    def call(
        self,
        method: str,
        path: str,
        body: dict[str, Any] | None = None,
        *,
        if_match: str | None = None,
        reason: str = "",
    ) -> Any:
        """The JSON answer. Raises ClickException with the service's message.

        reason: why something is changed, for the trail.
        """
        extra: dict[str, str | bytes] = {} if if_match is None else {"If-Match": if_match}
        if reason:
            extra["Change-Reason"] = reason.encode()
        with self._answer(method, path, None if body is None else json.dumps(body), extra) as answer:
            return json.loads(answer.read())

    def lines(self, path: str, body: dict[str, Any]) -> Iterator[bytes]:
        """Yield the JSON lines of a POST's answer as they arrive. Raises ClickException as `call` does."""
        with self._answer("POST", path, json.dumps(body), {}) as answer:
            yield from answer

    def events(self, path: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield name and data of server-sent events. The first is LISTENING: from then on no event is missed."""
        with self._answer("GET", path, None, {"Accept": "text/event-stream"}, timeout_s=None) as answer:
            name, is_first = "", True
            for line in answer:
                if is_first:
                    is_first = False
                    yield LISTENING, {}
                text = line.decode().rstrip("\n")
                if text.startswith("event: "):
                    name = text.removeprefix("event: ")
                elif text.startswith("data: "):
                    yield name, json.loads(text.removeprefix("data: "))

    @contextmanager
    def _answer(
        self,
        method: str,
        path: str,
        body: str | None,
        extra: Mapping[str, str | bytes],
        timeout_s: float | None = _SECONDS,
    ) -> Iterator[http.client.HTTPResponse]:
        secure = self._parts.scheme == "https"
        kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
        connection = kind(self._parts.hostname or "", self._parts.port, timeout=timeout_s)
        try:
            connection.request(method, self._parts.path + path, body, {"Authorization": f"Bearer {self._key}", **extra})
            answer = connection.getresponse()
            if answer.status >= http.client.BAD_REQUEST:
                raise click.ClickException(_sentence(answer))
            yield answer
        except (OSError, http.client.HTTPException) as error:
            raise click.ClickException(
                f"No service answers at {self._parts.geturl()} ({error}); set REMIT_URL, or `remit serve` starts one"
            ) from None
        finally:
            connection.close()


def _sentence(answer: http.client.HTTPResponse) -> str:
    text = answer.read()
    try:
        return str(json.loads(text)["error"]["message"])
    except (ValueError, LookupError, TypeError):
        return f"The service answered {answer.status}"
