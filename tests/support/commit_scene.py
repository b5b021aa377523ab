"""Shared by script tests: a workspace with one caller and one agent, and plans to commit there."""

import itertools

from app.authorize.commit import ApprovalStep, CommitAnswer, CommitDecision, CommitQuestion
from app.model.agents import Agent
from app.model.api_keys import ApiKey, Caller, Scope
from app.model.decision_codes import DecisionCode
from app.model.decisions import AuthorizeRequest, Idempotency, Outcome, Result, RuleRef
from app.model.ids import Ids
from app.model.plans import Plan, Quota, Tokens
from app.redis_client.replies import as_record
from app.runtime.clock import StoreClock
from app.store.keyspace import Keyspace
from tests.support import parts
from tests.support.actors import BY

MS = 1_000
SECOND = 1_000_000
MINUTE = 60 * SECOND
START = 1_800_000_000 * SECOND
"""Injected times start here; the servers' own clocks are elsewhere."""

POLICY = "018bcfe5-6800-7000-8000-00000000cafe"
ALLOWED = Outcome(
    Result.ALLOWED, POLICY, RuleRef(0, "tool_allowlist"), 'Policy "p" allows "file.read"', DecisionCode.ALLOWED
)
DENIED = Outcome(
    Result.DENIED,
    POLICY,
    RuleRef(1, "tool_denylist"),
    '"file.read" is on the denylist of policy "p"',
    DecisionCode.TOOL_DENIED,
)
ESCALATED = Outcome(
    Result.ESCALATED,
    POLICY,
    RuleRef(2, "approval_required"),
    "a person's approval is needed",
    DecisionCode.APPROVAL_REQUIRED,
)


def quota(name: str, max_calls: int, window_us: int, full: Result = Result.DENIED) -> Quota:
    """A quota whose full outcome names it."""
    outcome = Outcome(full, POLICY, RuleRef(7, "rate_limit"), f"Rate limit reached: {name}", DecisionCode.QUOTA_FULL)
    return Quota(POLICY, name, max_calls, window_us, outcome)


class Scene:
    """One workspace, one key, one agent: `commit` closes plans there at times of the test's choice."""

    def __init__(self, client, runner, workspace_id: str, *, backlog_max: int = 1_000) -> None:
        self.client, self.runner = client, runner
        self.workspace_id = workspace_id
        self.keyspace = Keyspace(workspace_id)
        self.ids = Ids()
        self.agents, self.keys = parts.agents(client, self.ids), parts.api_keys(client, self.ids)
        self.clock = StoreClock()
        self.committing = CommitDecision(runner, self.clock, backlog_max)
        self.caller: Caller
        self.agent: Agent
        self.key: ApiKey

    async def enter(self, expires_ms: int | None = None) -> "Scene":
        """Create the key and the agent."""
        scopes = (Scope.READ,)
        self.key, self.raw_key = await self.keys.create(self.workspace_id, "k", scopes, expires_ms, by=BY)
        self.caller = Caller(self.workspace_id, self.key.id, frozenset(scopes))
        self.agent = await self.agents.create(self.workspace_id, "a", None, by=BY)
        return self

    async def commit(
        self,
        *quotas: Quota,
        at: int | None = START,
        outcome: Outcome = ALLOWED,
        arrived_us: int | None = None,
        waited_us: int = 0,
        plan: Plan | None = None,
        version: str | None = None,
        tokens: Tokens | None = None,
        decision_id: str | None = None,
        parameters: bytes = b"{}",
        idempotency: Idempotency | None = None,
        approval: ApprovalStep | None = None,
    ) -> CommitAnswer:
        """Close a plan with these quotas at store time `at`; None: the store's own clock."""
        request = AuthorizeRequest(self.agent.id, "file.read", "authorize", {}, parameters, idempotency)
        arrived = arrived_us if arrived_us is not None else at or self.clock.now_us()
        return await self.committing(
            CommitQuestion(
                self.caller,
                request,
                tokens or Tokens(version or self.agent.version),
                plan or Plan(outcome, quotas),
                decision_id or self.ids.new(0),
                arrived,
                waited_us,
                approval=approval,
                now_us=at,
            )
        )

    async def entries(self) -> list[dict[str, str]]:
        """The audit stream, oldest first, each with its stream id under `stream_id`."""
        chunk = await self.client.call("XRANGE", self.keyspace.audit_stream, "-", "+")
        return [{"stream_id": name, **as_record(fields)} for name, fields in chunk]

    async def admitted(self, held: Quota) -> list[int]:
        """The times that a quota's bucket holds, newest first."""
        times = await self.client.call("LRANGE", self.keyspace.quota(held.policy_id, held.fingerprint), 0, -1)
        return [int(time) for time in times]

    async def everything(self) -> dict[str, object]:
        """Every key of the workspace with its type and its whole value: equal before and after = nothing written."""
        return await everything(self.client, f"remit:{{{self.workspace_id}}}:*")


async def everything(client, pattern: str) -> dict[str, object]:
    """Every key that matches, with its type and its value."""
    readers = {
        "hash": ("HGETALL",),
        "list": ("LRANGE", 0, -1),
        "zset": ("ZRANGE", 0, -1, "WITHSCORES"),
        "stream": ("XRANGE", "-", "+"),
        "string": ("GET",),
        "set": ("SMEMBERS",),
    }
    found = await names(client, pattern)
    kinds = await client.read_pipelined([("TYPE", name) for name in found])
    commands = [(readers[kind][0], name, *readers[kind][1:]) for name, kind in zip(found, kinds, strict=True)]
    values = await client.read_pipelined(commands)
    return dict(zip(found, zip(kinds, values, strict=True), strict=True))


async def names(client, pattern: str) -> list[str]:
    """The key names that match, sorted. Only tests scan."""
    found: set[str] = set()
    cursor = 0
    for _ in itertools.count():
        cursor, some = await client.call("SCAN", cursor, "MATCH", pattern, "COUNT", 1000)
        found.update(some)
        if int(cursor) == 0:
            return sorted(found)
    raise AssertionError
