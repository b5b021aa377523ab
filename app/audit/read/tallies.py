"""The numbers of a count as they add up: from entries, from columns, and from hours."""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce
from itertools import compress, repeat
from operator import add
from typing import Any, NamedTuple

from app.audit.columns import COUNTED, Columns, counted_by
from app.audit.hours import HOUR_MS, HourTable, OfResult, pairs_of
from app.audit.index_keys import index_keys_of
from app.audit.index_rows import Row
from app.model.counts import CountBy, CountQuery, Counts, ValueCount
from app.model.decisions import Result
from app.model.times import parse_time_ms, rfc3339

Filters = Sequence[tuple[CountBy, str]]
"""The values that entries must have."""
_ALWAYS = 1 << 62


class TimeSpan(NamedTuple):
    """Times from the first to the last, ms, both included."""

    first_ms: int
    last_ms: int

    def meets(self, first_ms: int, last_ms: int) -> bool:
        """True if they have a time in common."""
        return self.first_ms <= last_ms and first_ms <= self.last_ms

    def has(self, first_ms: int, last_ms: int) -> bool:
        """True if all of the other is in this one."""
        return self.first_ms <= first_ms and last_ms <= self.last_ms


class Tallies:
    """The numbers so far, by value and interval. intervals: how many the query has."""

    def __init__(self, query: CountQuery, intervals: int) -> None:
        self._query = query
        self._intervals = intervals
        self._place = COUNTED.index(query.by)
        self._step = _ALWAYS if query.step_seconds is None else query.step_seconds * 1000
        first_ms = 0 if query.from_ms is None else query.from_ms
        end_ms = _ALWAYS if query.to_ms is None else query.to_ms
        self.span = TimeSpan(first_ms, min(end_ms, first_ms + intervals * self._step - 1))
        self._counted: Counter[tuple[Any, int]] = Counter()
        self._by_hours: Counter[str] = Counter()
        self._spread: list[_Spread] = []

    def add_lines(self, lines: Sequence[bytes], spans: Sequence[TimeSpan]) -> None:
        """Count those of these entries, which match, whose times are in one of the spans."""
        for line in lines:
            entry = index_keys_of(line)
            time_ms = parse_time_ms(entry.timestamp)
            if any(span.has(time_ms, time_ms) for span in spans):
                self._counted[self._value_in(counted_by(entry)), self._slot(time_ms)] += 1

    def add(self, columns: Columns, row: Row, filters: Filters, spans: Sequence[TimeSpan]) -> None:
        """Count a segment's entries that pass the filters, at times in one of the spans, which are in order."""
        by, passing = self._numbers(columns), _passing(columns, filters)
        if passing == []:
            return
        for slot, some in self._runs(columns, row, spans):
            if passing is None and len(by) == 1:
                self._counted[self._value_of(columns, by[0]), slot] += some.stop - some.start
                continue
            numbers: Iterable[Any] = by[some] if len(by) > 1 else repeat(by[0], some.stop - some.start)
            if passing is not None:
                numbers = compress(numbers, passing[some])
            for number, count in Counter(numbers).items():
                self._counted[self._value_of(columns, number), slot] += count

    def add_hours(self, table: HourTable, filters: Filters) -> list[TimeSpan]:
        """Count a part's entries of the hours that are in the span and in one interval.

        Return the other times in the span at which the part has entries.
        """
        slots, left = dict[int, int](), list[TimeSpan]()
        for place, hour in enumerate(table.hours):
            first_ms, last_ms = hour * HOUR_MS, (hour + 1) * HOUR_MS - 1
            if self.span.has(first_ms, last_ms) and self._slot(first_ms) == self._slot(last_ms):
                slots[place] = self._slot(first_ms)
            elif self.span.meets(first_ms, last_ms):
                left.append(TimeSpan(max(first_ms, self.span.first_ms), min(last_ms, self.span.last_ms)))
        if slots:
            self._add_hours(table, filters, slots)
        return left

    def _add_hours(self, table: HourTable, filters: Filters, slots: Mapping[int, int]) -> None:
        """slots: the interval of each hour that counts, by its place."""
        by, wanted = self._query.by, dict(filters)
        of_results = {result: of for result, of in table.counts.items() if wanted.get(CountBy.RESULT, result) == result}
        passing: list[bool] | None = None
        for dimension, value in filters:
            if dimension is not CountBy.RESULT:
                has = [name == value for name in table.names[dimension]]
                passing = has if passing is None else [one and other for one, other in zip(passing, has, strict=True)]
        numbers = {
            result: of.total if len(slots) == len(table.hours) else [_sum_of(raw, slots) for raw in of.by_hour]
            for result, of in of_results.items()
        }
        if passing is not None:
            numbers = {result: list(compress(each, passing)) for result, each in numbers.items()}
        names = None if by is CountBy.RESULT else table.names[by]
        if names is None:
            for result, each in numbers.items():
                self._by_hours[result] += sum(each)
        elif numbers:
            sums = reduce(lambda one, other: list(map(add, one, other)), numbers.values())
            for name, number in zip(names if passing is None else compress(names, passing), sums, strict=True):
                self._by_hours[name] += number
        if self._query.step_seconds is not None:
            self._spread.append(_Spread(names, of_results, passing, slots))

    def _runs(self, columns: Columns, row: Row, spans: Sequence[TimeSpan]) -> Iterator[tuple[int, slice]]:
        """The intervals of a segment's entries, each with neighbouring entries that are in it."""
        whole = any(span.has(row.first_ms, row.last_ms) for span in spans)
        if whole and self._slot(row.first_ms) == self._slot(row.last_ms):
            yield self._slot(row.first_ms), slice(0, row.entries)
            return
        times = columns.times()
        if times != sorted(times):  # a clock was set back
            for place, time_ms in enumerate(times):
                if any(span.has(time_ms, time_ms) for span in spans):
                    yield self._slot(time_ms), slice(place, place + 1)
            return
        for first_ms, last_ms in spans:
            place, end = bisect_left(times, first_ms), bisect_right(times, last_ms)
            while place < end:
                slot = self._slot(times[place])
                following = bisect_left(times, self.span.first_ms + (slot + 1) * self._step, place, end)
                yield slot, slice(place, following)
                place = following

    def counts(self) -> Counts:
        """The answer."""
        query, totals = self._query, Counter[str | None]()
        for (value, _), count in self._counted.items():
            totals[value] += count
        for name, count in self._by_hours.items():
            totals[name or None] += count
        values = sorted(+totals, key=lambda value: (-totals[value], value or ""))
        shown = values[: query.limit]
        for each in self._spread:
            for value, slot, count in each.counts(shown):
                self._counted[value, slot] += count
        return Counts(
            by=query.by,
            total=totals.total(),
            values=[self._value(value, totals[value]) for value in shown],
            others=sum(totals[value] for value in values[query.limit :]),
            from_ms=None if query.from_ms is None else rfc3339(query.from_ms),
            step_seconds=query.step_seconds,
        )

    def _value_in(self, counted: tuple[str | None, ...]) -> Any:
        """What is counted of an entry, by its values in the order of COUNTED."""
        return counted[self._place]

    def _numbers(self, columns: Columns) -> list[Any]:
        """The same of each entry of a segment, in numbers; a single one if all have the same."""
        return columns.numbers(self._query.by)

    def _value_of(self, columns: Columns, number: Any) -> Any:
        return columns.value(number)

    def _value(self, value: str | None, count: int) -> ValueCount:
        if self._query.step_seconds is None:
            return ValueCount(value=value, count=count)
        return ValueCount(
            value=value, count=count, counts=[self._counted[value, slot] for slot in range(self._intervals)]
        )

    def _slot(self, time_ms: int) -> int:
        return (time_ms - self.span.first_ms) // self._step


class ResultTallies(Tallies):
    """The numbers by result and value: from entries and columns, not from hours."""

    def by_result(self) -> dict[Result, list[ValueCount]]:
        """The answer: the most frequent values of each result first."""
        found: dict[Result, list[ValueCount]] = {result: [] for result in Result}
        for (result, value), _ in sorted(self._counted, key=lambda of: (-self._counted[of], of[0][1] or "")):
            if result is not None:
                count = self._counted[(result, value), 0]
                found[Result(result)].append(ValueCount(value=value, count=count))
        return found

    def _value_in(self, counted: tuple[str | None, ...]) -> Any:
        return counted[COUNTED.index(CountBy.RESULT)], super()._value_in(counted)

    def _numbers(self, columns: Columns) -> list[Any]:
        results, values = columns.numbers(CountBy.RESULT), super()._numbers(columns)
        size = max(len(results), len(values))
        return list(zip(*(each * size if len(each) == 1 else each for each in (results, values)), strict=True))

    def _value_of(self, columns: Columns, number: Any) -> Any:
        result, value = number
        return columns.value(result), columns.value(value)


class _Spread(NamedTuple):
    """What hours say of intervals; it is added up only for the values that are shown.

    names: the value of each row; None = the result is the value. passing: the rows that count; None = all.
    slots: the interval of each hour that counts, by its place.
    """

    names: Sequence[str] | None
    of_results: Mapping[str, OfResult]
    passing: Sequence[bool] | None
    slots: Mapping[int, int]

    def counts(self, shown: Sequence[str | None]) -> Iterator[tuple[str | None, int, int]]:
        """Values, intervals and numbers, some of them several times."""
        wanted = set(shown)
        for result, of in self.of_results.items():
            names = repeat(result, len(of.total)) if self.names is None else self.names
            rows = zip(names, of.by_hour, self.passing or repeat(True), strict=False)
            for name, raw, passes in rows:
                if passes and (name or None) in wanted:
                    for place, number in pairs_of(raw):
                        if place in self.slots:
                            yield name or None, self.slots[place], number


def _sum_of(by_hour: bytes, slots: Mapping[int, int]) -> int:
    return sum(number for place, number in pairs_of(by_hour) if place in slots)


def _passing(columns: Columns, filters: Filters) -> list[bool] | None:
    """Which of a segment's entries pass the filters; None if all do, an empty list if none does."""
    wanted: list[list[bool]] = []
    for dimension, value in filters:
        number, numbers = columns.number_of(value), columns.numbers(dimension)
        if number not in numbers:
            return []
        if len(numbers) > 1:
            wanted.append(list(map(number.__eq__, numbers)))
    return list(map(all, zip(*wanted, strict=True))) if len(wanted) > 1 else wanted[0] if wanted else None
