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
    """Ours and each library, in turns, with one policy and with 200 more about other tools."""
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
        question="what does evaluating two conditions on one tool cost in process, without a server around it?",
        command=bench.command,
        columns={ALONE: ".1f", BEHIND: ".1f"},
        rows=list(rows.values()),
        baseline=OURS,
        compared=ALONE,
        first_column="Library",
        left_out=[
            (
                "All of them are called from Python, and the call is part of the time. Policies are parsed beforehand; "
                "the others are about other tools."
            ),
            (
                "cedarpy: Cedar has no regular expressions, `like` stands in for one; it can analyse policies, which "
                "nobody else here can. pycasbin: matchers are interpreted in Python, policies are tried one by one. "
                "regopy is rego-cpp and stands in for regorus, which no package registry has for Python; its input is "
                "handed over as JSON text. None of them authenticates, applies a quota or keeps the decision."
            ),
            (
                "Remit compiles what one tool needs when the tool is first asked for; the others look at all policies "
                "every time."
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
