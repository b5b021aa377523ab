"""Retention: the oldest segments are dropped once they are too old and, unless configured otherwise, archived."""

from collections.abc import Awaitable, Callable, Iterator, Sequence

from app.audit.index import ANY, CAPPED, DIMENSIONS, OTHER, SHADOW, shared_by, values_of
from app.audit.index_keys import IndexKeys, index_keys_of
from app.audit.log_state import read_head
from app.audit.segments import Segment, part_of, read_segment
from app.audit.tree import read_tree, text_of
from app.audit.trees import log_tree
from app.redis_client.client import Client, Value
from app.redis_client.scripts import DROP_SEGMENT
from app.store.keyspace import Keyspace

ReadUpTo = Callable[[str], Awaitable[int | None]]
"""The sequence that all readers whom retention must wait for have reached; None without such readers."""


class Retention:
    """Drops whole segments, oldest first. The newest segment always stays, because the chain continues from it.

    hold_ms: how much longer a segment is kept while any of these readers has not read it.
    """

    def __init__(
        self, client: Client, read_up_to: ReadUpTo | None = None, hold_ms: int = 0, *, unarchived: bool
    ) -> None:
        self._client = client
        self._read_up_to = read_up_to
        self._hold_ms = hold_ms
        self._unarchived = unarchived

    async def drop_next(self, workspace_id: str, before_ms: int) -> int | None:
        """Drop the oldest segment if all its entries are older than `before_ms`; return its number, or None."""
        keyspace = Keyspace(workspace_id)
        head, _ = await read_head(self._client, keyspace)
        number = head.first_segment
        if number >= head.segment or (not self._unarchived and head.archived < number):
            return None
        record = keyspace.audit_segment(number)
        last_ms, last_sequence = await self._client.call("HMGET", record, "last_ms", "last_sequence")
        if last_ms is None or int(last_ms) >= before_ms:
            return None
        if self._read_up_to is not None and int(last_ms) >= before_ms - self._hold_ms:
            position = await self._read_up_to(workspace_id)
            if position is not None and position < int(last_sequence):
                return None
        segment = await read_segment(self._client, keyspace, number)
        if segment is None:
            return None
        size = segment.last_sequence
        if (await read_tree(self._client, keyspace.audit_tree)).frontier.size < size:
            return None  # until the Merkle tree has its entries
        kept = await log_tree(self._client, workspace_id, head).floor_hashes(size)
        part = part_of(number)
        named_by = await self._named_by(keyspace, part, segment)
        keys = [keyspace.audit_head, keyspace.audit_segment(number), keyspace.audit_data(number), keyspace.audit_parts]
        keys += [keyspace.audit_columns(part), keyspace.audit_names(part), keyspace.audit_hours(part)]
        keys += [key for key, _ in named_by]
        floor_ms = segment.last_ms if head.floor is None else max(segment.last_ms, head.floor.time_ms)
        args: list[Value] = [
            number,
            segment.sha256,
            segment.last_sequence + 1,
            floor_ms,
            int(self._unarchived),
            part if part_of(number + 1) != part else "",
            text_of(kept),
            *(member for _, member in named_by),
        ]
        status, _ = await self._client.run(DROP_SEGMENT, keys, args)
        return number if status == "dropped" else None

    async def _named_by(self, keyspace: Keyspace, part: int, segment: Segment) -> list[tuple[str, str]]:
        """(key, member) of every index entry that points at the segment."""
        lines = [index_keys_of(line) for line in segment.body().splitlines()]
        values = {value for line in lines for value in _indexed_by(line)}
        keys = [keyspace.audit_by_all(part), *(keyspace.audit_by(*value, part) for value in sorted(values))]
        replies: Sequence[Sequence[str]] = await self._client.read_pipelined(("ZRANGE", key, 0, -1) for key in keys)
        prefix = f"{segment.number}:"
        return [
            (key, member)
            for key, members in zip(keys, replies, strict=True)
            for member in members
            if member.startswith(prefix)
        ]


def _indexed_by(entry: IndexKeys) -> Iterator[tuple[str, str]]:
    """Each dimension and value whose index may name the entry's segment."""
    for dimension, value in zip(DIMENSIONS, values_of(entry), strict=True):
        if value:
            yield dimension, value
            if dimension in CAPPED:
                yield dimension, OTHER
                yield dimension, shared_by(value)[0]
            if dimension == SHADOW:
                yield dimension, ANY
