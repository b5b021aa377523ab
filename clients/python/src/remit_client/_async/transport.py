"""Chooses a client's connections, with an event loop. Its twin `_sync/transport.py` is also written by hand."""

from __future__ import annotations

from remit_client._async.connections import AsyncConnections
from remit_client._async.plain_http import PlainConnections
from remit_client.plain_requests import can_use_plain_http
from remit_client.wire import Settings


def connections_for(settings: Settings) -> AsyncConnections:
    """Our own connections, which are faster, if they will do; otherwise httpx's."""
    return PlainConnections(settings) if can_use_plain_http(settings) else AsyncConnections(settings)
