"""How does a whole decision compare with a stateless PDP that only evaluates?"""

import contextlib
import json
from collections.abc import Iterator

from msgspec.structs import replace

from bench.harness.bench import Bench, decisions, forget_entries
from bench.harness.closed_loop import COLUMNS, Call, Target, rate_goals
from bench.harness.peer_programs import CERBOS, cerbos_binary
from bench.harness.population import TOOL, hot_call, hot_place
from bench.harness.processes import Server, answers, free_port
from bench.harness.table import Goal, Table, take_turns

PEER, OURS = f"Cerbos {CERBOS.rpartition('@')[2]}", "Remit"
POLICY = f"""\
apiVersion: api.cerbos.dev/v1
resourcePolicy:
  resource: "{TOOL}"
  version: default
  rules:
    - actions: [call]
      effect: EFFECT_ALLOW
      roles: [agent]
      condition:
        match:
          all:
            of:
              - expr: R.attr.amount >= 0 && R.attr.amount <= 500
              - expr: R.attr.currency.matches("^[A-Z]{{3}}$")
"""
CONFIG = """\
server:
  httpListenAddr: 127.0.0.1:{http}
  grpcListenAddr: 127.0.0.1:{grpc}
storage:
  driver: disk
  disk:
    directory: {policies}
    watchForChanges: false
telemetry:
  disabled: true
"""


def measure(bench: Bench) -> Table:
    """The same tool with the same two conditions, on Cerbos and on Remit in turns."""
    rows = []
    with (
        _cerbos(bench) as (cerbos, port),
        bench.running_store("cerbos-store") as store,
        bench.replica(store) as replica,
    ):
        place = hot_place(store.url)
        peer = Target(port=port, calls=[_check()], expected='"EFFECT_ALLOW"', service=[cerbos])
        for connections in (1, 32, 128):
            turns = {
                PEER: bench.turn(peer, connections),
                OURS: bench.turn(
                    decisions(replica, store, [hot_call(place)]), connections, forget_entries(store, [place])
                ),
            }
            rows += take_turns(turns, bench.rounds, str(connections))
    table = Table(
        name="against_cerbos",
        question="how does a complete decision compare with a stateless PDP that only evaluates, each on one core?",
        command=bench.command,
        columns=COLUMNS,
        rows=rows,
        baseline=PEER,
        compared="req/s",
        first_column="PDP",
        group_column="Connections",
        left_out=[
            "Not measured: Cerbos's gRPC interface, which is faster than its HTTP interface.",
            (
                "In this table, Cerbos does not authenticate the caller, apply a quota or keep the "
                "decision (its audit log is off, the default). Remit has no derived roles, scopes or "
                "CEL."
            ),
        ],
    )
    goals = [
        *rate_goals("against Cerbos, 32 connections", 6, table.row(OURS, "32"), table.row(PEER, "32")),
        Goal(
            wanted="p50 against Cerbos, 1 connection",
            bound=1,
            at_least=False,
            measured=table.row(OURS, "1").ratio("p50 ms", table.row(PEER, "1")),
        ),
    ]
    return replace(table, goals=goals)


@contextlib.contextmanager
def _cerbos(bench: Bench) -> Iterator[tuple[Server, int]]:
    """Cerbos on the service's core, with one thread and without logs."""
    binary = cerbos_binary()
    folder = bench.folder / "cerbos"
    policies = folder / "policies"
    policies.mkdir(parents=True)
    (policies / "tool.yaml").write_text(POLICY)
    http, grpc = free_port(), free_port()
    config = folder / "config.yaml"
    config.write_text(CONFIG.format(http=http, grpc=grpc, policies=policies))
    command = [str(binary), "server", f"--config={config}", "--log-level=error"]
    env = {"GOMAXPROCS": "1", "CERBOS_NO_TELEMETRY": "1"}
    health = f"http://127.0.0.1:{http}/_cerbos/health"
    # It reports every request that the load generator abandons at the end as an error.
    with Server(command, bench.cores.service, lambda: answers(health), env, quiet=True) as server:
        yield server, http


def _check() -> Call:
    body = {
        "requestId": "bench",
        "principal": {"id": "agent-1", "roles": ["agent"]},
        "resources": [
            {
                "actions": ["call"],
                "resource": {
                    "kind": TOOL,
                    "id": "1",
                    "attr": {"amount": 120, "currency": "EUR", "order": "A-10293", "note": "damaged on arrival"},
                },
            }
        ],
    }
    return Call("/api/check/resources", json.dumps(body).encode())
