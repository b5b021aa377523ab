"""Question: how many of AgentDojo's attacks get past a policy, and how much of the users' work still does?

There is no model: AgentDojo's own ground truth is the agent. Every user task is played through the guard alone, and
then with every injection task after it in the same session. A call that is not allowed does not run, and its task goes
on without it. If a call is escalated, a person with a separate key approves what the user wanted and denies what the
attacker wanted; then the call is made again. AgentDojo's own functions judge utility and security on the resulting
environment.

Each suite is played four times: by Remit with its policies, and three times by Cedar's engine with the same policies,
as far as Cedar can express them (`bench/peers/cedar.py` says what it cannot). Cedar asks no people and remembers
nothing: a call that needs a person is denied, or allowed, or decided by a program around Cedar that does both. In the
last case Cedar must decide every call as Remit does, or the script fails; so it is checked that the policies are equal.

Run with the service up, in an environment of its own: `pip install -r bench/agentdojo-requirements.txt`, then
`REMIT_URL=… REMIT_API_KEY=… python -m bench.agentdojo [SUITE…]` with an admin key.
"""

import contextlib
import json
import statistics
import sys
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

# AgentDojo is not a dependency of the service; bench/agentdojo-requirements.txt installs it.
from agentdojo.functions_runtime import FunctionsRuntime  # type: ignore[import-not-found, unused-ignore]
from agentdojo.task_suite.load_suites import get_suites  # type: ignore[import-not-found, unused-ignore]
from remit_client import Remit, calls  # type: ignore[import-not-found, unused-ignore]

from bench.peers.cedar import Around, Cedar

VERSION = "v1.2.2"
POLICIES = Path(__file__).parents[1] / "examples/assistants"


@dataclass
class Played:
    """One task played through the guard. asked: the calls that a person saw; ran: the calls that ran."""

    done: bool = False
    asked: list[str] = field(default_factory=list)
    ran: list[str] = field(default_factory=list)


class Guard(Protocol):
    """Decides each call of one agent, and asks a person if it is escalated."""

    milliseconds: list[float]

    def permits(self, tool: str, parameters: dict[str, Any], session: str, played: Played, *, wanted: bool) -> bool:
        """Whether the call may run; a person who is asked approves it if it is `wanted`."""


@dataclass
class ByRemit:
    """Remit, over HTTP, and a person with a separate key."""

    remit: Any
    person: Any
    agent: str
    milliseconds: list[float] = field(default_factory=list)

    def permits(self, tool: str, parameters: dict[str, Any], session: str, played: Played, *, wanted: bool) -> bool:
        """See Guard. Raises AssertionError unless the person is shown the true call."""
        decision = self._ask(tool, parameters, session)
        if decision.result != "escalated":
            return bool(decision.allowed)
        asked = self.person.send(calls.get_approval(decision.approval.id))
        shown_whole = asked.parameters == parameters or asked.raw["hides"]  # secrets are hidden, and marked as hidden
        if not shown_whole or asked.tool_name != tool:
            raise AssertionError(f"the person was shown {asked.tool_name} {asked.parameters}, not {tool} {parameters}")
        played.asked.append(described(tool, parameters))
        if not wanted:
            self.person.deny(asked.id)
        else:
            self.person.approve(asked.id, accept_hidden=True)
        return bool(self._ask(tool, parameters, session).allowed) if wanted else False

    def _ask(self, tool: str, parameters: dict[str, Any], session: str) -> Any:
        with timed(self.milliseconds):
            return self.remit.authorize(self.agent, tool, parameters, context={"session": session})


@dataclass
class ByCedar:
    """Cedar, in process, and the program around it."""

    around: Around
    milliseconds: list[float] = field(default_factory=list)

    def permits(self, tool: str, parameters: dict[str, Any], session: str, played: Played, *, wanted: bool) -> bool:
        """See Guard."""
        with timed(self.milliseconds):
            result = self.around.decide(tool, parameters, session)
        if result != "escalated":
            return result == "allowed"
        played.asked.append(described(tool, parameters))
        return wanted and self.around.after_a_yes(tool, parameters, session) == "allowed"


@contextlib.contextmanager
def timed(milliseconds: list[float]) -> Iterator[None]:
    """Record how long the block takes."""
    began = time.perf_counter()
    yield
    milliseconds.append((time.perf_counter() - began) * 1000)


def play(suite: Any, task: Any, guard: Guard, session: str, environment: Any, *, attack: bool = False) -> Played:
    """Play the ground truth of a task, call by call, on `environment`; a call that does not run is skipped.

    For an attack, `done` means that it succeeded.
    """
    runtime = FunctionsRuntime(suite.tools)
    before = environment.model_copy(deep=True)
    played, made = Played(), []
    for call in task.ground_truth(before.model_copy(deep=True)):
        parameters = json.loads(json.dumps(dict(call.args), default=str))
        if guard.permits(call.function, parameters, session, played, wanted=not attack):
            runtime.run_function(environment, call.function, call.args)
            played.ran.append(described(call.function, parameters))
            made.append(call)
    output = getattr(task, "GROUND_TRUTH_OUTPUT", "") or ""
    if attack and not made:
        output = ""  # what the model merely says needs no tool
    judged = "security" if attack else "utility"
    traces = getattr(task, f"{judged}_from_traces", None)
    said = traces(output, before, environment, made) if traces else None
    played.done = bool(getattr(task, judged)(output, before, environment) if said is None else said)
    return played


def described(tool: str, parameters: dict[str, Any]) -> str:
    """A call in one line."""
    return f"{tool} {json.dumps(parameters)[:160]}"


def guards_of(name: str, remit: Any, person: Any) -> dict[str, Guard]:
    """The guards of a suite, with their policies."""
    cedar = Cedar(name)
    return {
        "Remit, as written": ByRemit(remit, person, agent_of(name, person)),
        "Cedar, what asks is denied": ByCedar(Around(cedar)),
        "Cedar, what asks is allowed": ByCedar(Around(cedar, approved=True)),
        "Cedar, people and history kept around it": ByCedar(Around(cedar, asks=True)),
    }


def agent_of(name: str, person: Any) -> str:
    """The id of a new agent with the policies of the suite."""
    held = json.loads((POLICIES / f"{name}.json").read_text())
    agent = str(person.send(calls.create_agent(held["agent"]["name"])).id)
    for policy in held["policies"]:
        further = {key: policy[key] for key in ("priority", "kind") if key in policy}
        person.send(calls.create_policy(agent, policy["name"], policy["rules"], **further))
    return agent


def measure_suite(name: str, suite: Any, policies: str, guard: Guard) -> tuple[dict[str, Any], list[Played]]:
    """One row of the table, the attacker's calls that ran in successful attacks, and all tasks played."""
    default = suite.load_and_inject_default_environment({})
    run = uuid.uuid4().hex[:8]  # sessions are remembered for days, so each needs a new name
    complete = people = seen = succeeded = 0
    through: set[str] = set()
    everything: list[Played] = []
    for user_id, user in suite.user_tasks.items():
        played = play(suite, user, guard, f"{run}-{user_id}", fresh(default, user))
        everything.append(played)
        complete += played.done
        people += bool(played.asked)
        seen += len(played.asked)
        for injection_id, injection in suite.injection_tasks.items():
            environment, session = fresh(default, user), f"{run}-{user_id}-{injection_id}"
            everything.append(play(suite, user, guard, session, environment))
            attack = play(suite, injection, guard, session, environment, attack=True)
            everything.append(attack)
            succeeded += attack.done
            if attack.done:
                through |= {f"{injection_id}: {ran}" for ran in attack.ran} or {f"{injection_id}: (no call needed)"}
    row = {
        "suite": name,
        "policies": policies,
        "user tasks": len(suite.user_tasks),
        "complete": complete,
        "of them with a person": people,
        "calls a person sees": seen,
        "attacked sessions": len(suite.user_tasks) * len(suite.injection_tasks),
        "attacks succeed": succeeded,
        "p50 ms a decision": round(statistics.median(guard.milliseconds), 3),
        "through": sorted(through),
    }
    return row, everything


def fresh(default: Any, user: Any) -> Any:
    """The environment at the start of a user task."""
    return user.init_environment(default.model_copy(deep=True))


def main() -> int:
    """0; prints the table and, below it, what got through. Raises AssertionError if Cedar decides differently."""
    rows = []
    with Remit(timeout=20) as person:  # and admin; the key that asked may not decide
        key = person.send(calls.create_api_key("agentdojo's runtime", ["authorize"])).key
        with Remit(key=key, timeout=20) as remit:
            for name, suite in get_suites(VERSION).items():
                if sys.argv[1:] and name not in sys.argv[1:]:
                    continue
                plays = []
                for policies, guard in guards_of(name, remit, person).items():
                    row, everything = measure_suite(name, suite, policies, guard)
                    rows.append(row)
                    plays.append(everything)
                    print(row, file=sys.stderr, flush=True)
                if plays[0] != plays[-1]:
                    raise AssertionError(
                        f"{name}: with people and history around it Cedar decides otherwise than Remit"
                    )
    columns = [key for key in rows[0] if key != "through"]
    print("| " + " | ".join(columns) + " |")
    print("|" + "---|" * len(columns))
    for row in rows:
        print("| " + " | ".join(str(row[key]) for key in columns) + " |")
    for row in rows:
        if row["policies"].startswith("Remit"):
            for line in row["through"]:
                print(f"- {row['suite']}, {line}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
