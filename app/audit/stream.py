"""The entries that are not sealed yet, as the store's stream holds them."""

from collections.abc import AsyncIterator, Sequence
from typing import Any

from app.redis_client.client import Client
from app.store.keyspace import Keyspace

END = 1 << 62
"""Above every sequence."""
_CHUNK = 128


async def read_stream_backwards(
    client: Client, keyspace: Keyspace, below: int = END
) -> AsyncIterator[tuple[int, dict[bytes, bytes]]]:
    """Sequence and fields of the unsealed entries below a sequence, newest first."""
    end = "+" if below == END else f"({below}-0"
    while True:
        chunk = await client.call_bytes("XREVRANGE", keyspace.audit_stream, end, "-", "COUNT", _CHUNK)
        for sequence, fields in stream_entries(chunk):
            if sequence is not None:
                yield sequence, fields
        if len(chunk) < _CHUNK:
            return
        end = f"({chunk[-1][0].decode()}"


def stream_entries(chunk: Sequence[Any]) -> list[tuple[int | None, dict[bytes, bytes]]]:
    """Entries that the store gave; their sequence is None where no commit made the id."""
    return [(sequence_of(entry_id), fields_of(fields)) for entry_id, fields in chunk]


def sequence_of(entry_id: bytes) -> int | None:
    """The sequence that the stream's id says; None if no commit made it."""
    sequence, _, rest = entry_id.partition(b"-")
    return int(sequence) if rest == b"0" else None


def fields_of(fields: Any) -> dict[bytes, bytes]:
    """The fields of an entry by name, from what the store gave."""
    return fields if isinstance(fields, dict) else dict(zip(fields[::2], fields[1::2], strict=True))
