"""What does a change cost? An earlier commit's service and this one, in turns; `--base` names the commit."""

import subprocess
from pathlib import Path

import msgspec
from msgspec.structs import replace

from bench.harness.bench import ALLOWED, DENIED, Bench, decisions, forget_entries
from bench.harness.closed_loop import Call
from bench.harness.machine import ROOT
from bench.harness.peer_programs import PeerMissing
from bench.harness.population import HOT_RULES, Place, PolicySketch, hot_call, make_place
from bench.harness.table import Goal, Row, Table, take_turns

BEFORE, AFTER = "before", "after"
CASES = {"allowed, 2 conditions, 1 quota": ALLOWED, "denied by a condition": DENIED}
CONNECTIONS = 32
WITHIN = 1.03


def measure(bench: Bench) -> Table:
    """Service and store time of a decision, before and after. Raises PeerMissing if no commit is given."""
    if not bench.base:
        raise PeerMissing("it compares with an earlier commit; name one: python -m bench against_commit --base COMMIT")
    tree = tree_of(bench.base, bench.folder / "base")
    rows: list[Row] = []
    with (
        bench.running_store("before") as store_before,
        bench.running_store("after") as store_after,
        bench.replica(store_before, tree=tree) as before,
        bench.replica(store_after) as after,
    ):
        places = {
            store: make_place(store.url, "hot", [PolicySketch(HOT_RULES)]) for store in (store_before, store_after)
        }
        for case, expected in CASES.items():
            turns = {}
            for label, replica, store in ((BEFORE, before, store_before), (AFTER, after, store_after)):
                target = decisions(replica, store, [call_of(places[store], expected)], expected)
                turns[label] = bench.turn(target, CONNECTIONS, forget_entries(store, [places[store]]))
            rows += take_turns(turns, bench.rounds, case)
    table = Table(
        name="against_commit",
        question=f"what does a decision cost now, against commit {bench.base}?",
        command=bench.command,
        columns={"service us": ".1f", "store us": ".1f"},
        rows=rows,
        baseline=BEFORE,
        compared="service us",
        first_column="Tree",
        group_column="Case",
        left_out=["Both run in this environment, with the libraries of the tree that measures."],
    )
    return replace(table, goals=goals_of(table))


def call_of(place: Place, expected: str) -> Call:
    """The hot call, or the same with an amount that fails the first condition."""
    call = hot_call(place)
    if expected == ALLOWED:
        return call
    body = msgspec.json.decode(call.body)
    body["parameters"]["amount"] = 900
    return replace(call, body=msgspec.json.encode(body))


def tree_of(commit: str, folder: Path) -> Path:
    """The folder, with the files of a commit; several questions of a run may ask for it."""
    if folder.exists():
        return folder
    folder.mkdir()
    archive = subprocess.run(["git", "archive", commit], cwd=ROOT, stdout=subprocess.PIPE, check=True)
    subprocess.run(["tar", "-x", "-C", str(folder)], input=archive.stdout, check=True)
    return folder


def goals_of(table: Table) -> list[Goal]:
    """The goals: no column of a case has grown by more than 3 %."""
    return [
        Goal(
            wanted=f"{case}: {column}, after / before",
            bound=WITHIN,
            at_least=False,
            measured=table.row(AFTER, case).ratio(column, table.row(BEFORE, case)),
            needs_quiet=False,
        )
        for case in CASES
        for column in table.columns
    ]
