"""What a question is given: cores, a store, a folder, and how long to measure."""

import contextlib
import os
import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from msgspec import Struct

from app.store.keyspace import Keyspace
from bench.harness.closed_loop import Call, Target, load
from bench.harness.cores import Cores
from bench.harness.machine import ROOT
from bench.harness.population import Place
from bench.harness.processes import Baseline, Replica, Store, store_binaries
from bench.harness.table import Sample

Turn = Callable[[], Sample]
_MANY, _MANY_SECONDS = 64, 5.0
"""With this many connections, calls wait while they open; in a shorter round, that would set the p99."""
_SETTLED_SECONDS = 0.3
"""The previous round's server may still be busy with requests whose callers have gone."""
ALLOWED, DENIED = '"allowed":true', '"allowed":false'


class Bench(Struct, frozen=True, kw_only=True):
    """One run of some questions. store: the store program to use. folder: on a real disk, for the stores' files.
    base: a commit to compare with, for questions that compare; "" = none.
    """

    cores: Cores
    seconds: float
    rounds: int
    store: str
    folder: Path
    command: str
    base: str = ""

    @contextlib.contextmanager
    def running_store(self, name: str, options: Iterable[str] = (), family: str = "") -> Iterator[Store]:
        """A store on the load's core; its files are deleted afterwards."""
        binaries = store_binaries()
        family = family or self.store
        if family not in binaries:
            raise RuntimeError(f"this machine has no {family}; there is {', '.join(binaries) or 'no store at all'}")
        folder = self.folder / name
        try:
            with Store(binaries[family], folder, self.cores.others, tuple(options)) as store:
                yield store
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def replica(self, store: Store, *, workers: int = 1, tree: Path = ROOT, **env: str) -> Replica:
        """A replica on the service's core, of the code in `tree`."""
        return Replica(store.url, self.cores.service, workers=workers, tree=tree, **env)

    def baseline(self) -> Baseline:
        """The handlers that decide nothing, on the service's core."""
        return Baseline(self.cores.service)

    def turn(self, target: Target, connections: int, before: Callable[[], object] = lambda: None) -> Turn:
        """One round of closed-loop load on the target, warmed up just now; `before` runs outside the measurement."""
        load(target, connections, 1, self.cores.others)
        seconds = max(self.seconds, _MANY_SECONDS) if connections >= _MANY else self.seconds

        def act() -> Sample:
            before()
            time.sleep(_SETTLED_SECONDS)
            return load(target, connections, seconds, self.cores.others)

        return act


def decisions(replica: Replica, store: Store, calls: Iterable[Call], expected: str = ALLOWED) -> Target:
    """The target for authorize calls."""
    return Target(port=replica.port, calls=list(calls), expected=expected, service=[replica], store=store)


def forget_entries(store: Store, places: Iterable[Place]) -> Callable[[], None]:
    """Drop the places' audit entries: no compactor runs here, and a round must not pay for earlier rounds."""

    def forget() -> None:
        for place in places:
            store.ask("UNLINK", Keyspace(place.workspace_id).audit_stream)

    return forget


def scratch_folder() -> Path:
    """A folder for stores' files, on the project's own file system, because in memory a sync would cost nothing."""
    folder = ROOT / "var" / f"bench-{os.getpid()}"
    folder.mkdir(parents=True)
    return folder
