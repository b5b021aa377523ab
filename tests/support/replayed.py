"""A log that the real commit writes at times chosen by a test, with edits in between, and its replay."""

from typing import Any

import msgspec
from pdp_and_mirror import REDACTOR

from app.audit.entry_format import line_of
from app.authorize.commit import CommitDecision, CommitQuestion
from app.model.agents import AgentStatus
from app.model.api_keys import Caller, Scope
from app.model.changes import ChangeQuery
from app.model.decisions import AuthorizeRequest, Decision, Result
from app.model.ids import Ids
from app.model.outcomes import CallStatus, decode_call
from app.model.policies import Owner, Policy, PolicyChanges, PolicyFields, PolicyKind
from app.model.policy_sets import PolicyEntry
from app.model.replays import ReplayReport, ReplayTask, drafted
from app.model.rules import Rules
from app.pdp import compile_agent, decide
from app.replay import Replay
from app.replay.history import History
from app.runtime.clock import StoreClock
from app.store.changes import Changes
from app.store.keyspace import Keyspace
from app.store.outcomes import Outcomes
from tests.support import parts
from tests.support.actors import BY

START_MS = 1_800_000_000_000
SECOND_MS = 1_000


class Logged:
    """A workspace whose calls are committed at injected times, with edits between them."""

    def __init__(self, client) -> None:
        self.client = client
        self.made = Ids()
        self.id = self.made.new(0)
        self.agents, self.policies, self.keys = (
            parts.agents(client, self.made),
            parts.policies(client, self.made),
            parts.api_keys(client, self.made),
        )
        self.changes = Changes(client)
        self.commit = CommitDecision(client, StoreClock(), 100_000)
        self.results: list[str] = []

    async def enter(self, *bodies: dict[str, Any], groups: tuple[str, ...] = ()) -> "Logged":
        """Create an agent with these policies, bodies of POST /v1/policies without the agent."""
        key, _ = await self.keys.create(self.id, "k", (Scope.READ,), None, by=BY)
        self.caller = Caller(self.id, key.id, frozenset({Scope.READ}))
        self.agent_id = (await self.agents.create(self.id, "a", None, groups, by=BY)).id
        self.ids = [(await self.create(body)).id for body in bodies]
        return self

    async def create(self, body: dict[str, Any]) -> Policy:
        owner = Owner(group=body["group"]) if "group" in body else Owner(body.get("agent_id", self.agent_id))
        return await self.policies.create(
            self.id,
            owner,
            PolicyFields(
                name=body["name"],
                rules=msgspec.convert(body["rules"], Rules),
                kind=PolicyKind(body.get("kind", "grant")),
                priority=body.get("priority", 0),
                enabled=body.get("enabled", True),
            ),
            by=BY,
        )

    async def edit(self, place: int, **fields: Any) -> None:
        """Give the policy these fields for every later call."""
        types = {"rules": Rules, "kind": PolicyKind}
        given = {name: msgspec.convert(value, types.get(name, Any)) for name, value in fields.items()}
        await self.policies.update(self.id, self.ids[place], PolicyChanges(**given), by=BY)

    async def resume(self) -> None:
        """Make the agent active, whatever has suspended it."""
        await self.agents.update(self.id, self.agent_id, status=AgentStatus.ACTIVE, by=BY)

    async def call(self, tool: str, at_us: int, parameters=None, recorded=None, context=None, agent_id=None) -> str:
        """The committed result of one call. recorded: the parameters as the log keeps them."""
        agent_id = agent_id or self.agent_id
        governed = await self.agents.load(self.id, agent_id)
        shown = msgspec.json.encode(parameters or {}) if recorded is None else msgspec.json.encode(recorded)
        request = AuthorizeRequest(
            agent_id, tool, "authorize", parameters or {}, shown, context=context,
            recorded_context=msgspec.json.encode(context) if context else b"",
        )  # fmt: skip
        compiled = compile_agent(governed.agent, governed.policies, REDACTOR.is_secret, governed.shared_marks)
        plan = decide(compiled, request, at_us, self.caller.key_id)
        decision_id = self.made.new(at_us // 1000)
        answer = await self.commit(
            CommitQuestion(self.caller, request, governed.tokens, plan, decision_id, at_us, now_us=at_us)
        )
        assert isinstance(answer, Decision)
        self.results.append(answer.outcome.result.value)
        return answer.outcome.result.value

    async def give_back(self, back: int, at_us: int) -> None:
        """Report the allowed call that is so many before the next one as not executed."""
        answered = [decode_call(line) for line in (await self.lines()).splitlines()]
        allowed = [each for each in answered if each.result == Result.ALLOWED]
        if len(allowed) >= back:
            await Outcomes(self.client, self.made, 100_000).record(
                self.id, allowed[-back], CallStatus.NOT_EXECUTED, now_us=at_us
            )

    async def lines(self) -> bytes:
        """The whole log, as it is exported."""
        found = await self.client.call("XRANGE", Keyspace(self.id).audit_stream, "-", "+")
        fields = ({name.encode(): value.encode() for name, value in pairs(each).items()} for _, each in found)
        return b"".join(line_of(each) + b"\n" for each in fields)

    async def history(self) -> History:
        """The history that a replay reads."""
        changes = (await self.changes.query(self.id, ChangeQuery(limit=1000))).changes
        agents = [agent async for agent in self.agents.each(self.id)]
        return History(agents, [each async for each in self.policies.each(self.id)], changes)

    async def replay(
        self, draft=None, from_ms: int = START_MS, lines: bytes | None = None, gone_ms=None, **owner
    ) -> ReplayReport:
        """The report; draft: None = the policies of the time. gone_ms: of the newest entry that was dropped."""
        if not owner:
            owner = {"agent_id": self.agent_id}
        task = ReplayTask(
            workspace_id=self.id,
            from_ms=from_ms,
            to_ms=4_000_000_000_000,
            policies=None if draft is None else msgspec.convert(draft, list[PolicyEntry]),
            **owner,
        )
        held = [each async for each in self.policies.each(self.id) if each.owner == task.owner]
        policies = None if draft is None else drafted(task.policies, task.owner, held)
        replay = Replay(task, await self.history(), policies, REDACTOR.is_secret)
        if gone_ms is not None:
            replay.begin_in_doubt(gone_ms)
        lines = await self.lines() if lines is None else lines
        replay.feed(lines, range(1, lines.count(b"\n") + 1))
        return replay.findings.finish()


def pairs(fields) -> dict[str, str]:
    return fields if isinstance(fields, dict) else dict(zip(fields[::2], fields[1::2], strict=True))
