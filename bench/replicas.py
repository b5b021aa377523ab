"""What does a second replica add, if there is a core for each?"""

import sys

from msgspec.structs import replace

from bench.harness.bench import Bench, decisions, forget_entries
from bench.harness.closed_loop import COLUMNS
from bench.harness.population import hot_call, hot_place
from bench.harness.processes import Server
from bench.harness.table import Goal, Sample, Table, take_turns

ONE, TWO = "1 replica", "2 replicas"
CONNECTIONS = 64


def measure(bench: Bench) -> Table:
    """One replica next to a spinning process, then two replicas: either way, each replica has half of the core."""
    with (
        bench.running_store("replicas") as store,
        bench.replica(store) as single,
        bench.replica(store, workers=2) as pair,
    ):
        place = hot_place(store.url)
        calls, forget = [hot_call(place)], forget_entries(store, [place])
        alone = bench.turn(decisions(single, store, calls), CONNECTIONS, forget)
        both = bench.turn(decisions(pair, store, calls), CONNECTIONS, forget)

        def beside_spinner() -> Sample:
            with Server([sys.executable, "-c", "while True: pass"], bench.cores.service, lambda: True):
                return alone()

        rows = take_turns({ONE: beside_spinner, TWO: both}, bench.rounds)
    table = Table(
        name="replicas",
        question="what does a second replica add if each has a core?",
        command=bench.command,
        columns=COLUMNS,
        rows=rows,
        baseline=ONE,
        compared="req/s",
        first_column="Half a core each",
        shares_core=True,
        left_out=[
            (
                "Measured on two cores, so no replica has one to itself: two share the service's core, the single one "
                "shares it with a process that only spins. `service busy %` says how evenly: what wakes up often gets "
                "more than its half, so the single one's rate is too good, and CPU time is what compares. What two "
                "replicas take from each other is in the numbers (the store, its connections, the spread of "
                "connections over the shared port), what two cores would take from each other (caches, memory) is not."
            ),
            f"{CONNECTIONS} connections. Latencies reflect the scheduler's time slices and mean nothing.",
        ],
    )
    one, two = table.row(ONE), table.row(TWO)
    by_cpu = two.ratio("service us", one)
    goals = [
        Goal(wanted="two replicas against one, req/s", bound=1.8, at_least=True, measured=two.ratio("req/s", one)),
        Goal(
            wanted="the same from CPU time a decision: 2 x one's by two's (neighbours do not bias it)",
            bound=1.8,
            at_least=True,
            measured=None if by_cpu is None else 2 / by_cpu,
            needs_quiet=False,
        ),
    ]
    columns = {name: form for name, form in COLUMNS.items() if not name.startswith("p")}
    return replace(table, goals=goals, columns=columns)
