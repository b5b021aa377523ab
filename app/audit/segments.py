"""Sealed segments: packs entries, reads segments, and computes the chain.

A segment's data is a sequence of zstd frames of up to 64 entries each, so a reader of three entries need not decompress
five hundred; `zstd -dc` reads them as one file.
"""

import hashlib
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import zstandard
from msgspec import Struct

from app.errors import AuditLogDamaged
from app.redis_client.client import Client
from app.store.keyspace import Keyspace

CODEC = "zstd"
LEVEL = 1
"""The zstd level. On frames of this size, level 3 takes half as long again for almost nothing: 80.1 bytes an entry
against 77.5 on the benchmarks' entries, 116.8 against 116.6 on entries made of recorded tool calls.
"""
FRAME_ENTRIES = 64
FRAME_BYTES = 128 * 1024
PART_SEGMENTS = 128
"""Segments that share their index keys. A sorted set of up to 128 small members takes 20 bytes for each, a larger one
over 100; it also bounds each step of a reader through the index.
"""

_DIGEST = 32
"""Hex digits of a frame's digest, the first 16 bytes of its SHA-256."""

_compressor = zstandard.ZstdCompressor(level=LEVEL, write_checksum=True)
_decompressor = zstandard.ZstdDecompressor()


class Frame(NamedTuple):
    """A part of a segment that can be decompressed independently."""

    first: int
    entries: int
    start: int
    end: int


class Segment(Struct, frozen=True, kw_only=True):
    """One sealed segment as stored; nothing in it is trusted before `verify` has checked it."""

    number: int
    first_sequence: int
    last_sequence: int
    first_ms: int
    last_ms: int
    count: int
    codec: str
    sha256: str
    previous: str
    frames: str
    digests: str
    data: bytes

    def bodies(self) -> list[bytes]:
        """The JSON lines of each frame. Raises AuditLogDamaged."""
        return [unpack(self.data[frame.start : frame.end]) for frame in frames_of(self.frames)]

    def holds_its_digests(self) -> bool:
        """True if the frame digests match."""
        blocks = (self.data[frame.start : frame.end] for frame in frames_of(self.frames))
        return self.digests == ",".join(map(_digest, blocks))

    def body(self) -> bytes:
        """The JSON lines. Raises AuditLogDamaged."""
        return b"".join(self.bodies())


def genesis(workspace_id: str) -> str:
    """The hash that the first segment builds on. It differs for every workspace, so no foreign segment fits."""
    return hashlib.sha256(workspace_id.encode()).hexdigest()


def chain(previous: str, body: bytes) -> str:
    """The link that `body` adds: the SHA-256 of the previous link in hex followed by the uncompressed bytes."""
    digest = hashlib.sha256(previous.encode())
    digest.update(body)
    return digest.hexdigest()


def part_of(segment: int) -> int:
    """The part of the log that the segment belongs to."""
    return segment // PART_SEGMENTS


def segments_of(part: int) -> range:
    """The numbers of the part's segments."""
    return range(max(1, part * PART_SEGMENTS), (part + 1) * PART_SEGMENTS)


def pack(bodies: Iterable[Sequence[bytes]]) -> tuple[str, bytes, str]:
    """`frames`, `data` and `digests` of a segment whose frames contain these lines, each with its line feed."""
    blocks = [(len(lines), _compressor.compress(b"".join(lines))) for lines in bodies]
    frames = ",".join(f"{count}:{len(block)}" for count, block in blocks)
    return frames, b"".join(block for _, block in blocks), ",".join(_digest(block) for _, block in blocks)


class Stored(NamedTuple):
    """The fields of a segment's record that describe its data."""

    frames: str
    digests: str


def checked_body(number: int, entries: int, stored: Stored, index: int, block: bytes) -> tuple[int, bytes]:
    """Of one frame: the number of entries before it, and its JSON lines, checked against its digest.

    entries: of the segment, as the log's index says. Raises AuditLogDamaged naming the segment if the frame does not
    match its digest, or the frames together do not contain that many entries.
    """
    try:
        frames, digest = frames_of(stored.frames), stored.digests.split(",")[index]
        frame, body = frames[index], unpack(block)
    except (IndexError, AuditLogDamaged):
        raise damaged(number) from None
    is_whole = frames[-1].first + frames[-1].entries == entries and body.count(b"\n") == frame.entries
    if not is_whole or _digest(block) != digest:
        raise damaged(number)
    return frame.first, body


def damaged(number: int) -> AuditLogDamaged:
    """The error for a segment that is not as it was sealed."""
    return AuditLogDamaged(f"Segment {number} of the audit log does not hold the entries that were sealed")


def missing(number: int) -> AuditLogDamaged:
    """The error for a segment that is missing from the log."""
    return AuditLogDamaged(f"Segment {number} of the audit log is missing")


def _digest(block: bytes) -> str:
    return hashlib.sha256(block).hexdigest()[:_DIGEST]


def frames_of(text: str) -> list[Frame]:
    """The frames described by a segment's field `frames`. Raises AuditLogDamaged."""
    frames, first, start = [], 0, 0
    try:
        for described in text.split(","):
            entries, _, size = described.partition(":")
            frames.append(Frame(first, int(entries), start, start + int(size)))
            first += int(entries)
            start += int(size)
    except ValueError:
        raise AuditLogDamaged("A segment's list of frames cannot be read") from None
    return frames


def unpack(block: bytes) -> bytes:
    """The JSON lines of one frame. Raises AuditLogDamaged."""
    try:
        return _decompressor.decompress(block)
    except zstandard.ZstdError:
        raise AuditLogDamaged("A segment's data cannot be decompressed") from None


async def read_segment(client: Client, keyspace: Keyspace, number: int) -> Segment | None:
    """The segment as stored; None if it is missing or incomplete. Raises AuditLogDamaged."""
    commands = (("HGETALL", keyspace.audit_segment(number)), ("GET", keyspace.audit_data(number)))
    record, data = await client.read_pipelined(commands, as_bytes=True)
    return segment_of(record, data)


def segment_of(record: dict[bytes, bytes] | list[bytes], data: bytes | None) -> Segment | None:
    """The segment described by the store's reply; None if the reply is empty. Raises AuditLogDamaged."""
    fields = record if isinstance(record, dict) else dict(zip(record[::2], record[1::2], strict=True))
    if not fields or data is None:
        return None
    try:
        return Segment(
            number=int(fields[b"number"]),
            first_sequence=int(fields[b"first_sequence"]),
            last_sequence=int(fields[b"last_sequence"]),
            first_ms=int(fields[b"first_ms"]),
            last_ms=int(fields[b"last_ms"]),
            count=int(fields[b"count"]),
            codec=fields[b"codec"].decode(),
            sha256=fields[b"sha256"].decode(),
            previous=fields[b"previous"].decode(),
            frames=fields[b"frames"].decode(),
            digests=fields[b"digests"].decode(),
            data=data,
        )
    except (KeyError, ValueError) as error:
        raise AuditLogDamaged(f"A segment's record cannot be read ({type(error).__name__})") from None
