"""/v1/audit-logs/stream: new entries of the log as server-sent events."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

from litestar import Request, get
from litestar.di import NamedDependency as Handed
from litestar.response import Stream

from app.audit.scan import EntryChunk
from app.errors import Invalid
from app.http.api.audit_log import ALIASES, FILTERS, settled_query
from app.http.authentication import raw_key_of, requires
from app.http.open_streams import ASKING_S, SILENCE_S, half_closed, is_revoked, require_room_for_stream
from app.http.queries import Query
from app.model.api_keys import Caller, Scope
from app.model.audit import AuditQuery
from app.model.times import rfc3339
from app.replica import Services
from app.views.audit_entries import with_codes


@get("/v1/audit-logs/stream", guards=[requires(Scope.READ, Scope.AUDIT)])
async def stream_audit_log(
    request: Request[Any, Any, Any], caller: Handed[Caller], services: Handed[Services]
) -> Stream:
    """Matching entries, oldest first, from Last-Event-ID on, or from now on; each event's id is its sequence."""
    query = Query(request, known=FILTERS, aliases=ALIASES)
    raw_key = raw_key_of(request.headers.get("authorization", "").encode("latin-1"))
    wanted, after = await settled_query(services, caller, query), _resumed_after(request)
    # Proxies that buffer an answer would delay the events.
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    if after is not None:
        after, floor = await services.audit.resumed(caller.workspace_id, after)
        if floor is not None and (wanted.from_ms is None or wanted.from_ms <= floor.time_ms):
            headers["X-Audit-Floor"] = rfc3339(floor.time_ms)
    require_room_for_stream(request, caller, services)
    messages = _messages(services, caller, raw_key, wanted, after, half_closed(request))
    return Stream(messages, media_type="text/event-stream", headers=headers)


def _resumed_after(request: Request[Any, Any, Any]) -> int | None:
    given = request.headers.get("last-event-id")
    if given is None:
        return None
    if given.isascii() and given.isdigit() and len(given) <= 15:  # noqa: PLR2004 - what a sequence can have
        return int(given)
    raise Invalid.at("Last-Event-ID", "must be the id of an event of this stream")


async def _messages(
    services: Services, caller: Caller, raw_key: str, query: AuditQuery, after: int | None, wake: asyncio.Event
) -> AsyncIterator[bytes]:
    """Yield events until the replica stops or the key ends: nothing is sent after a revocation.

    wake: set when the client closes its sending side. Comments are then written, which end the connection if the client
    is gone.
    """
    silence_s = SILENCE_S
    async with (
        services.callers.on(raw_key, wake) as known,
        services.newest.on(caller.workspace_id, wake) as newest,
    ):
        async for chunk in services.audit.follow(caller.workspace_id, query, after, services.stopping, newest):
            if known.error is not None:
                return
            if chunk is not None:
                events = await _events(chunk)
                if await is_revoked(services, raw_key):
                    return
                yield events
                continue
            before = newest.value
            with suppress(TimeoutError):
                await asyncio.wait_for(wake.wait(), silence_s)
            if newest.value == before and newest.error is None and known.error is None:
                if wake.is_set():
                    silence_s = ASKING_S
                yield b": still here\n\n"
            wake.clear()


async def _events(chunk: EntryChunk) -> bytes:
    lines = await with_codes(chunk.body.splitlines())
    messages = [b"id: %d\ndata: %b\n\n" % each for each in zip(chunk.sequences, lines, strict=True)]
    if not messages or chunk.sequences[-1] != chunk.up_to:
        # An id without data only moves the position at which a reader resumes.
        messages.append(b"id: %d\n\n" % chunk.up_to)
    return b"".join(messages)
