"""What does it cost to list which of 500 tools an agent may call?"""

import http.client
import json
from typing import Any

from app.model.actors import COMMAND_LINE, ChangedBy
from app.model.catalog import ToolEntry
from app.replica import Services
from bench.harness.bench import Bench
from bench.harness.one_caller import CPU, P50, one_after_the_other
from bench.harness.population import ENOUGH, Place, PolicySketch, make_place, populate
from bench.harness.processes import Replica
from bench.harness.table import Goal, Sample, Table, take_turns_by_label

TOOLS, SERVERS = 500, 10
ALIKE, OWN = "10 servers, 50 tools each", "the same, 45 tools with a rule of their own"
_FEWEST = 20


def measure(bench: Bench) -> Table:
    """One listing after the other, over one connection; by the CPU time of the replica."""
    with bench.running_store("tool_listing") as store, bench.replica(store) as replica:
        places = {label: _place(store.url, label) for label in (ALIKE, OWN)}

        def sample(label: str) -> Sample:
            return _sample(replica, places[label], bench.seconds)

        rows = take_turns_by_label(places, sample, bench.rounds)
    goals = [Goal(wanted=f"{row.label}: {CPU}", bound=10, at_least=False, measured=row.median(CPU)) for row in rows]
    return Table(
        name="tool_listing",
        question=f"what does it cost to list what an agent may call of {TOOLS} tools?",
        command=bench.command,
        columns={CPU: ".2f", P50: ".2f", "kB": ".0f"},
        rows=rows,
        baseline=ALIKE,
        compared=CPU,
        first_column="Policies",
        goals=goals,
        left_out=[
            "10 policies of 5 rules: an allowlist, two constraints, a rate limit and a time window for each server.",
            (
                "The first listing after a change of the agent's policies also compiles them, with "
                "their descriptions and schemas."
            ),
        ],
    )


def rules_of_server(number: int) -> list[dict[str, Any]]:
    """A policy's rules about one server's tools, next to an allowlist of all tools."""
    tools = [f"server{number}.*"]
    named = {"amount": {"min": 1, "max": 500}, "to": {"regex": "^[a-z]+@corp$"}}
    some = [f"server{number}.tool{tool}" for tool in range(0, TOOLS // SERVERS, 2)]
    ask = {"parameters": {"kind": {"enum": ["a", "b"]}}, "effect": "escalate"}
    return [
        {"type": "tool_allowlist", "tools": [f"server{each}.*" for each in range(SERVERS)]},
        {"type": "parameter_constraint", "tools": tools, "parameters": named},
        {"type": "parameter_constraint", "tools": some, **ask},
        {"type": "rate_limit", "tools": tools, "rateLimit": ENOUGH},
        {"type": "time_based", "tools": tools, "timeWindow": {"allowedHours": list(range(12))}},
    ]


def _place(store_url: str, label: str) -> Place:
    sketches = [PolicySketch(rules_of_server(number)) for number in range(SERVERS)]
    if label == OWN:
        own = [
            {
                "type": "parameter_constraint",
                "tools": [f"server{tool % SERVERS}.tool{tool}"],
                "parameters": {"amount": {"max": tool + 1}},
            }
            for tool in range(45)
        ]
        sketches.append(PolicySketch(own))
    place = make_place(store_url, label, sketches)
    per_server = TOOLS // SERVERS
    tools = [ToolEntry(name=f"server{each // per_server}.tool{each % per_server}") for each in range(TOOLS)]

    async def fill(services: Services) -> None:
        await services.records.catalog.put(place.workspace_id, tools, by=ChangedBy(COMMAND_LINE))

    populate(store_url, fill)
    return place


def _sample(replica: Replica, place: Place, seconds: float) -> Sample:
    connection = http.client.HTTPConnection("127.0.0.1", replica.port)
    path, headers = f"/v1/agents/{place.agent_id}/tools", {"Authorization": f"Bearer {place.raw_key}"}

    def ask() -> bytes:
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        body = answer.read()
        if answer.status != http.client.OK:
            raise RuntimeError(f"{answer.status}: {body[:200].decode()}")
        return body

    body = ask()
    if len(json.loads(body)["tools"]) != TOOLS:
        raise RuntimeError("not every tool is listed")
    sample = one_after_the_other(ask, replica, seconds, _FEWEST)
    connection.close()
    return sample | {"kB": len(body) / 1e3}
