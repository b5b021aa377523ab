"""What does a decision cost in a batch, beside a call by itself?"""

import msgspec
from msgspec.structs import replace

from bench.harness.bench import Bench, decisions, forget_entries
from bench.harness.closed_loop import Call
from bench.harness.population import Place, hot_call, hot_place
from bench.harness.table import Goal, Row, Sample, Table, take_turns

SINGLE, AT_ONCE, CONNECTIONS = "by itself, 32 connections", 100, 4
BATCH = f"{AT_ONCE} at a time, {CONNECTIONS} connections"
PATH = "/v1/authorize/batch"


def measure(bench: Bench) -> Table:
    """The hot call by itself and in batches, on the same replica."""
    with bench.running_store("batches") as store, bench.replica(store) as replica:
        place = hot_place(store.url)
        forget = forget_entries(store, [place])
        turns = {
            SINGLE: bench.turn(decisions(replica, store, [hot_call(place)]), 32, forget),
            BATCH: bench.turn(decisions(replica, store, [batch_of(place, AT_ONCE)]), CONNECTIONS, forget),
        }
        rows = [_per_decision(row) for row in take_turns(turns, bench.rounds)]
    table = Table(
        name="batches",
        question="what does a decision cost in a batch, beside a call by itself?",
        command=bench.command,
        columns={"decisions/s a core": ",.0f", "service us": ".1f", "store us": ".1f"},
        rows=rows,
        baseline=SINGLE,
        compared="decisions/s a core",
        left_out=[
            "Times are CPU times of a decision; a core: the rate that the service's would allow on a whole core."
        ],
    )
    faster = table.row(BATCH).ratio("decisions/s a core", table.row(SINGLE))
    goals = [
        Goal(
            wanted="decisions a second of one core, of those of single calls",
            bound=4,
            at_least=True,
            measured=faster,
            needs_quiet=False,
        ),
        Goal(
            wanted="store CPU us a decision in a batch",
            bound=9,
            at_least=False,
            measured=table.row(BATCH).median("store us"),
            needs_quiet=False,
        ),
    ]
    return replace(table, goals=goals)


def batch_of(place: Place, size: int) -> Call:
    """The hot call, this many times in one request."""
    call = hot_call(place)
    body = msgspec.json.encode({"calls": [msgspec.Raw(call.body)] * size})
    return replace(call, path=PATH, body=body)


def _per_decision(row: Row) -> Row:
    """The row with everything per decision."""
    each = AT_ONCE if row.label == BATCH else 1
    samples: list[Sample] = [
        {
            "decisions/s a core": sample["req/s a core"] * each,
            "service us": sample["service us"] / each,
            "store us": sample["store us"] / each,
        }
        for sample in row.samples
    ]
    return replace(row, samples=samples)
