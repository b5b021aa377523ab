"""How many bytecode operations does a decision take? They are counted, not timed, so load hardly matters."""

import asyncio
import gc
import os
import signal
import sys
import tempfile
import time
import tracemalloc
from pathlib import Path
from types import FrameType
from typing import Any

import msgspec

from app.model.agents import Agent
from app.model.decisions import AuthorizeRequest
from app.model.policies import Policy
from app.pdp import compile_agent, decide
from bench.against_commit import AFTER, BEFORE, tree_of
from bench.harness.bench import ALLOWED, Bench
from bench.harness.closed_loop import Call, WrongAnswer
from bench.harness.machine import ROOT
from bench.harness.population import HOT_RULES, TOOL, PolicySketch, hot_call, make_place, rules_of
from bench.harness.table import Goal, Row, Sample, Table

SAME, VARIED, TRACED = "the same call each time", "bodies of different lengths", "and new X-Request-ID and traceparent"
"""The second is what agents send: a head that is remembered with its Content-Length does not repeat. The third is what
our clients and traced programs send."""

OPERATIONS, PYTHON, C = "operations", "Python calls", "C calls"
EXACTLY = "operations of what every call executes"
MOST = 2_600
CONNECTIONS, CALLS = 32, 320
SHOWN = 40
_STEP_S = 0.5
_TRACE = Path(__file__).parent / "harness/trace"
_NOTE = "damaged on arrival"
_GIVEN = {"amount": 120, "currency": "EUR", "order": "A-10293", "note": _NOTE}


def measure(bench: Bench) -> list[Table]:
    """The operations of a plain allowed call in the fast lane, here and in an earlier commit; and of `decide` alone."""
    trees = {AFTER: ROOT}
    if bench.base:
        trees = {BEFORE: tree_of(bench.base, bench.folder / "base"), AFTER: ROOT}
    rows = [
        Row(label=label, group=kind, samples=[count_calls(bench, tree, kind)])
        for label, tree in trees.items()
        for kind in (SAME, VARIED, TRACED)
    ]
    table = Table(
        name="operations",
        question="how many bytecode operations does a decision take?",
        command=bench.command,
        columns=dict.fromkeys((OPERATIONS, PYTHON, C), ",.0f"),
        rows=rows,
        baseline=next(iter(trees)),
        compared=OPERATIONS,
        first_column="Tree",
        group_column="Calls",
        goals=[
            Goal(
                wanted=f"{kind}: operations",
                bound=MOST,
                at_least=False,
                measured=table_row.median(OPERATIONS),
                needs_quiet=False,
            )
            for kind, table_row in zip((SAME, VARIED, TRACED), rows[-3:], strict=True)
        ],
        left_out=["Work in C: an operation that calls a C function counts as one, whatever the function does."],
    )
    return [table, _of_decide(bench)]


def count_calls(bench: Bench, tree: Path, kind: str, connections: int = CONNECTIONS) -> Sample:
    """What one plain allowed call of this kind takes in the fast lane of the code in `tree`.

    It varies by 1 %: how many calls of several connections share a request to the store is chance, and on a busy
    machine what a replica does by time counts more. `EXACTLY` counts only what every call executes; with one
    connection, whose calls come one by one, it does not vary.
    """
    with bench.running_store("operations") as store, tempfile.TemporaryDirectory() as folder:
        place = make_place(store.url, "hot", [PolicySketch(HOT_RULES)])
        call, out = hot_call(place), f"{folder}/counts"
        with bench.replica(
            store, tree=tree, PYTHONPATH=str(_TRACE), TRACE_OUT=out, REMIT_STORE_TIMEOUT_MS="10000"
        ) as replica:
            pid = replica.decider_pid()

            def ask(times: int) -> None:
                asyncio.run(_ask(replica.port, call, kind, times, connections))

            def step() -> None:
                os.kill(pid, signal.SIGUSR1)
                time.sleep(_STEP_S)

            step()
            ask(3 * CALLS)
            step()  # operations are counted in these calls
            ask(CONNECTIONS)
            ask(CALLS)
            step()  # calls of C functions in these
            ask(CALLS)
            step()
            ask(CONNECTIONS)
            time.sleep(_STEP_S)
            counted = msgspec.json.decode(Path(f"{out}.{pid}").read_bytes(), type=dict[str, dict[str, int]])
    traced = CALLS + CONNECTIONS
    if tree == ROOT and kind == SAME:
        for name, count in sorted(counted["operations"].items(), key=lambda each: -each[1])[:SHOWN]:
            calls = counted["calls"].get(name, 0)
            print(f"{count / traced:8.1f} operations {calls / traced:6.2f} calls  {name}", file=sys.stderr)
    return {
        OPERATIONS: sum(counted["operations"].values()) / traced,
        EXACTLY: sum(
            count for name, count in counted["operations"].items() if counted["calls"].get(name, 0) > 0.9 * traced
        )
        / traced,
        PYTHON: sum(counted["calls"].values()) / traced,
        C: sum(counted["c_calls"].values()) / CALLS,
    }


async def _ask(port: int, call: Call, kind: str, times: int, connections: int) -> None:
    """Raises WrongAnswer unless every call is allowed."""
    body = msgspec.json.decode(call.body)

    async def ask_in_turn(number: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for turn in range(times // connections):
            raw, further = call.body, ""
            if kind != SAME:
                body["parameters"]["note"] = _NOTE[: 6 + (turn * 5 + number) % 12]
                raw = msgspec.json.encode(body)
            if kind == TRACED:
                further = f"X-Request-ID: rmt-{number:04x}-{turn}\r\n"
                further += f"traceparent: 00-{number:032x}-{turn + 1:016x}-01\r\n"
            head = f"POST {call.path} HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer {call.raw_key}\r\n{further}"
            writer.write(f"{head}Content-Length: {len(raw)}\r\n\r\n".encode() + raw)
            answer = await reader.readuntil(b"\r\n\r\n")
            length = int(answer.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
            if ALLOWED.encode() not in (answered := await reader.readexactly(length)):
                raise WrongAnswer(f"the answer was {answered.decode()}")
        writer.close()

    await asyncio.gather(*map(ask_in_turn, range(connections)))


def decide_cases() -> dict[str, tuple[list[list[dict[str, Any]]], dict[str, Any]]]:
    """Policies, and further parameters of a call, by what they show."""

    def about(tool: str, number: int) -> dict[str, Any]:
        amount = {"min": 0, "max": 500 + number}
        return {"type": "parameter_constraint", "tools": [tool], "parameters": {"amount": amount}}

    cases: dict[str, tuple[list[list[dict[str, Any]]], dict[str, Any]]] = {"1 policy on the tool": ([HOT_RULES], {})}
    for count in (10, 100, 500):
        cases[f"{count} policies on the tool"] = [[about(TOOL, each)] for each in range(count)], {}
    for count in (10, 100, 500):
        others = [[about(f"other.t{each}", each)] for each in range(1, count)]
        cases[f"{count} policies, one of them on the tool"] = [HOT_RULES, *others], {}
    for count in (10, 100):
        cases[f"{count} rules of one policy on the tool"] = [[about(TOOL, each) for each in range(count)]], {}
    for count in (4, 16, 64, 256):
        cases[f"{count} further parameters in the call"] = [HOT_RULES], {f"k{each}": each for each in range(count)}
    cases["a rule that reads a record"] = [HOT_RULES, [_RECORD]], {"order": "A1"}
    cases["no card, IBAN or credential in any value"] = [HOT_RULES, [_NOT_KIND]], {"order": "A1"}
    cases[f"a shell line of {len(_LINE)} characters"] = [HOT_RULES, [_SHELL]], {"command": _LINE}
    return cases


_PAID = {"of": "order:{parameters.order}", "from": ["orders.get"], "fields": {"status": {"enum": ["paid"]}}}
_RECORD = {"type": "parameter_constraint", "tools": [TOOL], "record": _PAID}
_KINDS = {"notKind": ["card", "iban", "secret"]}
_NOT_KIND = {"type": "parameter_constraint", "tools": [TOOL], "parameters": {"**": _KINDS}}
_SHOP = "/home/ann/shop"
_LINE = (
    "git status --short && git diff --stat HEAD && ls -la components tests docs && cat README.md src/index.ts && "
    "wc -l src/a.ts src/b.ts src/c.ts && grep -n 'total amount' src/cart.ts src/checkout.ts | head -20"
)
_INSIDE = {"flags": "usual", "paths": "inside"}
_ALLOWED = [
    {"run": ["ls", "cat", "head", "tail", "wc", "sort"], **_INSIDE},
    {"run": "grep", "pattern": True, **_INSIDE},
    {"run": "git", "first": ["status", "log", "diff", "show", "blame"], **_INSIDE},
]
_SHELL = {
    "type": "parameter_constraint",
    "tools": [TOOL],
    "parameters": {"command": {"command": {"root": _SHOP, "allow": _ALLOWED, "deny": [{"run": "rm"}]}}},
}


def _of_decide(bench: Bench) -> Table:
    cases = decide_cases()
    return Table(
        name="decide_operations",
        question="how does the cost of `decide` grow with an agent's policies and with a call's parameters?",
        command=bench.command,
        columns={OPERATIONS: ",.0f", "compiled KiB": ",.0f"},
        rows=[Row(label=label, samples=[count_decide(*case)]) for label, case in cases.items()],
        baseline=next(iter(cases)),
        compared=OPERATIONS,
        first_column="Agent and call",
        left_out=["`compiled KiB` is the memory that the compiled agent keeps, without what all agents share."],
    )


def count_decide(rules: list[list[dict[str, Any]]], further: dict[str, Any]) -> Sample:
    """What `decide` takes for an agent with these policies, and a call with further parameters."""
    agent = Agent(id="a", name="a", description=None, created_ms=0, updated_ms=0, version="v")
    policies = [
        Policy(
            id=f"p{number}",
            agent_id="a",
            name=f"p{number}",
            rules=rules_of(each),
            created_ms=number,
            updated_ms=number,
            version=1,
        )
        for number, each in enumerate(rules)
    ]
    request = AuthorizeRequest("a", TOOL, "call", _GIVEN | further, b"{}", context={"cwd": _SHOP, "session": "s"})
    gc.collect()
    tracemalloc.start()
    compiled = compile_agent(agent, policies, lambda _: False)
    decide(compiled, request, 0)
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    count = 0

    def count_one(_: FrameType, event: str, _argument: Any) -> Any:
        nonlocal count
        count += event == "opcode"
        return count_one

    def begin(frame: FrameType, _event: str, _argument: Any) -> Any:
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        return count_one

    decide(compiled, request, 0)
    sys.settrace(begin)
    decide(compiled, request, 0)
    sys.settrace(None)
    return {OPERATIONS: count, "compiled KiB": kept / 1024}
