"""Read hashes, and the sorted sets that list them, a page at a time."""

from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence

from app.redis_client.client import Client
from app.redis_client.replies import as_record

_TOGETHER = 256
"""Hashes read in one step, at most: about a millisecond of the store's time."""
_FIRST, _STEP_BYTES = 16, 128 * 1024
"""The number of hashes in the first step, and the bytes a step should read: of large records, each step reads fewer."""


async def read_page(client: Client, index: str, limit: int | None, offset: int) -> list[str]:
    """Members of a sorted set in its order, `limit` of them (all if None) after the first `offset`."""
    last = -1 if limit is None else offset + limit - 1
    members: list[str] = await client.call("ZRANGE", index, offset, last)
    return members


async def read_records(
    client: Client, name_of: Callable[[str], str], ids: Sequence[str]
) -> AsyncIterator[list[dict[str, str]]]:
    """Yield the hashes of these ids in their order; missing ones are left out.

    The store is asked for a few at a time, because it commits no decision while it answers.
    """
    start, count = 0, _FIRST
    while start < len(ids):
        replies = await client.read_pipelined([("HGETALL", name_of(each)) for each in ids[start : start + count]])
        records = [record for reply in replies if (record := as_record(reply))]
        size = sum(len(value) for record in records for value in record.values())
        start += count
        count = min(_TOGETHER, 2 * count) if size < _STEP_BYTES else max(1, count // 2)
        yield records


async def with_values(
    client: Client, name_of: Callable[[str], str], ids: Sequence[str], wanted: Mapping[str, Collection[str | None]]
) -> AsyncIterator[list[str]]:
    """Yield those of these ids whose hashes have wanted values, in their order; only these fields are read.

    wanted: for each field the values of which it has one; None = it is missing.
    """
    if not wanted:
        yield [*ids]
        return
    for start in range(0, len(ids), _TOGETHER):
        some = ids[start : start + _TOGETHER]
        replies = await client.read_pipelined([("HMGET", name_of(each), *wanted) for each in some])
        yield [each for each, found in zip(some, replies, strict=True) if _have(found, wanted)]


async def matching_records(
    client: Client, name_of: Callable[[str], str], ids: Sequence[str], wanted: Mapping[str, Collection[str | None]]
) -> AsyncIterator[list[dict[str, str]]]:
    """Yield the hashes of these ids that have wanted values, in their order; missing ones are left out."""
    async for some in with_values(client, name_of, ids, wanted):
        async for records in read_records(client, name_of, some):
            # One may have changed since its values were read.
            yield [record for record in records if _have([record.get(field) for field in wanted], wanted)]


def _have(found: Sequence[str | None], wanted: Mapping[str, Collection[str | None]]) -> bool:
    return all(value in among for value, among in zip(found, wanted.values(), strict=True))
