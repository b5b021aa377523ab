"""How much does sealing, on the store's core, delay decisions?"""

from app.store.keyspace import Keyspace
from bench.harness.bench import Bench, decisions
from bench.harness.closed_loop import load
from bench.harness.constant_rate import compactor_caught_up, load_at_rate
from bench.harness.population import Place, hot_call, hot_place
from bench.harness.processes import Replica, Store
from bench.harness.table import Goal, Row, Sample, Table

WITHOUT, WITH = "no compactor", "a compactor that seals"
FULL, PARTIAL = "128 connections", "70 % of that, open loop"
SHARE = 0.7
CONNECTIONS = 128


def measure(bench: Bench) -> Table:
    """With and without a compactor, in turns: at full load, then at 70 % of the maximum without one."""
    rows = {(label, group): Row(label=label, group=group) for group in (FULL, PARTIAL) for label in (WITHOUT, WITH)}
    with bench.running_store("audit_sealing_impact") as store, bench.replica(store) as replica:
        place = hot_place(store.url)
        load(decisions(replica, store, [hot_call(place)]), CONNECTIONS, bench.seconds, bench.cores.others)
        for _ in range(bench.rounds):
            with compactor_caught_up(bench, store, place):
                pass  # seal what earlier rounds left, so that all rounds start alike
            full = _full(bench, store, replica, place)
            rows[WITHOUT, FULL].samples.append(full)
            rows[WITHOUT, PARTIAL].samples.append(_at_rate(bench, store, replica, place, full["req/s"] * SHARE))
            with compactor_caught_up(bench, store, place):
                rows[WITH, FULL].samples.append(_full(bench, store, replica, place))
                rows[WITH, PARTIAL].samples.append(_at_rate(bench, store, replica, place, full["req/s"] * SHARE))
    return Table(
        name="audit_sealing_impact",
        question="how much does sealing slow down decisions?",
        command=bench.command,
        columns={
            "req/s": ",.0f",
            "req/s a core": ",.0f",
            "p50 ms": ".2f",
            "p99 ms": ".2f",
            "sealed/s": ",.0f",
            "generator lag p99 ms": ".2f",
        },
        rows=list(rows.values()),
        baseline=WITHOUT,
        compared="p99 ms",
        first_column="Beside the replica",
        group_column="Load",
        goals=_goals(rows),
        left_out=[
            (
                "The compactor, the store and the load generator share one core, and the replica has "
                "the other. While the compactor runs, the store and the generator wait."
            ),
            "`req/s a core` is based on the replica's CPU time, so it shows what sealing costs the replica itself.",
            "Not measured: persistence; the store keeps everything in memory.",
        ],
    )


def _goals(rows: dict[tuple[str, str], Row]) -> list[Goal]:
    def more_percent(column: str, group: str) -> float | None:
        ratio = rows[WITH, group].ratio(column, rows[WITHOUT, group])
        return None if ratio is None else 100 * (ratio - 1)

    lost = more_percent("req/s a core", FULL)
    return [
        Goal(
            wanted="throughput lost on the replica's own core, %",
            bound=5,
            at_least=False,
            measured=None if lost is None else -lost,
            needs_quiet=False,
        ),
        Goal(wanted="p99 at 70 % grows by, %", bound=10, at_least=False, measured=more_percent("p99 ms", PARTIAL)),
    ]


def _full(bench: Bench, store: Store, replica: Replica, place: Place) -> Sample:
    before = _sealed(store, place)
    sample = load(decisions(replica, store, [hot_call(place)]), CONNECTIONS, bench.seconds, bench.cores.others)
    return sample | {"sealed/s": (_sealed(store, place) - before) / bench.seconds}


def _at_rate(bench: Bench, store: Store, replica: Replica, place: Place, rate: float) -> Sample:
    before = _sealed(store, place)
    sample = load_at_rate(bench, replica, place, rate)
    return sample | {"sealed/s": (_sealed(store, place) - before) / (bench.seconds + 0.5)}


def _sealed(store: Store, place: Place) -> int:
    return int(store.ask("HGET", Keyspace(place.workspace_id).audit_head, "sequence") or 0)
