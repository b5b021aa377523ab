"""Which connections a client has, here with an event loop. `_sync/transport.py` is its twin and written by hand."""

from __future__ import annotations

from remit_client._async.connections import AsyncConnections
from remit_client._async.plain_http import PlainConnections
from remit_client.plain_questions import can_ask_plainly
from remit_client.wire import Settings


def connections_for(settings: Settings) -> AsyncConnections:
    """The faster ones where they will do, else httpx's."""
    return PlainConnections(settings) if can_ask_plainly(settings) else AsyncConnections(settings)
