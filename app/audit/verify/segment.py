"""Verification of one segment: its body against its own record and against its place in the log."""

from collections.abc import Sequence
from typing import NamedTuple

from app.audit.index_keys import IndexKeys, index_keys_of
from app.audit.index_rows import Row
from app.audit.segments import CODEC, Frame, Segment, chain, frames_of, read_segment
from app.errors import AuditLogDamaged
from app.model.checkpoints import Fault, FaultFound
from app.model.times import parse_time_ms
from app.redis_client.client import Client
from app.redis_client.replies import ForeignData
from app.store.keyspace import Keyspace


class Body(NamedTuple):
    """A segment's lines in frames, and the sha256 that they and the segment before give."""

    bodies: list[bytes]
    frames: Sequence[Frame]
    sha256: str


class Contents(NamedTuple):
    """A segment's lines, what they name, and its row of the index."""

    row: Row
    lines: list[bytes]
    entries: list[IndexKeys]


async def read_whole(client: Client, keyspace: Keyspace, number: int) -> Segment | None:
    """The segment; None if it does not exist. Raises FaultFound."""
    try:
        return await read_segment(client, keyspace, number)
    except (AuditLogDamaged, ForeignData) as error:
        raise FaultFound(Fault.CHANGED, number, error.message) from None


def check_body(segment: Segment, number: int) -> Body:
    """The segment's body, once its number and SHA-256 have been checked. Raises FaultFound."""
    if segment.number != number:
        raise FaultFound(Fault.REORDERED, number, f"Segment {segment.number} stands in the place of {number}")
    try:
        bodies, frames = segment.bodies(), frames_of(segment.frames)
    except AuditLogDamaged as error:
        raise FaultFound(Fault.CHANGED, number, error.message) from None
    sha256 = chain(segment.previous, b"".join(bodies))
    if sha256 != segment.sha256:
        raise FaultFound(Fault.CHANGED, number, "The entries are not those that its sha256 was made of")
    return Body(bodies, frames, sha256)


def check_contents(segment: Segment, body: Body, sequence: int) -> Contents:
    """The segment's entries, once its record has been compared with them. sequence: of the first. Raises FaultFound."""
    number, bodies, frames = segment.number, body.bodies, body.frames
    if segment.codec != CODEC or not segment.holds_its_digests():
        raise FaultFound(Fault.CHANGED, number, "Its codec or its digests are not those of its frames")
    if frames[-1].end != len(segment.data) or [each.entries for each in frames] != [b.count(b"\n") for b in bodies]:
        raise FaultFound(Fault.CHANGED, number, "Its list of frames is not that of its data")
    lines = b"".join(bodies).splitlines(keepends=True)
    try:
        entries = [index_keys_of(line) for line in lines]
        times = [parse_time_ms(entry.timestamp) for entry in entries]
    except ValueError:
        raise FaultFound(Fault.CHANGED, number, "A line is not an entry") from None
    row = Row(number, len(lines), sequence, min(times), max(times))
    recorded = Row(number, segment.count, segment.first_sequence, segment.first_ms, segment.last_ms)
    if row != recorded or segment.last_sequence != sequence + len(lines) - 1:
        raise FaultFound(Fault.CHANGED, number, f"Its record says {recorded}, its entries say {row}")
    return Contents(row, lines, entries)
