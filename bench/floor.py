"""How far is a decision from the least that could answer it? Valgrind counts instructions, so load does not matter."""

import asyncio
import shutil
import sys

from bench.harness.bench import ALLOWED, Bench
from bench.harness.captured_commits import commit_of
from bench.harness.peer_programs import PeerMissing
from bench.harness.population import HOT_RULES, PolicySketch, hot_call, make_place
from bench.harness.processes import Server, answers, free_port
from bench.harness.table import Row, Table
from bench.instructions import COUNTED, WARM, ask_many, control, counted_by, instructions_of

PARSED, COMMITTED = "head split, body decoded, constant answer", "the same, and the real commit"


def measure(bench: Bench) -> Table:
    """Servers of uvloop, msgspec and hiredis alone, beside a replica. Raises PeerMissing without valgrind."""
    if shutil.which("valgrind") is None:
        raise PeerMissing("valgrind is missing; it is packaged: apt-get install -y valgrind")
    counts = bench.folder / "counts-floor"
    counts.mkdir()
    rows = []
    with bench.running_store("floor") as store:
        call = hot_call(make_place(store.url, "hot", [PolicySketch(HOT_RULES)]))
        with bench.replica(store) as replica:
            words = commit_of(store, replica, call)
        captured = bench.folder / "commit"
        captured.write_text("\n".join(word.hex() for word in words))
        for label, arguments in {PARSED: [], COMMITTED: [str(store.port), str(captured)]}.items():
            port = free_port()
            command = [*counted_by(counts), sys.executable, "-m", "bench.harness.floor_server", str(port), *arguments]
            ready = f"http://127.0.0.1:{port}/readyz"
            with Server(command, bench.cores.service, lambda ready=ready: answers(ready)) as server:  # type: ignore[misc]
                asyncio.run(ask_many(port, call, ALLOWED, WARM))
                control(counts, "--instr=on", server.pid)
                asyncio.run(ask_many(port, call, ALLOWED, COUNTED))
                control(counts, "--instr=off", server.pid)
                rows.append(Row(label=label, samples=[{"instructions": instructions_of(counts, server.pid) / COUNTED}]))
    return Table(
        name="floor",
        question="what does the least cost that could answer a call?",
        command=bench.command,
        columns={"instructions": ",.0f"},
        rows=rows,
        baseline=COMMITTED,
        compared="instructions",
        first_column="Server",
        left_out=["A whole decision is in `instructions`. Not counted: work in the kernel."],
    )
