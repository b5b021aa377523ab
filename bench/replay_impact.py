"""How much does a replay, on its own core or the replica's, slow down decisions?"""

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from typing import Self

import msgspec
from msgspec import convert

from app.explain.replay_jobs.processes import lower_priority
from app.model.policy_sets import PolicyEntry
from app.model.replays import ReplayLine, ReplayTask
from bench.harness.bench import Bench, decisions
from bench.harness.closed_loop import load
from bench.harness.constant_rate import compactor_caught_up, load_at_rate
from bench.harness.cores import pinned
from bench.harness.machine import ROOT
from bench.harness.population import HOT_RULES, Place, hot_call, hot_place
from bench.harness.processes import Replica, Store, clean_env
from bench.harness.table import Goal, Row, Sample, Table

WITHOUT, WITH = "no replay", "one replay after the other"
OWN, SHARED = "the replay has a core of its own", "the replay has the replica's core"
SHARE = 0.5
CONNECTIONS = 128
FILLING_SECONDS = 4.0


def measure(bench: Bench) -> Table:
    """Half of the replica's maximum, open loop, with and without a replay of the same workspace's log, in turns."""
    rows: list[Row] = []
    for group, replica_core, replay_core in (
        (OWN, bench.cores.others, bench.cores.service),
        (SHARED, bench.cores.service, bench.cores.service),
    ):
        rows += _rows(bench, group, replica_core, replay_core)
    own = {row.label: row for row in rows if row.group == OWN}
    grown = own[WITH].ratio("p99 ms", own[WITHOUT])
    goal = Goal(
        wanted="p99 at half load grows beside a replay on a core of its own by, %",
        bound=10,
        at_least=False,
        measured=None if grown is None else 100 * (grown - 1),
    )
    return Table(
        name="replay_impact",
        question="how much does a replay slow down decisions at half load?",
        command=bench.command,
        columns={
            "req/s": ",.0f",
            "p50 ms": ".2f",
            "p99 ms": ".2f",
            "replayed/s": ",.0f",
            "generator lag p99 ms": ".2f",
        },
        rows=rows,
        baseline=WITHOUT,
        compared="p99 ms",
        first_column="Beside the decisions",
        group_column="Where",
        goals=[goal],
        left_out=[
            (
                f'In "{OWN}" replica, store and load generator have the other core between them; in "{SHARED}" the '
                "replica and the replay have one, of which the replay gets what is left."
            ),
            (
                "The replay reads the log of the same agent from the store while the agent gets "
                "decisions, so the log grows."
            ),
            (
                "`replayed/s` counts entries and includes the start of each process. Not measured: "
                "persistence; everything is in memory."
            ),
        ],
    )


def _rows(bench: Bench, group: str, replica_core: int, replay_core: int) -> list[Row]:
    without, beside = Row(label=WITHOUT, group=group), Row(label=WITH, group=group)
    with bench.running_store("replayed") as store, Replica(store.url, replica_core) as replica:
        place = hot_place(store.url)
        target = decisions(replica, store, [hot_call(place)])
        full = load(target, CONNECTIONS, FILLING_SECONDS, bench.cores.others)["req/s"]
        for _ in range(bench.rounds):
            with compactor_caught_up(bench, store, place):
                pass  # seal what earlier rounds left, so that all rounds start alike
            without.samples.append(load_at_rate(bench, replica, place, full * SHARE))
            with _Replays(store, place, replay_core) as replays:
                beside.samples.append(load_at_rate(bench, replica, place, full * SHARE) | replays.rate())
    return [without, beside]


class _Replays:
    """Replays of the place's log, one after the other, each in a process as a replica starts it, on one core."""

    def __init__(self, store: Store, place: Place, core: int) -> None:
        to_ms = time.time_ns() // 1_000_000
        draft = [convert({"name": "draft", "rules": HOT_RULES}, PolicyEntry)]
        task = ReplayTask(
            workspace_id=place.workspace_id, agent_id=place.agent_id, from_ms=0, to_ms=to_ms, policies=draft
        )
        self._task = msgspec.json.encode(task)
        self._env = clean_env() | {"REMIT_REDIS_URL": store.url, "REMIT_STORE_TIMEOUT_MS": "5000"}
        self._core = core
        self._entries = 0
        self._failed = ""
        self._ended = threading.Event()
        self._process: subprocess.Popen[bytes] | None = None
        self._thread = threading.Thread(target=self._run, name="replays")

    def __enter__(self) -> Self:
        self._began = time.monotonic()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        if self._process is not None:
            self._process.kill()
        self._thread.join()
        if self._failed or not self._entries:
            raise RuntimeError(f"nothing was replayed: {self._failed or 'the core had no time left for it'}")

    def rate(self) -> Sample:
        """Entries replayed per second since the start."""
        return {"replayed/s": self._entries / (time.monotonic() - self._began)}

    def _run(self) -> None:
        while not self._ended.is_set():
            before = self._entries
            for line in self._lines():
                if isinstance(line.error, str):
                    self._failed = line.error
                    return
                if not isinstance(line.progress, msgspec.UnsetType):
                    self._entries = before + line.progress.entries

    def _lines(self) -> Iterator[ReplayLine]:
        command = [sys.executable, "-m", "app.explain.replay_jobs"]
        with subprocess.Popen(
            command, stdin=-1, stdout=-1, cwd=ROOT, env=self._env, preexec_fn=pinned(self._core)
        ) as process:
            lower_priority(process.pid)
            self._process = process
            if process.stdin is None or process.stdout is None:
                raise RuntimeError("the process was started without pipes")
            process.stdin.write(self._task)
            process.stdin.close()
            for line in process.stdout:
                yield msgspec.json.decode(line, type=ReplayLine)
        if process.returncode and not self._ended.is_set():
            yield ReplayLine(error=f"the process ended with {process.returncode}")
