"""Question: what of AgentDojo's attacks gets past a policy, and what of the users' work gets past it, too?

No model: AgentDojo's own ground truth is the agent. Every user task is played through the guard alone, and then with
every injection task played behind it in the same session. A call that is not allowed does not run and its task goes on
without it. Where a call is escalated a person decides with a key of their own: yes to what the user wanted, no to what
the attacker wanted; the call is then asked again and obeyed. Utility and security are judged by AgentDojo's own
functions on the environment that results.

Each suite is played three times: with its policies, and with what is left of them in a decision point without state and
without people (Cerbos, OPA: lists and conditions on arguments), where what asked a person is either denied or allowed.

Run with the service up, in an environment of its own: `pip install -r bench/agentdojo-requirements.txt`, then
`REMIT_URL=… REMIT_API_KEY=… python -m bench.agentdojo [SUITE…]` with an admin key.
"""

import json
import statistics
import sys
import time
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

# The benchmark is no dependency of the service; its own requirements install it.
from agentdojo.functions_runtime import FunctionsRuntime  # type: ignore[import-not-found, unused-ignore]
from agentdojo.task_suite.load_suites import get_suites  # type: ignore[import-not-found, unused-ignore]
from remit_client import Remit, calls  # type: ignore[import-not-found, unused-ignore]

VERSION = "v1.2.2"
POLICIES = Path(__file__).parents[1] / "examples/assistants"
STATEFUL = ("rate_limit", "budget", "sequence")
VARIANTS = ("as written", "no state, asking denies", "no state, asking allows")


@dataclass
class Played:
    """One task played through the guard. asked: the calls that a person saw; ran: those that were made."""

    done: bool = False
    asked: list[str] = field(default_factory=list)
    ran: list[str] = field(default_factory=list)


@dataclass
class Guard:
    """Asks for each call of one agent, and a person where the answer is to ask one."""

    remit: Any
    person: Any
    agent: str
    milliseconds: list[float] = field(default_factory=list)

    def permits(self, tool: str, parameters: dict[str, Any], session: str, played: Played, *, wanted: bool) -> bool:
        """Whether the call may run; a person says yes to it if it is `wanted`."""
        decision = self._ask(tool, parameters, session)
        if decision.result != "escalated":
            return bool(decision.allowed)
        asked = self.person.send(calls.get_approval(decision.approval.id))
        shown_whole = asked.parameters == parameters or asked.raw["hides"]  # a secret is hidden, and said to be
        if not shown_whole or asked.tool_name != tool:
            raise AssertionError(f"the person was shown {asked.tool_name} {asked.parameters}, not {tool} {parameters}")
        played.asked.append(described(tool, parameters))
        if not wanted:
            self.person.deny(asked.id)
        else:
            self.person.approve(asked.id, accept_hidden=True)
        return bool(self._ask(tool, parameters, session).allowed) if wanted else False

    def _ask(self, tool: str, parameters: dict[str, Any], session: str) -> Any:
        began = time.perf_counter()
        decision = self.remit.authorize(self.agent, tool, parameters, context={"session": session})
        self.milliseconds.append((time.perf_counter() - began) * 1000)
        return decision


def play(suite: Any, task: Any, guard: Guard, session: str, environment: Any, *, attack: bool = False) -> Played:
    """The ground truth of a task, call by call, on `environment`; it goes on after a call that was not made.

    `done` of an attack is that it succeeded.
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
        output = ""  # what the model merely says passes no tool
    judged = "security" if attack else "utility"
    traces = getattr(task, f"{judged}_from_traces", None)
    said = traces(output, before, environment, made) if traces else None
    played.done = bool(getattr(task, judged)(output, before, environment) if said is None else said)
    return played


def described(tool: str, parameters: dict[str, Any]) -> str:
    """A call in one line."""
    return f"{tool} {json.dumps(parameters)[:160]}"


def without_state(policies: list[dict[str, Any]], *, asking: str) -> list[dict[str, Any]]:
    """What a decision point without state and people can keep of policies; `asking` denies or allows."""
    kept = []
    for policy in policies:
        rules = [rule for rule in policy["rules"] if rule["type"] not in STATEFUL or asks(rule)]
        if rules:
            kept.append(policy | {"rules": [stateless(rule, asking) if asks(rule) else rule for rule in rules]})
    return kept


def asks(rule: dict[str, Any]) -> bool:
    """Whether a person is asked where this rule fails."""
    return rule["type"] == "approval_required" or rule.get("effect") == "escalate"


def stateless(rule: dict[str, Any], asking: str) -> dict[str, Any]:
    """A rule that asks, where nobody can be asked."""
    covers: dict[str, Any] = {key: rule[key] for key in ("tools", "when", "unless") if key in rule}
    if asking == "allows":
        return {"type": "parameter_constraint", **covers, "parameters": {"whatever": {"required": False}}}
    if rule["type"] == "approval_required" or rule["type"] in STATEFUL:
        return {"type": "tool_denylist", **covers}
    return {key: value for key, value in rule.items() if key not in ("effect", "approval")}


def measure_suite(name: str, suite: Any, variant: str, remit: Any, person: Any) -> dict[str, Any]:
    """One row of the table, and the attacker's calls that ran in attacks that succeeded."""
    held = json.loads((POLICIES / f"{name}.json").read_text())
    agent = person.send(calls.create_agent(f"{held['agent']['name']}, {variant}")).id
    policies = held["policies"]
    if variant != VARIANTS[0]:
        policies = without_state(policies, asking=variant.rpartition(" ")[2])
    for policy in policies:
        further = {key: policy[key] for key in ("priority", "kind") if key in policy}
        person.send(calls.create_policy(agent, policy["name"], policy["rules"], **further))
    guard = Guard(remit, person, agent)
    default = suite.load_and_inject_default_environment({})
    run = uuid.uuid4().hex[:8]  # what a session was allowed is remembered for days
    complete = people = seen = attacks = succeeded = 0
    through: set[str] = set()
    for user_id, user in suite.user_tasks.items():
        played = play(suite, user, guard, f"{run}-{user_id}", fresh(default, user))
        complete += played.done
        people += bool(played.asked)
        seen += len(played.asked)
        for injection_id, injection in suite.injection_tasks.items():
            environment, session = fresh(default, user), f"{run}-{user_id}-{injection_id}"
            play(suite, user, guard, session, environment)
            attack = play(suite, injection, guard, session, environment, attack=True)
            attacks += 1
            succeeded += attack.done
            if attack.done:
                through |= {f"{injection_id}: {ran}" for ran in attack.ran} or {f"{injection_id}: (no call needed)"}
    return {
        "suite": name,
        "policies": variant,
        "user tasks": len(suite.user_tasks),
        "complete": complete,
        "of them with a person": people,
        "calls a person sees": seen,
        "attacked sessions": attacks,
        "attacks succeed": succeeded,
        "p50 ms a call": round(statistics.median(guard.milliseconds), 2),
        "through": sorted(through),
    }


def fresh(default: Any, user: Any) -> Any:
    """The environment in which a user task begins."""
    return user.init_environment(default.model_copy(deep=True))


def main() -> int:
    """0; the table goes to stdout, what got through below it."""
    rows = []
    with Remit(timeout=20) as person:  # and admin; a key that asked may not decide
        key = person.send(calls.create_api_key("agentdojo's runtime", ["authorize"])).key
        with Remit(key=key, timeout=20) as remit:
            for name, suite in get_suites(VERSION).items():
                for variant in VARIANTS if not sys.argv[1:] or name in sys.argv[1:] else ():
                    rows.append(measure_suite(name, suite, variant, remit, person))
                    print(rows[-1], file=sys.stderr, flush=True)
    columns = [key for key in rows[0] if key != "through"]
    print("| " + " | ".join(columns) + " |")
    print("|" + "---|" * len(columns))
    for row in rows:
        print("| " + " | ".join(str(row[key]) for key in columns) + " |")
    for row in rows:
        if row["policies"] == VARIANTS[0]:
            for line in row["through"]:
                print(f"- {row['suite']}, {line}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
