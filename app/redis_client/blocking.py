"""Blocking reads: the store answers once there is something to read, so waiting costs nothing."""

from collections.abc import Mapping
from typing import Any

from redis import exceptions

from app.errors import StoreUnavailable
from app.redis_client.replies import describe_fault
from app.redis_client.urls import StoreUrl, open_cluster, open_redis

BLOCK_MS = 20_000
_PATIENCE_S = 5.0
_READERS_MAX = 1_024


class BlockingReader:
    """A separate client: a blocking read would occupy a connection that other calls need."""

    def __init__(self, url: str) -> None:
        where = StoreUrl.parse(url)
        timeout_s = BLOCK_MS / 1000 + _PATIENCE_S
        opened = open_cluster if where.topology == "cluster" else open_redis
        # An entry that is not UTF-8 is another program's; strictly decoded, it would block every entry after it.
        self._redis: Any = opened(where, timeout_s, _READERS_MAX, encoding_errors="replace")

    async def last_id(self, stream: str) -> str:
        """The id of the newest entry, `0-0` if there is none."""
        entries = await self._asked(self._redis.xrevrange(stream, count=1))
        return str(entries[0][0]) if entries else "0-0"

    async def first_id(self, stream: str) -> str:
        """The id of the oldest entry, `0-0` if there is none."""
        entries = await self._asked(self._redis.xrange(stream, count=1))
        return str(entries[0][0]) if entries else "0-0"

    async def after(self, last_ids: Mapping[str, str], *, wait: bool = True) -> list[tuple[str, str, dict[str, str]]]:
        """(stream, id, fields) of entries after the last id of each stream, a stream's oldest first; all in one slot.

        Returns as soon as there are any; empty if none came within 20 seconds.
        """
        reply = await self._asked(self._redis.xread(dict(last_ids), block=BLOCK_MS if wait else None))
        streams = reply.items() if isinstance(reply, dict) else reply or ()
        return [(stream, entry_id, fields) for stream, entries in streams for entry_id, fields in _flat(entries)]

    async def close(self) -> None:
        await self._redis.aclose()

    async def _asked(self, call: Any) -> Any:
        try:
            return await call
        except (exceptions.RedisError, exceptions.RedisClusterException, OSError, TimeoutError) as error:
            raise StoreUnavailable(describe_fault(error)) from error


def _flat(entries: Any) -> Any:
    """redis-py nests the entries of a stream once more under RESP3."""
    return entries[0] if entries and isinstance(entries[0], list) else entries
