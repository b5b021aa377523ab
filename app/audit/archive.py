"""Archives: sealed segments as files that can be read and checked without the store and without this program.

`<folder>/<workspace>/<segment>.jsonl.zst`, and `manifest.jsonl` with one line per segment and its hashes.
"""

import fcntl
import hashlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

import msgspec
import zstandard

from app.audit.index_keys import index_keys_of
from app.audit.log_state import read_head
from app.audit.manifest import line_of
from app.audit.segments import chain, genesis, read_segment
from app.errors import AuditLogDamaged, Invalid
from app.model.archives import ArchivedSegment
from app.model.checkpoints import Checkpoint, Fault, Finding, Part
from app.model.times import parse_time_ms, rfc3339
from app.redis_client.client import Client
from app.redis_client.scripts import MARK_ARCHIVED
from app.store.keyspace import Keyspace

MANIFEST = "manifest.jsonl"
_BODY_MAX = 16 * 1024 * 1024
"""Bytes of entries that a file may hold. A segment ends with the entry that reaches one MiB."""
Progress = Callable[[int, int], None]


class ArchiveAltered(AuditLogDamaged):
    """An archive differs from what was sealed; `finding` says where."""

    def __init__(self, fault: Fault, segment: int, message: str) -> None:
        super().__init__(message)
        self.finding = Finding(fault, segment, message, Part.ARCHIVE)


_decode = msgspec.json.Decoder(ArchivedSegment).decode


class Archive:
    """One workspace's archive in a folder. Each file is complete before the manifest names it."""

    def __init__(self, folder: Path, workspace_id: str) -> None:
        self.workspace_id = workspace_id
        self.folder = folder / workspace_id

    def rows(self) -> list[ArchivedSegment]:
        """The segments in the manifest, oldest first. Raises ArchiveAltered."""
        path = self.folder / MANIFEST
        if not path.exists():
            return []
        lines = path.read_bytes().split(b"\n")
        # A crash may have cut off the last line; its segment is written again.
        try:
            return [_decode(line) for line in lines[:-1]]
        except msgspec.DecodeError as error:
            raise ArchiveAltered(Fault.CHANGED, 0, f"{path} cannot be read: {error}") from None

    def verify(self) -> Checkpoint:
        """Check every file; return the last archived segment, or the workspace's genesis if there is none.

        Raises ArchiveAltered naming the first file that differs from what was sealed.
        """
        last: ArchivedSegment | None = None
        for row in self.rows():
            if last is None and row.segment == 1 and row.previous != genesis(self.workspace_id):
                raise ArchiveAltered(Fault.REWRITTEN, row.segment, f"{row.file} belongs to another workspace")
            if last is not None and (row.segment, row.previous, row.first_sequence) != (
                last.segment + 1,
                last.sha256,
                last.last_sequence + 1,
            ):
                fault = Fault.REMOVED if row.segment > last.segment + 1 else Fault.REORDERED
                raise ArchiveAltered(fault, row.segment, f"{row.file} does not follow {last.file}")
            body = self._body(row)
            if chain(row.previous, body) != row.sha256 or body.count(b"\n") != row.count:
                sentence = f"{row.file} does not hold the entries that were sealed"
                raise ArchiveAltered(Fault.CHANGED, row.segment, sentence)
            _require_as_described(row, body)
            last = row
        if last is None:
            return Checkpoint(self.workspace_id, 0, 0, genesis(self.workspace_id), 0)
        time_ms = parse_time_ms(last.last_time)
        return Checkpoint(self.workspace_id, last.segment, last.last_sequence, last.sha256, time_ms)

    async def write(self, client: Client, progress: Progress | None = None) -> int:
        """Archive every sealed segment that the archive lacks, record that in the store, and return how many were
        added.

        Raises AuditLogDamaged if a segment differs from what was sealed, Invalid if the archive ends below the floor or
        another run is writing to it.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / MANIFEST).open("ab") as manifest:
            self._take(manifest)
            return await self._add_to(manifest, client, progress)

    def _take(self, manifest: BinaryIO) -> None:
        """Lock the archive until the manifest is closed. Raises Invalid if another run is writing to it."""
        try:
            fcntl.flock(manifest, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Invalid(f"Another run is writing to {self.folder}; try again when it has ended") from None

    async def _add_to(self, manifest: BinaryIO, client: Client, progress: Progress | None) -> int:
        keyspace = Keyspace(self.workspace_id)
        head, _ = await read_head(client, keyspace)
        rows = self.rows()
        start = rows[-1].segment + 1 if rows else head.first_segment
        if rows and start < head.first_segment:
            raise Invalid(f"Segments {start} to {head.first_segment - 1} were dropped and are not in {self.folder}")
        previous = rows[-1].sha256 if rows else head.first_previous or genesis(self.workspace_id)
        written = 0
        _cut_to_whole_lines(self.folder / MANIFEST)
        for number in range(start, head.segment + 1):
            segment = await read_segment(client, keyspace, number)
            if segment is None or segment.previous != previous:
                raise AuditLogDamaged(f"Segment {number} does not follow the one before it")
            body = segment.body()
            if chain(previous, body) != segment.sha256:
                raise AuditLogDamaged(f"Segment {number} does not hold the entries that were sealed")
            row = line_of(segment)
            _write_whole(self.folder / row.file, segment.data)
            manifest.write(msgspec.json.encode(row) + b"\n")
            manifest.flush()
            previous = segment.sha256
            written += 1
            if progress is not None:
                progress(number - start + 1, head.segment - start + 1)
        os.fsync(manifest.fileno())
        _names_on_disk(self.folder)
        if head.segment:
            keys = [keyspace.audit_head, keyspace.audit_segment(head.segment)]
            (status,) = await client.run(MARK_ARCHIVED, keys, [head.segment, previous])
            if status != "noted":
                raise AuditLogDamaged(f"Segment {head.segment} was changed while it was archived")
        return written

    def lines(self) -> Iterator[bytes]:
        """Every archived entry, oldest first."""
        for row in self.rows():
            yield from self._body(row).splitlines()

    def _body(self, row: ArchivedSegment) -> bytes:
        try:
            data = (self.folder / row.file).read_bytes()
        except OSError as error:
            fault = Fault.REMOVED if isinstance(error, FileNotFoundError) else Fault.CHANGED
            raise ArchiveAltered(fault, row.segment, f"{row.file} cannot be read ({error.strerror})") from None
        if hashlib.sha256(data).hexdigest() != row.file_sha256:
            raise ArchiveAltered(Fault.CHANGED, row.segment, f"{row.file} was changed after it was written")
        try:
            body = zstandard.ZstdDecompressor().stream_reader(data, read_across_frames=True).read(_BODY_MAX + 1)
        except zstandard.ZstdError:
            raise ArchiveAltered(Fault.CHANGED, row.segment, f"{row.file} cannot be decompressed") from None
        if len(body) > _BODY_MAX:
            sentence = f"{row.file} holds over {_BODY_MAX} bytes of entries, more than any segment"
            raise ArchiveAltered(Fault.CHANGED, row.segment, sentence)
        return body


def _require_as_described(row: ArchivedSegment, body: bytes) -> None:
    """Raise ArchiveAltered unless the sequences and times in the manifest are those of the segment's entries."""
    try:
        times = [parse_time_ms(index_keys_of(line).timestamp) for line in body.splitlines()]
    except ValueError:
        raise ArchiveAltered(Fault.CHANGED, row.segment, f"{row.file} contains a line that is not an entry") from None
    described = row.last_sequence - row.first_sequence + 1, row.first_time, row.last_time
    if described != (row.count, rfc3339(min(times)), rfc3339(max(times))) or (row.segment == 1) != (
        row.first_sequence == 1
    ):
        sentence = f"The manifest describes {row.file} differently than its entries do"
        raise ArchiveAltered(Fault.CHANGED, row.segment, sentence)


def _write_whole(path: Path, data: bytes) -> None:
    """Write `data` to the file and sync it; after a crash, the file is complete or does not exist under this name."""
    unfinished = path.with_suffix(".part")
    with unfinished.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    unfinished.rename(path)


def _names_on_disk(folder: Path) -> None:
    """Sync the folder, so the names of its files are on disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _cut_to_whole_lines(path: Path) -> None:
    """Remove an incomplete last line left by a crash."""
    data = path.read_bytes()
    whole = data.rfind(b"\n") + 1
    if whole < len(data):
        os.truncate(path, whole)
