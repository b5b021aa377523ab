"""How long after its store is ready does a service decide?"""

import os
import signal
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from bench.harness.bench import Bench
from bench.harness.processes import DURABLE, Replica, Store, answers, store_binaries
from bench.harness.table import Goal, Row, Table

KEYS, US_A_KEY = 20_000, 100
"""What the store loads at its start, and how long each takes: two seconds of LOADING."""
READY = "ms after the store"
_SETTLED_SECONDS = 5
"""After a start: the supervisor looks for a replica that is ready, each second at most, and ends if one dies before."""


def measure(bench: Bench) -> Table:
    """The store is away, then loads; the clock runs from its first answer until /readyz says 200."""
    cases = {
        "the service is started while the store is away": _started_before,
        "the store is killed, and started again": _store_killed,
        "the store and the replica are killed": _both_killed,
    }
    rows = [
        Row(label=name, samples=[{READY: case(bench)} for _ in range(bench.rounds)]) for name, case in cases.items()
    ]
    slowest = max(sample[READY] for row in rows for sample in row.samples)
    return Table(
        name="store_away",
        question="how long after its store is ready does a service decide?",
        command=bench.command,
        columns={READY: ",.0f"},
        rows=rows,
        baseline="",
        compared=READY,
        first_column="What happened",
        goals=[Goal(wanted="the slowest, ms", bound=1_000, at_least=False, measured=slowest)],
        left_out=[
            "Both are asked every 20 ms. No process ends and is started again, except the replica that is killed."
        ],
    )


def _started_before(bench: Bench) -> float:
    with _slow_store(bench) as store, ThreadPoolExecutor(1) as pool:
        store.__exit__()
        replica = bench.replica(store)
        starting = pool.submit(replica.__enter__)
        try:
            _until(lambda: _lives(replica))
            store.__enter__()
            began = time.perf_counter()
            starting.result()
            return (time.perf_counter() - began) * 1e3
        finally:
            replica.__exit__()


def _store_killed(bench: Bench) -> float:
    with _slow_store(bench) as store, bench.replica(store) as replica:
        os.kill(store.pid, signal.SIGKILL)
        return _ready_again(store, replica)


def _both_killed(bench: Bench) -> float:
    with _slow_store(bench) as store, bench.replica(store) as replica:
        time.sleep(_SETTLED_SECONDS)
        killed = replica.worker_pids()
        for pid in (store.pid, *killed):
            os.kill(pid, signal.SIGKILL)
        _until(lambda: bool(set(replica.worker_pids()) - set(killed)))
        return _ready_again(store, replica)


def _ready_again(store: Store, replica: Replica) -> float:
    _until(lambda: _lives(replica))
    store.__exit__()
    store.__enter__()
    began = time.perf_counter()
    _until(lambda: answers(f"http://127.0.0.1:{replica.port}/readyz"))
    return (time.perf_counter() - began) * 1e3


def _slow_store(bench: Bench) -> Store:
    """A store that has been filled, and takes two seconds to load. Its files go with the run's folder."""
    folder = bench.folder / f"away-{time.monotonic_ns()}"
    options = (*DURABLE, "--key-load-delay", str(US_A_KEY))
    store = Store(store_binaries()[bench.store], folder, bench.cores.others, options)
    with store:
        store.ask("EVAL", f"for n = 1, {KEYS} do redis.call('SET', 'filler:' .. n, '') end", "0")
    return store


def _lives(replica: Replica) -> bool:
    return answers(f"http://127.0.0.1:{replica.port}/livez")


def _until(claim: Callable[[], bool]) -> None:
    while not claim():
        time.sleep(0.02)
