"""Faults of TLS to the store that do not pass by themselves: certificates, files, a URL for another kind of port."""

import asyncio
import re
import ssl
from collections.abc import Mapping
from typing import Any

from redis.asyncio import SSLConnection

from app.errors import StoreUnavailable

PROBE_S = 0.5
_PING, _REPLIES = b"PING\r\n", (b"+", b"-")
_is_lasting = re.compile(
    "(WRONG_VERSION_NUMBER|UNSUPPORTED_PROTOCOL|.*_ALERT_(CERTIFICATE_.*|BAD_CERTIFICATE|UNSUPPORTED_CERTIFICATE|"
    "UNKNOWN_CA|HANDSHAKE_FAILURE|PROTOCOL_VERSION|ACCESS_DENIED|INSUFFICIENT_SECURITY))"
).fullmatch
"""OpenSSL's reasons that are about what the two sides are; others come with a connection that is lost."""


def tls_fault(error: BaseException | None) -> str | None:
    """A public sentence if the error, or one that caused it, is a fault of TLS that does not pass by itself."""
    while error is not None:
        if isinstance(error, ssl.SSLCertVerificationError):
            why = error.verify_message.partition(",")[0]  # what follows is the host's name, which is not for callers
            return f"The store's certificate is not accepted ({why}); check REMIT_REDIS_URL, its host and ssl_ca_certs"
        if isinstance(error, ssl.SSLError) and _is_lasting(error.reason or ""):
            return (
                f"The store and Remit do not agree on TLS ({error.reason}); check REMIT_REDIS_URL and its ssl_ options"
            )
        error = error.__cause__ or error.__context__
    return None


def tls_context(options: Mapping[str, Any]) -> ssl.SSLContext:
    """The context for the options of a rediss:// URL. Raises StoreUnavailable if a file that they name is unusable."""
    named = {name: value for name, value in options.items() if name.startswith("ssl") or name in {"host", "port"}}
    try:
        return SSLConnection(**named).ssl_context.get()
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise StoreUnavailable(f"A file that REMIT_REDIS_URL names for TLS cannot be used ({why})") from error


async def require_same_kind(options: Mapping[str, Any], context: ssl.SSLContext | None) -> None:
    """Raise StoreUnavailable if the port refuses our certificate, or uses TLS and the URL does not, or vice versa.

    For a start that has failed to connect: none of these can be told from a store that is away by the failure alone.
    """
    where = options.get("host", "localhost"), options.get("port", 6379)
    if context is None:
        if await _first_byte(*where, _trusting(), _PING) in _REPLIES:
            raise StoreUnavailable("The store uses TLS at this port; REMIT_REDIS_URL must begin with rediss://")
        return
    if await _first_byte(*where, None, _PING) in _REPLIES:
        raise StoreUnavailable("The store does not use TLS at this port; REMIT_REDIS_URL must begin with redis://")
    await _first_byte(*where, context)


async def _first_byte(host: str, port: int, context: ssl.SSLContext | None, send: bytes = b"") -> bytes | None:
    """The first byte read, b"" if there is none within a moment; None if there is no connection of this kind.

    Raises StoreUnavailable for a fault of TLS with a context that verifies.
    """
    try:
        async with asyncio.timeout(PROBE_S):
            reader, writer = await asyncio.open_connection(host, port, ssl=context)
    except (OSError, TimeoutError):
        return None
    try:
        writer.write(send)
        async with asyncio.timeout(PROBE_S):
            return await reader.read(1)
    except TimeoutError:
        return b""
    except OSError as error:
        if context is not None and (fault := tls_fault(error)) is not None:
            raise StoreUnavailable(fault) from error
        return b""
    finally:
        writer.transport.abort()


def _trusting() -> ssl.SSLContext:
    """A context that verifies nothing, over which nothing secret is sent."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context
