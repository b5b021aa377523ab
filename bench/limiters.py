"""What does the limiter alone cost, and how many calls does it actually admit?"""

import asyncio
import http.client
import json
import time

from app.redis_client.pipelined import PipelinedClient
from app.store.keyspace import Keyspace
from bench.harness.bench import Bench, forget_entries
from bench.harness.captured_commits import StoreConnection, commit_of, send_many
from bench.harness.cores import moved_to
from bench.harness.peer_programs import run_script
from bench.harness.population import HOT_RULES, TOOL, Place, PolicySketch, authorize_call, hot_call, make_place
from bench.harness.processes import Replica, Store
from bench.harness.table import Row, Sample, Table
from bench.peers.windows import most_within, open_window

COUNTER = "INCRBY by redis-py, which limits nothing"
COMMIT, SHARE = "Remit, the whole commit with 1 quota", "Remit, what the quota adds to it"
LIMIT, WINDOW_SECONDS = 100, 2
HELD = 10_000
NO_QUOTA = HOT_RULES[:1]
WIDE = [{"type": "rate_limit", "tools": ["*"], "rateLimit": {"maxCalls": 1_000_000, "windowSeconds": 600}}]
TIGHT = [{"type": "rate_limit", "tools": ["*"], "rateLimit": {"maxCalls": LIMIT, "windowSeconds": WINDOW_SECONDS}}]


def measure(bench: Bench) -> Table:
    """Every limiter on a store of the same kind, with one caller and one call at a time."""
    return Table(
        name="limiters",
        question=f"what does a limiter alone cost, and how many calls does a limit of {LIMIT} in "
        f"{WINDOW_SECONDS} s admit in the worst window?",
        command=bench.command,
        columns={
            "calls/s": ",.0f",
            "store us": ".1f",
            "commands us": ".1f",
            "bytes a call": ".2f",
            "most in a window": ".0f",
        },
        rows=_rounds(bench),
        baseline=COUNTER,
        compared="commands us",
        first_column="Limiter",
        left_out=[
            (
                "The arrivals: one call that opens the window, silence for 0.95 windows, then as many "
                "tries as possible. Only admissions that are certainly within one window count, so a "
                "number above the limit is proof."
            ),
            (
                f"`bytes a call` is the store's memory after {HELD:,} admitted calls, divided by their "
                f"number. Counters store nothing per call, and so cannot be exact."
            ),
            (
                "`commands us` is the time of the limiter's commands by the store's own statistics; "
                "`store us` is the store's whole CPU time, with a system call in and out for each "
                "call. `calls/s` is one caller that waits for each answer, including its client "
                "library (redis-py for the peers, Remit's own connection for the commit)."
            ),
            (
                "Remit's commit also checks the key and the policies' version and writes the audit "
                "entry; the row below it is the difference from a commit without a quota."
            ),
            (
                "limits and throttled-py use the caller's clock, so callers with different clocks see "
                "different windows; Remit uses the store's. None of the peers can take several limits "
                "all or nothing."
            ),
        ],
    )


def _peer(bench: Bench, *args: object) -> dict[str, Sample]:
    """The output of the peers' script, run on the service's core."""
    numbers: dict[str, Sample] = json.loads(run_script("limit", bench.cores.service, *args))
    return numbers


def _rounds(bench: Bench) -> list[Row]:
    seconds = bench.seconds / 2
    with (
        bench.running_store("limiters") as peer_store,
        bench.running_store("quotas") as store,
        bench.replica(store) as replica,
    ):
        without, wide, tight = (
            make_place(store.url, name, [PolicySketch(rules)])
            for name, rules in (("without", NO_QUOTA), ("wide", WIDE), ("tight", TIGHT))
        )
        plain, commit = (commit_of(store, replica, hot_call(place)) for place in (without, wide))
        facts = _peer(bench, peer_store.url, "facts")
        facts[COUNTER].pop("most in a window")
        ours = {"bytes a call": _bytes_held(store, wide, commit), "most in a window": _most_admitted(replica, tight)}
        facts |= {COMMIT: ours, SHARE: ours}
        forget = forget_entries(store, (without, wide))
        rows = {label: Row(label=label) for label in facts}
        for _ in range(bench.rounds):
            forget()
            samples = _peer(bench, peer_store.url, peer_store.pid, seconds)
            with moved_to(bench.cores.service):
                base, whole = (asyncio.run(_speed(store, words, seconds)) for words in (plain, commit))
            samples |= {COMMIT: whole, SHARE: {name: whole[name] - base[name] for name in ("store us", "commands us")}}
            for label, row in rows.items():
                row.samples.append(samples[label] | facts[label])
    return list(rows.values())


async def _speed(store: Store, words: list[bytes], seconds: float) -> Sample:
    """One caller, one call at a time, over the connection that a replica uses."""
    link = PipelinedClient(store.url, 5_000)
    await link.open()
    try:
        for _ in range(200):
            await link.call(*words)
        store.ask("CONFIG", "RESETSTAT")
        calls, began, spent_us = 0, time.perf_counter(), store.cpu_us()
        while time.perf_counter() - began < seconds:
            for _ in range(50):
                await link.call(*words)
            calls += 50
        took, store_us = time.perf_counter() - began, (store.cpu_us() - spent_us) / calls
        commands_us = store.spent_in(words[0].decode()) / calls
        return {"calls/s": calls / took, "store us": store_us, "commands us": commands_us}
    finally:
        await link.close()


def _bytes_held(store: Store, place: Place, commit: list[bytes]) -> float:
    """How many bytes a quota takes for each admitted call."""
    prefix = Keyspace(place.workspace_id).quota(place.policy_ids[0], "")
    with StoreConnection(store) as connection:
        send_many(connection, commit, HELD, 50)
        keys = connection.call(b"KEYS", prefix.replace("{", "\\{").encode() + b"*")
        held = sum(connection.call(b"MEMORY", b"USAGE", key, b"SAMPLES", b"0") for key in keys)
        calls = sum(connection.call(b"LLEN", key) for key in keys)
    return float(held / calls)


def _most_admitted(replica: Replica, place: Place) -> int:
    """The largest number that `authorize` allows in any window."""
    call = authorize_call(place.raw_key, place.agent_id, TOOL)
    headers = {"Authorization": f"Bearer {place.raw_key}", "Content-Type": "application/json"}
    connection = http.client.HTTPConnection("127.0.0.1", replica.port, timeout=10)

    def ask() -> bool:
        connection.request("POST", call.path, call.body, headers)
        return bool(json.loads(connection.getresponse().read())["allowed"])

    return most_within(open_window(ask, WINDOW_SECONDS), WINDOW_SECONDS)
