"""How many instructions does a decision take, now and at `--base`? Valgrind counts, so load does not matter."""

import asyncio
import shutil
import subprocess
from pathlib import Path

import msgspec
from msgspec.structs import replace

from bench.against_commit import AFTER, BEFORE, CASES, call_of, goals_of, tree_of
from bench.harness.bench import ALLOWED, Bench
from bench.harness.closed_loop import Call
from bench.harness.machine import ROOT
from bench.harness.peer_programs import PeerMissing
from bench.harness.population import HOT_RULES, TOOL, Place, PolicySketch, make_place
from bench.harness.processes import Replica, Store, store_binaries
from bench.harness.table import Goal, Row, Sample, Table
from bench.harness.workload import token_in

AUTHZEN, AUTHZEN_ALLOWED, AUTHZEN_MOST = "the first, as AuthZEN asks it", '"decision":true', 1.10
TOKEN, TOKEN_MOST = "the first, with a workload's token", 1.03
AUTHZEN_PATH = "/access/v1/evaluation"
CONNECTIONS = 32
WARM, COUNTED = 640, 1600


def measure(bench: Bench) -> Table:
    """Instructions of the service and of the store for one decision, here and in an earlier commit.

    Raises PeerMissing without valgrind.
    """
    if shutil.which("valgrind") is None:
        raise PeerMissing("valgrind is missing; it is packaged: apt-get install -y valgrind")
    trees = {AFTER: ROOT}
    if bench.base:
        trees = {BEFORE: tree_of(bench.base, bench.folder / "base"), AFTER: ROOT}
    rows = []
    for label, tree in trees.items():
        for case, sample in _samples(bench, tree, label).items():
            rows.append(Row(label=label, group=case, samples=[sample]))
    table = Table(
        name="instructions",
        question="how many instructions does a decision take?",
        command=bench.command,
        columns={"service instructions": ",.0f", "store instructions": ",.0f"},
        rows=rows,
        baseline=next(iter(trees)),
        compared="service instructions",
        first_column="Tree",
        group_column="Case",
        left_out=[
            "Not counted: work in the kernel (a third of either process's time).",
            "Instructions are not time, because some take longer than others.",
        ],
    )
    first = table.row(AFTER, next(iter(CASES)))
    authzen = Goal(
        wanted=f"{AUTHZEN}: service instructions, of those of the first",
        bound=AUTHZEN_MOST,
        at_least=False,
        measured=table.row(AFTER, AUTHZEN).ratio("service instructions", first),
        needs_quiet=False,
    )
    token = [
        Goal(
            wanted=f"{TOKEN}: {name}, of those of the first",
            bound=TOKEN_MOST,
            at_least=False,
            measured=table.row(AFTER, TOKEN).ratio(name, first),
            needs_quiet=False,
        )
        for name in table.columns
    ]
    return replace(table, goals=[*(goals_of(table) if bench.base else ()), authzen, *token])


def _samples(bench: Bench, tree: Path, label: str) -> dict[str, Sample]:
    """The instructions of each case in this tree."""
    counts = bench.folder / f"counts-{label}"
    counts.mkdir()
    binary = store_binaries()[bench.store]
    samples: dict[str, Sample] = {}
    with Store(binary, bench.folder / label, bench.cores.others, wrapper=counted_by(counts)) as store:
        place = make_place(store.url, "hot", [PolicySketch(HOT_RULES)])
        calls = {case: (call_of(place, expected), expected) for case, expected in CASES.items()}
        by_token = {}
        if label == AFTER:  # an earlier commit need not have it
            calls[AUTHZEN] = authzen_call(place), AUTHZEN_ALLOWED
            token = token_in(store.url, place)  # every replica has seen it before it is counted
            by_token = {TOKEN: (replace(call_of(place, ALLOWED), raw_key=token), ALLOWED)}
        # Counted, each call takes so long that a replica which knew of two callers would send one to its slow lane.
        for of_one_caller in filter(None, (calls, by_token)):
            with Replica(store.url, bench.cores.service, tree=tree, wrapper=counted_by(counts)) as replica:
                for case, (call, expected) in of_one_caller.items():
                    asyncio.run(ask_many(replica.port, call, expected, WARM))
                    counted = {"service": replica.decider_pid(), "store": store.pid}
                    for pid in counted.values():
                        control(counts, "--instr=on", pid)
                    asyncio.run(ask_many(replica.port, call, expected, COUNTED))
                    for pid in counted.values():
                        control(counts, "--instr=off", pid)
                    samples[case] = {
                        f"{name} instructions": instructions_of(counts, pid) / COUNTED for name, pid in counted.items()
                    }
    return samples


def authzen_call(place: Place) -> Call:
    """The hot call in the words of the standard."""
    asked = msgspec.json.decode(call_of(place, ALLOWED).body)
    body = {
        "subject": {"type": "agent", "id": place.agent_id},
        "action": {"name": asked["action"]},
        "resource": {"type": "tool", "id": TOOL, "properties": asked["parameters"]},
    }
    return Call(AUTHZEN_PATH, msgspec.json.encode(body), place.raw_key)


def counted_by(folder: Path) -> list[str]:
    """The command prefix under which instructions can be counted."""
    return [
        "valgrind",
        "--tool=callgrind",
        "--instr-atstart=no",
        "--trace-children=yes",
        f"--callgrind-out-file={folder}/%p",
        f"--log-file={folder}/log.%p",
    ]


def control(folder: Path, what: str, pid: int) -> None:
    """Run `callgrind_control` on the process."""
    subprocess.run(["callgrind_control", what, str(pid)], cwd=folder, stdout=subprocess.DEVNULL, check=True)


def instructions_of(folder: Path, pid: int) -> int:
    """The instructions counted in the process since the last call of this function."""
    before = set(folder.iterdir())
    control(folder, "--dump", pid)
    (dump,) = set(folder.glob(f"{pid}.*")) - before
    return int(dump.read_text().rpartition("totals: ")[2].split()[0])


async def ask_many(port: int, call: Call, expected: str, times: int) -> None:
    """Send this many calls over as many connections as a busy replica has. Raises RuntimeError at an unexpected
    answer.
    """
    head = f"POST {call.path} HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer {call.raw_key}\r\n"
    head += "Content-Type: application/json\r\n" if call.path == AUTHZEN_PATH else ""
    request = f"{head}Content-Length: {len(call.body)}\r\n\r\n".encode() + call.body

    async def ask_in_turn() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for _ in range(times // CONNECTIONS):
            writer.write(request)
            answer = await reader.readuntil(b"\r\n\r\n")
            length = int(answer.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
            body = await reader.readexactly(length)
            if expected.encode() not in body:
                raise RuntimeError(f"the answer was {body.decode()}")
        writer.close()

    await asyncio.gather(*(ask_in_turn() for _ in range(CONNECTIONS)))
