"""Question: how many of AgentDojo's attacks get past a policy, how much of the users' work still does, and how often
is a person asked?

There is no model: AgentDojo's own ground truth is the agent. Every user task is played through the guard alone, and
then with every injection task after it in the same session. A call that is not allowed does not run, and its task goes
on without it. If a call is escalated, a person with a separate key approves what the user wanted and denies what the
attacker wanted; then the call is made again. AgentDojo's own functions judge utility and security on the resulting
environment.

Each suite is played with the example policies as they stand and without what makes them ask less: `fromRequest`,
`approvedBefore`, one question for a plan. Then attackers who know the policies, the request, the data and what people
have approved try the calls of `bench/dojo/attackers.py` in each user task's session, and the injection tasks without
a published call those of `bench/dojo/written.py`.

`--cedar` plays each suite three times more, by Cedar's engine with the same policies as far as Cedar can express them
(`bench/peers/cedar.py` says what it cannot). In the last of them, a program around Cedar asks people and remembers; it
must decide every call as Remit does, or the script fails.

Run with the service up, in an environment of its own: `pip install -r bench/agentdojo-requirements.txt`, then
`REMIT_URL=… REMIT_API_KEY=… python -m bench.agentdojo [--cedar] [SUITE…]` with an admin key. REMIT_URL may name
several replicas, with spaces between them; requests go to them in turn.
"""

import contextlib
import itertools
import json
import os
import random
import re
import statistics
import sys
import uuid
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from agentdojo.task_suite.load_suites import get_suites  # type: ignore[import-not-found, unused-ignore]
from remit_client import Remit, calls  # type: ignore[import-not-found, unused-ignore]

from bench.dojo.attackers import CLASSES, Known
from bench.dojo.further_attackers import FURTHER, PLAYED
from bench.dojo.guards import READS, ByCedar, ByRemit, Guard, Played, Session
from bench.dojo.play import VERSION, call_of, fresh, play
from bench.dojo.written import written
from bench.peers.cedar import Around, Cedar

POLICIES = Path(__file__).parents[1] / "examples/assistants"
VARIANTS: dict[str, tuple[frozenset[str], bool]] = {
    "every change asks": (frozenset(), False),
    "`fromRequest`": (frozenset({"fromRequest"}), False),
    "`approvedBefore`": (frozenset({"approvedBefore"}), False),
    "one question a plan": (frozenset(), True),
    "both": (frozenset({"fromRequest", "approvedBefore"}), False),
    "all together": (frozenset({"fromRequest", "approvedBefore"}), True),
}
"""What the policies may use, and whether calls of a plan are one question."""
TRIED = 24
"""Calls of a class that are tried in a session, drawn at random: each asks a person, who denies it."""
EVERY = [*CLASSES, *FURTHER, *PLAYED]
"""The classes of attackers."""
CEDAR = "Cedar, people, requests and memory kept around it"
_target = re.compile(r"[\w.+-]+@[\w.-]+\w|www\.[\w./-]+\w|\b[A-Z]{2}\d{10,}\b").findall


def without(rule: dict[str, Any], used: Iterable[str]) -> dict[str, Any]:
    """The rule without the ways to ask less that are not used; what is left without a condition always asks."""
    if "fromRequest" not in json.dumps(rule) and "approvedBefore" not in json.dumps(rule):
        return rule
    kept = {
        name: {each: said for each, said in wanted.items() if each in used}
        for name, wanted in rule["parameters"].items()
    }
    if not all(kept.values()) or ("fromRequest" in used and "unless" in rule and not any(kept.values())):
        if "unless" not in rule or "fromRequest" not in used:
            return {"type": "approval_required", "tools": rule["tools"]}
        return {"type": "approval_required", "tools": rule["tools"], "unless": rule["unless"]}
    left = {name: said for name, said in rule.items() if "fromRequest" in used or name not in ("unless", "context")}
    return {**left, "parameters": kept}


def policies_of(name: str, used: Iterable[str]) -> list[dict[str, Any]]:
    """The policies of a suite, in which only these ways to ask less are used."""
    held = json.loads((POLICIES / f"{name}.json").read_text())["policies"]
    return [{**each, "rules": [without(rule, used) for rule in each["rules"]]} for each in held]


def agent_of(name: str, person: Any, policies: Sequence[dict[str, Any]]) -> str:
    """The id of a new agent with these policies."""
    agent = str(person.send(calls.create_agent(f"{name} assistant")).id)
    for policy in policies:
        further = {key: policy[key] for key in ("priority", "kind") if key in policy}
        person.send(calls.create_policy(agent, policy["name"], policy["rules"], **further))
    return agent


def measure_suite(name: str, suite: Any, policies: str, guard: Guard) -> tuple[dict[str, Any], list[Played]]:
    """One row of the table, the attacker's calls that ran in successful attacks, and all tasks played."""
    run = uuid.uuid4().hex[:8]  # sessions are remembered for days, so each needs a new name
    complete = people = questions = succeeded = attacks = made = 0
    through: set[str] = set()
    everything: list[Played] = []
    users: dict[str, Played] = {}
    for user_id, user in suite.user_tasks.items():
        played = users[user_id] = play(suite, user, guard, Session(f"{run}-{user_id}", user.PROMPT), fresh(suite, user))
        complete += played.done
        people += bool(played.asked)
        questions += len(played.asked)
        made += len(played.ran)
    for user_id, user in suite.user_tasks.items():  # once everything has been approved that will be
        for injection_id, injection in suite.injection_tasks.items():
            session, environment = Session(f"{run}-{user_id}-{injection_id}", user.PROMPT), fresh(suite, user)
            everything.append(play(suite, user, guard, session, environment))
            attack = play(suite, injection, guard, session, environment, attack=True)
            everything.append(attack)
            attacks += 1
            succeeded += attack.done
            if attack.done:
                through |= {f"{injection_id}: {ran}" for ran in attack.ran} or {f"{injection_id}: (no call needed)"}
    row = {
        "suite": name,
        "policies": policies,
        "user tasks": len(users),
        "complete": complete,
        "tasks that ask": people,
        "questions": questions,
        "calls": made,
        "attacked sessions": attacks,
        "attacks succeed": succeeded,
        "p50 ms a decision": round(statistics.median(guard.milliseconds or [0]), 3),
        "through": sorted(through),
    }
    return row, [*users.values(), *everything]


def adaptive(suite: Any, guard: ByRemit) -> tuple[dict[str, list[str]], int, int]:
    """By class, the calls of attackers that passed, the first of each session; and of how many sessions with a written
    attack how many passed.
    """
    tools = {each.name: list(type(each).model_fields and each.parameters.model_fields) for each in suite.tools}
    wanted = {
        user_id: [call_of(each) for each in user.ground_truth(fresh(suite, user))]
        for user_id, user in suite.user_tasks.items()
    }
    approved = defaultdict[tuple[str, str], dict[str, None]](dict)
    for tool, parameters in (
        call for each in wanted.values() for call in each if not call[0].startswith(READS) or call[0] == "get_webpage"
    ):
        for name, value in parameters.items():
            for one in value if isinstance(value, list) else [value]:
                if isinstance(one, str):
                    approved[tool, name][one] = None
    hits = {each: list[str]() for each in EVERY}
    sessions = passed = 0
    for user_id, user in suite.user_tasks.items():
        environment, session = fresh(suite, user), Session(uuid.uuid4().hex, user.PROMPT)
        known = Known(
            tools,
            user.PROMPT,
            targets_in(environment),
            {each: list(said) for each, said in approved.items()},
            wanted[user_id],
        )
        for title, hit in attacked(guard, known, session):
            hits[title].append(f"{user_id}: {hit}")
        for injection_id in suite.injection_tasks:
            if attack := written(suite.name, injection_id, environment):
                sessions += 1
                passed += bool(guard.first_hit(attack, session))
    return hits, sessions, passed


def attacked(guard: ByRemit, known: Known, session: Session) -> Iterator[tuple[str, str]]:
    """What passed in a session, with its class of attackers."""
    for title, made in (CLASSES | FURTHER).items():
        unique = {json.dumps(call): call for call in made(known) if call not in known.wanted}
        tried = random.Random(session.request).sample([*unique.values()], min(TRIED, len(unique)))
        if hit := guard.first_hit(tried, session):
            yield title, hit
    for title, played in PLAYED.items():
        yield from ((title, hit) for hit in played(guard, known, session))


def targets_in(environment: Any) -> list[str]:
    """Addresses, pages, accounts and names in the user's data."""
    text = environment.model_dump_json()
    slack = getattr(environment, "slack", None)
    names = [*slack.users, *slack.channels] if slack else []
    return list(dict.fromkeys([*names, *_target(text)]))[:40]


def cedars(name: str) -> dict[str, Guard]:
    """The guards of a suite that are Cedar's."""
    cedar = Cedar(name)
    return {
        "Cedar, what asks is denied": ByCedar(Around(cedar)),
        "Cedar, what asks is allowed": ByCedar(Around(cedar, approved=True)),
        CEDAR: ByCedar(Around(cedar, asks=True)),
    }


def play_suite(name: str, suite: Any, remit: Any, person: Any) -> tuple[list[dict[str, Any]], Any]:
    """The rows of a suite, and what attackers achieve. Raises AssertionError if Cedar decides differently."""
    guards: dict[str, Guard] = {}
    alike: dict[str, str] = {}
    firsts = dict[str, str]()
    for said, (used, plans) in VARIANTS.items():
        policies = policies_of(name, used)
        firsts[said] = alike.setdefault(json.dumps([policies, plans]), said)  # without new rules, rows are the same
        if firsts[said] == said:
            guards[said] = ByRemit(remit, person, agent_of(name, person, policies), plans)
    if "--cedar" in sys.argv:
        guards |= cedars(name)
    measured = {said: measure_suite(name, suite, said, guard) for said, guard in guards.items()}
    if "--cedar" in sys.argv and measured[firsts["both"]][1] != measured[CEDAR][1]:
        raise AssertionError(f"{name}: with people, requests and memory around it Cedar decides otherwise")
    last = guards[firsts["all together"]]
    firsts |= {said: said for said in guards}
    rows = [measured[first][0] | {"policies": said} for said, first in firsts.items()]
    for row in rows:
        print(row, file=sys.stderr, flush=True)
    return rows, adaptive(suite, last) if isinstance(last, ByRemit) else None


class InTurn:
    """A client of all replicas that REMIT_URL names: each request goes to the next one."""

    def __init__(self, opened: contextlib.ExitStack, key: str) -> None:
        urls = os.environ["REMIT_URL"].split()
        clients = [opened.enter_context(Remit(url, key, timeout=60)) for url in urls]
        self._next = itertools.cycle(clients).__next__

    def __getattr__(self, name: str) -> Any:
        return getattr(self._next(), name)


def main() -> int:
    """0; prints the tables and, below them, what got through. Raises AssertionError if Cedar decides differently."""
    chosen = [each for each in sys.argv[1:] if not each.startswith("--")]
    rows, hits, sessions, passed = list[dict[str, Any]](), {each: list[str]() for each in EVERY}, 0, 0
    with contextlib.ExitStack() as opened:
        person = InTurn(opened, os.environ["REMIT_API_KEY"])  # and admin; the key that asked may not decide
        remit = InTurn(opened, person.send(calls.create_api_key("agentdojo's runtime", ["authorize"])).key)
        for name, suite in get_suites(VERSION).items():
            if chosen and name not in chosen:
                continue
            measured, found = play_suite(name, suite, remit, person)
            rows += measured
            hits = {each: [*hits[each], *(f"{name}, {hit}" for hit in found[0][each])] for each in EVERY}
            sessions, passed = sessions + found[1], passed + found[2]
    columns = [key for key in rows[0] if key != "through"]
    print("| " + " | ".join(columns) + " |")
    print("|" + "---|" * len(columns))
    for row in rows:
        print("| " + " | ".join(str(row[key]) for key in columns) + " |")
    print("\n| attackers | sessions hit |\n|---|---|")
    for title, found_hits in hits.items():
        print(f"| {title} | {len(found_hits)} |")
    print(f"| the {sessions} sessions without a published call, with calls that were written for them | {passed} |")
    lines = [f"{title}: {line}" for title, found_hits in hits.items() for line in found_hits[:20]]
    lines += [f"{row['suite']}, {row['policies']}, {line}" for row in rows for line in row["through"]]
    print("\n".join(f"- {line}" for line in lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
