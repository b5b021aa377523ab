"""Waiting for approvals, where the store never says anything."""

import asyncio

from app.approvals.following import ApprovalFollower


class SilentReader:
    """A reader of streams on which nothing ever happens."""

    async def last_id(self, _stream):
        return "0-0"

    async def after(self, _stream, _last_id):
        await asyncio.Event().wait()

    async def close(self):
        pass


async def test_whoever_waits_is_woken_when_the_replica_stops():
    """A stream of approvals, and a request that waits for one, end then and not half a minute later."""
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
