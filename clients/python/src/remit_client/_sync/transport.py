"""Which connections a client has, here without an event loop. `_async/transport.py` is its twin."""

from __future__ import annotations

from remit_client._sync.connections import Connections
from remit_client._sync.plain_http import PlainConnections
from remit_client.plain_questions import can_ask_plainly
from remit_client.wire import Settings


def connections_for(settings: Settings) -> Connections:
    """Those with one deadline for the whole where they will do, else httpx's."""
    return PlainConnections(settings) if can_ask_plainly(settings) else Connections(settings)
