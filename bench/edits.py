"""What do callers notice when their policy is edited ten times a second?"""

import http.client
import itertools
import json
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from msgspec.structs import replace

from bench.harness.bench import Bench, Turn, decisions, forget_entries
from bench.harness.closed_loop import COLUMNS, WrongAnswer, rate_goals
from bench.harness.population import HOT_RULES, TOOL, Place, PolicySketch, authorize_call, make_place
from bench.harness.processes import Replica
from bench.harness.table import Goal, Row, Sample, Table, take_turns
from bench.many_agents import rules_of_group

EVERY_SECONDS = 0.1
QUIET = "no edits"
SMALL, LARGE = "1 policy", "20 policies of 10 rules"
HERE, ELSEWHERE = "an edit every 100 ms, by this replica", "an edit every 100 ms, by another replica"


def measure(bench: Bench) -> Table:
    """Full load on one agent: without edits, and with edits by PATCH on the busy replica or on another."""
    rows: list[Row] = []
    with (
        bench.running_store("edits") as store,
        bench.replica(store) as replica,
        Replica(store.url, bench.cores.others) as other,
    ):
        for group, sketches, tool in (
            (SMALL, [PolicySketch(HOT_RULES)], TOOL),
            (LARGE, [PolicySketch(rules_of_group(n), n) for n in range(20)], "group0.send"),
        ):
            place = make_place(store.url, group, sketches)
            calls = [authorize_call(place.raw_key, place.agent_id, tool)]
            turn = bench.turn(decisions(replica, store, calls), 32, forget_entries(store, [place]))
            edits = [{"rules": rules} for rules in (sketches[0].rules, sketches[0].rules[:-1])]
            turns = {
                QUIET: turn,
                HERE: _edited(turn, replica, place, edits),
                ELSEWHERE: _edited(turn, other, place, edits),
            }
            rows += take_turns(turns, bench.rounds, group)
    table = Table(
        name="edits",
        question="what do callers notice when one of their policies is edited every 100 ms?",
        command=bench.command,
        columns=COLUMNS | {"max ms": ".1f", "edits/s": ".1f", "edit p50 ms": ".1f"},
        rows=rows,
        baseline=QUIET,
        compared="req/s",
        group_column="Agent has",
        left_out=["Edits replace a policy's rules, alternately with and without the last rule."],
    )
    quiet, edited = table.row(QUIET, SMALL), table.row(HERE, SMALL)
    goals = [
        *rate_goals("with edits against without", 0.9, edited, quiet),
        Goal(wanted="p99 with edits against without", bound=2, at_least=False, measured=edited.ratio("p99 ms", quiet)),
    ]
    return replace(table, goals=goals)


def _edited(turn: Turn, replica: Replica, place: Place, edits: Sequence[dict[str, Any]]) -> Turn:
    def act() -> Sample:
        with _editor(replica, place, edits) as took_ms:
            started = time.monotonic()
            sample = turn()
            seconds = time.monotonic() - started
            times = sorted(took_ms)
        return sample | {"edits/s": len(times) / seconds, "edit p50 ms": times[len(times) // 2]}

    return act


@contextmanager
def _editor(replica: Replica, place: Place, edits: Sequence[dict[str, Any]]) -> Iterator[list[float]]:
    """Edits the policy every 100 ms meanwhile; yields how long each edit took, in ms. Raises if one is refused."""
    took_ms: list[float] = []
    refused: list[str] = []
    stopped = threading.Event()

    def edit() -> None:
        connection = http.client.HTTPConnection("127.0.0.1", replica.port, timeout=10)
        headers = {"Authorization": f"Bearer {place.admin_key}", "Content-Type": "application/json"}
        began = time.monotonic()
        for number in itertools.count(1):
            if stopped.wait(max(0.0, began + number * EVERY_SECONDS - time.monotonic())):
                return
            asked = time.monotonic()
            connection.request(
                "PATCH", f"/v1/policies/{place.policy_ids[0]}", json.dumps(edits[number % len(edits)]), headers
            )
            reply = connection.getresponse()
            text = reply.read().decode()
            if reply.status != http.client.OK:
                refused.append(f"{reply.status} {text}")
                return
            took_ms.append((time.monotonic() - asked) * 1000)

    thread = threading.Thread(target=edit, name="editor")
    thread.start()
    try:
        yield took_ms
    finally:
        stopped.set()
        thread.join()
    if refused:
        raise WrongAnswer(f"an edit was refused: {refused[0]}")
