"""How long do callers wait when calls arrive at a fixed rate, up to more than the service can handle?"""

from msgspec.structs import replace

from bench.harness.arrivals import Phase, Slice
from bench.harness.baseline import EMPTY
from bench.harness.bench import ALLOWED, Bench, decisions, forget_entries
from bench.harness.closed_loop import Call, load
from bench.harness.open_loop import Job, Outcome, run_beside
from bench.harness.plot import Line, chart
from bench.harness.population import hot_call, hot_place
from bench.harness.processes import Server
from bench.harness.report import RESULTS
from bench.harness.table import KEPT_WAITING, Goal, Row, Sample, Table

SHARES = (10, 30, 50, 70, 85, 100, 110, 120)
SHOWN = (30, 70, 100, 120)
CONNECTIONS = 512
DECISIONS, BASELINE = "authorize", "`{}`"
COLUMNS = {
    "offered/s": ",.0f",
    "answered/s": ",.0f",
    "p50 ms": ".2f",
    "p99 ms": ".2f",
    "p99.9 ms": ".2f",
    "max ms": ".1f",
    "503 %": ".1f",
    "generator lag p99 ms": ".2f",
    "generator busy %": ".0f",
}


def measure(bench: Bench) -> list[Table]:
    """Latency from the intended send time, at fractions of the maximum, and the effect of an overload."""
    with bench.running_store("open") as store, bench.replica(store) as replica, bench.baseline() as baseline:
        place = hot_place(store.url)
        call, forget = hot_call(place), forget_entries(store, [place])
        targets = {BASELINE: (baseline.port, replace(call, path=EMPTY), "{}"), DECISIONS: (replica.port, call, ALLOWED)}
        servers: dict[str, Server] = {BASELINE: baseline, DECISIONS: replica}
        samples = [load(decisions(replica, store, [call]), 128, bench.seconds, bench.cores.others) for _ in range(4)]
        maximum = max(sample["req/s"] for sample in samples[1:])
        forget()
        rows = {(label, share): Row(label=label, group=f"{share} %") for share in SHARES for label in targets}
        for _ in range(bench.rounds):
            for (label, share), row in rows.items():
                phase = Phase(maximum * share / 100, bench.seconds + 0.5)
                job = _job(targets[label], [phase])
                outcome, waiting = run_beside(job, bench.cores.others, servers[label])
                numbers = _numbers(outcome.phases[0])
                row.samples.append(numbers | {"generator busy %": outcome.busy_percent, KEPT_WAITING: waiting})
                forget()
        recovery = _recovery(bench, replica, targets[DECISIONS], maximum)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "latency.svg").write_text(_picture(list(rows.values()), maximum))
    shown = [row for (_, share), row in rows.items() if share in SHOWN]
    latency = Table(
        name="open_loop",
        question="how long do callers wait when calls arrive at a fixed rate, whatever the service does?",
        command=bench.command,
        columns=COLUMNS,
        rows=shown,
        baseline=BASELINE,
        compared="p50 ms",
        group_column=f"Of {maximum:,.0f}/s",
        left_out=[
            (
                f"100 % is the closed-loop maximum of this run with 128 connections. The generator has "
                f"{CONNECTIONS}; if none is free, a call waits, and the wait counts."
            ),
            "Arrivals are evenly spaced; random arrivals wait longer near the maximum.",
            (
                "Generator lag is the time from when a call should have left, with a connection free, "
                "until it did; latencies include it."
            ),
        ],
    )
    return [latency, recovery]


def _job(target: tuple[int, Call, str], phases: list[Phase]) -> Job:
    port, call, expected = target
    return Job(port=port, calls=[call], expected=expected, connections=CONNECTIONS, phases=phases)


def _numbers(phase: Slice) -> Sample:
    return {
        "offered/s": phase.intended / phase.seconds,
        "answered/s": phase.answered_within / phase.seconds,
        "p50 ms": phase.p50_us / 1000,
        "p99 ms": phase.p99_us / 1000,
        "p99.9 ms": phase.p999_us / 1000,
        "max ms": phase.max_us / 1000,
        "503 %": 100 * phase.shed / max(1, phase.answered),
        "generator lag p99 ms": phase.lag_p99_us / 1000,
    }


BEFORE, DURING, AFTER = "before: 70 %", "overload: 120 %", "after: 70 %"


def _recovery(bench: Bench, replica: Server, target: tuple[int, Call, str], maximum: float) -> Table:
    """70 % of the maximum, then 120 %, then 70 % again until well after the queue must be empty."""
    seconds = max(2.0, bench.seconds)
    drain_seconds = seconds * 20 / 30
    phases = [
        Phase(0.7 * maximum, seconds),
        Phase(1.2 * maximum, seconds),
        Phase(0.7 * maximum, 3 * drain_seconds + 2),
    ]
    rows = [Row(label=label) for label in (BEFORE, DURING, AFTER)]
    waits = []
    for _ in range(bench.rounds):
        outcome, waiting = run_beside(_job(target, phases), bench.cores.others, replica)
        for row, phase in zip(rows, outcome.phases, strict=True):
            row.samples.append(_numbers(phase) | {KEPT_WAITING: waiting})
        waits.append(_recovered_after_s(outcome, seconds))
    for sample, wait in zip(rows[2].samples, waits, strict=True):
        if wait is not None:
            sample["recovered after s"] = wait
    never_s = phases[2].seconds
    return Table(
        name="recovery",
        question="what does an overload do, and how long do its effects last?",
        command=bench.command,
        columns={name: form for name, form in COLUMNS.items() if "busy" not in name} | {"recovered after s": ".1f"},
        rows=rows,
        baseline=BEFORE,
        compared="p99 ms",
        first_column="Phase",
        goals=[
            Goal(
                wanted=f"recovered by itself, s after the overload of {seconds:g} s "
                f"(the queue alone takes {drain_seconds:.1f} s to drain)",
                bound=round(2 * drain_seconds, 1),
                at_least=False,
                measured=max(never_s if wait is None else wait for wait in waits),
            )
        ],
        left_out=[
            (
                "A run has recovered once the p99 of five consecutive slices of 100 ms is below twice "
                f"its former value. If it never does, its whole length counts, {never_s:.1f} s."
            ),
        ],
    )


def _recovered_after_s(outcome: Outcome, seconds: float) -> float | None:
    """How long after the overload latency was back to normal; None if it was not within the run."""
    before = outcome.phases[0].p99_us
    end_us = int(2 * seconds * 1e6)
    later = [each for each in outcome.slices if each.begins_us >= end_us]
    for number in range(len(later) - 4):
        if all(each.p99_us <= 2 * before for each in later[number : number + 5]):
            return (later[number].begins_us - end_us) / 1e6
    return None


def _picture(rows: list[Row], maximum: float) -> str:
    lines = []
    for label, name in ((DECISIONS, "authorize"), (BASELINE, "{} (no decision)")):
        for column in ("p50 ms", "p99 ms", "p99.9 ms"):
            points = [
                (row.median("offered/s") or 0.0, row.median(column) or 0.01) for row in rows if row.label == label
            ]
            lines.append(Line(f"{name} {column.removesuffix(' ms')}", points))
    title = "Latency from the intended send, by arrival rate (dashed: closed-loop maximum)"
    return chart(title, "calls a second", "ms", lines, [maximum])
