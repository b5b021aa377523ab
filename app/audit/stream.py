"""The entries that are not sealed yet, as the store's stream holds them."""

from collections.abc import AsyncIterator, Sequence
from typing import Any

from app.audit.entry_format import Unreadable, line_of, placeholder, time_ms_of
from app.redis_client.client import Client
from app.store.keyspace import Keyspace

END = 1 << 62
"""Above every sequence."""
_CHUNK = 128


async def read_stream_backwards(
    client: Client, keyspace: Keyspace, below: int = END
) -> AsyncIterator[tuple[int, dict[bytes, bytes]]]:
    """Sequence and fields of the unsealed entries below a sequence, newest first. What no commit made is left out."""
    end = "+" if below == END else f"({below}-0"
    newest: int | None = None
    while True:
        commands = [("XREVRANGE", keyspace.audit_stream, end, "-", "COUNT", _CHUNK)]
        if newest is None:
            # The commit's number comes second, so that it is not below anything that a commit has appended by then.
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
    """The line that the entry of the stream will be when it is sealed."""
    try:
        return line_of(fields)
    except Unreadable as error:
        time_ms = time_ms_of(fields) or await _time_before(client, keyspace, sequence)
        return placeholder(sequence, fields, str(error), time_ms)


async def _time_before(client: Client, keyspace: Keyspace, sequence: int) -> int:
    """The time of the entry before: in the stream, or the newest that is sealed."""
    (before,) = await client.read_pipelined(
        [("XREVRANGE", keyspace.audit_stream, f"({sequence}-0", "-", "COUNT", 1)], as_bytes=True
    )
    for _, fields in stream_entries(before):
        if time_ms := time_ms_of(fields):
            return time_ms
    return int(await client.call("HGET", keyspace.audit_head, "last_ms") or 0)


def stream_entries(chunk: Sequence[Any]) -> list[tuple[int | None, dict[bytes, bytes]]]:
    """Entries that the store gave; their sequence is None where their id is not of the form that commits give."""
    return [(sequence_of(entry_id), fields_of(fields)) for entry_id, fields in chunk]


def sequence_of(entry_id: bytes) -> int | None:
    """The sequence that the stream's id says; None where it is not of the form that commits give."""
    sequence, _, rest = entry_id.partition(b"-")
    return int(sequence) if rest == b"0" else None


def fields_of(fields: Any) -> dict[bytes, bytes]:
    """The fields of an entry by name, from what the store gave."""
    return fields if isinstance(fields, dict) else dict(zip(fields[::2], fields[1::2], strict=True))
