"""How fast is a draft of policies replayed over a log?"""

import resource
import time
import uuid
from typing import Any

import uvloop
from msgspec import convert

from app.audit.log import AuditLog
from app.model.agents import Agent
from app.model.policies import Policy
from app.model.replays import ReplayTask
from app.model.rules import Rules
from app.redis_client.clients import open_client
from app.replay import Replay
from app.replay.history import History
from bench.harness.audit_data import AGENTS, START_MS, STEP_MS, append_and_seal
from bench.harness.bench import Bench
from bench.harness.processes import Store
from bench.harness.table import Goal, Sample, Table, take_turns_by_label

ENTRIES = 100_000
LISTS, LIMITS, VALUES, SCHEMA = "lists of tools", "and a rate limit", "and two conditions on values", "and a schema"
_LISTS: list[dict[str, Any]] = [{"type": "tool_allowlist", "tools": ["group0.*", "group1.*", "group2.*", "group3.*"]}]
_Rules = list[dict[str, Any]]
_LIMITS: _Rules = [*_LISTS, {"type": "rate_limit", "tools": ["*"], "rateLimit": {"maxCalls": 50, "windowSeconds": 60}}]
_VALUES: _Rules = [
    *_LIMITS,
    {"type": "parameter_constraint", "tools": ["*"], "parameters": {"id": {"regex": "^[0-9]+$", "maxLength": 20}}},
]
_SCHEMA: _Rules = [
    *_LIMITS,
    {
        "type": "parameter_schema",
        "tools": ["*"],
        "schema": {"type": "object", "properties": {"id": {"type": "string", "maxLength": 20}}, "required": ["id"]},
    },
]
DRAFTS: dict[str, _Rules] = {LISTS: _LISTS, LIMITS: _LIMITS, VALUES: _VALUES, SCHEMA: _SCHEMA}


def measure(bench: Bench) -> Table:
    """Reads, verifies, decodes and judges a log: all calls of 1,000 agents."""
    workspace_id = str(uuid.uuid4())
    with bench.running_store("replay") as store:
        uvloop.run(_build(store, workspace_id))

        def sample(label: str) -> Sample:
            return uvloop.run(_sample(store, workspace_id, DRAFTS[label]))

        rows = take_turns_by_label(DRAFTS, sample, bench.rounds)
    goal = Goal(
        wanted="replay without schemas, entries/s of one core",
        bound=50_000,
        at_least=True,
        measured=min(row.median("entries/CPU s") or 0 for row in rows if row.label != SCHEMA),
    )
    return Table(
        name="replay",
        question=f"how fast is a draft replayed over a log of {ENTRIES:,} entries of {len(AGENTS):,} agents?",
        command=bench.command,
        columns={"entries/CPU s": ",.0f", "entries/s": ",.0f", "MB added": ".1f"},
        rows=rows,
        baseline=LISTS,
        compared="entries/CPU s",
        first_column="Draft",
        goals=[goal],
        left_out=[
            "Not measured: starting the process and reading policies and changes, once for each replay.",
            "`entries/CPU s` is this process's CPU time alone. `MB added` is the growth of the peak resident memory.",
        ],
    )


async def _build(store: Store, workspace_id: str) -> None:
    client = open_client(store.url, 10_000)
    try:
        await append_and_seal(client, workspace_id, ENTRIES)
    finally:
        await client.close()


async def _sample(store: Store, workspace_id: str, rules: list[dict[str, Any]]) -> Sample:
    agents = [Agent(id=each, name="", groups=("all",), created_ms=0, updated_ms=0, version="") for each in AGENTS]
    task = ReplayTask(workspace_id=workspace_id, from_ms=START_MS, to_ms=START_MS + ENTRIES * STEP_MS, group="all")
    policy = Policy(
        id="p", group="all", name="draft", rules=tuple(convert(rules, Rules)), created_ms=0, updated_ms=0, version=1
    )
    replay = Replay(task, History(agents, [], []), [policy], lambda _name: False)
    client = open_client(store.url, 10_000)
    before_mb, cpu_s, wall_s = _peak_mb(), time.process_time(), time.perf_counter()
    try:
        async for chunk in AuditLog(client).entries(workspace_id, None, task.from_ms, task.to_ms):
            replay.feed(chunk.body, chunk.sequences)
    finally:
        await client.close()
    cpu_s, wall_s = time.process_time() - cpu_s, time.perf_counter() - wall_s
    report = replay.findings.finish()
    if report.judged + report.unjudged.total < ENTRIES - 3:
        raise RuntimeError(f"only {report.judged} entries were judged")
    return {"entries/CPU s": ENTRIES / cpu_s, "entries/s": ENTRIES / wall_s, "MB added": _peak_mb() - before_mb}


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
