"""The rows of clients/adapters.json, played by each adapter through its framework with a real service."""

import importlib
import json
import re
import time

import pytest
from driver import NAME
from scripted import OLDER_MCP
from service import ROOT

from remit_client import Remit, calls

DRIVERS = importlib.import_module("drivers_older_mcp" if OLDER_MCP else "drivers").DRIVERS
ROWS = json.loads((ROOT / "clients/adapters.json").read_text())["rows"]
SLOT_S, NAMES_MAX = 4 * 3600, 1_000_000
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


class Stage:
    """Where a row is played. The steps that are not the driver's own have its methods' names."""

    def __init__(self, framework, row, service, admin, person):
        self._row, self._service, self._admin, self._person = row, service, admin, person
        self._key = admin.send(calls.create_api_key("runtime", ["read"]))
        self._policy = self._new_policy()
        settings, pauses, delegates = (service.url, self._key.key), row["pauses"], row.get("delegates", False)
        self.desk = framework(settings, self._policy.agent_id, row["calls"], pauses, delegates)

    def suspend(self):
        self._admin.send(calls.update_agent(self.desk.agent, status="suspended"))

    def edit(self):
        self._admin.send(calls.update_policy(self._policy.id, name="desk, edited"))

    def move(self):
        self.desk.agent = self._new_policy().agent_id
        self.desk.restart()

    def approve(self):
        self._person.approve(self.pending()[0].id)

    def deny(self):
        self._person.deny(self.pending()[0].id, note="not today")

    def cancel(self):
        with Remit(self._service.url, self._key.key, timeout=20) as asker:
            asker.cancel(self.pending()[0].id)

    def expire(self):
        """Instead of a wait of a minute or more."""
        assert self._store(f"HSET {{}}approval:{self.pending()[0].id} expires_ms 1") == ":0"

    def fill(self):
        """As many names as a key may have, as lua/commit_decision/first_answers.lua counts them."""
        slot = int(time.time()) // SLOT_S
        assert self._store(f'HSET {{}}key:{self._key.id}:answers {slot % 8} "{slot} {NAMES_MAX}"') == ":1"

    def pending(self):
        return self._person.send(calls.list_approvals("pending", self.desk.agent))

    def allowed(self):
        return len(self._admin.send(calls.list_audit_logs(agent_id=self.desk.agent, result="allowed")))

    def _new_policy(self):
        """Of a new agent."""
        agent = self._admin.send(calls.create_agent("desk")).id
        return self._admin.send(calls.create_policy(agent, "desk", list(rules_of(self._row))))

    def _store(self, command):
        return self._service.store(command.format(f"remit:{{{self._service.store('HGET remit:workspaces default')}}}:"))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["name"])
@pytest.mark.parametrize("framework", DRIVERS, ids=lambda one: one.__name__)
async def test_a_call_is_judged_once(framework, row, service, admin, person):
    if row["name"] in framework.CANNOT:
        pytest.skip(framework.CANNOT[row["name"]])
    if not framework.COMES_BACK and set(row["steps"]) != {"start"}:
        pytest.skip("it does not come back to a call")
    stage = Stage(framework, row, service, admin, person)
    for step in row["steps"]:
        if hasattr(stage, step):
            getattr(stage, step)()
        elif step == "restart":
            stage.desk.restart()
        else:
            await getattr(stage.desk, step)()
    assert (sorted(stage.desk.ran), stage.allowed()) == (row["ran"], row["allowed"])
    assert re.search(row["says"], stage.desk.said, re.IGNORECASE), stage.desk.said
    assert stage.pending() == []


@pytest.mark.parametrize("framework", DRIVERS, ids=lambda one: one.__name__)
def test_what_a_framework_cannot_play_is_a_row(framework):
    assert framework.CANNOT.keys() <= NAMES
