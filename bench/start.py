"""What does a start take until it answers, and how much memory do its processes have?"""

from pathlib import Path

from bench.harness.bench import Bench
from bench.harness.cores import family
from bench.harness.processes import Replica
from bench.harness.table import Goal, Row, Sample, Table

WORKERS = (1, 4)
CPU, MEMORY = "CPU s", "MB in all"


def measure(bench: Bench) -> Table:
    """One service after the other: with a compactor, on a store that is there."""
    rows = [Row(label=f"{workers}") for workers in WORKERS]
    with bench.running_store("start") as store:
        for _ in range(bench.rounds):
            for workers, row in zip(WORKERS, rows, strict=True):
                with bench.replica(store, workers=workers, REMIT_COMPACT="true") as replica:
                    row.samples.append(_sample(replica))
    return Table(
        name="start",
        question="what does `remit serve` take until it answers, and how much memory?",
        command=bench.command,
        columns={CPU: ".2f", MEMORY: ".0f"},
        rows=rows,
        baseline=f"{WORKERS[0]}",
        compared=CPU,
        first_column="Replicas",
        goals=[Goal(wanted="one replica, CPU s", bound=1.5, at_least=False, measured=rows[0].median(CPU))],
        left_out=[
            "CPU time of all its processes once `/readyz` is 200, with what Python has compiled before.",
            "Memory that they share is counted once. A start reads nothing of agents, however many there are.",
        ],
    )


def _sample(replica: Replica) -> Sample:
    spent_s = replica.cpu_us() / 1e6
    return {CPU: spent_s, MEMORY: sum(map(_proportional_kb, family(replica.pid))) / 1024}


def _proportional_kb(pid: int) -> int:
    """Memory of a process; of what n processes share, an nth."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
