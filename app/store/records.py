"""Hashes and the sorted sets that list them: read the same way for keys, agents and policies."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence

from app.errors import LimitReached, VersionConflict
from app.model.versions import Versions
from app.store.client import Client

_TOGETHER = 256
"""Hashes that are read in one step, at most: about a millisecond of the store's time."""

_THAW_S = 0.15
_FIRST, _STEP_BYTES = 16, 128 * 1024
"""How many are read first, and how large a step should be: large ones are read by few."""


async def store_time_ms(client: Client) -> int:
    """The store's clock, ms since the epoch."""
    seconds, microseconds = await client.call("TIME")
    return int(seconds) * 1000 + int(microseconds) // 1000


async def read_page(client: Client, index: str, limit: int | None, offset: int) -> list[str]:
    """Members of a sorted set in its order, `limit` of them (all if None) after the first `offset`."""
    last = -1 if limit is None else offset + limit - 1
    members: list[str] = await client.call("ZRANGE", index, offset, last)
    return members


async def read_records(
    client: Client, name_of: Callable[[str], str], ids: Sequence[str]
) -> AsyncIterator[list[dict[str, str]]]:
    """The hashes of these ids in their order, some at a time; those that are gone are left out.

    However many or large they are, the store is asked for a few at a time: it does nothing else while it answers,
    and decisions wait for it.
    """
    start, count = 0, _FIRST
    while start < len(ids):
        replies = await client.read_together([("HGETALL", name_of(each)) for each in ids[start : start + count]])
        records = [record for reply in replies if (record := as_record(reply))]
        size = sum(len(value) for record in records for value in record.values())
        start += count
        count = min(_TOGETHER, 2 * count) if size < _STEP_BYTES else max(1, count // 2)
        yield records


def as_record(reply: dict[str, str] | list[str]) -> dict[str, str]:
    """A hash as the store gave it: a flat list, or what redis-py has already made of one."""
    return reply if isinstance(reply, dict) else dict(zip(reply[::2], reply[1::2], strict=True))


def info_of(reply: dict[str, object] | str) -> dict[str, str]:
    """What a node says of itself (INFO): a text, or what redis-py has already made of one."""
    if isinstance(reply, dict):
        return {name: str(value) for name, value in reply.items()}
    return dict(line.split(":", 1) for line in reply.splitlines() if ":" in line)


def require_version(current: int, wanted: Versions) -> None:
    """Raise VersionConflict unless the version is one that the caller wants to change."""
    if wanted is not None and current not in wanted:
        raise VersionConflict(f"The version is {current} now, and If-Match does not name it; read it again")


async def overtaken(status: str) -> bool:
    """Whether the script found something else than was read; who should try again may do so at once.

    Where the agent is being deleted, this takes so long that the attempts of a change outlast the freeze.
    """
    if status == "frozen":
        await asyncio.sleep(_THAW_S)
    return status in {"stale", "frozen"}


def require_room(status: str, owner: str, things: str, limit: int) -> None:
    """Raise LimitReached if the script found that the owner has as many of these things as it may have."""
    if status == "full":
        raise LimitReached(f"The {owner} has as many {things} as it may have ({limit}); delete one to make room")


def number_or_none(text: str | None) -> int | None:
    return None if text is None else int(text)
