"""Waiting for approvals when the store never answers."""

import asyncio

from app.approvals.following import ApprovalEvent, ApprovalFollower
from app.store.keyspace import Keyspace


class SilentReader:
    """A reader of streams on which nothing ever happens."""

    async def last_id(self, _stream):
        return "0-0"

    async def after(self, _last_ids):
        await asyncio.Event().wait()

    async def close(self):
        pass


async def test_waiting_clients_are_woken_when_the_replica_stops():
    """A stream of approvals and a request that waits for one end at once, not half a minute later."""
    stopping = asyncio.Event()
    follower = ApprovalFollower(SilentReader(), stopping)
    async with (
        follower.subscribed("one") as first,
        follower.subscribed("one") as second,
        follower.subscribed("other") as third,
    ):
        stopping.set()
        assert [await each.get() for each in (first, second, third)] == [None, None, None]
    await follower.close()


class ToldReader(SilentReader):
    """A reader of streams to which a test adds entries."""

    def __init__(self):
        self.entries = asyncio.Queue()

    async def after(self, _last_ids):
        return [await self.entries.get()]


async def test_an_entry_that_nobody_of_ours_wrote_silences_nobody():
    """In the trail or among the events: what follows it is told."""
    reader, keyspace = ToldReader(), Keyspace("one")
    follower = ApprovalFollower(reader, asyncio.Event())
    async with follower.subscribed("one", key_id="key") as queue:
        for number, stream in enumerate((keyspace.changes, keyspace.approval_events)):
            reader.entries.put_nowait((stream, f"{number}-1", {"foo": "bar"}))
        reader.entries.put_nowait((keyspace.approval_events, "3-1", {"id": "asked", "status": "pending"}))
        async with asyncio.timeout(5):
            assert (await queue.get()).approval_id == "asked"
    await follower.close()


async def test_a_change_of_a_key_wakes_only_those_who_wait_with_that_key():
    """So nothing polls the keys. Changes of other things wake nobody."""
    reader, keyspace = ToldReader(), Keyspace("one")
    follower = ApprovalFollower(reader, asyncio.Event())
    async with (
        follower.subscribed("one", key_id="key") as with_it,
        follower.subscribed("one", key_id="another") as with_another,
        follower.subscribed("one") as a_stream,
    ):
        for number, (kind, changed) in enumerate((("policy", "key"), ("api_key", "key"))):
            reader.entries.put_nowait((keyspace.changes, f"{number}-1", {"resourceType": kind, "resourceId": changed}))
        reader.entries.put_nowait((keyspace.approval_events, "3-1", {"id": "asked", "status": "pending"}))
        told = [await with_it.get() for _ in range(2)]
        assert [event and event.approval_id for event in told] == [None, "asked"]
        for others in (with_another, a_stream):
            assert (await others.get()).approval_id == "asked"
            assert others.empty()
    await follower.close()


async def test_an_event_is_read_once_for_all_streams_that_send_it():
    """A stream that ends meanwhile takes it from none of the others; later, it is read again."""
    follower, event = ApprovalFollower(SilentReader(), asyncio.Event()), ApprovalEvent("1-1", "a", "pending")
    made, go = [], asyncio.Event()

    async def make():
        made.append(event)
        await go.wait()
        return b"message"

    def wanted(workspace_id="one"):
        return asyncio.create_task(follower.once(workspace_id, event, make))

    ends, *stay = [wanted() for _ in range(50)]
    other = wanted("other")
    await asyncio.sleep(0)
    ends.cancel()
    await asyncio.sleep(0)
    go.set()
    assert await asyncio.gather(*stay, other) == [b"message"] * 50
    assert len(made) == 2
    assert await wanted() == b"message"
    assert len(made) == 3
