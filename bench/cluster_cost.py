"""What does a decision cost on Redis Cluster, beside one Redis?"""

import contextlib
import time

from bench.harness.bench import Bench, Turn, decisions, forget_entries
from bench.harness.closed_loop import COLUMNS
from bench.harness.population import HOT_RULES, PolicySketch, hot_call, make_place
from bench.harness.processes import free_port
from bench.harness.table import Goal, Table, take_turns

CONNECTIONS, MOST = 32, 1.15
SINGLE, CLUSTER = "one Redis", "a cluster of one node"
_STATE_SECONDS = 30


def measure(bench: Bench) -> Table:
    """The hot call on both, in turns: what the cluster's client costs, without what several nodes would add."""
    with contextlib.ExitStack() as stack:
        turns: dict[str, Turn] = {}
        for label, options in {SINGLE: (), CLUSTER: cluster_options()}.items():
            store = stack.enter_context(bench.running_store(f"cluster_cost_{len(turns)}", options))
            if options:
                store.ask("CLUSTER", "ADDSLOTSRANGE", "0", "16383")
                deadline = time.monotonic() + _STATE_SECONDS
                while "cluster_state:ok" not in store.ask("CLUSTER", "INFO") and time.monotonic() < deadline:
                    time.sleep(0.1)
                store.url = store.url.replace("redis://", "redis+cluster://").removesuffix("/0")
            place = make_place(store.url, "hot", [PolicySketch(HOT_RULES)])
            replica = stack.enter_context(bench.replica(store))
            target = decisions(replica, store, [hot_call(place)])
            turns[label] = bench.turn(target, CONNECTIONS, forget_entries(store, [place]))
        single, cluster = rows = take_turns(turns, bench.rounds)
    goals = [
        Goal(
            wanted=f"{name}, of those on one Redis",
            bound=MOST,
            at_least=False,
            measured=cluster.ratio(name, single),
            needs_quiet=False,
        )
        for name in ("service us", "store us")
    ]
    return Table(
        name="cluster_cost",
        question="what does a decision cost on Redis Cluster, beside one Redis?",
        command=bench.command,
        columns=COLUMNS,
        rows=rows,
        baseline=SINGLE,
        compared="service us",
        first_column=f"Store, {CONNECTIONS} connections",
        goals=goals,
        left_out=["Not measured: several nodes. What they add is connections, not work for each decision."],
    )


def cluster_options() -> tuple[str, ...]:
    """Options of a node that is a cluster by itself. Its second port is 10000 above its first if not given: too high
    for some.
    """
    return ("--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf", "--cluster-port", str(free_port()))
