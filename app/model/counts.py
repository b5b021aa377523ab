"""Entries of the audit log counted: by what, in which intervals, and the numbers."""

from enum import StrEnum
from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType, field

from app.model.audit import AuditFilters, Floor
from app.model.fields import Count, Timestamp
from app.model.query_fields import require_span
from app.model.text import FieldError

INTERVALS_MAX = 1_000
_DAYS_31 = 31 * 86_400


class CountBy(StrEnum):
    """What entries can be counted by."""

    RESULT = "result"
    AGENT = "agent"
    TOOL = "tool"
    POLICY = "policy"
    CODE = "code"


class CountQuery(AuditFilters, frozen=True):
    """Which entries are counted, and by what.

    by: The values to count: each result, agent, tool, deciding policy or code.
    step_seconds: Also count per interval of so many seconds, the first of which begins at `from`, which must be given
    too; at most 1,000.
    limit: The most values to return, the most frequent first.
    """

    by: CountBy = CountBy.RESULT
    step_seconds: Annotated[int, Meta(ge=1, le=_DAYS_31)] | None = field(name="step", default=None)
    limit: Annotated[int, Meta(ge=1, le=1_000)] = 10

    def __post_init__(self) -> None:
        require_span(self.from_ms, self.to_ms)
        if self.step_seconds is not None and self.from_ms is None:
            raise FieldError("from", "is required with step, because the first interval begins there")

    def intervals(self, now_ms: int) -> int:
        """The number of intervals up to the query's end, or else to now. Raises FieldError if there are too many."""
        if self.step_seconds is None or self.from_ms is None:
            return 1
        end_ms = now_ms if self.to_ms is None else self.to_ms
        number = max(0, end_ms - self.from_ms) // (self.step_seconds * 1000) + 1
        if number > INTERVALS_MAX:
            raise FieldError("step", f"makes {number} intervals; at most {INTERVALS_MAX} are counted at a time")
        return number


class ValueCount(Struct, frozen=True, kw_only=True):
    """How many entries have a value.

    value: The result, the agent's id, the tool, the policy's id or the code; null: entries that have none.
    count: Entries that have it.
    counts: The same for each interval, the first of which begins at `from`; only with `step`.
    """

    value: str | None
    count: Count
    counts: list[int] | UnsetType = UNSET


class Counts(Struct, frozen=True, kw_only=True, rename="camel"):
    """Entries counted by value.

    by: What was counted.
    total: All entries that match.
    values: The most frequent values, by count, then by value.
    others: Entries with any other value.
    from_ms: Where the first interval begins; null if the query has no `from`.
    step_seconds: The length of an interval; null without intervals.
    """

    by: CountBy
    total: Count
    values: list[ValueCount]
    others: Count
    from_ms: Timestamp | None = field(name="from")
    step_seconds: int | None


class Counted(Struct, frozen=True):
    """Counts, and the log's floor if retention dropped entries that might have been counted."""

    counts: Counts
    floor: Floor | None
