"""Which connections a client has, here without an event loop. `_async/transport.py` is its twin."""

from __future__ import annotations

from remit_client._sync.connections import Connections
from remit_client.wire import Settings


def connections_for(settings: Settings) -> Connections:
    """httpx's."""
    return Connections(settings)
