"""The unsealed entries, as the store's stream holds them."""

from collections.abc import AsyncIterator, Sequence
from typing import Any

from app.audit.entry_format import Unreadable, line_of, placeholder, time_ms_of
from app.redis_client.client import Client
from app.store.keyspace import Keyspace

END = 1 << 62
"""Greater than every sequence."""
_CHUNK = 128


async def read_stream_backwards(
    client: Client, keyspace: Keyspace, below: int = END
) -> AsyncIterator[tuple[int, dict[bytes, bytes]]]:
    """Yield sequence and fields of the commits' unsealed entries below a sequence, newest first."""
    end = "+" if below == END else f"({below}-0"
    newest: int | None = None
    while True:
        commands = [("XREVRANGE", keyspace.audit_stream, end, "-", "COUNT", _CHUNK)]
        if newest is None:
            # The number of the last commit is read second, so it is at least that of every entry read before it.
            chunk, sequence = await client.read_pipelined(
                [*commands, ("HGET", keyspace.commits, "sequence")], as_bytes=True
            )
            newest = int(sequence or 0)
        else:
            (chunk,) = await client.read_pipelined(commands, as_bytes=True)
        for sequence, fields in stream_entries(chunk):
            if sequence is not None and sequence <= newest:
                yield sequence, fields
        if len(chunk) < _CHUNK:
            return
        last = chunk[-1][0].decode()
        end = f"({last}" if int(last.partition("-")[0]) <= newest else f"{newest}-0"


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
    return int(await client.call("HGET", keyspace.audit_head, "last_ms") or 0)


def stream_entries(chunk: Sequence[Any]) -> list[tuple[int | None, dict[bytes, bytes]]]:
    """The entries in the store's reply; the sequence is None if no commit can have given the id."""
    return [(sequence_of(entry_id), fields_of(fields)) for entry_id, fields in chunk]


def sequence_of(entry_id: bytes) -> int | None:
    """The sequence in a stream id; None if no commit can have given the id."""
    sequence, _, rest = entry_id.partition(b"-")
    return int(sequence) if rest == b"0" else None


def fields_of(fields: Any) -> dict[bytes, bytes]:
    """The entry's fields by name, from the store's reply."""
    return fields if isinstance(fields, dict) else dict(zip(fields[::2], fields[1::2], strict=True))
