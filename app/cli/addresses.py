"""The address of the service and the key for it, checked before anything is sent."""

import os
import socket
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

import click

from app.cli.option_types import shortened

URL, KEY = "REMIT_URL", "REMIT_API_KEY"
LOCAL = "http://127.0.0.1:8080"


def local_url() -> str:
    """The address at which `remit serve` listens on this machine, with the same environment."""
    return f"http://127.0.0.1:{os.environ.get('REMIT_PORT', '8080')}"


class ServiceUrl(click.ParamType[str]):
    """The URL of a service: scheme, host and port, and a path if a proxy serves it below one; or unix:///socket."""

    name = "url"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The URL without a slash at its end."""
        try:
            parts = urlsplit(value)
            is_address = bool(parts.hostname) and parts.port != 0 and parts.scheme in {"http", "https"}
            is_address = is_address or (parts.scheme == "unix" and not parts.netloc and parts.path.startswith("/"))
            is_alone = not (parts.query or parts.fragment or "@" in parts.netloc)
        except ValueError:
            is_address = False
        if not (is_address and is_alone and value.isascii() and value.isprintable() and " " not in value):
            self.fail(f"must be a URL such as {LOCAL}, and not {shortened(value)}", param, ctx)
        return str(value).rstrip("/")


def is_of_this_machine(url: str) -> bool:
    """True if the service's host is this one, or cannot be told: one of its addresses is, or it has a Unix socket."""
    parts = urlsplit(url)
    if parts.scheme == "unix":
        return True
    try:
        found = socket.getaddrinfo(parts.hostname, None, type=socket.SOCK_DGRAM)
    except OSError:
        return True
    for family, kind, *_, address in found:
        with socket.socket(family, kind) as probe, suppress(OSError):
            probe.bind(address)  # only to an address of this machine
            return True
    return False


def require_sendable(key: str) -> None:
    """Raise UsageError if the key cannot be in a header. The service decides if any other key is valid."""
    if not (key.isascii() and key.isprintable()):
        raise click.UsageError(f"{KEY} is not an API key: svc_ and 32 hex digits, as `remit keys create --raw` prints")
