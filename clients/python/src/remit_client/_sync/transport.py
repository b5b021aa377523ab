"""Chooses a client's connections, without an event loop. Its twin is `_async/transport.py`."""

from __future__ import annotations

from remit_client._sync.connections import Connections
from remit_client._sync.plain_http import PlainConnections
from remit_client.plain_requests import can_use_plain_http
from remit_client.wire import Settings


def connections_for(settings: Settings) -> Connections:
    """Our own connections, which hold one deadline for a whole answer, if they will do; otherwise httpx's."""
    return PlainConnections(settings) if can_use_plain_http(settings) else Connections(settings)
