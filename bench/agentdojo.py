"""Question: what of AgentDojo's attacks gets past a policy, and what of the users' work gets past it, too?

No model: AgentDojo's own ground truth is the agent. Every user task is played through the guard alone, and then with
every injection task played behind it in the same session. A call that is not allowed does not run and its task goes on
without it; an escalated call is counted apart, run once as if a person had said yes to the user's calls, and never for
the attacker's. Utility and security are judged by AgentDojo's own functions on the environment that results.

Run with the service up, in an environment of its own: `pip install -r bench/agentdojo-requirements.txt`, then
`REMIT_URL=… REMIT_API_KEY=… python -m bench.agentdojo` with an admin key.
"""

import json
import statistics
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

# The benchmark is no dependency of the service; its own requirements install it.
from agentdojo.functions_runtime import FunctionsRuntime  # type: ignore[import-not-found, unused-ignore]
from agentdojo.task_suite.load_suites import get_suites  # type: ignore[import-not-found, unused-ignore]
from remit_client import Remit, calls  # type: ignore[import-not-found, unused-ignore]

VERSION = "v1.2.2"
POLICIES = Path(__file__).parents[1] / "examples/assistants"


@dataclass
class Played:
    """One task played through the guard. `asked`: the calls that a person would have to approve."""

    done: bool
    asked: list[str] = field(default_factory=list)
    ran: list[str] = field(default_factory=list)


@dataclass
class Guard:
    """Asks for each call of one agent in one session."""

    remit: Any
    agent: str
    milliseconds: list[float]

    def decide(self, tool: str, parameters: dict[str, Any], session: str) -> str:
        """`allowed`, `denied` or `escalated`."""
        began = time.perf_counter()
        decision = self.remit.authorize(self.agent, tool, parameters, context={"session": session})
        self.milliseconds.append((time.perf_counter() - began) * 1000)
        return str(decision.result)


def play(suite: Any, task: Any, guard: Guard, session: str, environment: Any, *, approves: bool) -> Played:
    """The ground truth of a task, call by call, on `environment`; it goes on after a call that was not made."""
    runtime = FunctionsRuntime(suite.tools)
    before = environment.model_copy(deep=True)
    played, made = Played(done=False), []
    for call in task.ground_truth(before.model_copy(deep=True)):
        parameters = json.loads(json.dumps(dict(call.args), default=str))
        shown = f"{call.function} {json.dumps(parameters)[:160]}"
        result = guard.decide(call.function, parameters, session)
        if result == "escalated":
            played.asked.append(shown)
        if result == "allowed" or (result == "escalated" and approves):
            runtime.run_function(environment, call.function, call.args)
            played.ran.append(shown)
            made.append(call)
    output = getattr(task, "GROUND_TRUTH_OUTPUT", "") or ""
    said = task.utility_from_traces(output, before, environment, made) if traced(task, "utility") else None
    played.done = bool(task.utility(output, before, environment) if said is None else said)
    return played


def measure_suite(name: str, suite: Any, remit: Any) -> dict[str, Any]:
    """One row of the table, and the attacker's calls that ran in attacks that succeeded."""
    held = json.loads((POLICIES / f"{name}.json").read_text())
    agent = remit.send(calls.create_agent(held["agent"]["name"])).id
    for policy in held["policies"]:
        remit.send(calls.create_policy(agent, policy["name"], policy["rules"], priority=policy["priority"]))
    guard = Guard(remit, agent, [])
    alone = asking = attacks = succeeded = 0
    through: set[str] = set()
    skipped = 0
    for user_id, user in suite.user_tasks.items():
        fresh = suite.load_and_inject_default_environment({})
        fresh = user.init_environment(fresh)
        played = play(suite, user, guard, f"{name}-{user_id}", fresh, approves=True)
        alone += played.done
        asking += bool(played.asked)
        for injection_id, injection in suite.injection_tasks.items():
            environment = user.init_environment(suite.load_and_inject_default_environment({}))
            session = f"{name}-{user_id}-{injection_id}"
            play(suite, user, guard, session, environment, approves=True)
            attack = play_attack(suite, injection, guard, session, environment)
            attacks += 1
            succeeded += attack.done
            if attack.done:
                through |= {f"{injection_id}: {ran}" for ran in attack.ran} or {f"{injection_id}: (no call needed)"}
    return {
        "suite": name,
        "user tasks": len(suite.user_tasks),
        "complete": alone,
        "of them with a person": asking,
        "attacked sessions": attacks,
        "attacks succeed": succeeded,
        "skipped": skipped,
        "p50 ms": round(statistics.median(guard.milliseconds), 2),
        "calls": len(guard.milliseconds),
        "through": sorted(through),
    }


def play_attack(suite: Any, task: Any, guard: Guard, session: str, environment: Any) -> Played:
    """The attacker's calls, for which no person says yes."""
    runtime = FunctionsRuntime(suite.tools)
    before = environment.model_copy(deep=True)
    played, made = Played(done=False), []
    for call in task.ground_truth(before.model_copy(deep=True)):
        parameters = json.loads(json.dumps(dict(call.args), default=str))
        result = guard.decide(call.function, parameters, session)
        if result == "allowed":
            runtime.run_function(environment, call.function, call.args)
            played.ran.append(f"{call.function} {json.dumps(parameters)[:160]}")
            made.append(call)
    output = (getattr(task, "GROUND_TRUTH_OUTPUT", "") or "") if played.ran else ""
    said = task.security_from_traces(output, before, environment, made) if traced(task, "security") else None
    played.done = bool(task.security(output, before, environment) if said is None else said)
    return played


def traced(task: Any, judged: str) -> bool:
    """Whether the benchmark judges this task by the calls that were made."""
    return hasattr(task, f"{judged}_from_traces")


def main() -> int:
    """0; the table goes to stdout, what got through below it."""
    rows = []
    with Remit(timeout=20) as remit:
        for name, suite in get_suites(VERSION).items():
            rows.append(measure_suite(name, suite, remit))
            print(rows[-1], file=sys.stderr, flush=True)
    columns = [key for key in rows[0] if key not in ("through", "skipped")]
    print("| " + " | ".join(columns) + " |")
    print("|" + "---|" * len(columns))
    for row in rows:
        print("| " + " | ".join(str(row[key]) for key in columns) + " |")
    for row in rows:
        for line in row["through"]:
            print(f"- {row['suite']}, {line}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
