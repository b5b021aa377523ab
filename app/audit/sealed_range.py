"""Selects the parts and segments of the sealed log for a span of sequences or of time."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from app.audit.head import Head, Span, read_head, read_newest
from app.audit.index import Candidate, Lookup
from app.audit.segments import part_of
from app.errors import AuditLogDamaged
from app.model.audit import AuditQuery
from app.redis_client.client import Client
from app.store.keyspace import Keyspace


class SealedRange(NamedTuple):
    """The sealed entries of a query with after < sequence <= until, given the log's `head` and `spans`.

    Times do not follow sequences, because clocks step back: every part and segment is compared by its own times.
    """

    query: AuditQuery
    head: Head
    spans: Mapping[int, Span]
    after: int
    until: int

    def parts(self) -> list[int]:
        """The parts that may hold a match, oldest first. Raises AuditLogDamaged as `kept_parts` does."""
        spans = self.spans
        return [
            part
            for part in kept_parts(self.head, spans)
            if self._meets(spans[part].first_sequence, self._end(part), spans[part].first_ms, spans[part].last_ms)
        ]

    def segments(self, candidates: Iterable[Candidate]) -> list[Candidate]:
        """The candidates that may hold a match, in the order given."""
        head = self.head
        return [
            each
            for each in candidates
            if head.first_segment <= each.row.number <= head.segment
            and self._meets(
                each.row.first_sequence, each.row.first_sequence + each.row.entries, each.row.first_ms, each.row.last_ms
            )
        ]

    def _end(self, part: int) -> int | None:
        """The first sequence after the part; None = it is the newest."""
        following = self.spans.get(part + 1)
        return None if following is None else following.first_sequence

    def _meets(self, first: int, end: int | None, first_ms: int, last_ms: int) -> bool:
        """Whether entries from `first` up to but not including `end`, with these times, may match."""
        query = self.query
        return (
            first <= self.until
            and (end is None or end > self.after + 1)
            and (query.from_ms is None or last_ms >= query.from_ms)
            and (query.to_ms is None or first_ms <= query.to_ms)
        )


def kept_parts(head: Head, spans: Mapping[int, Span]) -> range:
    """The parts from the oldest kept segment's to the newest's.

    Raises AuditLogDamaged if the span of one is not there, or does not follow the one before.
    """
    parts = range(part_of(head.first_segment), part_of(head.segment) + 1) if head.segment else range(0)
    before = 0
    for part in parts:
        if part not in spans or not before < spans[part].first_sequence <= head.sequence:
            raise AuditLogDamaged(f"Part {part} of the index of the audit log is missing, or not in its place")
        before = spans[part].first_sequence
    return parts


async def sequences_between(client: Client, keyspace: Keyspace, from_ms: int, to_ms: int) -> tuple[int, int]:
    """(after, until): every current entry with a time in the span has after < sequence <= until.

    The range may include others: segments are taken whole, and times do not follow sequences where clocks step back.
    """
    newest = await read_newest(client, keyspace)
    head, spans = await read_head(client, keyspace)
    parts = kept_parts(head, spans)
    late = [part for part in parts if spans[part].last_ms >= from_ms]
    after = head.sequence
    if late:
        (found,) = await Lookup(keyspace, AuditQuery()).read(client, head, spans, late[:1])
        firsts = [each.row.first_sequence for each in found if each.row.last_ms >= from_ms]
        after = min(firsts, default=spans[late[0]].first_sequence) - 1
    early = max((part for part in parts if spans[part].first_ms <= to_ms), default=None)
    until = newest
    if early is not None and early + 1 in parts:
        until = spans[early + 1].first_sequence - 1
    return max(after, head.first_sequence - 1), until
