"""/v1/approvals/stream: changes of approvals as server-sent events."""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import Any

import msgspec
from litestar import Request
from litestar.response import Stream

from app.approvals.following import ApprovalEvent, Events, place_of
from app.errors import ApprovalNotFound, Invalid, TooManyStreams
from app.http.authentication import raw_key_in_use
from app.http.endpoint import endpoint
from app.http.open_streams import (
    ASKING_S,
    SILENCE_S,
    STILL_HERE,
    UNBUFFERED,
    half_closed,
    is_revoked,
    require_room_for_stream,
)
from app.http.openapi.described_headers import last_event_id
from app.model.api_keys import Caller, Scope
from app.model.query_fields import QueryFields
from app.replica import Records, Services

_Message = Callable[[ApprovalEvent], Awaitable[bytes]]
_is_event_id = re.compile(r"[0-9]{1,15}-[0-9]{1,15}").fullmatch


class StreamQuery(QueryFields, frozen=True):
    """What the events of approvals contain.

    brief: Only the id of the approval: what is in it is not read.
    """

    brief: bool = False


@endpoint(
    "GET",
    "/v1/approvals/stream",
    tag="Approvals",
    scopes=(Scope.READ, Scope.VIEW, Scope.APPROVE),
    answer=str,
    media=("text/event-stream",),
    errors=(TooManyStreams,),
    request_headers=(last_event_id("^[0-9]{1,15}-[0-9]{1,15}$"),),
)
async def stream_approvals(
    request: Request[Any, Any, Any], params: StreamQuery, caller: Caller, services: Services
) -> Stream:
    """Follow approvals as server-sent events.

    One event for each change of an approval, named after its new status: from the Last-Event-ID on, or from now on. The
    store keeps about 10,000 of them: if some are gone that were not sent, an event `lost` says so, and the list of
    approvals must be read again. The stream ends when the key is revoked and when the replica stops; then connect
    again.
    """
    raw_key = raw_key_in_use(request)
    after = request.headers.get("last-event-id")
    if after is not None and not _is_event_id(after):
        raise Invalid.at("Last-Event-ID", "must be the id of an event of this stream")
    require_room_for_stream(request, caller, services.streams)
    message = partial(_brief if params.brief else _whole, services, caller.workspace_id)
    messages = _messages(services, caller, raw_key, after, half_closed(request), message)
    return Stream(messages, media_type="text/event-stream", headers=UNBUFFERED)


async def _messages(
    services: Services, caller: Caller, raw_key: str, after: str | None, wake: asyncio.Event, message: _Message
) -> AsyncIterator[bytes]:
    """Yield events until the replica stops or the key ends: nothing is sent after a revocation.

    wake: set when the client closes its sending side. Comments are then written, which end the connection if the client
    is gone. message: makes the message of an event.
    """
    silence_s, follower = SILENCE_S, services.streams.approval_follower
    newest = await follower.newest(caller.workspace_id)
    sent = after or newest
    async with (
        services.streams.callers.on(raw_key, wake) as known,
        follower.subscribed(caller.workspace_id, wake) as events,
    ):
        if after is not None:
            events.put_nowait(None)
            wake.set()
        yield b": listening\n\n"
        if place_of(sent) > place_of(newest):  # of a store that has since been restored from a backup
            yield _lost(sent)
            sent = newest
        while known.error is None and not services.streams.stopping.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(wake.wait(), silence_s)
            if events.empty() and known.error is None:
                if wake.is_set():
                    silence_s = ASKING_S
                yield STILL_HERE
            wake.clear()
            async for place, made in _unsent(services, caller, events, sent, message):
                if await is_revoked(services.decisions, raw_key):
                    return
                yield made
                sent = place


async def _unsent(
    services: Services, caller: Caller, events: Events, sent: str, message: _Message
) -> AsyncIterator[tuple[str, bytes]]:
    """Yield what is to be sent after `sent` for the events that have come, each with its position."""
    while not events.empty():
        async for place, made in _since(services, caller, events.get_nowait(), sent, message):
            yield place, made
            sent = place


async def _since(
    services: Services, caller: Caller, coming: ApprovalEvent | None, sent: str, message: _Message
) -> AsyncIterator[tuple[str, bytes]]:
    """Yield what is to be sent after `sent`, with its position: `coming`, or if it is None, all that the store has.

    That begins with a comment, and with an event `lost` if the store has dropped some.
    """
    events, is_all, follower = [] if coming is None else [coming], True, services.streams.approval_follower
    if coming is None:
        yield sent, STILL_HERE
        events, is_all = await follower.missed(caller.workspace_id, sent)
    if not is_all:
        yield sent, _lost(sent)
    for event in events:
        if place_of(event.id) > place_of(sent):
            yield event.id, await message(event)


def _lost(after: str) -> bytes:
    return b'event: lost\ndata: {"after":"%b"}\n\n' % after.encode()


async def _brief(_services: Services, _workspace_id: str, event: ApprovalEvent) -> bytes:
    return _sent(event, {"id": event.approval_id})


async def _whole(services: Services, workspace_id: str, event: ApprovalEvent) -> bytes:
    make = partial(_read, services.records, workspace_id, event)
    return await services.streams.approval_follower.once(workspace_id, event, make)


async def _read(records: Records, workspace_id: str, event: ApprovalEvent) -> bytes:
    try:
        approval = await records.approvals.get(workspace_id, event.approval_id)
    except ApprovalNotFound:
        return b"id: %b\n\n" % event.id.encode()
    return _sent(event, approval)


def _sent(event: ApprovalEvent, data: Any) -> bytes:
    return b"id: %b\nevent: %b\ndata: %b\n\n" % (event.id.encode(), event.status.encode(), msgspec.json.encode(data))
