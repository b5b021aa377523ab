"""What do callers notice when the policy they are judged by is edited ten times a second?"""

import http.client
import itertools
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from msgspec.structs import replace

from bench.harness.bench import Bench, Turn, decisions, forget_entries
from bench.harness.closed_loop import COLUMNS, WrongAnswer
from bench.harness.population import HOT_RULES, Place, hot_call, hot_place
from bench.harness.processes import Replica
from bench.harness.table import Goal, Sample, Table, take_turns

EVERY_SECONDS = 0.1
QUIET = "no edits"
HERE, ELSEWHERE = "an edit every 100 ms, by this replica", "an edit every 100 ms, by another replica"


def measure(bench: Bench) -> Table:
    """Full load on one agent, undisturbed and edited, by PATCH on the busy replica and on another one."""
    with (
        bench.running_store("edits") as store,
        bench.replica(store) as replica,
        Replica(store.url, bench.cores.others) as other,
    ):
        place = hot_place(store.url)
        forget = forget_entries(store, [place])
        turn = bench.turn(decisions(replica, store, [hot_call(place)]), 32, forget)
        turns = {QUIET: turn, HERE: _edited(turn, replica, place), ELSEWHERE: _edited(turn, other, place)}
        rows = take_turns(turns, bench.rounds)
    table = Table(
        name="edits",
        question="what do callers notice when their policy is edited every 100 ms?",
        command=bench.command,
        columns=COLUMNS | {"edits/s": ".1f", "edit p50 ms": ".1f"},
        rows=rows,
        baseline=QUIET,
        compared="req/s",
        left_out=["Edits of an agent with many policies, each of which is compiled again after every edit."],
    )
    quiet, edited = table.row(QUIET), table.row(HERE)
    goals = [
        Goal(
            wanted="req/s with edits against without", bound=0.9, at_least=True, measured=edited.ratio("req/s", quiet)
        ),
        Goal(wanted="p99 with edits against without", bound=2, at_least=False, measured=edited.ratio("p99 ms", quiet)),
    ]
    return replace(table, goals=goals)


def _edited(turn: Turn, replica: Replica, place: Place) -> Turn:
    def act() -> Sample:
        with _editor(replica, place) as took_ms:
            started = time.monotonic()
            sample = turn()
            seconds = time.monotonic() - started
            times = sorted(took_ms)
        return sample | {"edits/s": len(times) / seconds, "edit p50 ms": times[len(times) // 2]}

    return act


@contextmanager
def _editor(replica: Replica, place: Place) -> Iterator[list[float]]:
    """Edits the policy every 100 ms while inside; gives how long each edit took, ms. Raises if one was refused."""
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
            connection.request("PATCH", f"/v1/policies/{place.policy_ids[0]}", json.dumps(_edit(number)), headers)
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


def _edit(number: int) -> dict[str, Any]:
    constraint, quota = HOT_RULES
    parameters = {"amount": {"min": 0, "max": 500 + number}, "currency": {"regex": "^[A-Z]{3}$"}}
    return {"rules": [constraint | {"parameters": parameters}, quota]}
