"""What does it cost the store to change the policies for every agent, by the number of agents?"""

from msgspec.structs import replace

from app.model.actors import COMMAND_LINE, ChangedBy
from app.model.policies import WORKSPACE, PolicyChanges, PolicyFields, PolicyKind
from app.replica import Services
from bench.harness.bench import Bench
from bench.harness.population import HOT_RULES, make_place, populate, rules_of
from bench.harness.processes import Store
from bench.harness.table import Goal, Sample, Table, take_turns_by_label

FEW, MANY = 1, 10_000
CHANGES = 50
MOST_MS = 5.0
_GUARDS = [{"type": "tool_denylist", "tools": [f"shell.{number}"]} for number in range(20)]


def measure(bench: Bench) -> Table:
    """The same edits of one guardrail, with one agent in the workspace and with the maximum number."""
    with bench.running_store("guardrail") as store:
        workspaces = {_label(agents): _workspace(store, agents) for agents in (FEW, MANY)}

        def sample(label: str) -> Sample:
            return _edit(store, workspaces[label])

        rows = take_turns_by_label(workspaces, sample, bench.rounds)
    table = Table(
        name="shared_guardrail",
        question="what does it cost the store to change a guardrail that every agent is under?",
        command=bench.command,
        columns={"store CPU ms": ".3f"},
        rows=rows,
        baseline=_label(FEW),
        compared="store CPU ms",
        left_out=[f"A round changes a guardrail of {len(_GUARDS) + 1} rules {CHANGES} times, without the HTTP API."],
    )
    most = table.row(_label(MANY)).median("store CPU ms")
    goal = Goal(wanted=f"store time of a change with {MANY:,} agents, ms", bound=MOST_MS, at_least=False, measured=most)
    return replace(table, goals=[goal])


def _label(agents: int) -> str:
    return f"{agents:,} agent{'s' if agents > 1 else ''} under it"


def _workspace(store: Store, agents: int) -> str:
    """A workspace with this many agents, and one guardrail for all of them."""
    place = make_place(store.url, f"{agents} agents", [])

    async def fill(services: Services) -> None:
        for number in range(1, agents):
            await services.records.agents.create(
                place.workspace_id, f"agent {number}", None, by=ChangedBy(COMMAND_LINE)
            )
        rules = rules_of([*_GUARDS, HOT_RULES[0]])
        await services.records.policies.create(
            place.workspace_id,
            WORKSPACE,
            PolicyFields(name="guard", rules=rules, kind=PolicyKind.GUARDRAIL),
            by=ChangedBy(COMMAND_LINE),
        )

    populate(store.url, fill)
    return place.workspace_id


def _edit(store: Store, workspace_id: str) -> Sample:
    """The store's time for one change, including what the replica reads first."""

    async def edit(services: Services) -> Sample:
        (policy,) = [each async for each in services.records.policies.each(workspace_id)]
        spent_us = store.cpu_us()
        for number in range(CHANGES):
            rules = policy.rules if number % 2 else policy.rules[:-1]
            await services.records.policies.update(
                workspace_id, policy.id, PolicyChanges(rules=rules), by=ChangedBy(COMMAND_LINE)
            )
        return {"store CPU ms": (store.cpu_us() - spent_us) / 1000 / CHANGES}

    return populate(store.url, edit)
