"""Follows approvals: all waiters of one workspace on this replica share one blocking read of the store."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

from msgspec import Struct

from app.errors import StoreUnavailable
from app.model.changes import ResourceType
from app.redis_client.blocking import BlockingReader
from app.store.keyspace import Keyspace

log = logging.getLogger(__name__)
_AGAIN_S = 1.0
_UNREAD_MAX = 1_000
_KEPT = 10_000
"""The scripts drop no event that has fewer than this many after it."""


class ApprovalEvent(Struct, frozen=True):
    """A change of an approval. id: its position among the workspace's events."""

    id: str
    approval_id: str
    status: str


Events = asyncio.Queue[ApprovalEvent | None]
"""What one waiter has not read yet; None means that events may have been missed."""


class ApprovalFollower:
    """Delivers changes made on any replica to all waiters on this one, within one round trip.

    stopping: once set, all waiters are woken.
    """

    def __init__(self, reader: BlockingReader, stopping: asyncio.Event) -> None:
        self._reader = reader
        self._stopping = stopping
        self._rooms: dict[str, _Room] = {}
        self._making: dict[tuple[str, str], asyncio.Task[bytes]] = {}

    @asynccontextmanager
    async def subscribed(
        self, workspace_id: str, wake: asyncio.Event | None = None, *, key_id: str | None = None
    ) -> AsyncIterator[Events]:
        """A queue of every event from now on.

        wake: set whenever something arrives. key_id: None also arrives when this API key has been changed or revoked.
        """
        room = self._rooms.get(workspace_id)
        if room is None:
            room = self._rooms[workspace_id] = _Room(self._reader, Keyspace(workspace_id), self._stopping)
        queue = Events(_UNREAD_MAX)
        room.queues[queue] = _Listener(wake, key_id)
        try:
            await room.listening()
            yield queue
        finally:
            room.queues.pop(queue, None)
            if not room.queues and self._rooms.get(workspace_id) is room:
                del self._rooms[workspace_id]
                room.close()

    async def once(
        self, workspace_id: str, event: ApprovalEvent, make: Callable[[], Coroutine[Any, Any, bytes]]
    ) -> bytes:
        """What `make` makes of the event, once for all that want it at the same time, and so with one read."""
        name = workspace_id, event.id
        making = self._making.get(name)
        if making is None:
            making = self._making[name] = asyncio.create_task(make())
            making.add_done_callback(lambda _: self._making.pop(name, None))
        return await asyncio.shield(making)  # one that is cancelled does not cancel it for the others

    async def newest(self, workspace_id: str) -> str:
        """The position of the newest event."""
        return await self._reader.last_id(Keyspace(workspace_id).approval_events)

    async def missed(self, workspace_id: str, after: str) -> tuple[list[ApprovalEvent], bool]:
        """The events after this position, and whether they are all there were: the store keeps about 10,000."""
        stream = Keyspace(workspace_id).approval_events
        entries = await self._reader.after({stream: after}, wait=False)
        oldest = await self._reader.first_id(stream)  # asked last, so what is dropped meanwhile is not overlooked
        events = [_event(entry_id, fields) for _, entry_id, fields in entries]
        is_all = len(entries) < _KEPT or place_of(oldest) <= place_of(after)
        return [event for event in events if event is not None], is_all

    async def close(self) -> None:
        """Deliver no further events."""
        for room in self._rooms.values():
            room.close()
        self._rooms.clear()
        await self._reader.close()


class _Listener(Struct, frozen=True):
    """One waiter and its queue. wake: set whenever something arrives. key_id: the API key it waits with."""

    wake: asyncio.Event | None
    key_id: str | None


class _Room:
    """All waiters on this replica for one workspace's approvals.

    One read waits both for events and for the trail of changes, which tells when a key is revoked. So nothing polls the
    keys.
    """

    def __init__(self, reader: BlockingReader, keyspace: Keyspace, stopping: asyncio.Event) -> None:
        self._reader = reader
        self._events, self._changes = keyspace.approval_events, keyspace.changes
        self._ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._tasks = [asyncio.create_task(self._listen()), asyncio.create_task(self._wake_when(stopping))]
        self.queues: dict[Events, _Listener] = {}

    async def listening(self) -> None:
        """Return once events are being received. Raises StoreUnavailable."""
        await asyncio.shield(self._ready)

    def close(self) -> None:
        for task in self._tasks:
            task.cancel()

    async def _listen(self) -> None:
        try:
            last_ids = {each: await self._reader.last_id(each) for each in (self._events, self._changes)}
        except StoreUnavailable as error:
            self._ready.set_exception(error)
            return
        self._ready.set_result(None)
        while True:
            try:
                for stream, entry_id, fields in await self._reader.after(last_ids):
                    last_ids[stream] = entry_id
                    self._tell(stream, entry_id, fields)
            except StoreUnavailable as error:
                log.warning("%s; listening for approvals again in a second", error)
                self._notify(None)
                await asyncio.sleep(_AGAIN_S)

    async def _wake_when(self, stopping: asyncio.Event) -> None:
        await stopping.wait()
        self._notify(None)

    def _tell(self, stream: str, entry_id: str, fields: dict[str, str]) -> None:
        """Tell waiters of an event, and those that wait with a key of a change to it."""
        if stream != self._changes:
            event = _event(entry_id, fields)
            if event is not None:
                self._notify(event)
        elif fields.get("resourceType") == ResourceType.API_KEY:
            self._tell_key(fields.get("resourceId", ""))

    def _notify(self, event: ApprovalEvent | None) -> None:
        for queue, listener in self.queues.items():
            _put(queue, listener, event)

    def _tell_key(self, key_id: str) -> None:
        for queue, listener in self.queues.items():
            if listener.key_id == key_id:
                _put(queue, listener, None)


def _put(queue: Events, listener: _Listener, event: ApprovalEvent | None) -> None:
    if listener.wake is not None:
        listener.wake.set()
    if queue.full():  # a reader this slow must read from the store what it has missed
        while not queue.empty():
            queue.get_nowait()
        event = None
    queue.put_nowait(event)


def place_of(event_id: str) -> tuple[int, ...]:
    """The position as numbers, in the order of the events."""
    return tuple(map(int, event_id.split("-")))


def _event(entry_id: str, fields: dict[str, str]) -> ApprovalEvent | None:
    """The event; None if another program added it."""
    if not {"id", "status"} <= fields.keys():
        log.warning("event %s of the approvals is not one that Remit wrote, and is left out", entry_id)
        return None
    return ApprovalEvent(entry_id, fields["id"], fields["status"])
