"""What does a decision cost if no policy matches?"""

from typing import Any

from msgspec.structs import replace

from bench.harness.bench import ALLOWED, DENIED, Bench, decisions, forget_entries
from bench.harness.closed_loop import COLUMNS, rate_goals
from bench.harness.population import ENOUGH, PolicySketch, authorize_call, hot_call, hot_place, make_place
from bench.harness.table import Table, take_turns

POLICIES, RULES = 50, 50
TOOLS = 20_000
HOT, DENY = "allowed, 1 policy", "default deny, 50 policies of 50 rules"
NEW_TOOLS = "the same, with a new tool name in each call"


def measure(bench: Bench) -> Table:
    """The hot case, a default deny past 2,500 rules, and the same for a caller that invents tool names."""
    with bench.running_store("deny") as store, bench.replica(store) as replica:
        hot = hot_place(store.url)
        strict = make_place(store.url, "strict", [PolicySketch(_other_rules(n), n) for n in range(POLICIES)])
        forget = forget_entries(store, [hot, strict])

        def denied(tools: int) -> list[Any]:
            return [authorize_call(strict.raw_key, strict.agent_id, f"payments.refund{n}") for n in range(tools)]

        turns = {
            HOT: bench.turn(decisions(replica, store, [hot_call(hot)], ALLOWED), 32, forget),
            DENY: bench.turn(decisions(replica, store, denied(1), DENIED), 32, forget),
            NEW_TOOLS: bench.turn(decisions(replica, store, denied(TOOLS), DENIED), 32, forget),
        }
        rows = take_turns(turns, bench.rounds)
    table = Table(
        name="default_deny",
        question="what does it cost to find that none of 50 policies with 50 rules each matches?",
        command=bench.command,
        columns=COLUMNS,
        rows=rows,
        baseline=HOT,
        compared="req/s",
        left_out=[
            (
                f"The last row draws from {TOOLS:,} tool names, more than a replica caches. It shows "
                f"what a caller can cost by making names up, and has no goal."
            ),
        ],
    )
    return replace(table, goals=rate_goals("default deny against the hot case", 0.8, table.row(DENY), table.row(HOT)))


def _other_rules(policy: int) -> list[dict[str, Any]]:
    """Rules about tools that are not called here."""
    rules: list[dict[str, Any]] = []
    for rule in range(RULES):
        tools = [f"service{policy}.tool{rule}", f"service{policy}.group{rule}.*"]
        if rule % 25 == 0:  # an agent may have 100 of them
            rules.append({"type": "rate_limit", "tools": tools, "rateLimit": ENOUGH})
        elif rule % 5 == 1:
            rules.append({"type": "tool_denylist", "tools": tools})
        else:
            parameters = {"amount": {"max": rule}, "currency": {"regex": "^[A-Z]{3}$"}}
            rules.append({"type": "parameter_constraint", "tools": tools, "parameters": parameters})
    return rules
