"""Question: what does a commit cost on each build of the store, and does another allocator help?

Sends the commit of the hot call, 16 at a time, to each server in turns, and takes the CPU time of the server's process.
Run with `python -m bench.store_builds [SERVER…]`; further servers are paths of programs. Nothing else may be busy for
absolute numbers; the ratios of a round hold on a shared machine.
"""

import statistics
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from bench.harness import processes
from bench.harness.captured_commits import StoreConnection, commit_of, packed
from bench.harness.population import HOT_RULES, PolicySketch, hot_call, make_place

ROUNDS, BATCHES, TOGETHER = 12, 600, 16


def builds(further: list[str]) -> dict[str, tuple[str, list[str]]]:
    """Program and wrapper of each build, by name; jemalloc is preloaded only where it is installed."""
    found = {name: (path, list[str]()) for name, path in processes.store_binaries().items()}
    found |= {path: (path, []) for path in further}
    for allocator in sorted(Path("/usr/lib").glob("*/libjemalloc.so.2"))[:1]:
        if "valkey" in found:
            found["valkey, jemalloc preloaded"] = (found["valkey"][0], ["env", f"LD_PRELOAD={allocator}"])
    return found


def main() -> None:
    """Print the CPU time of a commit for each build: the median of the rounds, and of their ratios to the first."""
    spent: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        going = {}
        for number, (name, (path, wrapper)) in enumerate(builds(sys.argv[1:]).items()):
            store = stack.enter_context(processes.Store(path, Path(folder) / str(number), 1, wrapper=wrapper))
            place = make_place(store.url, "hot", [PolicySketch(HOT_RULES)])
            with processes.Replica(store.url, 0, REMIT_STORE_TIMEOUT_MS="10000") as replica:
                wire = packed(commit_of(store, replica, hot_call(place))) * TOGETHER
            going[name] = store, stack.enter_context(StoreConnection(store)), wire
            spent[name] = []
        for _ in range(ROUNDS):
            for name, (store, connection, wire) in going.items():
                before = store.cpu_us()
                for _ in range(BATCHES):
                    connection.send(wire)
                    for _ in range(TOGETHER):
                        connection.reply()
                spent[name].append((store.cpu_us() - before) / BATCHES / TOGETHER)
    first = next(iter(spent.values()))
    for name, each in spent.items():
        ratio = statistics.median(mine / theirs for mine, theirs in zip(each, first, strict=True))
        print(f"{name:40} {statistics.median(each):6.1f} us, {ratio:.2f} of the first")


if __name__ == "__main__":
    main()
