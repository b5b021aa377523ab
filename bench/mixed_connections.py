"""What does a call cost on a connection that also carries other requests, which the slow lane answers?"""

import itertools
import json
import socket
import statistics
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

from bench.against_commit import AFTER, BEFORE, tree_of
from bench.harness.audit_data import append_and_seal, run_on
from bench.harness.bench import Bench
from bench.harness.hostile_load import HostileJob, kept_open, request_of, under
from bench.harness.machine import ROOT
from bench.harness.population import Place, hot_call, hot_place, make_place
from bench.harness.processes import Replica
from bench.harness.table import Row, Sample, Table

ENTRIES = 50_000
OTHERS = 4
CALLS, MIXED = "calls alone", "calls and `GET /v1/agents` in turns"
QUIET, READ, LARGE = "nobody else", "others query the log", "others send calls of 1 MiB"
CALL, WORST = "call ms", "call p99 ms"


def measure(bench: Bench) -> Table:
    """Latency of calls on one connection, in turns with other requests or not, beside others or not."""
    trees = {AFTER: ROOT}
    if bench.base:
        trees = {BEFORE: tree_of(bench.base, bench.folder / "base"), AFTER: ROOT}
    rows: dict[tuple[str, str], Row] = {}
    with bench.running_store("mixed") as store:
        place = hot_place(store.url)
        other = make_place(store.url, "other", [])
        run_on(store.url, lambda client: append_and_seal(client, other.workspace_id, ENTRIES))
        large = {
            "agent_id": other.agent_id,
            "tool_name": "t",
            "parameters": {f"p{n}": "x" * 100_000 for n in range(10)},
        }
        beside = {
            QUIET: None,
            READ: request_of("GET", "/v1/audit-logs?tool_name=none&limit=1000", other.admin_key),
            LARGE: request_of("POST", "/v1/authorize", other.raw_key, json.dumps(large).encode()),
        }
        for _ in range(bench.rounds):
            for tree, folder in trees.items():
                with bench.replica(store, tree=folder) as replica:
                    for (group, request), kind in itertools.product(beside.items(), (CALLS, MIXED)):
                        label = f"{kind}, {tree}" if bench.base else kind
                        row = rows.setdefault((group, label), Row(label=label, group=group))
                        row.samples.append(_sample(bench, replica, place, request, kind))
    return Table(
        name="mixed_connections",
        question="what does a call cost on a connection that also carries other requests?",
        command=bench.command,
        columns={CALL: ".3f", WORST: ".3f"},
        rows=list(rows.values()),
        baseline=next(iter(rows.values())).label,
        compared=CALL,
        first_column="On the connection",
        group_column="Beside it",
        left_out=[
            "One client, which waits for each answer. Only calls are timed: the other requests take their own time.",
            f"The others use {OTHERS} connections without pause; their log has {ENTRIES:,} entries.",
        ],
    )


def _sample(bench: Bench, replica: Replica, place: Place, beside: bytes | None, kind: str) -> Sample:
    others: AbstractContextManager[None] = nullcontext()
    if beside is not None:
        others = under(HostileJob(port=replica.port, requests=[beside], connections=OTHERS), bench.cores.others)
    hot = hot_call(place)
    call = kept_open("POST", hot.path, hot.raw_key, hot.body)
    other = kept_open("GET", "/v1/agents", place.admin_key)
    with others, socket.create_connection(("127.0.0.1", replica.port)) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        ask = _asker(connection)
        for _ in range(100):
            ask(call)
        times, until = [], time.monotonic() + bench.seconds
        while time.monotonic() < until:
            if kind == MIXED:
                ask(other)
            began = time.perf_counter()
            ask(call)
            times.append((time.perf_counter() - began) * 1000)
    return {CALL: statistics.median(times), WORST: statistics.quantiles(times, n=100)[-1]}


def _asker(connection: socket.socket) -> Callable[[bytes], None]:
    """Sends a request and waits for its whole answer, which must be a 200."""

    def ask(request: bytes) -> None:
        connection.sendall(request)
        got = connection.recv(65536)
        while b"\r\n\r\n" not in got:
            got += connection.recv(65536)
        head, _, body = got.partition(b"\r\n\r\n")
        if not head.startswith(b"HTTP/1.1 200"):
            raise RuntimeError(f"the answer was {head.decode()}")
        left = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0]) - len(body)
        while left > 0:
            left -= len(connection.recv(65536))

    return ask
