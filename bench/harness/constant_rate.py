"""Load at a constant rate that the service can keep up with, and a compactor that has caught up."""

import contextlib
import sys
from collections.abc import Iterator

from app.store.keyspace import Keyspace
from bench.harness.arrivals import Phase
from bench.harness.bench import ALLOWED, Bench
from bench.harness.open_loop import Job, run_beside
from bench.harness.population import Place, hot_call
from bench.harness.processes import Replica, Server, Store
from bench.harness.table import KEPT_WAITING, Sample

WAITING_CONNECTIONS = 512
CAUGHT_UP = 1024


@contextlib.contextmanager
def compactor_caught_up(bench: Bench, store: Store, place: Place) -> Iterator[None]:
    """A compactor on the store's core, once it has caught up."""
    settings = {"REMIT_REDIS_URL": store.url, "REMIT_STORE_TIMEOUT_MS": "5000", "REMIT_LOG_LEVEL": "warning"}
    command = [sys.executable, "-m", "app.cli", "compact"]
    with Server(command, bench.cores.others, lambda: _unsealed(store, place) < CAUGHT_UP, settings):
        yield


def load_at_rate(bench: Bench, replica: Replica, place: Place, rate: float) -> Sample:
    """A fixed number of calls a second, whether or not earlier ones have been answered."""
    job = Job(
        port=replica.port,
        calls=[hot_call(place)],
        expected=ALLOWED,
        connections=WAITING_CONNECTIONS,
        phases=[Phase(rate, bench.seconds + 0.5)],
    )
    outcome, kept_waiting = run_beside(job, bench.cores.others, replica)
    phase = outcome.phases[0]
    return {
        "req/s": phase.answered_within / phase.seconds,
        "p50 ms": phase.p50_us / 1000,
        "p99 ms": phase.p99_us / 1000,
        "generator lag p99 ms": phase.lag_p99_us / 1000,
        KEPT_WAITING: kept_waiting,
    }


def _unsealed(store: Store, place: Place) -> int:
    return int(store.ask("XLEN", Keyspace(place.workspace_id).audit_stream))
