"""The results of a run: a dated file with every round, and the tables in the README."""

import re
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from msgspec import Struct

from bench.harness.machine import ROOT, Machine, sentence
from bench.harness.table import Table, render

RESULTS = ROOT / "bench" / "results"
README = ROOT / "bench" / "README.md"


class Report(Struct, kw_only=True):
    """One run: where and how it was made, and its results round by round."""

    machine: Machine
    command: str
    seconds: float
    rounds: int
    tables: list[Table]


def write_results(report: Report, name: str) -> Path:
    """The path of a new dated file that holds the run."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{datetime.now(UTC):%Y-%m-%dT%H%M}-{name}.json"
    path.write_bytes(msgspec.json.format(msgspec.json.encode(report), indent=1) + b"\n")
    return path


def read_results(path: Path) -> Report:
    """The run that a file holds."""
    return msgspec.json.decode(path.read_bytes(), type=Report)


def update_readme(report: Report, source: str) -> list[str]:
    """Put the run's tables at their marks in the README; returns the names of the tables that have one.

    A mark is a pair of comments, `<!-- begin NAME -->` and `<!-- end NAME -->`; what is between them is replaced.
    `machine` is the mark for where the latest run was made; each table says in short which run it is of.
    """
    machine = report.machine
    dirty = f" and uncommitted changes in {machine.changed_files} file(s)" if machine.changed_files else ""
    note = f"Run of {machine.taken_at[:16]}Z, commit {machine.commit}{dirty}, `results/{source}`. {machine.remark}"
    text, _ = _replaced(README.read_text(), "machine", f"{sentence(machine)}\n")
    found = []
    for table in report.tables:
        text, count = _replaced(text, table.name, f"{render(table)}\n{note.strip()}\n")
        found += [table.name] * count
    README.write_text(text)
    return found


def _replaced(text: str, name: str, body: str) -> tuple[str, int]:
    mark = re.compile(rf"(<!-- begin {re.escape(name)} -->\n).*?(<!-- end {re.escape(name)} -->)", re.DOTALL)
    return mark.subn(lambda match: f"{match[1]}{body}{match[2]}", text)
