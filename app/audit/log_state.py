"""The state of the log: the chain's newest link, the floor, the parts. What another program wrote there is damage."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple

from app.errors import AuditLogDamaged
from app.model.audit import Floor
from app.redis_client.client import Client
from app.redis_client.replies import ForeignData, as_record
from app.store.keyspace import Keyspace

_is_number = re.compile("[0-9]{1,15}", re.ASCII).fullmatch


class Head(NamedTuple):
    """The chain's newest link; segment 0 means that nothing is sealed.

    sequence: of the last sealed entry. sha256: of the last segment. names: the number of names in the part's indexes.
    floor: None while nothing was dropped. archived: the last archived segment.
    unarchived: the last segment that retention dropped without an archive, as configured.
    floor_tree: the hashes of the Merkle tree's subtrees that end at the floor, as text; None if there was no tree.
    """

    segment: int
    sequence: int
    sha256: str
    last_ms: int
    names: str
    floor: Floor | None
    archived: int
    unarchived: int
    floor_tree: str | None

    @property
    def first_segment(self) -> int:
        """The oldest segment kept."""
        return 1 if self.floor is None else self.floor.segment

    @property
    def first_sequence(self) -> int:
        """The sequence of the oldest entry kept."""
        return 1 if self.floor is None else self.floor.sequence

    @property
    def first_previous(self) -> str | None:
        """The sha256 that the oldest kept segment builds on; None for the workspace's genesis."""
        return None if self.floor is None else self.floor.sha256


class Span(NamedTuple):
    """A part of the log as stored: its first sequence, and the earliest and latest time of its entries."""

    first_sequence: int
    first_ms: int
    last_ms: int


async def read_head(client: Client, keyspace: Keyspace) -> tuple[Head, dict[int, Span]]:
    """Read the chain's head and the parts of the log at one moment."""
    head, spans = await client.read_snapshot(("HGETALL", keyspace.audit_head), ("HGETALL", keyspace.audit_parts))
    return head_of(head), spans_of(as_record(spans))


def head_of(record: dict[str, str] | list[str]) -> Head:
    """The head described by the store's reply; an empty reply describes an empty log. Raises AuditLogDamaged."""
    fields = as_record(record)
    try:
        floor = None
        if "floor_segment" in fields:
            floor = Floor(
                _number(fields["floor_segment"]),
                _number(fields["floor_sequence"]),
                _number(fields["floor_ms"]),
                fields["floor_sha256"],
            )
        head = Head(
            segment=_number(fields.get("segment", "0")),
            sequence=_number(fields.get("sequence", "0")),
            sha256=fields.get("sha256", ""),
            last_ms=_number(fields.get("last_ms", "0")),
            names=fields.get("names", ""),
            floor=floor,
            archived=_number(fields.get("archived", "0")),
            unarchived=_number(fields.get("unarchived", "0")),
            floor_tree=fields.get("floor_tree"),
        )
    except (KeyError, ValueError):
        raise AuditLogDamaged("The head of the audit log cannot be read") from None
    if bool(head.segment) != bool(head.sequence):
        raise AuditLogDamaged(
            f"The head of the audit log has sealed {head.segment} segments and {head.sequence} entries"
        )
    return head


def newest_of(sealed: str | bytes | None, committed: str | bytes | None) -> int:
    """The sequence of the newest entry, 0 if there is none, from the fields `sequence` of the head and of the commits.

    The head's must have been read first. Raises AuditLogDamaged if the commits' number is not a count, or is below what
    is sealed.
    """
    try:
        newest, least = _count(committed), _count(sealed)
    except ValueError:
        raise AuditLogDamaged("The number of the last commit of the audit log cannot be read") from None
    if newest < least:
        raise AuditLogDamaged(f"The commits have counted to {newest}, and entry {least} of the audit log is sealed")
    return newest


async def read_newest(client: Client, keyspace: Keyspace) -> int:
    """The sequence of the newest entry now; 0 if there is none. Raises AuditLogDamaged."""
    commands = (("HGET", keyspace.audit_head, "sequence"), ("HGET", keyspace.commits, "sequence"))
    return newest_of(*await client.read_pipelined(commands, as_bytes=True))


def span_text(span: Span) -> str:
    return " ".join(map(str, span))


def spans_of(record: Mapping[str, str]) -> dict[int, Span]:
    """The parts described by the store's reply. Raises AuditLogDamaged."""
    try:
        return {_number(part): Span(*map(_number, text.split(" "))) for part, text in record.items()}
    except (TypeError, ValueError):
        raise AuditLogDamaged("The list of the parts of the audit log's index cannot be read") from None


def _count(raw: str | bytes | None) -> int:
    return _number((raw.decode("ascii", "replace") if isinstance(raw, bytes) else raw) if raw is not None else "0")


def _number(text: str) -> int:
    """The number in the form in which the scripts write it. Raises ValueError, also if it is too large for any log."""
    if not _is_number(text):
        raise ValueError
    return int(text)


@contextmanager
def unreadable_is_damage() -> Iterator[None]:
    """Raise AuditLogDamaged in place of ForeignData: damage, unlike an unavailable store, outlasts a retry."""
    try:
        yield
    except ForeignData as error:
        raise AuditLogDamaged(f"The audit log cannot be read: {error.message}") from error
