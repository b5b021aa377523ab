"""Measurements in rounds, as a table: the question above, a baseline row, and below it what was not measured."""

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from msgspec import Struct, field

Sample = dict[str, float]
"""One round of one row, by column; a column that a row cannot have is missing."""


KEPT_WAITING = "service kept waiting %"
"""Column: the share of the service's runnable time during which another process had its core."""
QUIET_BELOW = 10.0


class Row(Struct, kw_only=True):
    """One thing measured, in rounds that alternated with the table's other rows.

    group: rows are compared with the baseline of their own group (such as the number of connections).
    """

    label: str
    group: str = ""
    samples: list[Sample] = field(default_factory=list)

    def median(self, column: str) -> float | None:
        """The median of the rounds, None if the row has no such column."""
        values = [sample[column] for sample in self.samples if column in sample]
        return statistics.median(values) if values else None

    def ratio(self, column: str, other: "Row") -> float | None:
        """The median of the rounds' ratios: round i against round i, which ran under the same load."""
        ratios = [
            mine[column] / theirs[column]
            for mine, theirs in zip(self.samples, other.samples, strict=False)
            if theirs.get(column) and column in mine
        ]
        return statistics.median(ratios) if ratios else None


class Goal(Struct, frozen=True, kw_only=True):
    """A goal of the project, and what was measured.

    needs_quiet: it is a rate or a latency, which other processes on the same cores distort, unlike CPU times.
    """

    wanted: str
    bound: float
    at_least: bool
    measured: float | None
    needs_quiet: bool = True

    @property
    def met(self) -> bool | None:
        if self.measured is None:
            return None
        return self.measured >= self.bound if self.at_least else self.measured <= self.bound


class Table(Struct, kw_only=True):
    """The answer to one question.

    columns: name → format; `x baseline` is made from `compared`, a column of the rows.
    baseline: the label of the row that is 1.00 in each group.
    left_out: what the table does not say, in sentences.
    """

    name: str
    question: str
    command: str
    columns: dict[str, str]
    rows: list[Row]
    baseline: str
    compared: str
    goals: list[Goal] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    first_column: str = "Path"
    group_column: str = ""
    shares_core: bool = False
    """Processes of ours that share the service's core on purpose; only time that none of them got counts as lost to
    others."""

    @property
    def kept_waiting(self) -> float:
        """The worst row's share of time lost to neighbours, %; 0 if it was not measured."""
        if self.shares_core:
            return 100 - max(row.median("service busy %") or 0.0 for row in self.rows)
        return max((row.median(KEPT_WAITING) or 0.0 for row in self.rows), default=0.0)

    def row(self, label: str, group: str = "") -> Row:
        return next(row for row in self.rows if row.label == label and row.group == group)

    def find(self, label: str, group: str = "") -> Row | None:
        return next((row for row in self.rows if row.label == label and row.group == group), None)


def take_turns(turns: Mapping[str, Callable[[], Sample]], rounds: int, group: str = "") -> list[Row]:
    """A row for each entry; entries alternate in every round (A B A B), so all run under the same load."""
    rows = [Row(label=label, group=group) for label in turns]
    for _ in range(rounds):
        for row, turn in zip(rows, turns.values(), strict=True):
            row.samples.append(turn())
    return rows


def take_turns_by_label(labels: Iterable[str], sample: Callable[[str], Sample], rounds: int) -> list[Row]:
    """A row for each label; a sample needs only the label. They alternate, too."""
    return take_turns({label: partial(sample, label) for label in labels}, rounds)


def render(table: Table) -> str:
    """The table as Markdown, goals and omissions below it."""
    lines = [f"Question: {table.question}", ""]
    headings = [table.first_column, *([table.group_column] if table.group_column else [])]
    headings += [*table.columns, "x baseline"]
    lines += [_line(headings), _line(["---"] + ["---:"] * (len(headings) - 1))]
    for row in table.rows:
        baseline = table.find(table.baseline, row.group) or table.find(table.baseline)
        label = f"{row.label} (baseline)" if row is baseline else row.label
        cells = [label, *([row.group] if table.group_column else [])]
        cells += [_shown(row.median(column), form) for column, form in table.columns.items()]
        ratio = row.ratio(table.compared, baseline) if baseline is not None else None
        cells.append(_shown(ratio, ".2f"))
        lines.append(_line(cells))
    rounds = max((len(row.samples) for row in table.rows), default=0)
    lines += ["", f"`{table.command}` · {_rounds(rounds)} in turns; x baseline compares {table.compared}"]
    if table.kept_waiting >= QUIET_BELOW:
        lost = f"for up to {table.kept_waiting:.0f} % of the time in which it wanted to run"
        lines += ["", f"**Not a quiet run**: others had the service's core {lost}. Rates and latencies prove nothing."]
    if table.goals:
        lines += ["", _line(["Goal", "Wanted", "Measured", ""]), _line(["---", "---:", "---:", "---"])]
        is_quiet = table.kept_waiting < QUIET_BELOW
        lines += [_line(_goal_cells(goal, is_quiet)) for goal in table.goals]
    if table.left_out:
        lines += ["", "Notes: " + " ".join(table.left_out)]
    return "\n".join(lines) + "\n"


def _goal_cells(goal: Goal, is_quiet: bool) -> list[str]:
    word = {True: "met", False: "**missed**", None: "not measured"}[goal.met]
    if goal.measured is not None and goal.needs_quiet and not is_quiet:
        word = "not judged: not quiet"
    return [goal.wanted, f"{'≥' if goal.at_least else '≤'} {goal.bound:g}", _shown(goal.measured, ".2f"), word]


def _rounds(count: int) -> str:
    return "1 round" if count == 1 else f"median of {count} rounds"


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _shown(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)
