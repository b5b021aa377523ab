"""How much can a hostile workspace slow down another one on the same replica, and a key another key?"""

import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any

import msgspec
from msgspec.structs import replace

from app.replica import Services
from bench.harness.arrivals import Phase
from bench.harness.audit_data import append_and_seal, run_on
from bench.harness.bench import ALLOWED, Bench
from bench.harness.hostile_load import HostileJob, request_of, under
from bench.harness.open_loop import Job, run_beside
from bench.harness.population import (
    HOT_RULES,
    Place,
    PolicySketch,
    add_agent,
    hot_call,
    hot_place,
    make_place,
    populate,
)
from bench.harness.processes import Replica
from bench.harness.table import KEPT_WAITING, Goal, Sample, Table, take_turns_by_label

ALONE, ALL, BY_KEY = "nobody else", "all of it at once", ", by another key"
RATE, CONNECTIONS = 500, 64
HOSTILE_CONNECTIONS = 12
ENTRIES = 50_000
MOST_TIMES = 3.0
_SETTLED_WITHIN_S, _LOOK_S, _CALM_LOOKS, _CALM_SHARE = 30.0, 0.1, 4, 0.04
_PATTERNS = (".{1000}$", "(.{100}){10}z", ".{700}$|bN$", "((a?){30}){30}$")
_OF_KEYS = ("calls just short enough", "large patterns in long texts", "calls of 1 MiB", "lints", "replays", "queries")
"""Loads that another key of the quiet workspace sends one by one, too."""
_SCHEMA = {"properties": {"a": {"items": {"anyOf": [{"const": f"v{number}"} for number in range(250)]}}}}
_SEARCHING = {"properties": {"a": {"pattern": "(a|b)*a(a|b){500}c"}}}
_EDGE = {"type": "parameter_constraint", "tools": ["edge"], "parameters": {"text": {"regex": "(a|b)*a(a|b){300}c"}}}
"""A pattern that takes a few milliseconds for 3,000 letters: estimated just below what the loop may take."""

_RULES = [
    {"type": "parameter_constraint", "tools": ["search"], "parameters": {"text": {"regex": each}}} for each in _PATTERNS
]


def measure(bench: Bench) -> Table:
    """A quiet workspace at a steady rate, alone and next to each kind of load, in turns."""
    with bench.running_store("fairness") as store:
        quiet = hot_place(store.url, "quiet")
        costly = [PolicySketch(HOT_RULES), *map(_sketch, [*_RULES, _EDGE]), *_schemas()]
        hostile = make_place(store.url, "hostile", costly)
        colleague = populate(store.url, lambda services: _colleague(services, quiet, costly))
        for place in (hostile, quiet):
            run_on(store.url, partial(append_and_seal, workspace_id=place.workspace_id, count=ENTRIES))
        with bench.replica(store) as replica:
            kinds = _kinds(hostile)
            own = _kinds(colleague)
            kinds[ALL] = [request for requests in kinds.values() for request in requests]
            kinds |= {f"{label}{BY_KEY}": own[label] for label in _OF_KEYS}
            kinds[f"{ALL}{BY_KEY}"] = [request for requests in own.values() for request in requests]

            def sample(label: str) -> Sample:
                return _sample(bench, replica, quiet, kinds.get(label, []))

            rows = take_turns_by_label((ALONE, *kinds), sample, bench.rounds)
    worst = max((row.ratio("p99 ms", rows[0]) or 0.0 for row in rows[1:]), default=0.0)
    return Table(
        name="fairness",
        question="how much can a hostile workspace slow down another one on the same replica?",
        command=bench.command,
        columns={"p50 ms": ".2f", "p99 ms": ".2f", "max ms": ".1f", "refused": ".0f", "generator lag p99 ms": ".2f"},
        rows=rows,
        baseline=ALONE,
        compared="p99 ms",
        first_column="Beside it",
        goals=[Goal(wanted="p99 beside the worst, times its own", bound=MOST_TIMES, at_least=False, measured=worst)],
        left_out=[
            f"The quiet workspace asks for {RATE} decisions a second in an open loop.",
            f"The hostile one sends as much as it can over {HOSTILE_CONNECTIONS} new connections.",
            (
                "The store and both load generators share one core, and the replica has the other. The hostile "
                "generator runs when the other two leave the core idle, as it would be on another machine."
            ),
            (
                "The other key is of the quiet workspace itself. It asks for an agent with as many policies, and the "
                "workspace has as long a log, as the hostile one."
            ),
            "`refused` counts 503 answers to the quiet workspace. Requests per second are not limited.",
        ],
    )


def _sample(bench: Bench, replica: Replica, quiet: Place, requests: list[bytes]) -> Sample:
    job = Job(
        port=replica.port,
        calls=[hot_call(quiet)],
        expected=ALLOWED,
        connections=CONNECTIONS,
        phases=[Phase(RATE, bench.seconds + 1.0)],
        skip_seconds=1.0,
    )
    beside: AbstractContextManager[None] = nullcontext()
    if requests:
        others = HostileJob(port=replica.port, requests=requests, connections=HOSTILE_CONNECTIONS)
        beside = under(others, bench.cores.others)
    _settle(replica)
    with beside:
        outcome, kept_waiting = run_beside(job, bench.cores.others, replica)
    phase = outcome.phases[0]
    return {
        "p50 ms": phase.p50_us / 1000,
        "p99 ms": phase.p99_us / 1000,
        "max ms": phase.max_us / 1000,
        "refused": phase.shed,
        "generator lag p99 ms": phase.lag_p99_us / 1000,
        KEPT_WAITING: 0.0 if requests else kept_waiting,
    }


def _settle(replica: Replica) -> None:
    """Wait until earlier requests are done: some work cannot be cancelled, even if nobody waits for it."""
    deadline = time.monotonic() + _SETTLED_WITHIN_S
    calm = 0
    while calm < _CALM_LOOKS and time.monotonic() < deadline:
        spent_us = replica.cpu_us()
        time.sleep(_LOOK_S)
        calm = calm + 1 if replica.cpu_us() - spent_us < _CALM_SHARE * _LOOK_S * 1e6 else 0


def _kinds(place: Place) -> dict[str, list[bytes]]:
    """The load of each row of the table."""

    def call(tool: str, parameters: Mapping[str, Any], path: str = "/v1/authorize") -> bytes:
        body = {"agent_id": place.agent_id, "tool_name": tool, "parameters": parameters}
        return request_of("POST", path, place.raw_key, msgspec.json.encode(body))

    def batch(semantics: str, *calls: tuple[str, Mapping[str, Any]]) -> bytes:
        asked = [{"agent_id": place.agent_id, "tool_name": tool, "parameters": given} for tool, given in calls]
        body = msgspec.json.encode({"calls": asked, "semantics": semantics})
        return request_of("POST", "/v1/authorize/batch", place.raw_key, body)

    refund = ("payments.refund", {"amount": 120, "currency": "EUR"})
    text = {"text": "ab\u00e9" * 20_000}
    policies = [{"name": f"p{number}", "rules": _RULES * 10} for number in range(20)]
    lint = msgspec.json.encode({"agent_id": place.agent_id, "policies": policies})
    replay = msgspec.json.encode({"agent_id": place.agent_id, "policies": policies[:1]})
    return {
        "ordinary calls": [call("payments.refund", {"amount": 120, "currency": "EUR"})],
        "batches": [
            batch("execute_all", *[refund] * 1_000),
            batch("all_or_nothing", *[refund] * 128),
            batch("execute_all", *[("edge", {"text": "ab" * 1_500})] * 200),
            batch("execute_all", *[("search", {"text": "\n" * 3_000})] * 200),
        ],
        "patterns just quick enough": [call("edge", {"text": "ab" * 1_500})],
        "calls just short enough": [
            call("none", {"numbers": [1.7e300] * 480}),
            call("none", {"text": "password=a;" * 350}),
            call("none", {"text": "'" * 15_000}),
        ],
        "large patterns in long texts": [call("search", text), call("search", {"text": "\n" * 1_000_000})],
        "schemas": [
            call("schema", {"a": ["no"] * 1_000}),
            call("schema", {"a": ["v249"] * 1_000}),
            call("pattern", {"a": "ab" * 1_000}),
            call("pattern", {"a": "ab" * 400_000}),
        ],
        "calls of 1 MiB": [call("none", {f"t{number}": "x" * 100_000 for number in range(10)})],
        "lints": [request_of("POST", "/v1/policies/lint", place.admin_key, lint)],
        "explains": [call("search", text, "/v1/explain")],
        "replays": [request_of("POST", "/v1/replay", place.admin_key, replay)],
        "queries": [
            request_of("GET", "/v1/audit-logs?limit=1000", place.admin_key),
            request_of("GET", "/v1/audit-logs?limit=1000&tool=group0.action_0&result=escalated", place.admin_key),
        ],
        "exports": [
            request_of("GET", f"/v1/audit-logs/export?format={form}", place.admin_key) for form in ("csv", "ndjson")
        ],
    }


async def _colleague(services: Services, place: Place, policies: Sequence[PolicySketch]) -> Place:
    """Another agent of the same workspace, and a key with every scope for it."""
    agent_id, policy_ids = await add_agent(services, place.workspace_id, policies)
    return replace(place, raw_key=place.admin_key, agent_id=agent_id, policy_ids=policy_ids)


def _sketch(rule: dict[str, Any]) -> PolicySketch:
    return PolicySketch([rule])


def _schemas() -> list[PolicySketch]:
    rules = (("schema", _SCHEMA), ("pattern", _SEARCHING))
    return [PolicySketch([{"type": "parameter_schema", "tools": [tool], "schema": schema}]) for tool, schema in rules]
