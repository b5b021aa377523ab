"""Sealed segments: how entries are packed into one, how one is read, and how the chain is computed.

A segment's data is a row of zstd frames of up to 64 entries each, so a reader that needs three entries need not
decompress five hundred; to `zstd -dc` they are one file.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import zstandard
from msgspec import Struct

from app.errors import AuditLogDamaged
from app.model.audit import Floor
from app.store.records import as_record

CODEC = "zstd"
LEVEL = 3
FRAME_ENTRIES = 64
FRAME_BYTES = 128 * 1024
PART_SEGMENTS = 128
"""Segments that share their index keys: a sorted set of at most 128 small members takes 20 bytes for each,
a larger one over 100, and a reader's step through the index has a bound."""

_compressor = zstandard.ZstdCompressor(level=LEVEL)
_decompressor = zstandard.ZstdDecompressor()


class Head(NamedTuple):
    """The chain's newest link; segment 0 is none.

    sequence: of the last sealed entry. sha256: of the last segment. names: how many the part's indexes hold.
    floor: None while nothing was dropped. archived: the last segment that was written to an archive.
    """

    segment: int
    sequence: int
    sha256: str
    last_ms: int
    names: str
    floor: Floor | None
    archived: int

    @property
    def first_segment(self) -> int:
        """The oldest segment that is kept."""
        return 1 if self.floor is None else self.floor.segment

    @property
    def first_sequence(self) -> int:
        """The sequence of the oldest entry that is kept."""
        return 1 if self.floor is None else self.floor.sequence

    @property
    def first_previous(self) -> str | None:
        """The sha256 upon which the oldest kept segment is built; None for the workspace's genesis."""
        return None if self.floor is None else self.floor.sha256


class Frame(NamedTuple):
    """A part of a segment that can be decompressed on its own."""

    first: int
    entries: int
    start: int
    end: int


class Segment(Struct, frozen=True, kw_only=True):
    """One sealed segment as it is stored; nothing in it is believed before `verify` has checked it."""

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
    data: bytes

    def body(self) -> bytes:
        """The JSON lines. Raises AuditLogDamaged."""
        return b"".join(unpack(self.data[frame.start : frame.end]) for frame in frames_of(self.frames))


def genesis(workspace_id: str) -> str:
    """What the first segment is built upon: no segment of another workspace fits there."""
    return hashlib.sha256(workspace_id.encode()).hexdigest()


def chain(previous: str, body: bytes) -> str:
    """The link that `body` adds: sha256 of the previous link in hex, followed by the uncompressed bytes."""
    digest = hashlib.sha256(previous.encode())
    digest.update(body)
    return digest.hexdigest()


def part_of(segment: int) -> int:
    """The part of the log that the segment belongs to."""
    return segment // PART_SEGMENTS


def pack(bodies: Iterable[Sequence[bytes]]) -> tuple[str, bytes]:
    """`frames` and `data` of a segment whose frames hold these lines (each with its line feed)."""
    blocks = [(len(lines), _compressor.compress(b"".join(lines))) for lines in bodies]
    return ",".join(f"{count}:{len(block)}" for count, block in blocks), b"".join(block for _, block in blocks)


def frames_of(text: str) -> list[Frame]:
    """The frames that a segment's field `frames` describes. Raises AuditLogDamaged."""
    frames, first, start = [], 0, 0
    try:
        for each in text.split(","):
            entries, _, size = each.partition(":")
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


def head_of(record: dict[str, str] | list[str]) -> Head:
    """The head that the store gave; one of a log that has no segment if it gave none."""
    fields = as_record(record)
    floor = None
    if "floor_segment" in fields:
        floor = Floor(
            int(fields["floor_segment"]),
            int(fields["floor_sequence"]),
            int(fields["floor_ms"]),
            fields["floor_sha256"],
        )
    return Head(
        segment=int(fields.get("segment", 0)),
        sequence=int(fields.get("sequence", 0)),
        sha256=fields.get("sha256", ""),
        last_ms=int(fields.get("last_ms", 0)),
        names=fields.get("names", ""),
        floor=floor,
        archived=int(fields.get("archived", 0)),
    )


def segment_of(reply: dict[bytes, bytes] | list[bytes]) -> Segment | None:
    """The segment that the store gave, None if it gave none. Raises AuditLogDamaged."""
    fields: Mapping[bytes, bytes] = (
        reply if isinstance(reply, dict) else dict(zip(reply[::2], reply[1::2], strict=True))
    )
    if not fields:
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
            data=fields[b"data"],
        )
    except (KeyError, ValueError) as error:
        raise AuditLogDamaged(f"A segment's record cannot be read ({type(error).__name__})") from None
