"""How long does everything take in a large store?"""

import asyncio
import multiprocessing
import os
import random
import statistics
import sys
import tempfile
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from app.model.actors import COMMAND_LINE, ChangedBy
from app.model.audit import AuditFilters, AuditQuery, Format
from app.model.counts import CountBy, CountQuery
from app.model.decisions import Result
from app.model.policies import Owner, PolicyFields
from app.replica import Services, open_alone
from app.serve.doctor import check_up
from app.settings import Settings
from bench.harness.audit_data import POLICIES, RARE, START_MS, TOOLS, append, append_and_seal, entries
from bench.harness.bench import Bench
from bench.harness.population import HOT_RULES, rules_of
from bench.harness.processes import Store
from bench.harness.sealed_log import write_sealed
from bench.harness.table import Goal, Row, Table

ENTRIES = int(os.environ.get("BENCH_SCALE_ENTRIES", "5000000"))
AGENTS = max(10, ENTRIES // 50)
POLICIES_MADE, WORKSPACES = AGENTS // 10, AGENTS // 100
BACKLOG = ENTRIES // 50
STORE = os.environ.get("BENCH_SCALE_STORE", "")
"""The URL of a store to use, which is kept: an empty one is filled, one that is full answers at once."""
CALLS, SLOW_MS = 5, 500
"""How often each question is asked; once if the first answer took longer."""
INDEXED, HOURS = "answered by an index", "counted by hours"
SCANS, WHOLE = "reads entries", "reads everything"
BOUNDS_MS = {INDEXED: 50.0, HOURS: 50.0, SCANS: 1_000.0}
_EACH_MAX = 1_000_000
"""Beyond so many entries, nothing is asked that does something with each, and takes a minute for a million."""
_DAYS, _HOUR_MS = 30, 3_600_000
_STEP_MS = _DAYS * 24 * _HOUR_MS // ENTRIES
"""Between two entries, so that the log covers so many days."""
_SCANNED_MS = 1_000_000 * _STEP_MS
_TOGETHER = 64
_UNUSED = "01931f2e-0000-7000-8000-000000000000"
_BY = ChangedBy(COMMAND_LINE)
Ask = Callable[[], Awaitable[Any]]


def measure(bench: Bench) -> Table:
    """One replica's code in this process, one question at a time."""
    given = cast("Store", SimpleNamespace(url=STORE))
    with nullcontext(given) if STORE else bench.running_store("scale") as store:
        rows = asyncio.run(_measure(store.url))
        began = time.perf_counter()
        with bench.replica(store, REMIT_COMPACT="false"):
            rows.insert(0, _row(WHOLE, "start of a replica", [(time.perf_counter() - began) * 1e3]))
    goals = [
        Goal(
            wanted=f"{kind}, the slowest, ms",
            bound=bound,
            at_least=False,
            measured=max(row.median("ms") or 0.0 for row in rows if row.group == kind),
        )
        for kind, bound in BOUNDS_MS.items()
    ]
    return Table(
        name="scale",
        question=f"how long does everything take with {AGENTS:,} agents, {POLICIES_MADE:,} policies, {WORKSPACES:,} "
        f"workspaces and {ENTRIES:,} sealed entries?",
        command=f"BENCH_SCALE_ENTRIES={ENTRIES} {bench.command}",
        columns={"ms": ",.1f", "most ms": ",.1f"},
        rows=rows,
        baseline="",
        compared="ms",
        first_column="Question",
        group_column="How",
        goals=goals,
        left_out=[
            f"Each was asked {CALLS} times, or once if it took over {SLOW_MS} ms.",
            f"A scan is one page, which reads up to 256 Ki entries; the backlog has {BACKLOG:,} entries.",
            "Not measured: HTTP"
            + ("." if ENTRIES <= _EACH_MAX else "; verify and archive, which `large_log` measures."),
        ],
    )


async def _measure(url: str) -> list[Row]:
    settings = Settings(redis_url=url, store_timeout_ms=60_000, agents_max=AGENTS + 1, policies_max=AGENTS)
    async with open_alone(settings) as services:
        workspace_id, agents = await _fill(services)
        rows = []
        with tempfile.TemporaryDirectory() as folder:
            for kind, name, ask in _questions(services, workspace_id, agents, Path(folder)):
                rows.append(_row(kind, name, await _times(ask)))
                print(f"… {name}: {rows[-1].median('ms'):,.1f} ms", file=sys.stderr, flush=True)
        backlog = f"{workspace_id}-backlog"
        await append(services.client, backlog, entries(BACKLOG))
        tail = AuditQuery(agent_id=RARE)
        rows.append(_row(SCANS, "backlog: a rare agent", await _times(lambda: services.log.audit.query(backlog, tail))))
        return rows


async def _fill(services: Services) -> tuple[str, list[str]]:
    """The main workspace, which has nearly everything, and the agents in its log."""
    records, client = services.records, services.client
    agents, names = _agents_in_log(), await records.workspaces.by_name()
    if "w0" in names:
        return names["w0"], agents
    ids = [(await records.workspaces.create(f"w{number}"))[0] for number in range(WORKSPACES)]
    making = multiprocessing.get_context("fork").Process(target=_make_records, args=(services.settings, ids[0]))
    making.start()
    await write_sealed(client, ids[0], ENTRIES, lambda after, count: entries(count, agents, after, ENTRIES, _STEP_MS))
    for each in ids[1:]:
        await append_and_seal(client, each, 1)
    making.join()
    if making.exitcode:
        raise RuntimeError("the process that makes agents and policies has failed")
    return ids[0], agents


def _agents_in_log() -> list[str]:
    some = random.Random(13)
    return [str(uuid.UUID(int=some.getrandbits(128), version=4)) for _ in range(AGENTS)]


def _make_records(settings: Settings, workspace_id: str) -> None:
    """Make the agents, and policies of some of them."""

    async def make() -> None:
        async with open_alone(settings) as services:
            records = services.records

            async def agent(number: int) -> str:
                return (await records.agents.create(workspace_id, f"agent {number}", None, by=_BY)).id

            agents = [made async for made in _together(agent, AGENTS)]

            async def policy(number: int) -> str:
                fields = PolicyFields(name=f"policy {number}", rules=rules_of(HOT_RULES))
                return (await records.policies.create(workspace_id, Owner(agents[number]), fields, by=_BY)).id

            _ = [made async for made in _together(policy, POLICIES_MADE)]

    asyncio.run(make())


async def _together(make: Callable[[int], Awaitable[str]], count: int) -> AsyncIterator[str]:
    for start in range(0, count, _TOGETHER):
        for made in await asyncio.gather(*map(make, range(start, min(start + _TOGETHER, count)))):
            yield made


def _questions(services: Services, workspace_id: str, agents: list[str], folder: Path) -> list[tuple[str, str, Ask]]:
    audit, records = services.log.audit, services.records
    newest_ms = START_MS + ENTRIES * _STEP_MS

    def page(**filters: Any) -> Ask:
        return lambda: audit.query(workspace_id, AuditQuery(**filters))

    def counts(**query: Any) -> Ask:
        return lambda: audit.counts(workspace_id, CountQuery(**query))

    def listed(each: Callable[[], AsyncIterator[Any]]) -> Ask:
        async def ask() -> int:
            return len([one async for one in each()])

        return ask

    days = {"from_ms": START_MS, "to_ms": START_MS + _DAYS * 24 * _HOUR_MS - 1}
    hourly, late = days | {"step_seconds": 3600}, days | {"from_ms": START_MS + 1_000_000}
    asked: list[tuple[str, str, Ask]] = [
        (INDEXED, "newest 100", page()),
        (INDEXED, "a usual agent", page(agent_id=agents[3])),
        (INDEXED, "a rare agent", page(agent_id=RARE)),
        (INDEXED, "an agent that is not there", page(agent_id=_UNUSED)),
        (INDEXED, "a tool", page(tool_name=TOOLS[3])),
        (INDEXED, "a tool that is not there", page(tool_name="unheard.of")),
        (INDEXED, "denied", page(result=Result.DENIED)),
        (INDEXED, "denied of an agent and a tool", page(agent_id=agents[3], tool_name=TOOLS[3], result=Result.DENIED)),
        (INDEXED, "a policy", page(policy_id=POLICIES[3])),
        (INDEXED, "a policy that is not there", page(policy_id=_UNUSED)),
        (INDEXED, "a rule type that is not there", page(rule_type="time_based")),
        (INDEXED, "a key that is not there", page(key_id=_UNUSED)),
        (INDEXED, "a shadow policy that is not there", page(shadow="any")),
        (INDEXED, "100 agents", listed(lambda: records.agents.each(workspace_id, 100))),
        (INDEXED, "100 policies", listed(lambda: records.policies.each(workspace_id, None, 100))),
        (SCANS, "a session that is not there", page(session="s")),
        (SCANS, "a text that is there", page(text="group3.action_3")),
        (SCANS, "a text that is not there", page(text="unheard of")),
        (SCANS, "an agent by its name", listed(lambda: records.agents.each(workspace_id, name=f"agent {AGENTS - 1}"))),
        (HOURS, "count: by result", counts()),
        (HOURS, "count: by result in 720 hours", counts(**hourly)),
        (HOURS, "count: by tool in 720 hours", counts(by=CountBy.TOOL, **hourly)),
        (HOURS, "count: by policy in 720 hours", counts(by=CountBy.POLICY, **hourly)),
        (HOURS, "count: by code, denied, from within an hour", counts(by=CountBy.CODE, result=Result.DENIED, **late)),
        (WHOLE, "count: by agent", counts(by=CountBy.AGENT)),
        (WHOLE, "count: by tool, of a policy", counts(by=CountBy.TOOL, policy_id=POLICIES[3])),
        (
            WHOLE,
            "count: entries with a text, of the newest 10^6",
            counts(text="unheard of", from_ms=newest_ms - _SCANNED_MS),
        ),
        (WHOLE, "all agents", listed(lambda: records.agents.each(workspace_id))),
        (WHOLE, "doctor", lambda: check_up(services.client)),
        (
            WHOLE,
            "export of a policy's entries",
            listed(lambda: audit.export(workspace_id, AuditFilters(policy_id=POLICIES[3]), Format.NDJSON)),
        ),
    ]
    if ENTRIES <= _EACH_MAX:
        asked += [
            (WHOLE, "verify", lambda: audit.verify(workspace_id)),
            (WHOLE, "archive", lambda: audit.archive(folder, workspace_id)),
        ]
    return asked


async def _times(ask: Ask) -> list[float]:
    times: list[float] = []
    while len(times) < CALLS and (not times or times[0] <= SLOW_MS):
        began = time.perf_counter()
        await ask()
        times.append((time.perf_counter() - began) * 1e3)
    return times


def _row(kind: str, name: str, times: list[float]) -> Row:
    return Row(label=name, group=kind, samples=[{"ms": statistics.median(times), "most ms": max(times)}])
