"""How many instructions does the store need to ask a person? Valgrind counts them, so load does not matter."""

import asyncio
import shutil

import uvloop

from app.replica import Services
from bench.approvals import ASKED, AT_ONCE, ATTACHED, DENIED, FREE, KNOWN, Scene, ask, remember, with_services
from bench.harness.bench import Bench
from bench.harness.peer_programs import PeerMissing
from bench.harness.processes import Store, store_binaries
from bench.harness.table import Goal, Row, Sample, Table
from bench.instructions import control, counted_by, instructions_of

WARM, COUNTED = 250, 400
"""The first approvals of a workspace are in sorted sets of another encoding, which costs more."""


def measure(bench: Bench) -> Table:
    """Calls from one process, several at once; each kind after some uncounted ones.

    Raises PeerMissing without valgrind.
    """
    if shutil.which("valgrind") is None:
        raise PeerMissing("valgrind is missing; it is packaged: apt-get install -y valgrind")
    counts = bench.folder / "counts-approvals"
    counts.mkdir()
    every = WARM + COUNTED
    numbers = {DENIED: every, ASKED: every, ATTACHED: AT_ONCE, FREE: every, KNOWN: every}
    rows = [Row(label=label) for label in numbers]
    binary = store_binaries()[bench.store]
    with Store(binary, bench.folder / "approvals", bench.cores.others, wrapper=counted_by(counts)) as store:

        async def count(services: Services, scene: Scene) -> list[Sample]:
            samples: list[Sample] = []
            await remember(services, scene)
            agents = {DENIED: scene.denied_id, FREE: scene.free_id, KNOWN: scene.known_id}
            for label, different in numbers.items():
                agent_id = agents.get(label, scene.asked_id)

                async def ask_all(begin: int, end: int, agent_id: str = agent_id, different: int = different) -> None:
                    for start in range(begin, end, AT_ONCE):
                        some = (each % different for each in range(start, start + AT_ONCE))
                        await asyncio.gather(*(ask(services, scene, agent_id, each) for each in some))

                await ask_all(0, WARM)
                control(counts, "--instr=on", store.pid)
                await ask_all(WARM, WARM + COUNTED)
                control(counts, "--instr=off", store.pid)
                samples.append({"store instructions": instructions_of(counts, store.pid) / COUNTED})
            return samples

        for row, sample in zip(rows, uvloop.run(with_services(store, count)), strict=True):
            row.samples.append(sample)
    ratio = rows[1].ratio("store instructions", rows[0])
    return Table(
        name="approval_instructions",
        question="how many instructions of the store does it take to ask a person?",
        command=bench.command,
        columns={"store instructions": ",.0f"},
        rows=rows,
        baseline=DENIED,
        compared="store instructions",
        goals=[
            Goal(
                wanted="instructions of an escalation, in denials",
                bound=2,
                at_least=False,
                measured=ratio,
                needs_quiet=False,
            )
        ],
        left_out=[
            "What the kernel does.",
            "What instructions wait for: an approval takes 2 KB, which are new to the processor's caches.",
        ],
    )
