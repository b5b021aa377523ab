"""The manifest of an archive: one line for each sealed segment, with its hashes."""

from typing import Annotated

from msgspec import Meta, Struct

from app.model.fields import Count, Ordinal, Timestamp
from app.model.query_fields import QueryFields

MAX_SEGMENTS = 100
"""The most segments in one answer; the data of each is read and hashed."""


class ArchivedSegment(Struct, frozen=True, kw_only=True, rename="camel"):
    """A line of the manifest.

    segment: The segment's number.
    file: The name of its file in an archive.
    first_sequence: The number of its first entry.
    last_sequence: The number of its last entry.
    first_time: The earliest time of its entries.
    last_time: The latest time of its entries.
    count: How many entries it has.
    previous: The hash of the segment before, in the chain.
    sha256: Its hash in the chain.
    file_sha256: The SHA-256 of the compressed file.
    """

    segment: int
    file: str
    first_sequence: int
    last_sequence: int
    first_time: str
    last_time: str
    count: int
    previous: str
    sha256: str
    file_sha256: str


class ManifestQuery(QueryFields, frozen=True):
    """Which segments are wanted.

    after: Only segments after this one.
    limit: The most segments to return.
    """

    after: Annotated[int, Meta(ge=0, le=10**15)] = 0
    limit: Annotated[int, Meta(ge=1, le=MAX_SEGMENTS)] = MAX_SEGMENTS


class ArchiveManifest(Struct, frozen=True, kw_only=True, rename="camel"):
    """How far the log is archived, and the lines that its archive's manifest has for the segments still in the store.

    archived_up_to: The newest archived segment, as the last run of `remit audit archive` noted; 0 before the first run.
    archived_at: The latest time of that segment's entries; null if retention has dropped it, or none is archived.
    sealed_up_to: The newest sealed segment; 0 if none is.
    first_segment: The oldest segment still in the store: only an archive has those before it.
    segments: The lines, oldest first; with the number of the last one as `after`, the next answer goes on.
    """

    archived_up_to: Count
    archived_at: Timestamp | None
    sealed_up_to: Count
    first_segment: Ordinal
    segments: list[ArchivedSegment]
