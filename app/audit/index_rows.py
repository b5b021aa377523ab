"""The rows of the index of all segments, checked before a reader relies on them to name every segment."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from app.audit.log_state import Head, Span
from app.audit.segments import part_of, segments_of
from app.errors import AuditLogDamaged


class Row(NamedTuple):
    """A segment as described in `by:all`."""

    number: int
    entries: int
    first_sequence: int
    first_ms: int
    last_ms: int


class Posting(NamedTuple):
    """The index's record of a segment: its matching entries, their frames, and whether the count is exact."""

    entries: int
    mask: int
    exact: bool


class PartRows(NamedTuple):
    """A part's rows by number. missing: segments that should have one; retention may just have dropped them."""

    rows: dict[int, Row]
    missing: list[int]


def row_member(row: Row) -> str:
    return ":".join(map(str, row))


def members_with_scores(reply: Sequence[Any]) -> list[tuple[str, float]]:
    """The members of a sorted set and their scores, from a reply that redis-py has not converted."""
    # They come in pairs or, over the older protocol, one after the other.
    pairs = zip(reply[::2], reply[1::2], strict=True) if reply and isinstance(reply[0], str) else reply
    return [(member, float(score)) for member, score in pairs]


def rows_of(members: Iterable[str], part: int, head: Head, spans: Mapping[int, Span]) -> PartRows:
    """The part's rows between the floor and the head. Rows of other segments are ignored: they hide nothing.

    Raises AuditLogDamaged if a row cannot be read, or contradicts its neighbours, the head or the part's span.
    """
    numbers = segments_of(part)
    expected = range(max(numbers.start, head.first_segment), min(numbers.stop, head.segment + 1))
    rows: dict[int, Row] = {}
    try:
        for text in members:
            row = Row(*map(int, text.split(":")))
            if row.number in expected:
                if row.number in rows:
                    raise AuditLogDamaged(f"The index of the audit log has segment {row.number} twice")
                rows[row.number] = row
    except (TypeError, ValueError):
        raise AuditLogDamaged("A row of the index of the audit log cannot be read") from None
    missing = [number for number in expected if number not in rows]
    if expected and not missing:
        _check(rows, expected, head, spans)
    return PartRows(rows, missing)


def missing_from_index(number: int) -> AuditLogDamaged:
    """The error for a segment that the index does not name."""
    return AuditLogDamaged(f"The index of the audit log does not have segment {number}")


def _check(rows: Mapping[int, Row], expected: range, head: Head, spans: Mapping[int, Span]) -> None:
    """Raise AuditLogDamaged unless the rows follow each other and fill the gap between the neighbouring parts."""
    span, last = spans[part_of(expected.start)], expected[-1]
    following = head.first_sequence if expected.start == head.first_segment else span.first_sequence
    for number in expected:
        _, entries, first, first_ms, last_ms = rows[number]
        in_span = span.first_sequence <= first and span.first_ms <= first_ms and last_ms <= span.last_ms
        if first != following or entries < 1 or not in_span:
            raise AuditLogDamaged(f"The index of the audit log contradicts itself about segment {number}")
        following += entries
    if following != (head.sequence + 1 if last == head.segment else spans[part_of(last + 1)].first_sequence):
        raise AuditLogDamaged(f"The index of the audit log contradicts itself about segment {last}")
