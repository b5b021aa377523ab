"""What does one decision cost the store, which all replicas share?"""

from typing import Any

from msgspec.structs import replace

from bench.harness.bench import Bench, forget_entries
from bench.harness.captured_commits import StoreConnection, commit_of, send_many
from bench.harness.population import ENOUGH, HOT_RULES, TOOL, PolicySketch, hot_call, make_place
from bench.harness.processes import Store
from bench.harness.table import Goal, Row, Sample, Table, take_turns_by_label

TOGETHER = 32
"""Calls in flight at once: as many as a busy replica sends in one pass of its loop."""
CALLS = 20_000
INSIDE, CALLED = "us in ", "calls of "
CONSTANT = "`return 1` with the same keys and arguments"
DENIED, ONE, FIVE = "commit, denied", "commit, allowed, 1 quota", "commit, allowed, 5 quotas"
NO_RULES: list[dict[str, Any]] = [{"type": "tool_denylist", "tools": ["nothing"]}]
FIVE_RULES = HOT_RULES + [{"type": "rate_limit", "tools": [TOOL, f"other{n}"], "rateLimit": ENOUGH} for n in range(4)]


def measure(bench: Bench) -> list[Table]:
    """The commit and a script that does nothing, by the store's own statistics and by its CPU time."""
    sketches = {DENIED: NO_RULES, ONE: HOT_RULES, FIVE: FIVE_RULES}
    with bench.running_store("cost") as store, bench.replica(store) as replica, StoreConnection(store) as connection:
        places = {label: make_place(store.url, label, [PolicySketch(rules)]) for label, rules in sketches.items()}
        commands = {label: commit_of(store, replica, hot_call(place)) for label, place in places.items()}
        constant = connection.call(b"SCRIPT", b"LOAD", b"#!lua\nreturn 1")
        commands = {CONSTANT: [b"EVALSHA", constant, *commands[ONE][2:]]} | commands
        forget = forget_entries(store, places.values())

        def sample(label: str) -> Sample:
            forget()
            return _sample(store, connection, commands[label])

        rows = take_turns_by_label(commands, sample, bench.rounds)
    table = Table(
        name="store_cost",
        question="what does one decision cost the store, which all replicas share?",
        command=bench.command,
        columns={"script us": ".1f", "store CPU us": ".1f", "calls/s of one store core": ",.0f"},
        rows=rows,
        baseline=CONSTANT,
        compared="script us",
        first_column="Script",
        left_out=[
            (
                "`script us` is usec_per_call in INFO commandstats. `store CPU us` is the CPU time of "
                f"the whole process (sockets, parsing, the script, the reply), with {TOGETHER} calls "
                f"in progress on one connection."
            ),
            "An append-only file.",
        ],
    )
    goal = Goal(
        wanted="script time of an allowed decision with one quota, us",
        needs_quiet=False,
        bound=10,
        at_least=False,
        measured=table.row(ONE).median("script us"),
    )
    return [replace(table, goals=[goal]), _inside(bench, table.row(ONE))]


def _inside(bench: Bench, whole: Row) -> Table:
    """The commands that the script calls; the rest is the script itself and its calls into them."""
    names = sorted({name for sample in whole.samples for name in sample if name.startswith(INSIDE)})
    rows = [Row(label=ONE, samples=[{"us": sample["script us"]} for sample in whole.samples])]
    for name in names:
        samples = [{"us": sample[name], "calls": sample[CALLED + name[len(INSIDE) :]]} for sample in whole.samples]
        rows.append(Row(label=name[len(INSIDE) :].upper(), samples=samples))
    left = [{"us": s["script us"] - sum(s[name] for name in names)} for s in whole.samples]
    rows.append(Row(label="the script itself, and its way into each command", samples=left))
    return Table(
        name="script_breakdown",
        question="where does the script's time go?",
        command=bench.command,
        columns={"us": ".1f", "calls": ".1f"},
        rows=rows,
        baseline=ONE,
        compared="us",
        first_column="Command",
        left_out=["The store rounds each command's time down to whole microseconds, so small values are estimates."],
    )


def _sample(store: Store, connection: StoreConnection, words: list[bytes]) -> Sample:
    send_many(connection, words, 1_000, TOGETHER)
    store.ask("CONFIG", "RESETSTAT")
    spent_us = store.cpu_us()
    send_many(connection, words, CALLS, TOGETHER)
    cpu_us = (store.cpu_us() - spent_us) / CALLS
    inside = {
        name.removeprefix("cmdstat_"): dict(pair.split("=") for pair in numbers.split(","))
        for name, numbers in store.info("commandstats").items()
        if name not in {f"cmdstat_{words[0].decode().lower()}", "cmdstat_config|resetstat", "cmdstat_info"}
    }
    sample = {INSIDE + name: float(numbers["usec"]) / CALLS for name, numbers in inside.items()}
    sample |= {CALLED + name: float(numbers["calls"]) / CALLS for name, numbers in inside.items()}
    return sample | {
        "script us": store.spent_in(words[0].decode()) / CALLS,
        "store CPU us": cpu_us,
        "calls/s of one store core": 1e6 / cpu_us,
    }
