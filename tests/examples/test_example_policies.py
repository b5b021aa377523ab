"""The airline's policies at chosen times: what the replay cannot show, because the service's clock is what it is."""

import json
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import msgspec
import pytest

from app.http.api.policies import CreatePolicy
from app.model.agents import Agent
from app.model.decisions import AuthorizeRequest, Result
from app.model.policies import Policy
from app.pdp import compile_agent, decide

EXAMPLES = Path(__file__).parents[2] / "examples"
CALLS = [json.loads(line) for line in (EXAMPLES / "data/airline.jsonl").read_text().splitlines()]
CHICAGO = ZoneInfo("America/Chicago")
CHANGING = {
    "book_reservation",
    "cancel_reservation",
    "send_certificate",
    "update_reservation_baggages",
    "update_reservation_flights",
    "update_reservation_passengers",
}
AGENT = Agent(id="0" * 8, name="airline", created_ms=0, updated_ms=0, version="")


def compiled(file):
    """The agent of a policy file, from bodies that the API takes."""
    bodies = json.loads((EXAMPLES / file).read_text())["policies"]
    created = [
        msgspec.convert(body | {"agent_id": "00000000-0000-4000-8000-000000000000"}, CreatePolicy) for body in bodies
    ]
    policies = [
        Policy(
            id=str(number),
            agent_id=AGENT.id,
            name=body.name,
            rules=tuple(body.rules),
            priority=body.priority,
            enabled=body.enabled,
            created_ms=number,
            updated_ms=number,
            version=1,
        )
        for number, body in enumerate(created)
    ]
    return compile_agent(AGENT, policies, lambda _: False)


def outcomes(agent, moment):
    """The outcome of every call at this moment, all quotas having room."""
    now_us = int(moment.astimezone(UTC).timestamp()) * 1_000_000
    requests = [AuthorizeRequest(AGENT.id, call["tool"], "authorize", call["arguments"], b"") for call in CALLS]
    return [(request.tool_name, decide(agent, request, now_us).outcome) for request in requests]


def test_on_a_sunday_every_call_that_changes_something_is_denied():
    """As the README counts them, each with the reason that names the window; reads go on."""
    sunday = outcomes(compiled("airline/policies.json"), datetime(2026, 11, 22, 12, 0, tzinfo=CHICAGO))
    denied = [(tool, outcome.reason) for tool, outcome in sunday if outcome.result is Result.DENIED]
    assert {tool for tool, _ in denied} == CHANGING
    assert len(denied) == sum(call["tool"] in CHANGING for call in CALLS)
    assert all("outside the window (hours 8-19; Mon, Tue, Wed, Thu, Fri)" in reason for _, reason in denied)
    readme = (EXAMPLES / "README.md").read_text()
    assert f"on a Sunday: {len(denied)} of the {len(CALLS)} calls are denied" in readme


@pytest.mark.parametrize("month", [1, 7], ids=["winter", "summer"])
@pytest.mark.parametrize(("hour", "minute", "is_open"), [(7, 59, False), (8, 0, True), (19, 59, True), (20, 0, False)])
def test_the_desk_opens_at_8_and_closes_at_20_in_chicago(month, hour, minute, is_open):
    """By the clock on the wall there, on either side of the change to daylight saving."""
    weekday = datetime(2026, month, 6 if month == 7 else 5, hour, minute, tzinfo=CHICAGO)
    assert weekday.isoweekday() == 1
    counts = Counter(
        outcome.result for tool, outcome in outcomes(compiled("airline/policies.json"), weekday) if tool in CHANGING
    )
    assert (counts[Result.ALLOWED] > 0) is is_open
    assert is_open or set(counts) == {Result.DENIED}


def test_an_allowlist_stands_only_in_the_lowest_priority_of_its_file():
    """It denies what is not on it, so above other policies it would decide everything."""
    for file in ("airline/policies.json", "assistants/banking.json", "assistants/workspace.json"):
        policies = json.loads((EXAMPLES / file).read_text())["policies"]
        listed = {p["priority"] for p in policies if any(rule["type"] == "tool_allowlist" for rule in p["rules"])}
        assert listed == {min(policy["priority"] for policy in policies)}


def test_the_policies_cover_exactly_the_tools_of_their_agents():
    """A misspelt tool in a policy would match no call, and nobody would see it."""
    injections = [json.loads(line) for line in (EXAMPLES / "data/injections.jsonl").read_text().splitlines()]
    used = {
        "airline/policies.json": {call["tool"] for call in CALLS},
        # delete_email is the attacker's alone, and no policy names it: the allowlist denies it.
        "assistants/banking.json": {call["tool"] for call in injections if call["suite"] == "banking"},
        "assistants/workspace.json": {call["tool"] for call in injections if call["suite"] == "workspace"}
        - {"delete_email"},
    }
    for file, tools in used.items():
        policies = json.loads((EXAMPLES / file).read_text())["policies"]
        named = {tool for policy in policies for rule in policy["rules"] for tool in rule["tools"]} - {"*"}
        assert named == tools


def test_the_notice_counts_the_calls_it_licenses():
    """Both files, whole."""
    notice = (EXAMPLES / "data/NOTICE.md").read_text()
    for file in ("airline", "injections"):
        count = len((EXAMPLES / f"data/{file}.jsonl").read_text().splitlines())
        assert f"`{file}.jsonl`: {count} tool calls" in notice
