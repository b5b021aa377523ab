"""Does anything grow in an hour of calls while agents, policies, keys, tools and sessions come and go?"""

import statistics
import time
from contextlib import closing

import redis

from bench.harness.bench import Bench
from bench.harness.churn import TOOLS_EACH, Churn, outside_the_log, resident_bytes
from bench.harness.cores import family
from bench.harness.new_values import COUNT_S, PUBLIC_URL, SECRET, SUBJECTS, NewValues, counted
from bench.harness.processes import Replica, Store
from bench.harness.table import Goal, Row, Sample, Table

AGENTS, CACHE_BYTES = 400, 1_500_000
HOUR_S, SHORTEST_S = 3600.0, 60.0
"""It takes an hour, or `--seconds` if that is a minute or more."""
_LOOK_S = 5.0
_NEW_EVERY = 3
"""Rounds of edits from one round of new values to the next."""
_MIB = 1 << 20
KEYS = "keys in the store, without the log and approvals"
SECOND, LAST = "second quarter", "last quarter"
GROWTH = "growth %"
_ADMIN_KEY = "svc_" + "a0" * 16


def measure(bench: Bench) -> Table:
    """Memory of every process, and keys, in the second and in the last quarter of the time."""
    seconds = bench.seconds if bench.seconds >= SHORTEST_S else HOUR_S
    with (
        bench.running_store("growth") as store,
        bench.replica(
            store,
            REMIT_BOOTSTRAP_KEY=_ADMIN_KEY,
            REMIT_COMPACT="true",
            REMIT_AGENT_CACHE_BYTES=str(CACHE_BYTES),
            REMIT_SECRET=SECRET,
            REMIT_PUBLIC_URL=PUBLIC_URL,
            REMIT_STORE_TIMEOUT_MS="10000",
        ) as replica,
    ):
        looks, calls, edits = _run(store, replica, seconds)
    rows = [Row(label=label, samples=[_compared([look[label] for look in looks])]) for label in looks[0]]
    grown = {row.label: row.median(GROWTH) or 0.0 for row in rows}
    lanes = max(more for label, more in grown.items() if label.startswith("remit"))
    return Table(
        name="growth",
        question=f"does anything grow in {seconds / 60:.0f} minutes, while {AGENTS} agents, their policies of "
        f"{TOOLS_EACH} tools, a guardrail for all of them, keys, connections, sessions, tokens of "
        "workloads, pinned requests and approved values come and go? "
        f"({calls:,} calls, {edits:,} edits)",
        command=bench.command,
        columns={SECOND: ",.1f", LAST: ",.1f", GROWTH: "+.1f"},
        rows=rows,
        baseline=rows[0].label,
        compared=LAST,
        first_column="MiB of memory, or keys",
        goals=[
            Goal(wanted="growth of a lane, %", bound=2, at_least=False, measured=lanes, needs_quiet=False),
            Goal(wanted="growth of the keys, %", bound=2, at_least=False, measured=grown[KEYS], needs_quiet=False),
        ],
        left_out=[
            "Medians of what was seen every five seconds. The cache holds a third of the agents.",
            "The log grows, by what `audit_memory` measures, and so does the trail of changes.",
            f"Tokens and pinned requests count for {COUNT_S} s, and the log keeps the requests.",
            "Approvals grow for 60 days, then the oldest go; values that count no more go with a rule's 1,001st.",
            f"The tokens are of {SUBJECTS} subjects; the record of each stays for 16 days.",
            "What rules counted is dropped every five minutes, so less than 20 minutes end before it levels off.",
        ],
    )


def _run(store: Store, replica: Replica, seconds: float) -> tuple[list[dict[str, float]], int, int]:
    """What was seen every few seconds, and how many calls and edits were made."""
    url = f"http://127.0.0.1:{replica.port}"
    looks, calls, edits = list[dict[str, float]](), 0, 0
    with (
        closing(Churn(url, _ADMIN_KEY, AGENTS)) as churn,
        closing(NewValues(url, _ADMIN_KEY)) as new_values,
        redis.Redis(port=store.port, decode_responses=True) as client,
    ):
        begin = time.monotonic()
        while (passed := time.monotonic() - begin) < seconds:
            edits += 1
            calls += churn.round()
            if edits % _NEW_EVERY == 0:
                calls += new_values.round(edits)
            if passed >= len(looks) * _LOOK_S:
                sizes = resident_bytes(family(replica.pid)) | resident_bytes([store.pid])
                look = {name: size / _MIB for name, size in sorted(sizes.items())}
                keys = float(outside_the_log(name for name in client.scan_iter(count=1000) if ":approval" not in name))
                looks.append(look | {KEYS: keys} | counted(client))
    return looks, calls, edits


def _compared(seen: list[float]) -> Sample:
    quarter = len(seen) // 4
    second, last = statistics.median(seen[quarter : 2 * quarter]), statistics.median(seen[-quarter:])
    return {SECOND: second, LAST: last, GROWTH: (last / second - 1) * 100}
