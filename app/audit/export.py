"""A file of the log, in pieces."""

from collections.abc import AsyncIterator, Callable, Iterator

from app.audit.head import read_head
from app.audit.scan import Scan
from app.model.audit import AuditQuery
from app.model.exports import End, Format, Writer
from app.redis_client.client import Client
from app.store.keyspace import Keyspace
from app.turns import pause

Progress = Callable[[int, int], None]
_PIECE_BYTES = 32 * 1024
"""Of lines that are written at once: a millisecond or less, in CSV and for gzip."""


async def export(
    client: Client, workspace_id: str, query: AuditQuery, kind: Format, progress: Progress | None = None
) -> AsyncIterator[bytes]:
    """The entries that match and that the log has now, oldest first; the last piece says that they are all there.

    It holds a few segments at a time, however large the log is. progress: told how many sequences of how many are
    looked through. Raises StoreUnavailable in the middle if the store goes, or if retention drops what was to come;
    then the file has no end.
    """
    scan, writer = Scan(client, workspace_id, query), Writer(kind)
    newest = await scan.newest()
    head, _ = await read_head(client, Keyspace(workspace_id))
    entries = 0
    yield writer.begin()
    async for stretch in scan.chunks(head.first_sequence - 1, newest):
        entries += len(stretch.sequences)
        for lines in _pieces(stretch.body):
            # CSV, and gzip after it, hold the loop for as long as a piece takes.
            yield writer.body(lines)
            await pause()
        if progress is not None:
            progress(stretch.up_to - head.first_sequence + 1, newest - head.first_sequence + 1)
    yield writer.end(End(entries, head.first_sequence, newest))


def _pieces(body: bytes) -> Iterator[bytes]:
    """The lines in pieces of about `_PIECE_BYTES`, whole lines each."""
    start = 0
    while start < len(body):
        end = body.find(b"\n", min(start + _PIECE_BYTES, len(body) - 1)) + 1
        yield body[start:end]
        start = end
