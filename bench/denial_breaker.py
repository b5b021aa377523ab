"""What does a denial breaker add to the calls that it counts, and to those that it does not?"""

from typing import Any

from msgspec.structs import replace

from app.model.policies import PolicyKind
from bench.harness.bench import ALLOWED, DENIED, Bench, decisions, forget_entries
from bench.harness.closed_loop import COLUMNS, rate_goals
from bench.harness.population import HOT_RULES, TOOL, PolicySketch, authorize_call, make_place
from bench.harness.table import Table, take_turns

OTHER = "reports.read"
DENIED_WITHOUT, DENIED_WITH = "denied, no breaker", "denied, a breaker counts it"
ALLOWED_WITHOUT, ALLOWED_WITH = "allowed, no breaker", "allowed, under a breaker that suspends"


def measure(bench: Bench) -> Table:
    """A default deny and an allowed call, each with and without a breaker."""
    with bench.running_store("breaker") as store, bench.replica(store) as replica:
        hot = PolicySketch(HOT_RULES)
        bare = make_place(store.url, "bare", [hot])
        guarded = make_place(store.url, "guarded", [hot, _guard("escalate")])
        watched = make_place(store.url, "watched", [hot, _guard("suspend")])
        forget = forget_entries(store, [bare, guarded, watched])
        cases = {
            DENIED_WITHOUT: (bare, OTHER, DENIED),
            DENIED_WITH: (guarded, OTHER, DENIED),
            ALLOWED_WITHOUT: (bare, TOOL, ALLOWED),
            ALLOWED_WITH: (watched, TOOL, ALLOWED),
        }
        turns = {
            name: bench.turn(
                decisions(replica, store, [authorize_call(place.raw_key, place.agent_id, tool)], expected), 32, forget
            )
            for name, (place, tool, expected) in cases.items()
        }
        rows = take_turns(turns, bench.rounds)
    table = Table(
        name="denial_breaker",
        question="what does a denial breaker cost calls that it counts, and calls that it does not count?",
        command=bench.command,
        columns=COLUMNS,
        rows=rows,
        baseline=DENIED_WITHOUT,
        compared="req/s",
        left_out=[
            "The breaker measured while it counts is one that asks people; one that suspends would trip after a moment."
        ],
    )
    goals = rate_goals("a denied call that is counted", 0.8, table.row(DENIED_WITH), table.row(DENIED_WITHOUT))
    return replace(table, goals=goals)


def _guard(action: str) -> PolicySketch:
    terms: dict[str, Any] = {"maxDenials": 1000, "windowSeconds": 3600, "action": action}
    rule = {"type": "denial_breaker", "tools": ["*"], "denialBreaker": terms}
    return PolicySketch([rule], kind=PolicyKind.GUARDRAIL)
