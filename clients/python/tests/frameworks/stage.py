"""Where drivers play: an agent with a policy in a real service, and what people do."""

from __future__ import annotations

import importlib
import json
import re
import time

from cases import PATIENT
from driver import NAME
from scripted import OLDER_MCP
from service import ROOT

from remit_client import AsyncRemit, calls

DRIVERS = importlib.import_module("drivers_older_mcp" if OLDER_MCP else "drivers").DRIVERS
ROWS = json.loads((ROOT / "clients/adapters.json").read_text())["rows"]
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


class Cast:
    """Who plays with a service: an agent's runtime, with a key of its own, and people."""

    def __init__(self, service, admin, person):
        self.service = service
        self.key = admin.send(calls.create_api_key("runtime", ["read"]))
        self.admin, self.person = map(AsyncRemit.of, (admin, person))


class Stage:
    """Where a row is played. The steps that are not the driver's own have its methods' names."""

    @classmethod
    async def of(cls, framework, row, cast):
        stage = cls()
        stage._row, stage._cast = row, cast
        stage._policy = await stage._new_policy()
        settings, pauses, delegates = (cast.service.url, cast.key.key), row["pauses"], row.get("delegates", False)
        stage.desk = framework(settings, stage._policy.agent_id, row["calls"], pauses, delegates)
        return stage

    async def play(self):
        """The row, with its steps, and what it says of their end."""
        for step in self._row["steps"]:
            await getattr(self if hasattr(self, step) else self.desk, step)()
        assert (sorted(self.desk.ran), await self.allowed()) == (self._row["ran"], self._row["allowed"])
        assert re.search(self._row["says"], self.desk.said, re.IGNORECASE), self.desk.said
        assert await self.pending() == []

    async def suspend(self):
        await self._cast.admin.send(calls.update_agent(self.desk.agent, status="suspended"))

    async def edit(self):
        await self._cast.admin.send(calls.update_policy(self._policy.id, name="desk, edited"))

    async def move(self):
        self.desk.agent = (await self._new_policy()).agent_id
        await self.restart()

    async def restart(self):
        self.desk.restart()

    async def approve(self, one=None):
        await self._cast.person.approve((one or (await self.pending())[0]).id)

    async def deny(self, one=None):
        await self._cast.person.deny((one or (await self.pending())[0]).id, note="not today")

    async def cancel(self):
        async with AsyncRemit(self._cast.service.url, self._cast.key.key, **PATIENT) as asker:
            await asker.cancel((await self.pending())[0].id)

    async def expire(self):
        """Instead of a wait of a minute or more."""
        assert self._store(f"HSET {{}}approval:{(await self.pending())[0].id} expires_ms 1") == ":0"

    async def fill(self):
        """As many names as a key may have, as lua/commit_decision/first_answers.lua counts them."""
        slot = int(time.time()) // SLOT_S
        assert self._store(f'HSET {{}}key:{self._cast.key.id}:answers {slot % 8} "{slot} {NAMES_MAX}"') == ":1"

    async def pending(self):
        return await self._cast.person.send(calls.list_approvals("pending", self.desk.agent))

    async def allowed(self):
        """How many decisions of the log say so."""
        query = calls.list_audit_logs(agent_id=self.desk.agent, result="allowed", limit=1000)
        return len(await self._cast.admin.send(query))

    async def _new_policy(self):
        """Of a new agent."""
        agent = (await self._cast.admin.send(calls.create_agent("desk"))).id
        return await self._cast.admin.send(calls.create_policy(agent, "desk", list(rules_of(self._row))))

    def _store(self, command):
        store = self._cast.service.store
        return store(command.format(f"remit:{{{store('HGET remit:workspaces default')}}}:"))
