"""Exports of the log as a file, in chunks."""

from collections.abc import AsyncIterator, Callable, Iterator

from app.audit.damage import foreign_is_damage
from app.audit.head import read_head
from app.audit.scan import Scan
from app.loop_turns import take_turn
from app.model.audit import AuditQuery
from app.model.exports import End, Format, Writer
from app.redis_client.client import Client
from app.store.keyspace import Keyspace

Progress = Callable[[int, int], None]
_PIECE_BYTES = 32 * 1024
"""Bytes of lines written in one step: a millisecond or less, even in CSV and with gzip."""


async def export(
    client: Client, workspace_id: str, query: AuditQuery, kind: Format, progress: Progress | None = None
) -> AsyncIterator[bytes]:
    """Yield the matching entries that the log has now, oldest first; the last chunk marks the export as complete.

    It holds a few segments at a time, however large the log is. progress: called with the sequences searched and their
    total. Raises StoreUnavailable midway if the store becomes unavailable or retention drops entries still to come; the
    file then has no end marker.
    """
    scan, writer = Scan(client, workspace_id, query), Writer(kind)
    newest = await scan.newest()
    with foreign_is_damage():
        head, _ = await read_head(client, Keyspace(workspace_id))
    entries = 0
    yield writer.begin()
    async for stretch in scan.chunks(head.first_sequence - 1, newest):
        entries += len(stretch.sequences)
        for lines in _pieces(stretch.body):
            # Formatting a chunk as CSV, or compressing it, blocks the event loop.
            yield writer.body(lines)
            await take_turn()
        if progress is not None:
            progress(stretch.up_to - head.first_sequence + 1, newest - head.first_sequence + 1)
    yield writer.end(End(entries, head.first_sequence, newest))


def _pieces(body: bytes) -> Iterator[bytes]:
    """Group the lines into chunks of about `_PIECE_BYTES`, never splitting a line."""
    start = 0
    while start < len(body):
        end = body.find(b"\n", min(start + _PIECE_BYTES, len(body) - 1)) + 1
        yield body[start:end]
        start = end
