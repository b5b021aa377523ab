"""How long does an AuthZEN search take among 1,000 agents and 1,000 resources?"""

import http.client
import json
from typing import Any

from app.model.actors import COMMAND_LINE, ChangedBy
from app.model.policies import Owner, PolicyFields
from app.model.resources import ResourceEntry
from app.replica import Services
from bench.harness.bench import Bench
from bench.harness.one_caller import CPU, P50, one_after_the_other
from bench.harness.population import Place, PolicySketch, make_place, populate, rules_of
from bench.harness.processes import Replica
from bench.harness.table import Goal, Sample, Table, take_turns_by_label

MANY = 1_000
SUBJECTS, RESOURCES = f"subjects among {MANY:,} agents", f"resources among {MANY:,}"
_FEWEST = 10
RULES: list[dict[str, Any]] = [
    {"type": "tool_allowlist", "tools": ["record.read", "record.write"]},
    {"type": "parameter_constraint", "tools": ["record.write"], "parameters": {"status": {"enum": ["active"]}}},
]
READ, RECORD = {"name": "read"}, {"type": "record", "id": "r0"}
SEARCHES = {
    SUBJECTS: ("subject", {"subject": {"type": "user"}, "action": READ, "resource": RECORD}),
    RESOURCES: ("resource", {"subject": {"type": "user", "id": "u0"}, "action": READ, "resource": {"type": "record"}}),
}


def measure(bench: Bench) -> Table:
    """One search after the other, over one connection, with the agents in the replica's cache."""
    with bench.running_store("search") as store, bench.replica(store) as replica:
        place = make_place(store.url, "search", [PolicySketch(RULES)])
        _fill(store.url, place)

        def sample(label: str) -> Sample:
            return _sample(replica, place, *SEARCHES[label], bench.seconds)

        rows = take_turns_by_label(SEARCHES, sample, bench.rounds)
    goals = [
        Goal(wanted=f"{row.label}: {CPU}", bound=300, at_least=False, measured=row.median(CPU), needs_quiet=False)
        for row in rows
    ]
    return Table(
        name="access_search",
        question=f"how long does an AuthZEN search take among {MANY:,} agents and {MANY:,} resources?",
        command=bench.command,
        columns={CPU: ".1f", P50: ".1f"},
        rows=rows,
        baseline=SUBJECTS,
        compared=CPU,
        first_column="Search",
        goals=goals,
        left_out=["The first search for subjects compiles every agent. One search judges up to 1,000 candidates."],
    )


def _fill(store_url: str, place: Place) -> None:
    by = ChangedBy(COMMAND_LINE)

    async def fill(services: Services) -> None:
        records, workspace_id = services.records, place.workspace_id
        policy = PolicyFields(name="records", rules=rules_of(RULES))
        for number in range(MANY):
            agent = await records.agents.create(
                workspace_id, f"user {number}", None, alias=f"u{number}", kind="user", by=by
            )
            await records.policies.create(workspace_id, Owner(agent.id), policy, by=by)
            entry = ResourceEntry(type="record", id=f"r{number}", actions=["read"], properties={"status": "active"})
            await records.resources.put(workspace_id, entry, by=by)

    populate(store_url, fill)


def _sample(replica: Replica, place: Place, what: str, body: dict[str, Any], seconds: float) -> Sample:
    connection = http.client.HTTPConnection("127.0.0.1", replica.port)
    headers = {"Authorization": f"Bearer {place.raw_key}", "Content-Type": "application/json"}

    def ask() -> bytes:
        connection.request("POST", f"/access/v1/search/{what}", json.dumps(body), headers)
        return connection.getresponse().read()

    found = len(json.loads(ask())["results"])
    if found != MANY:
        raise RuntimeError(f"{found} of {MANY} were found")
    sample = one_after_the_other(ask, replica, seconds, _FEWEST)
    connection.close()
    return sample
