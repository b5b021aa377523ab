"""The unsealed entries, as they are in the store's stream."""

from collections.abc import AsyncIterator, Sequence
from typing import Any

from app.audit.entry_format import Unreadable, line_of, placeholder, time_ms_of
from app.audit.log_state import head_of, newest_of
from app.errors import AuditLogDamaged
from app.redis_client.client import Client
from app.store.keyspace import Keyspace

END = 1 << 62
"""Greater than every sequence."""
_CHUNK = 128


class UnsealedWalk:
    """A walk through the commits' unsealed entries, newest first, from below a sequence.

    below: every entry from here up to where the walk began has been yielded. Once it has ended, the entries further
    down must be sealed.
    """

    def __init__(self, client: Client, keyspace: Keyspace, below: int = END) -> None:
        self._client = client
        self._keyspace = keyspace
        self.below = below

    async def entries(self) -> AsyncIterator[tuple[int, dict[bytes, bytes]]]:
        """Yield the sequence and fields of each entry. Raises AuditLogDamaged if one is missing above another."""
        keyspace, end = self._keyspace, "+" if self.below == END else f"({self.below}-0"
        newest: int | None = None
        while True:
            chunk_below = ("XREVRANGE", keyspace.audit_stream, end, "-", "COUNT", _CHUNK)
            if newest is None:
                # Entries counted before the read are in the chunk or sealed; entries in the chunk are counted after it.
                sealed, count = ("HGET", keyspace.audit_head, "sequence"), ("HGET", keyspace.commits, "sequence")
                least, before, chunk, after = await self._client.read_pipelined(
                    (sealed, count, chunk_below, count), as_bytes=True
                )
                self.below = min(self.below, newest_of(least, before) + 1)
                newest = newest_of(least, after)
            else:
                (chunk,) = await self._client.read_pipelined([chunk_below], as_bytes=True)
            for sequence, fields in stream_entries(chunk):
                if sequence is not None and sequence <= newest:
                    if sequence + 1 < self.below:
                        raise gone(sequence + 1, self.below - 1)
                    self.below = sequence
                    yield sequence, fields
            if len(chunk) < _CHUNK:
                return
            last = chunk[-1][0].decode()
            end = f"({last}" if int(last.partition("-")[0]) <= newest else f"{newest}-0"


def gone(first: int, last: int) -> AuditLogDamaged:
    """The error for entries that are neither in the stream nor sealed."""
    which = f"Entry {first} of the audit log is" if first == last else f"Entries {first} to {last} of the audit log are"
    return AuditLogDamaged(f"{which} gone from the stream")


async def line_of_unsealed(client: Client, keyspace: Keyspace, sequence: int, fields: dict[bytes, bytes]) -> bytes:
    """The line that the stream entry will become when sealed."""
    try:
        return line_of(fields)
    except Unreadable as error:
        time_ms = time_ms_of(fields) or await _time_before(client, keyspace, sequence)
        return placeholder(sequence, fields, str(error), time_ms)


async def _time_before(client: Client, keyspace: Keyspace, sequence: int) -> int:
    """The time of the preceding entry, in the stream or sealed."""
    (before,) = await client.read_pipelined(
        [("XREVRANGE", keyspace.audit_stream, f"({sequence}-0", "-", "COUNT", 1)], as_bytes=True
    )
    for _, fields in stream_entries(before):
        if time_ms := time_ms_of(fields):
            return time_ms
    return head_of(await client.call("HGETALL", keyspace.audit_head)).last_ms


def stream_entries(chunk: Sequence[Any]) -> list[tuple[int | None, dict[bytes, bytes]]]:
    """The entries in the store's reply; the sequence is None if no commit can have given the id."""
    return [(sequence_of(entry_id), fields_of(fields)) for entry_id, fields in chunk]


def sequence_of(entry_id: bytes) -> int | None:
    """The sequence in a stream id; None if no commit can have given the id."""
    sequence, _, second = entry_id.partition(b"-")
    return int(sequence) if second == b"0" else None


def fields_of(fields: Any) -> dict[bytes, bytes]:
    """The entry's fields by name, from the store's reply."""
    return fields if isinstance(fields, dict) else dict(zip(fields[::2], fields[1::2], strict=True))
