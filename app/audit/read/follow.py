"""Follows the log: a follower gets every appended entry once, in order."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress

from app.audit.log_state import read_head
from app.audit.read.forward_reader import EntryChunk, ForwardReader
from app.model.audit import AuditFilters, Floor
from app.redis_client.client import Client
from app.store.keyspace import Keyspace
from app.store.shared_polling import Polled, SharedPolling

POLL_S = 0.25


async def resumed(client: Client, workspace_id: str, after: int) -> tuple[int, Floor | None]:
    """The sequence after which a reader continues, and the floor if the entries after `after` were dropped."""
    head, _ = await read_head(client, Keyspace(workspace_id))
    if head.floor is None or head.floor.sequence <= after + 1:
        return after, None
    return head.floor.sequence - 1, head.floor


async def follow(
    client: Client,
    workspace_id: str,
    query: AuditFilters,
    after: int | None,
    stopping: asyncio.Event,
    newest: Polled[int] | None = None,
) -> AsyncIterator[EntryChunk | None]:
    """Yield every matching entry after a sequence, also those appended from now on; yield None while nothing is new.

    after: None = only new entries. newest: the newest sequence, polled once for all followers of a workspace; without
    it, this follower asks the store. It ends when `stopping` is set. Every chunk says how far the log was read; a
    follower that reconnects with that sequence gets the rest, without gap or repetition. Raises StoreUnavailable if
    retention drops the next entries; `resumed` then says where to continue.
    """
    reader = ForwardReader(client, workspace_id, query)
    position = await reader.newest() if after is None else after
    yield EntryChunk((), b"", position)
    while not stopping.is_set():
        if newest is not None and newest.error is not None:
            raise newest.error
        until = await reader.newest() if newest is None else newest.value
        if until > position:
            async for chunk in reader.chunks(position, until):
                yield chunk
            position = until
            continue
        yield None
        if newest is None:
            with suppress(TimeoutError):
                await asyncio.wait_for(stopping.wait(), POLL_S)


def watch_newest(client: Client, stopping: asyncio.Event) -> SharedPolling[int]:
    """Polls the newest sequence of every followed workspace, by workspace id: once for all followers."""
    return SharedPolling(
        lambda workspace_id: ForwardReader(client, workspace_id, AuditFilters()).newest(), POLL_S, stopping
    )
