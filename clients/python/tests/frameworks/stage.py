"""Where drivers play: an agent with a policy in a real service, and what people do."""

from __future__ import annotations

import importlib
import time

from cases import PATIENT
from driver import NAME
from scripted import OLDER_MCP

from remit_client import Remit, calls

DRIVERS = importlib.import_module("drivers_older_mcp" if OLDER_MCP else "drivers").DRIVERS
SLOT_S, NAMES_MAX = 4 * 3600, 1_000_000


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

    def __init__(self, framework, row, service, admin, person, key=None):
        self._row, self._service, self._admin, self._person = row, service, admin, person
        self._key = key or admin.send(calls.create_api_key("runtime", ["read"]))
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

    def approve(self, at=0):
        self._person.approve(self.pending()[at].id)

    def deny(self, at=0):
        self._person.deny(self.pending()[at].id, note="not today")

    def cancel(self):
        with Remit(self._service.url, self._key.key, **PATIENT) as asker:
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
        return len(self._admin.send(calls.list_audit_logs(agent_id=self.desk.agent, result="allowed", limit=1000)))

    def _new_policy(self):
        """Of a new agent."""
        agent = self._admin.send(calls.create_agent("desk")).id
        return self._admin.send(calls.create_policy(agent, "desk", list(rules_of(self._row))))

    def _store(self, command):
        return self._service.store(command.format(f"remit:{{{self._service.store('HGET remit:workspaces default')}}}:"))
