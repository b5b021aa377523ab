"""What does it cost to write every decision to disk before it is answered?"""

from contextlib import ExitStack

from msgspec.structs import replace

from bench.harness.bench import Bench, Turn, decisions, forget_entries
from bench.harness.closed_loop import COLUMNS
from bench.harness.population import Place, hot_call, hot_place
from bench.harness.processes import DURABLE, Replica, Store, store_binaries
from bench.harness.table import Goal, Row, Table, take_turns

NONE, EVERY_SECOND, ALWAYS = "no persistence", "`appendfsync everysec`", "`appendfsync always`"
OPTIONS = {NONE: (), EVERY_SECOND: ("--appendonly", "yes", "--appendfsync", "everysec"), ALWAYS: DURABLE}
CONNECTIONS = (1, 32, 128)


def measure(bench: Bench) -> Table:
    """Three persistence settings, on every store of this machine, in turns."""
    rows: list[Row] = []
    for family in store_binaries():
        with ExitStack() as stack:
            places: dict[str, tuple[Store, Replica, Place]] = {}
            for label, options in OPTIONS.items():
                name = f"{family}-{len(places)}"
                store = stack.enter_context(bench.running_store(name, options, family))
                places[label] = store, stack.enter_context(bench.replica(store)), hot_place(store.url)
            for connections in CONNECTIONS:
                turns: dict[str, Turn] = {}
                for label, (store, replica, place) in places.items():
                    target = decisions(replica, store, [hot_call(place)])
                    turns[label] = bench.turn(target, connections, forget_entries(store, [place]))
                rows += take_turns(turns, bench.rounds, f"{family}, {connections}")
    table = Table(
        name="persistence",
        question="what does it cost to have every decision on disk before it is answered?",
        command=bench.command,
        columns=COLUMNS,
        rows=rows,
        baseline=NONE,
        compared="req/s",
        first_column="Store keeps",
        group_column="Store, connections",
        left_out=[
            (
                "Not measured: other disks. With one connection, `always` costs one sync of the disk "
                "per decision; with many, one sync covers all commands that arrived meanwhile."
            ),
        ],
    )
    goals = [
        Goal(
            wanted=f"`always` against none, {row.group} connections, req/s",
            bound=0.85,
            at_least=True,
            measured=row.ratio("req/s", table.row(NONE, row.group)),
        )
        for row in rows
        if row.label == ALWAYS and not row.group.endswith(", 1")
    ]
    return replace(table, goals=goals)
