"""What does a decision cost if each call comes from another agent, in another workspace, with many policies?"""

import asyncio
from typing import Any

from msgspec.structs import replace

from app.model.actors import COMMAND_LINE, ChangedBy
from app.model.api_keys import Scope
from app.replica import Services
from bench.harness.arrivals import Phase
from bench.harness.bench import ALLOWED, Bench, decisions, forget_entries
from bench.harness.closed_loop import COLUMNS, Call, rate_goals
from bench.harness.open_loop import Job, run
from bench.harness.population import ENOUGH, Place, PolicySketch, add_agent, authorize_call, populate
from bench.harness.processes import Replica
from bench.harness.table import Row, Sample, Table, take_turns

WORKSPACES, AGENTS_EACH, POLICIES_EACH = 100, 10, 20
TOOLS_EACH = 4
FIRST = "the first call of each agent, 100 of them a second"
ONE, RANDOM = "one agent of them, one tool", "random over 1,000 agents and 4 tools each"


def measure(bench: Bench) -> Table:
    """One agent against a thousand, each with 20 policies of 10 rules, in 100 workspaces."""
    with bench.running_store("many") as store, bench.replica(store) as replica:
        places = populate(store.url, make_places)
        calls = [
            authorize_call(place.raw_key, place.agent_id, tool)
            for number, place in enumerate(places)
            for tool in tools_of(number)
        ]
        forget = forget_entries(store, places[::AGENTS_EACH])
        one, random = decisions(replica, store, calls[:1]), decisions(replica, store, calls)
        first_calls = Row(label=FIRST, samples=[_ask_each(replica, calls[::TOOLS_EACH], 100, bench)])
        _ask_each(replica, calls, 400, bench)
        rows = take_turns({ONE: bench.turn(one, 32, forget), RANDOM: bench.turn(random, 32, forget)}, bench.rounds)
        rows.append(first_calls)
    table = Table(
        name="many_agents",
        question="what does it cost if calls come from 1,000 agents of 100 workspaces, with 20 "
        "policies of 10 rules each?",
        command=bench.command,
        columns=COLUMNS | {"max ms": ".1f"},
        rows=rows,
        baseline=ONE,
        compared="req/s",
        left_out=[
            (
                "The last row is the replica's CPU time for the first call of each agent, which loads "
                "and compiles its policies; the other rows do not include it."
            ),
            (
                "Not measured: more agents than the replica's cache holds (64 MiB of rules by "
                "default; these have about 20 MiB)."
            ),
        ],
    )
    return replace(table, goals=rate_goals("random against one hot agent", 0.8, table.row(RANDOM), table.row(ONE)))


def _ask_each(replica: Replica, calls: list[Call], rate: float, bench: Bench) -> Sample:
    """Makes each call once, at a fixed rate; the replica's CPU time per call, and how long callers waited."""
    spent_us = replica.cpu_us()
    job = Job(
        port=replica.port,
        calls=calls,
        expected=ALLOWED,
        connections=8,
        phases=[Phase(rate, len(calls) / rate)],
        skip_seconds=0,
    )
    whole = run(job, bench.cores.others).phases[0]
    return {
        "service us": (replica.cpu_us() - spent_us) / len(calls),
        "p50 ms": whole.p50_us / 1000,
        "p99 ms": whole.p99_us / 1000,
        "max ms": whole.max_us / 1000,
    }


def tools_of(number: int) -> list[str]:
    """Tools that different policies of the agent decide."""
    return [f"group{(number + 5 * step) % POLICIES_EACH}.send" for step in range(TOOLS_EACH)]


async def make_places(services: Services) -> list[Place]:
    """The agents, ten to a workspace; policy i decides on the tools of group i."""
    gate = asyncio.Semaphore(16)

    async def agent(workspace_id: str, raw_key: str, admin_key: str) -> Place:
        async with gate:
            sketches = [PolicySketch(rules_of_group(group), priority=group) for group in range(POLICIES_EACH)]
            agent_id, policy_ids = await add_agent(services, workspace_id, sketches)
            return Place(workspace_id, raw_key, agent_id, policy_ids, admin_key)

    places: list[Place] = []
    for number in range(WORKSPACES):
        workspace_id, admin_key = await services.records.workspaces.create(f"workspace {number}")
        _, raw_key = await services.records.api_keys.create(
            workspace_id, "pep", (Scope.READ,), by=ChangedBy(COMMAND_LINE)
        )
        places += await asyncio.gather(*(agent(workspace_id, raw_key, admin_key) for _ in range(AGENTS_EACH)))
    return places


def rules_of_group(group: int) -> list[dict[str, Any]]:
    """Ten rules about one group of tools: half of them cover its tool `send`, one with a quota."""
    tools = [f"group{group}.*"]
    send = [f"group{group}.send"]
    return [
        {"type": "tool_denylist", "tools": [f"group{group}.delete", f"group{group}.wipe"]},
        {"type": "approval_required", "tools": [f"group{group}.grant"]},
        {"type": "parameter_constraint", "tools": tools, "parameters": {"amount": {"min": 0, "max": 500}}},
        {"type": "parameter_constraint", "tools": send, "parameters": {"currency": {"regex": "^[A-Z]{3}$"}}},
        {"type": "parameter_constraint", "tools": send, "parameters": {"order": {"regex": "^[A-Z]-[0-9]+$"}}},
        {"type": "parameter_constraint", "tools": [f"group{group}.read"], "parameters": {"id": {"regex": "^[0-9]+$"}}},
        {"type": "parameter_constraint", "tools": [f"group{group}.list"], "parameters": {"limit": {"max": 100}}},
        {"type": "time_based", "tools": tools, "timeWindow": {"allowedHours": list(range(24)), "timezone": "UTC"}},
        {"type": "rate_limit", "tools": send, "rateLimit": ENOUGH},
        {"type": "rate_limit", "tools": [f"group{group}.read"], "rateLimit": ENOUGH},
    ]
