"""/v1/audit-logs/stream: new entries of the log as server-sent events."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

from litestar import Request
from litestar.response import Stream

from app.audit.read.forward_reader import EntryChunk
from app.errors import AgentNotFound, AuditLogDamaged, Invalid, TooManyStreams
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
from app.http.openapi.described_headers import AUDIT_FLOOR, last_event_id
from app.http.references import with_agent_id
from app.http.views.audit_log import with_codes
from app.model.api_keys import Caller, Scope
from app.model.audit import AuditFilters
from app.model.times import rfc3339
from app.replica import Services


@endpoint(
    "GET",
    "/v1/audit-logs/stream",
    tag="Audit log",
    scopes=(Scope.READ, Scope.VIEW, Scope.AUDIT),
    answer=str,
    media=("text/event-stream",),
    errors=(AgentNotFound, AuditLogDamaged, TooManyStreams),
    headers=AUDIT_FLOOR,
    request_headers=(last_event_id("^[0-9]{1,15}$"),),
)
async def stream_audit_log(
    request: Request[Any, Any, Any], params: AuditFilters, caller: Caller, services: Services
) -> Stream:
    """Follow the audit log as server-sent events.

    Each event's data is an entry, its id the entry's sequence. Without Last-Event-ID the stream begins with new
    entries; with it, it continues after that event without gap or repetition, unless X-Audit-Floor says that retention
    dropped what came next. It ends when the key is revoked, when the replica stops, and when retention overtakes it;
    then connect again.
    """
    raw_key = raw_key_in_use(request)
    params, after = await with_agent_id(services.records, caller, params), _resumed_after(request)
    headers = UNBUFFERED
    if after is not None:
        if after > (newest := await services.log.audit.newest(caller.workspace_id)):
            # A restored log gives later sequences to other entries, which a reader that waited there would miss.
            message = f"is beyond the newest entry, {newest}: the log has lost entries, as after a restored backup"
            raise Invalid.at("Last-Event-ID", message)
        after, floor = await services.log.audit.resumed(caller.workspace_id, after)
        if floor is not None and (params.from_ms is None or params.from_ms <= floor.time_ms):
            headers = UNBUFFERED | {"X-Audit-Floor": rfc3339(floor.time_ms)}
    require_room_for_stream(request, caller, services.streams)
    messages = _messages(services, caller, raw_key, params, after, half_closed(request))
    return Stream(messages, media_type="text/event-stream", headers=headers)


def _resumed_after(request: Request[Any, Any, Any]) -> int | None:
    given = request.headers.get("last-event-id")
    if given is None:
        return None
    if given.isascii() and given.isdigit() and len(given) <= 15:  # noqa: PLR2004 - what a sequence can have
        return int(given)
    raise Invalid.at("Last-Event-ID", "must be the id of an event of this stream")


async def _messages(
    services: Services, caller: Caller, raw_key: str, params: AuditFilters, after: int | None, wake: asyncio.Event
) -> AsyncIterator[bytes]:
    """Yield events until the replica stops or the key ends: nothing is sent after a revocation.

    wake: set when the client closes its sending side. Comments are then written, which end the connection if the client
    is gone.
    """
    silence_s = SILENCE_S
    async with (
        services.streams.callers.on(raw_key, wake) as known,
        services.streams.newest.on(caller.workspace_id, wake) as newest,
    ):
        async for chunk in services.log.audit.follow(
            caller.workspace_id, params, after, services.streams.stopping, newest
        ):
            if known.error is not None:
                return
            if chunk is not None:
                events = await _events(chunk)
                if await is_revoked(services.decisions, raw_key):
                    return
                yield events
                continue
            before = newest.value
            with suppress(TimeoutError):
                await asyncio.wait_for(wake.wait(), silence_s)
            if newest.value == before and newest.error is None and known.error is None:
                if wake.is_set():
                    silence_s = ASKING_S
                yield STILL_HERE
            wake.clear()


async def _events(chunk: EntryChunk) -> bytes:
    lines = await with_codes(chunk.body.splitlines())
    messages = [b"id: %d\ndata: %b\n\n" % each for each in zip(chunk.sequences, lines, strict=True)]
    if not messages or chunk.sequences[-1] != chunk.up_to:
        # An id without data only moves the position at which a reader resumes.
        messages.append(b"id: %d\n\n" % chunk.up_to)
    return b"".join(messages)
