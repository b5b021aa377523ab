"""A replica's cache of compiled agents, with their recurring commits: most decisions read nothing before the commit."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Generic, TypeVar

import msgspec
from msgspec import Struct

from app.errors import AgentNotFound
from app.model.agents import Agent
from app.model.plans import Plan, Tokens
from app.model.policies import Policy
from app.model.rules import MANY_PATTERNS
from app.model.written_rules import pattern_count
from app.redis_client.packed_call import ScriptCall
from app.runtime.fairness.asking_key import asking_key
from app.runtime.fairness.loop_budget import LoopBudget
from app.runtime.fairness.thread_pool import FairThreadPool
from app.store.agents import Agents
from app.store.governed_agents import GovernedAgent

Compiled = TypeVar("Compiled")
_Key = tuple[str, str]
_Name = tuple[str, str, str, str, int]
_AGENT_BYTES, _MARK_BYTES = 4_000, 200
_BYTES_PER_JSON_BYTE, _BYTES_PER_OBJECT = 6, 1_800
"""What compiled rules take: for each byte of their JSON, and for each object in it, as every condition is one. Measured
by the resident memory of 2,500 agents of four kinds, of which this counts 95 to 125 %.
"""
_LARGE_BYTES = 32 * 1024
"""Rules with more JSON than this are compiled in a thread; up to this, compiling takes at most 10 ms."""


class _Packed(Struct, frozen=True):
    """A packed commit of a plan, without the reason, which varies.

    It keeps the plan alive, so that no other object can take over the id() of one of its parts.
    """

    plan: Plan
    call: ScriptCall
    size: int


class PackedCommits:
    """Packed commits by tool, API key, result, code and deciding rule; the oldest are evicted when there are too many.

    They live as long as the agent's cache entry: any change to the agent drops them.
    """

    def __init__(self, max_bytes: int = 256 * 1024) -> None:
        self._max_bytes = max_bytes
        self._packed: dict[_Name, _Packed] = {}
        self.size = 0

    def __len__(self) -> int:
        return len(self._packed)

    def get(self, tool: str, key_id: str, plan: Plan) -> ScriptCall | None:
        """The packed commit of this plan, whatever its reason."""
        outcome = plan.outcome
        packed = self._packed.get((tool, key_id, outcome.result, outcome.code, id(outcome.rule)))
        if packed is not None and packed.plan is plan:  # as each call that passes has it
            return packed.call
        if (
            packed is None
            or packed.plan.outcome.policy_id != outcome.policy_id
            or packed.plan.quotas is not plan.quotas
            or packed.plan.holds_from_us != plan.holds_from_us
            or packed.plan.shadow is not plan.shadow
            or packed.plan.breakers is not plan.breakers
            or plan.marks
        ):
            return None
        return packed.call

    def keep(self, tool: str, key_id: str, plan: Plan, call: ScriptCall, size: int) -> int:
        """Keep this call for this plan, in place of an earlier one for the same tool, key and rule.

        Returns the number of bytes by which this has grown, which is negative if larger calls were evicted.
        """
        # The entry keeps the rule alive, so that no other object can have its id().
        before, name = self.size, (tool, key_id, plan.outcome.result, plan.outcome.code, id(plan.outcome.rule))
        self._drop(name)
        self._packed[name] = _Packed(plan, call, size)
        self.size += size
        while self.size > self._max_bytes:
            self._drop(next(iter(self._packed)))
        return self.size - before

    def _drop(self, name: _Name) -> None:
        packed = self._packed.pop(name, None)
        if packed is not None:
            self.size -= packed.size


class CachedAgent(Generic[Compiled]):
    """A compiled agent, the version tokens that it was made from, and its packed commits.

    agent: as it was at those tokens. size: the estimated bytes of all this.
    grown: called with this entry and the number of bytes by which its packed commits have grown.

    Nothing in an entry may refer back to it: a cycle would never be freed (see `app.runtime.gc_freeze`).
    """

    __slots__ = ("_grown", "agent", "agent_id", "commits", "compiled", "size", "tokens")

    def __init__(
        self,
        agent: Agent,
        compiled: Compiled,
        tokens: Tokens,
        size: int,
        grown: Callable[["CachedAgent[Compiled]", int], None],
    ) -> None:
        self.agent, self.agent_id = agent, agent.id
        self.compiled = compiled
        self.tokens = tokens
        self.size = size
        self.commits = PackedCommits()
        self._grown = grown

    def keep_commit(self, tool: str, key_id: str, plan: Plan, call: ScriptCall, size: int) -> None:
        """Keep this packed commit of the plan; other entries may be evicted to make room for it."""
        self._grown(self, self.commits.keep(tool, key_id, plan, call, size))


class AgentCache(Generic[Compiled]):
    """Compiled agents by workspace and agent, bounded in bytes; the least recently used are evicted first.

    An entry may be out of date; that costs a retry and never a wrong answer, because the commit compares version
    tokens. This covers the alias too: an agent that gives it away gets a new token. Absence is never cached. If many
    decisions miss at once, the agent is still loaded only once. An agent that a load does not find leaves the cache;
    one that is deleted and never asked about again is among the least recently used, which are evicted first.

    compile: turns an agent, its policies and the marks that the workspace's rules need into what decisions use. An
    entry's size is estimated from the JSON of its rules, these marks and its packed commits.
    kept: called when a long-lived entry has been added. budget: how much of the loop's time each workspace may take.
    """

    def __init__(
        self,
        agents: Agents,
        compile_agent: Callable[[Agent, Sequence[Policy], Mapping[str, int]], Compiled],
        max_bytes: int,
        *,
        pool: FairThreadPool,
        budget: LoopBudget,
        kept: Callable[[], None] = lambda: None,
    ) -> None:
        self._budget = budget
        self._agents = agents
        self._kept = kept
        self._pool = pool
        self._compile = compile_agent
        self._max_bytes = max_bytes
        self._entries: OrderedDict[_Key, CachedAgent[Compiled]] = OrderedDict()
        self._aliases: dict[_Key, str] = {}
        self._loads: dict[_Key, asyncio.Task[CachedAgent[Compiled]]] = {}
        self.bytes_held = 0

    def __len__(self) -> int:
        return len(self._entries)

    def recall(self, workspace_id: str, called: str) -> CachedAgent[Compiled] | None:
        """The compiled agent with this id or alias, if it is cached."""
        key = (workspace_id, called)
        entry = self._entries.get(key)
        if entry is None:
            agent_id = self._aliases.get(key)
            if agent_id is None:
                return None
            key = (workspace_id, agent_id)
            entry = self._entries[key]
        self._entries.move_to_end(key)
        return entry

    def agent(self, workspace_id: str, called: str) -> Agent | None:
        """The agent with this id or alias, as cached by this replica."""
        entry = self.recall(workspace_id, called)
        return None if entry is None else entry.agent

    async def load(self, workspace_id: str, called: str) -> CachedAgent[Compiled]:
        """The compiled agent with this id or alias, as the store had it at some moment of this call.

        Raises AgentNotFound; MoveToSlowLane if the workspace has loaded too much lately and the slow lane can answer.
        """
        key = (workspace_id, called)
        task = self._loads.get(key)
        if task is None:
            asking = asking_key.get() or workspace_id
            self._budget.begin(workspace_id, asking)
            task = self._loads[key] = asyncio.create_task(self._load(key, asking))
            task.add_done_callback(lambda _: self._loads.pop(key, None))
        return await asyncio.shield(task)

    def drop(self, workspace_id: str, agent_id: str, stale: CachedAgent[Compiled]) -> None:
        """Remove `stale` from the cache, unless it has been replaced since."""
        key = (workspace_id, agent_id)
        if self._entries.get(key) is stale:
            self._remove(key)

    async def _load(self, called: _Key, asking: str) -> CachedAgent[Compiled]:
        """Load it. asking: the key whose part of the loop's time this takes."""
        try:
            governed = await self._agents.load(*called)
        except AgentNotFound:
            gone = (called[0], self._aliases.get(called, called[1]))
            if gone in self._entries:
                self._remove(gone)
            raise
        key = (called[0], governed.agent.id)
        if _takes_long(governed.policies):
            compiled, size, seconds = await self._pool.run(key[0], self._compile_sized, governed)
            self._budget.end(key[0], asking, governed.decoding_s, beside=seconds)
        else:
            compiled, size, seconds = self._compile_sized(governed)
            self._budget.end(key[0], asking, governed.decoding_s + seconds)
        if key in self._entries:
            self._remove(key)
        entry = CachedAgent(governed.agent, compiled, governed.tokens, size, partial(self._grow, key))
        if size > self._max_bytes:
            return entry  # it would not fit even if all others were evicted
        self._entries[key] = entry
        if entry.agent.alias is not None:
            self._aliases[key[0], entry.agent.alias] = entry.agent_id
        self.bytes_held += size
        self._grow(key, entry, 0)
        self._kept()
        return entry

    def _grow(self, key: _Key, entry: CachedAgent[Compiled], more: int) -> None:
        """Add `more` bytes to the size of the entry; evict others if there is no room."""
        if self._entries.get(key) is not entry:
            return
        entry.size += more
        self.bytes_held += more
        while self.bytes_held > self._max_bytes:
            self._remove(next(iter(self._entries)))

    def _compile_sized(self, governed: GovernedAgent) -> tuple[Compiled, int, float]:
        """The compiled agent, its estimated size in bytes, and the CPU time that compiling it took, in seconds."""
        began = time.thread_time()
        marks = sum(_MARK_BYTES + len(pattern) for pattern in governed.shared_marks)
        compiled = self._compile(governed.agent, governed.policies, governed.shared_marks)
        size = _AGENT_BYTES + sum(map(_compiled_bytes, governed.policies)) + marks
        return compiled, size, time.thread_time() - began

    def _remove(self, key: _Key) -> None:
        entry = self._entries.pop(key)
        self.bytes_held -= entry.size
        if entry.agent.alias is not None and self._aliases.get((key[0], entry.agent.alias)) == entry.agent_id:
            del self._aliases[key[0], entry.agent.alias]


def _takes_long(policies: Iterable[Policy]) -> bool:
    """True if compiling these in the event loop would delay other calls too long."""
    patterns = total = 0
    for policy in policies:
        patterns += pattern_count(policy.rules)
        total += _json_bytes(policy)
        if patterns > MANY_PATTERNS or total > _LARGE_BYTES:
            return True
    return False


def _json_bytes(policy: Policy) -> int:
    return len(msgspec.json.encode(policy.rules))


def _compiled_bytes(policy: Policy) -> int:
    rules = msgspec.json.encode(policy.rules)
    return _BYTES_PER_JSON_BYTE * len(rules) + _BYTES_PER_OBJECT * rules.count(b":{")
