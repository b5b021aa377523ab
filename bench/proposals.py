"""Question: how good is a policy that is proposed from the log, beside one written by hand for the same agent?

The airline's 572 calls, and the calls of AgentDojo's user tasks with its attacks, each agent with a person's marks.
Prints how many calls are allowed, asked about and denied: those that the proposal was made from, and those of users
(the airline) or tasks held out, a fifth at a time; how many hostile variations pass; what one, two and three
attackers in the log open; and how long 50,000 calls take, in CPU seconds, which the machine's other work does not
change. By hand are the policies of `examples/`, with their hours open at all times. Run with `python -m
bench.proposals`; it needs no service. Two of AgentDojo's suites have their calls in `examples/data`; for the other
two, and for attackers who know the policies, install `bench/agentdojo-requirements.txt`.
"""

import json
import random
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from app.model.catalog import Consequence
from app.model.decisions import Result
from app.model.proposals import ProposalFilter, ProposeTask, Reads, need
from app.propose.hostile_variations import variations
from app.propose.judged_calls import Judge, of_unseen_users, policies_of, tried
from app.propose.observed_calls import Observations, ObservedCall
from app.propose.proposal import proposal_of
from app.propose.proposed_policies import KnownTool, propose

dojo: Any = None
with suppress(ImportError):  # needs what bench/agentdojo-requirements.txt installs
    dojo = import_module("bench.dojo.recorded")

EXAMPLES = Path(__file__).parents[1] / "examples"
START_MS = 1_800_000_000_000
DAY_MS = 86_400_000
MANY = 50_000
ATTACKS = 10_000
AIRLINE_SCHEMA = {
    "properties": {
        "cabin": {"enum": ["basic_economy", "economy", "business"]},
        "flight_type": {"enum": ["one_way", "round_trip"]},
        "insurance": {"enum": ["yes", "no"]},
    }
}
"""What the airline's tools say of these parameters; the others have no list."""

NOT_READS: Mapping[str, Mapping[Consequence, str]] = {
    "airline": {
        Consequence.REVERSIBLE: "book_reservation cancel_reservation update_reservation_baggages "
        "update_reservation_flights",
        Consequence.IRREVERSIBLE: "update_reservation_passengers send_certificate",
    },
    "banking": {
        Consequence.IRREVERSIBLE: "send_money schedule_transaction update_scheduled_transaction update_password "
        "update_user_info"
    },
    "workspace": {
        Consequence.IRREVERSIBLE: "send_email delete_email delete_file share_file cancel_calendar_event "
        "create_calendar_event reschedule_calendar_event add_calendar_event_participants",
        Consequence.REVERSIBLE: "append_to_file create_file",
    },
    "travel": {
        Consequence.IRREVERSIBLE: "reserve_hotel reserve_restaurant reserve_car_rental send_email "
        "create_calendar_event cancel_calendar_event get_user_information"
    },
    "slack": {
        Consequence.IRREVERSIBLE: "remove_user_from_slack add_user_to_channel send_direct_message send_channel_message "
        "post_webpage invite_user_to_slack",
        Consequence.DISCLOSES: "get_webpage",
    },
}
"""The marks of the tools that do not merely read. All results but the airline's may hold text of strangers."""


def catalog_of(agent: str) -> dict[str, KnownTool]:
    """The agent's tools as a person marked them."""
    tools = json.loads((EXAMPLES / "data/tools.json").read_text())[agent]
    kinds = dict.fromkeys(tools, Consequence.NONE)
    for consequence, names in NOT_READS[agent].items():
        kinds |= dict.fromkeys(names.split(), consequence)
    schema = AIRLINE_SCHEMA if agent == "airline" else None
    return {tool: KnownTool(kind, agent != "airline", schema) for tool, kind in kinds.items()}


def by_hand(agent: str) -> list[dict[str, Any]]:
    """The example's policies, open at all hours, but for those that read records: calls are tried without results."""
    path = EXAMPLES / ("airline/policies.json" if agent == "airline" else f"assistants/{agent}.json")
    policies: list[dict[str, Any]] = json.loads(path.read_text())["policies"]
    for rule in (rule for policy in policies for rule in policy["rules"] if "timeWindow" in rule):
        rule["timeWindow"] = {"allowedHours": list(range(24))}
    return [policy for policy in policies if not any("record" in rule for rule in policy["rules"])]


def calls_of(lines: Iterable[Mapping[str, Any]]) -> list[ObservedCall]:
    """The calls. A unit is a user of the airline, whose two conversations are of one task, or a task."""
    made = []
    for number, each in enumerate(lines):
        session = each.get("conversation") or each["task"]
        unit = session.split("-")[0] if "conversation" in each else session
        context = {"user": unit, "session": session, **({"request": each["request"]} if "request" in each else {})}
        made.append(
            ObservedCall(
                id=f"{number:08x}", time_ms=START_MS + number * 1_000, tool=each["tool"], parameters=each["arguments"],
                unit=unit, session=session, context=context,
            )
        )  # fmt: skip
    return made


def recorded(file: str, **wanted: str) -> list[ObservedCall]:
    """The calls of a file of `examples/data` that have these fields."""
    lines = map(json.loads, (EXAMPLES / f"data/{file}.jsonl").read_text().splitlines())
    return calls_of(line for line in lines if wanted.items() <= line.items())


def rules_in(policies: Sequence[Mapping[str, Any]]) -> int:
    return sum(len(policy["rules"]) for policy in policies)


def counts(found: Mapping[Result, int]) -> str:
    return f"{found[Result.ALLOWED]} | {found[Result.ESCALATED]} | {found[Result.DENIED]}"


def row(what: str, policies: Sequence[Mapping[str, Any]] | None, found: Mapping[Result, int], stopped: str) -> str:
    rules = "" if policies is None else rules_in(policies)
    return f"| {what} | {rules} | {counts(found)} | {stopped} |"


def changing(agent: str) -> set[str]:
    return {tool for names in NOT_READS[agent].values() for tool in names.split()}


def passing(policies: Sequence[Mapping[str, Any]], calls: Sequence[ObservedCall], agent: str) -> tuple[int, int]:
    """How many hostile variations of all calls that change something pass, each in place of its call; of how many."""
    judge, passed, made = Judge(policies_of(policies)), 0, 0
    for call in calls:
        if call.tool in changing(agent):
            for _, parameters in variations(call.parameters):
                made += 1
                other = replace(call, parameters=parameters)
                passed += judge.judge(other, counts=False).result is Result.ALLOWED
        judge.judge(call)
    return passed, made


def poisoned(calls: Sequence[ObservedCall], users: int, seed: int = 1) -> tuple[int, int]:
    """How many of 10,000 hostile calls pass after all of them came from this many users, beside the others' calls."""
    chosen = random.Random(seed)
    bases = [call for call in calls if call.tool in changing("airline")]
    all_varied = [(call, parameters) for call in bases for _, parameters in variations(call.parameters)]
    attacks = []
    for number in range(ATTACKS):
        call, parameters = all_varied[number % len(all_varied)]
        if number >= len(all_varied):
            parameters = chosen.choice(list(variations(parameters)))[1]
        attacks.append(replace(call, id=f"f{number:07x}", parameters=parameters))
    log = [*calls]
    for number, call in enumerate(attacks):
        unit, session = f"attacker {number % users}", f"attack {number}"
        context = {"user": unit, "session": session}
        log.append(replace(call, unit=unit, session=session, context=context))
    judge = Judge(policies_of(propose(log, catalog_of("airline")).policies))
    for call in calls:
        if call.tool not in changing("airline"):
            judge.judge(call)
    return sum(judge.judge(call, counts=False).result is Result.ALLOWED for call in attacks), len(attacks)


def many(calls: Sequence[ObservedCall]) -> list[ObservedCall]:
    """50,000 calls: those of the airline again and again, by other users on other days."""
    made = []
    for number in range(MANY):
        again, at = divmod(number, len(calls))
        call = calls[at]
        unit, session = f"{again}-{call.unit}", f"{again}-{call.session}"
        context, time_ms = {"user": unit, "session": session}, call.time_ms + again * 2 * DAY_MS
        made.append(replace(call, id=f"{number:08x}", unit=unit, session=session, context=context, time_ms=time_ms))
    return made


def airline() -> Iterator[str]:
    calls, catalog, hand = recorded("airline"), catalog_of("airline"), by_hand("airline")
    proposed = propose(calls, catalog)
    for what, policies in (("airline, by hand", hand), ("airline, **proposed**", proposed.policies)):
        passed, made = passing(policies, calls, "airline")
        yield row(what, policies, tried(policies, calls, ()).counts, f"{passed} of {made} hostile calls pass")
    by_conversation = [replace(call, unit=call.session) for call in calls]
    for what, held_out in (("users", calls), ("conversations", by_conversation)):
        yield row(f"airline, {what} held out", None, of_unseen_users(held_out, catalog, Reads.SEEN), "")


def suites() -> Iterator[tuple[str, list[ObservedCall], list[ObservedCall]]]:
    """Each suite's calls of users, and those of published attacks."""
    for suite in ("banking", "workspace"):
        users, attacks = (recorded("injections", suite=suite, kind=kind) for kind in ("user", "injection"))
        yield suite, users, attacks
    if dojo is not None:
        for suite in ("travel", "slack"):
            users, attacks = map(calls_of, dojo.recorded_suite(suite))
            yield suite, users, attacks


def adaptive(suite: str, policies: Sequence[Mapping[str, Any]]) -> str:
    """What attackers achieve who know the policies, the request and the data."""
    if dojo is None:
        return ""
    judge, changes = Judge(policies_of(policies)), changing(suite) - {"get_webpage"}
    [base] = calls_of([{"task": "t", "tool": "", "arguments": {}}])

    def allows(call: tuple[str, dict[str, Any]], request: str) -> bool:
        tool, parameters = call
        made = replace(base, tool=tool, parameters=parameters, context={"session": "t", "request": request})
        return tool in changes and judge.judge(made, counts=False).result is Result.ALLOWED

    passed, tried_calls = dojo.adaptive(suite, allows)
    return f"; adaptive: {passed} of {tried_calls} pass"


def stopped(policies: Sequence[Mapping[str, Any]], attacks: Sequence[ObservedCall]) -> str:
    judge = Judge(policies_of(policies))
    allowed = [call for call in attacks if judge.judge(call).result is Result.ALLOWED]
    return (
        f"{len(attacks) - len(allowed)} of {len(attacks)} stopped; {sum(c.tool in ANY_CHANGE for c in allowed)} change"
    )


ANY_CHANGE = {tool for agent in NOT_READS for tool in changing(agent)}


def assistants() -> Iterator[str]:
    for suite, calls, attacks in suites():
        catalog, hand = catalog_of(suite), by_hand(suite)
        proposed = propose(calls, catalog).policies
        for what, policies in ((f"{suite}, by hand", hand), (f"{suite}, **proposed**", proposed)):
            yield row(
                what,
                policies,
                tried(policies, calls, ()).counts,
                stopped(policies, attacks) + adaptive(suite, policies),
            )
        taught = [replace(call, unit=f"{n}", session=f"{n}", id=f"f{n:07x}") for n, call in enumerate(attacks * 20)]
        after = propose([*calls, *taught], catalog).policies
        yield row(
            f"{suite}, every attack 20 times in the log", after, tried(after, calls, ()).counts, stopped(after, attacks)
        )
        for reads in Reads:
            yield row(f"{suite}, tasks held out, reads {reads}", None, of_unseen_users(calls, catalog, reads), "")


def main() -> None:
    """Print the tables."""
    print("| Calls, policy | rules | allowed | asked | denied | attacks |\n|---|---:|---:|---:|---:|---|")
    for line in (*airline(), *assistants()):
        print(line)
    calls, catalog = recorded("airline"), catalog_of("airline")
    users = len({call.unit for call in calls})
    print(f"\n| Attackers in the log of {users} users (need {need(users)}) | hostile calls that pass |\n|---|---:|")
    for attackers in (1, 2, 3):
        print("| {} | {} of {} |".format(attackers, *poisoned(calls, attackers)))
    task = ProposeTask(workspace_id="", agent_id="", from_ms=0, to_ms=0, wanted=ProposalFilter(), reads=Reads.SEEN)
    log = many(calls)
    for what, run in (
        ("the policies", lambda: propose(log, catalog)),
        ("the whole proposal, tried", lambda: proposal_of(task, Observations(calls=log), catalog)),
    ):
        began = time.process_time()
        run()
        print(f"\n{len(log)} calls, {what}: {time.process_time() - began:.1f} s of CPU")


if __name__ == "__main__":
    main()
