"""Streamed answers: a key may have a limited number open, and they end with the key."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from litestar import Request

from app.errors import TooManyStreams, Unauthorized
from app.model.api_keys import Caller
from app.replica import Decisions, Streams

OPEN_STREAM = "open_stream"
"""The name under which a request's state has the key whose streamed answer it is."""

HALF_CLOSED = "half_closed"
"""An ASGI extension: an event that is set when the client closes its sending side. Whether it is gone altogether shows
only when something is written, so a long-silent answer then writes something.
"""

UNBUFFERED = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
"""Headers of a streamed answer. A proxy that buffers it would delay what it says."""

STILL_HERE = b": still here\n\n"
"""A comment in an event stream, which shows whether the client is still there."""

SILENCE_S = 15.0
"""Proxies close a connection that is silent for a minute; a comment keeps it open."""

ASKING_S = 0.5
"""Seconds between two comments to a client that has closed its sending side. If it is gone, its machine rejects the
first comment, and writing the second fails.
"""


def require_room_for_stream(request: Request[Any, Any, Any], caller: Caller, streams: Streams) -> None:
    """Count the answer as one of the key's open streams until `close_stream`. Raises TooManyStreams."""
    if not streams.open_streams.enter(caller.root):
        raise TooManyStreams(streams.open_streams.per_key)
    request.scope["state"][OPEN_STREAM] = caller.root


def close_stream(streams: Streams, scope: Any) -> None:
    """Stop counting the answer, if it was counted; most never are."""
    key_id = scope.get("state", {}).pop(OPEN_STREAM, None)
    if key_id is not None:
        streams.open_streams.leave(key_id)


def half_closed(request: Request[Any, Any, Any]) -> asyncio.Event:
    """An event that is set when the client closes its sending side; never if the server does not report that."""
    event = (request.scope.get("extensions") or {}).get(HALF_CLOSED)
    return event if isinstance(event, asyncio.Event) else asyncio.Event()


async def is_revoked(decisions: Decisions, raw_key: str) -> bool:
    """True if the key has become invalid, checked now: for data that must not be sent after that."""
    try:
        await decisions.authenticator.still_valid(raw_key)
    except Unauthorized:
        return True
    return False


async def while_valid(streams: Streams, raw_key: str, pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Yield the pieces until the key has ended or the replica is told to stop; the answer then lacks its end."""
    async with streams.callers.on(raw_key, asyncio.Event()) as known:
        async for piece in pieces:
            if known.error is not None or streams.stopping.is_set():
                return
            yield piece
