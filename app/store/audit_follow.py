"""Following the log: what is appended reaches who follows, once and in order."""

import asyncio
from collections.abc import AsyncIterator

from app.model.audit import AuditQuery
from app.store.audit_scan import Scan, Stretch
from app.store.client import Client

POLL_S = 0.25


async def follow(
    client: Client, workspace_id: str, query: AuditQuery, after: int | None, stopping: asyncio.Event
) -> AsyncIterator[Stretch | None]:
    """Every matching entry after a sequence, those that are appended from now on included; None when there is no news.

    after: None = only what is new. It ends when `stopping` is set. Every stretch says up to where the log was looked
    through, so who comes back with that sequence gets the rest: no gap, no repetition.
    """
    scan = Scan(client, workspace_id, query)
    position = await scan.newest() if after is None else after
    yield Stretch((), b"", position)
    while not stopping.is_set():
        newest = await scan.newest()
        if newest > position:
            async for stretch in scan.stretches(position, newest):
                yield stretch
            position = newest
            continue
        yield None
        try:
            await asyncio.wait_for(stopping.wait(), POLL_S)
        except TimeoutError:
            continue
