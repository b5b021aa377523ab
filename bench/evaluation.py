"""What does evaluation alone cost, without a server around it?"""

import json
import time

from app.model.agents import Agent
from app.model.decisions import AuthorizeRequest, Result
from app.model.policies import Policy
from app.pdp import compile_agent, decide
from bench.harness.bench import Bench
from bench.harness.cores import moved_to
from bench.harness.peer_programs import run_script
from bench.harness.population import HOT_RULES, TOOL, rules_of
from bench.harness.table import Row, Table

OURS = "Remit, `decide`"
OTHERS = 200
GOOD = {"amount": 120, "currency": "EUR", "order": "A-10293", "note": "damaged on arrival"}
ALONE, BEHIND = "us, 1 policy", "us, 201 policies"


def measure(bench: Bench) -> Table:
    """Remit's evaluation and each library's, in turns, with one policy and with 200 more about other tools."""
    rows = {OURS: Row(label=OURS)}
    for _ in range(bench.rounds):
        with moved_to(bench.cores.service):
            times = {ALONE: _ours(0, bench.seconds / 2), BEHIND: _ours(OTHERS, bench.seconds / 2)}
        rows[OURS].samples.append(times)
        printed = run_script("evaluate", bench.cores.service, bench.seconds / 2)
        for label, (alone, behind) in json.loads(printed).items():
            row = rows.setdefault(label, Row(label=label))
            row.samples.append({ALONE: alone, BEHIND: behind})
    return Table(
        name="evaluation",
        question="what does it cost to evaluate two conditions on one tool in process, without a server?",
        command=bench.command,
        columns={ALONE: ".1f", BEHIND: ".1f"},
        rows=list(rows.values()),
        baseline=OURS,
        compared=ALONE,
        first_column="Library",
        left_out=[
            (
                "All of them are called from Python, and the time includes the call. Policies are "
                "parsed beforehand. The 200 additional policies are about other tools."
            ),
            (
                "cedarpy: Cedar has no regular expressions, so `like` replaces one; it is the only "
                "one here that can analyse policies. pycasbin interprets matchers in Python and tries "
                "policies one by one. regopy is rego-cpp, in place of regorus, which has no Python "
                "package; its input is passed as a JSON string. None of these authenticates, applies "
                "a quota or keeps the decision."
            ),
            (
                "Remit compiles what a tool needs when it is first called; the others go through all "
                "policies every time."
            ),
        ],
    )


def _ours(others: int, seconds: float) -> float:
    """CPU time of one `decide`, us."""
    agent = Agent(id="a", name="a", description=None, created_ms=0, updated_ms=0, version="v")
    names = [*(f"other.tool{number}" for number in range(others)), TOOL]
    policies = [
        Policy(
            id=name,
            agent_id="a",
            name=name,
            rules=rules_of([HOT_RULES[0] | {"tools": [name]}]),
            created_ms=number,
            updated_ms=number,
            version=1,
        )
        for number, name in enumerate(names)
    ]
    compiled = compile_agent(agent, policies, lambda _: False)
    request = AuthorizeRequest("a", TOOL, "call", GOOD, b"{}")
    refused = AuthorizeRequest("a", TOOL, "call", GOOD | {"amount": 501}, b"{}")
    if decide(compiled, request, 0).outcome.result is not Result.ALLOWED:
        raise RuntimeError("wrong answer")
    if decide(compiled, refused, 0).outcome.result is not Result.DENIED:
        raise RuntimeError("wrong answer")
    calls, began = 0, time.process_time()
    while time.process_time() - began < seconds:
        for _ in range(1_000):
            decide(compiled, request, 0)
        calls += 1_000
    return (time.process_time() - began) / calls * 1e6
