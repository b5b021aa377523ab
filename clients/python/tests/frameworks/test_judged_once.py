"""The rows of clients/adapters.json, played by each adapter through its framework with a real service."""

import importlib
import json
import re

import pytest
from driver import NAME
from scripted import OLDER_MCP
from service import ROOT

from remit_client import Remit, calls

DRIVERS = importlib.import_module("drivers_older_mcp" if OLDER_MCP else "drivers").DRIVERS
ROWS = json.loads((ROOT / "clients/adapters.json").read_text())["rows"]
NAMES = {row["name"] for row in ROWS}


@pytest.fixture(scope="module")
def person(service, admin):
    with Remit(service.url, admin.send(calls.create_api_key("Eve", ["approve"])).key, timeout=20) as remit:
        yield remit


def rules_of(row):
    yield {"type": "tool_allowlist", "tools": [NAME]}
    if "limit" in row:
        yield {
            "type": "rate_limit",
            "tools": [NAME],
            "rateLimit": {"maxCalls": row["limit"], "windowSeconds": 3600},
        }
    if "budget" in row:
        budget = {"parameter": "amount", "max": row["budget"], "windowSeconds": 3600}
        yield {"type": "budget", "tools": [NAME], "budget": budget}
    if row.get("asks"):
        yield {"type": "approval_required", "tools": [NAME]}
    for most, effect in (("max", "deny"), ("asksAbove", "escalate")):
        if most in row:
            parameters = {"amount": {"max": row[most]}}
            yield {"type": "parameter_constraint", "tools": [NAME], "parameters": parameters, "effect": effect}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["name"])
@pytest.mark.parametrize("framework", DRIVERS, ids=lambda one: one.__name__)
async def test_a_call_is_judged_once(framework, row, service, admin, asking_key, person):
    if row["name"] in framework.CANNOT:
        pytest.skip(framework.CANNOT[row["name"]])
    if not framework.COMES_BACK and set(row["steps"]) != {"start"}:
        pytest.skip("it does not come back to a call")
    agent = admin.send(calls.create_agent("desk")).id
    policy = admin.send(calls.create_policy(agent, "desk", list(rules_of(row))))
    desk = framework((service.url, asking_key), agent, row["calls"], row["pauses"])
    for step in row["steps"]:
        if step == "suspend":
            admin.send(calls.update_agent(agent, status="suspended"))
        elif step == "edit":
            admin.send(calls.update_policy(policy.id, name="desk, edited"))
        elif step in ("approve", "deny", "cancel"):
            [pending] = person.send(calls.list_approvals("pending", agent))
            if step == "cancel":
                with Remit(service.url, asking_key, timeout=20) as asker:
                    asker.cancel(pending.id)
            else:
                getattr(person, step)(pending.id, note="not today")
        elif step == "restart":
            desk.restart()
        else:
            await getattr(desk, step)()
    log = admin.send(calls.list_audit_logs(agent_id=agent, result="allowed"))
    assert (sorted(desk.ran), len(log)) == (row["ran"], row["allowed"])
    assert re.search(row["says"], desk.said, re.IGNORECASE), desk.said
    assert person.send(calls.list_approvals("pending", agent)) == []


@pytest.mark.parametrize("framework", DRIVERS, ids=lambda one: one.__name__)
def test_what_a_framework_cannot_play_is_a_row(framework):
    assert framework.CANNOT.keys() <= NAMES
