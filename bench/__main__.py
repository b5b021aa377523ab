"""`python -m bench`: measures, prints the tables, and keeps every round in bench/results/."""

import argparse
import importlib
import os
import shlex
import shutil
import subprocess
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

from msgspec.structs import replace

from bench.harness import peer_programs
from bench.harness.bench import Bench, scratch_folder
from bench.harness.closed_loop import require_wrk
from bench.harness.cores import two_cores
from bench.harness.machine import describe, sentence
from bench.harness.processes import store_binaries
from bench.harness.report import Report, read_results, update_readme, write_results
from bench.harness.table import Table, render

ABOUT_DECISIONS = (
    "against_baselines",
    "against_cerbos",
    "persistence",
    "many_agents",
    "edits",
    "open_loop",
    "evaluation",
    "limiters",
    "against_commit",
    "instructions",
)
FURTHER = sorted(
    path.stem
    for path in Path(__file__).parent.glob("[a-z]*.py")
    if path.stem not in ABOUT_DECISIONS and "\ndef measure(" in path.read_text()
)
QUESTIONS = (*ABOUT_DECISIONS, *FURTHER)
QUICK = ("against_baselines", "against_cerbos")


def main() -> int:
    """The exit code: 0 if every question was answered. A missed goal is shown in its table and is not a failure."""
    options = _parser().parse_args()
    if options.questions == ["readme"]:
        return _rewrite_readme(Path(options.results))
    if options.questions == ["setup"] or (options.questions == ["all"] and not peer_programs.FOLDER.exists()):
        peer_programs.install()
    if options.questions == ["setup"]:
        return 0
    groups = {"quick": QUICK, "all": QUESTIONS}
    names = [name for given in options.questions for name in groups.get(given, (given,))]
    require_wrk()
    cores = two_cores()
    os.sched_setaffinity(0, {cores.others})
    bench = Bench(
        cores=cores,
        seconds=options.seconds,
        rounds=options.rounds,
        store=options.store or next(iter(store_binaries())),
        folder=scratch_folder(),
        command=shlex.join(["python", "-m", "bench", *sys.argv[1:]]),
        base=options.base,
    )
    failed: list[str] = []
    try:
        machine = describe(_version(store_binaries()[bench.store]), bench.folder, options.remark)
        print(f"{sentence(machine)} {machine.remark}\n")
        tables = [table for name in names for table in _answered(name, bench, failed)]
    finally:
        shutil.rmtree(bench.folder, ignore_errors=True)
    report = Report(machine=machine, command=bench.command, seconds=bench.seconds, rounds=bench.rounds, tables=tables)
    path = write_results(report, options.questions[0] if len(options.questions) == 1 else "some")
    print(f"every round is in {path}")
    if options.readme:
        print(f"README has new tables: {', '.join(update_readme(report, path.name))}")
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


def _answered(name: str, bench: Bench, failed: list[str]) -> list[Table]:
    """The tables that answer the question, printed at once; none, and the question's name, if it failed."""
    print(f"… {name}", file=sys.stderr, flush=True)
    measure: Callable[[Bench], Table | list[Table]] = importlib.import_module(f"bench.{name}").measure
    command = f"python -m bench {name} --seconds {bench.seconds:g} --rounds {bench.rounds}"
    try:
        answer = measure(replace(bench, command=command))
    except peer_programs.PeerMissing as error:
        print(f"{name} was not measured: {error}\n", flush=True)
        return []
    except Exception as error:  # noqa: BLE001 - whatever it was, the other questions keep their answers
        traceback.print_exception(error)
        print(f"{name} FAILED: {type(error).__name__}: {error}\n", flush=True)
        failed.append(name)
        return []
    tables = answer if isinstance(answer, list) else [answer]
    for table in tables:
        print(f"### {table.name}\n\n{render(table)}", flush=True)
    return tables


def _rewrite_readme(path: Path) -> int:
    print("\n".join(update_readme(read_results(path), path.name)))
    return 0


def _version(binary: str) -> str:
    said = subprocess.run([binary, "--version"], capture_output=True, text=True, check=True).stdout.split()
    return f"{said[0]} {said[2].removeprefix('v=')}"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument(
        "questions",
        nargs="+",
        choices=["quick", "all", "setup", "readme", *QUESTIONS],
        metavar="quick | all | setup | readme | QUESTION",
        help=f"setup installs the peers into bench/.venv; a question is one of {', '.join(QUESTIONS)}",
    )
    parser.add_argument("--seconds", type=float, default=2, help="of one round of one row (default 2)")
    parser.add_argument("--rounds", type=int, default=3, help="the median of so many is shown (default 3)")
    parser.add_argument("--store", choices=["redis", "valkey"], help="default: the first that this machine has")
    parser.add_argument("--remark", default="", help="a sentence on what else was running, kept with the numbers")
    parser.add_argument("--base", default="", help="the earlier commit that against_commit compares with")
    parser.add_argument("--readme", action="store_true", help="put the tables into bench/README.md")
    parser.add_argument("--results", default="", help="with readme: the file to take the tables from")
    return parser


if __name__ == "__main__":
    sys.exit(main())
