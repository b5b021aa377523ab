"""What does a decision cost on top of a request that decides nothing?"""

from msgspec.structs import replace

from bench.harness.baseline import EMPTY, TYPED
from bench.harness.bench import ALLOWED, Bench, decisions, forget_entries
from bench.harness.closed_loop import COLUMNS, Target, rate_goals
from bench.harness.population import hot_call, hot_place
from bench.harness.processes import DURABLE
from bench.harness.table import Goal, Row, Table, take_turns

EMPTY_ROW = "`@asgi` handler that answers `{}`"
TYPED_ROW = "typed `@post` handler that answers a constant"
PLAIN_ROW = "authorize, allowed, 2 conditions, 1 quota"
DURABLE_ROW = "the same, `appendfsync always`"
CONNECTIONS = ("1", "32", "128")


def measure(bench: Bench) -> Table:
    """Empty handler, typed handler and decisions, in turns, at 1, 32 and 128 connections."""
    rows: list[Row] = []
    with (
        bench.running_store("plain") as plain_store,
        bench.running_store("durable", DURABLE) as durable_store,
        bench.replica(plain_store) as plain_replica,
        bench.replica(durable_store) as durable_replica,
        bench.baseline() as baseline,
    ):
        plain, durable = hot_place(plain_store.url), hot_place(durable_store.url)
        call = hot_call(plain)

        def handler(path: str, expected: str) -> Target:
            return Target(port=baseline.port, calls=[replace(call, path=path)], expected=expected, service=[baseline])

        for connections in map(int, CONNECTIONS):
            turns = {
                EMPTY_ROW: bench.turn(handler(EMPTY, "{}"), connections),
                TYPED_ROW: bench.turn(handler(TYPED, ALLOWED), connections),
                PLAIN_ROW: bench.turn(
                    decisions(plain_replica, plain_store, [call]), connections, forget_entries(plain_store, [plain])
                ),
                DURABLE_ROW: bench.turn(
                    decisions(durable_replica, durable_store, [hot_call(durable)]),
                    connections,
                    forget_entries(durable_store, [durable]),
                ),
            }
            rows += take_turns(turns, bench.rounds, str(connections))
    table = Table(
        name="against_baselines",
        question="what does a decision (authentication, policies, an exact quota, the audit entry) "
        "cost compared with a request that decides nothing?",
        command=bench.command,
        columns=COLUMNS,
        rows=rows,
        baseline=EMPTY_ROW,
        compared="req/s",
        group_column="Connections",
        left_out=[
            "Not measured: a network (everything is on loopback), TLS, a compactor next to the replica.",
            (
                "The load generator (wrk, which checks every answer) shares its core with the store; "
                "`load core busy %` in the results file says how much of it they used together."
            ),
        ],
    )
    return replace(table, goals=_goals(table))


def _goals(table: Table) -> list[Goal]:
    goals = []
    for name, label in (("no persistence", PLAIN_ROW), ("`appendfsync always`", DURABLE_ROW)):
        empty, typed, row = (table.row(each, "32") for each in (EMPTY_ROW, TYPED_ROW, label))
        goals += rate_goals(f"against the empty handler, 32 connections, {name}", 0.60, row, empty)
        goals += rate_goals(f"against the typed handler, 32 connections, {name}", 1.3, row, typed)
        goals += [
            Goal(
                wanted=f"p50 against the empty handler's, 1 connection, {name}",
                bound=3,
                at_least=False,
                measured=table.row(label, "1").ratio("p50 ms", table.row(EMPTY_ROW, "1")),
            ),
            Goal(
                wanted=f"p99 / p50, 128 connections, {name}",
                bound=2.5,
                at_least=False,
                measured=table.row(label, "128").median("p99 / p50"),
            ),
        ]
    return goals
