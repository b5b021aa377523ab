"""Compiled agents that a replica keeps, so that most decisions read nothing before the commit."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from typing import Generic, TypeVar

import msgspec

from app.model.agents import Agent
from app.model.policies import MANY_PATTERNS, Policy, pattern_count
from app.store.agents import Agents

Compiled = TypeVar("Compiled")
_Key = tuple[str, str]
_AGENT_BYTES = 2_000
_LARGE_BYTES = 32 * 1024
"""More JSON of rules than this is compiled in a thread: so much takes up to 10 ms."""


class AgentCache(Generic[Compiled]):
    """Compiled agents by workspace and agent id, bounded in bytes; the least recently used leave first.

    An entry may be out of date: the commit compares its version token, so that costs a retry and never a wrong
    answer. Absence is never remembered. However many decisions miss at once, an agent is loaded once.

    compile: makes of an agent and its policies what decisions use; an entry counts as the JSON of its rules.
    kept: told when something has come that is going to stay.
    """

    def __init__(
        self,
        agents: Agents,
        compile_agent: Callable[[Agent, Sequence[Policy]], Compiled],
        max_bytes: int,
        kept: Callable[[], None] = lambda: None,
    ) -> None:
        self._agents = agents
        self._kept = kept
        self._compile = compile_agent
        self._max_bytes = max_bytes
        self._entries: OrderedDict[_Key, tuple[Compiled, int]] = OrderedDict()
        self._loads: dict[_Key, asyncio.Task[Compiled]] = {}
        self.bytes_held = 0

    def __len__(self) -> int:
        return len(self._entries)

    def recall(self, workspace_id: str, agent_id: str) -> Compiled | None:
        """The compiled agent if this replica has it."""
        key = (workspace_id, agent_id)
        entry = self._entries.get(key)
        if entry is None:
            return None
        self._entries.move_to_end(key)
        return entry[0]

    async def load(self, workspace_id: str, agent_id: str) -> Compiled:
        """The compiled agent as the store has it, or had it while this call ran. Raises AgentNotFound."""
        key = (workspace_id, agent_id)
        task = self._loads.get(key)
        if task is None:
            task = self._loads[key] = asyncio.create_task(self._load(key))
            task.add_done_callback(lambda _: self._loads.pop(key, None))
        return await asyncio.shield(task)

    def drop(self, workspace_id: str, agent_id: str, stale: Compiled) -> None:
        """`stale` is no longer recalled; what was loaded since stays."""
        key = (workspace_id, agent_id)
        entry = self._entries.get(key)
        if entry is not None and entry[0] is stale:
            self._remove(key)

    async def _load(self, key: _Key) -> Compiled:
        agent, policies = await self._agents.load(*key)
        if _takes_long(policies):
            compiled, size = await asyncio.to_thread(self._compile_sized, agent, policies)
        else:
            compiled, size = self._compile_sized(agent, policies)
        if key in self._entries:
            self._remove(key)
        if size > self._max_bytes:
            return compiled  # all others would have to leave, and it would not fit even then
        self._entries[key] = (compiled, size)
        self.bytes_held += size
        while self.bytes_held > self._max_bytes:
            self._remove(next(iter(self._entries)))
        self._kept()
        return compiled

    def _compile_sized(self, agent: Agent, policies: Sequence[Policy]) -> tuple[Compiled, int]:
        """The compiled agent, and as how many bytes it counts."""
        return self._compile(agent, policies), _AGENT_BYTES + sum(map(_json_bytes, policies))

    def _remove(self, key: _Key) -> None:
        _, size = self._entries.pop(key)
        self.bytes_held -= size


def _takes_long(policies: Iterable[Policy]) -> bool:
    """Whether everybody would wait too long if the loop compiled these."""
    patterns = total = 0
    for policy in policies:
        patterns += pattern_count(policy.rules)
        total += _json_bytes(policy)
        if patterns > MANY_PATTERNS or total > _LARGE_BYTES:
            return True
    return False


def _json_bytes(policy: Policy) -> int:
    return len(msgspec.json.encode(policy.rules))
