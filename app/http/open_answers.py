"""Answers that go on for long: a key may have some of them open, and they do not outlive it."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from litestar import Request

from app.errors import TooManyStreams, Unauthorized
from app.http.protocol.target import HALF_CLOSED
from app.model.keys import Caller
from app.replica import Services

OPEN_ANSWER = "open_answer"
"""In the state of a request whose answer goes on for long: the key that has it open."""
SILENCE_S = 15.0
"""Proxies close what is silent for a minute; a comment keeps it open."""

ASKING_S = 0.5
"""Between two comments to a client that sends no more: the first may be refused by its end, the second then fails."""


def require_room(request: Request[Any, Any, Any], caller: Caller, services: Services) -> None:
    """The answer that is begun now is one of the key's open ones until `close_answer`. Raises TooManyStreams."""
    if not services.open_answers.enter(caller.key_id):
        raise TooManyStreams(services.open_answers.per_key)
    request.scope["state"][OPEN_ANSWER] = caller.key_id


def close_answer(services: Services, scope: Any) -> None:
    """Whatever has become of it, it is open no longer; most answers never were."""
    key_id = scope.get("state", {}).pop(OPEN_ANSWER, None)
    if key_id is not None:
        services.open_answers.leave(key_id)


def half_closed(request: Request[Any, Any, Any]) -> asyncio.Event:
    """An event that is set when the client sends no more; never where the server does not say."""
    event = (request.scope.get("extensions") or {}).get(HALF_CLOSED)
    return event if isinstance(event, asyncio.Event) else asyncio.Event()


async def is_revoked(services: Services, raw_key: str) -> bool:
    """Whether the key is no good any more, asked now: for what must not be sent after it."""
    try:
        await services.authenticator.authenticate(raw_key)
    except Unauthorized:
        return True
    return False


async def while_valid(services: Services, raw_key: str, pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The pieces, but none once the key has ended or the replica is told to stop: what is left has no end then."""
    async with services.callers.on(raw_key, asyncio.Event()) as known:
        async for piece in pieces:
            if known.error is not None or services.stopping.is_set():
                return
            yield piece
