"""Searches who may do what: calls are judged by the policies as they are now; nothing is taken or logged."""

import asyncio
from collections.abc import Callable, Iterable, Sequence

from msgspec.structs import replace

from app.authorize.agent_cache import AgentCache, CachedAgent
from app.authorize.authorizer import in_its_session
from app.cancellation import raise_if_cancelled
from app.errors import AgentNotFound, Invalid, PayloadTooLarge
from app.model.agents import Agent, AgentStatus, agent_named
from app.model.api_keys import Caller
from app.model.decisions import AuthorizeRequest, Result
from app.model.plans import Tokens
from app.pdp import CompiledAgent, decide_at_length
from app.redis_client.client import Client
from app.runtime.clock import StoreClock
from app.runtime.fairness.thread_pool import FairThreadPool
from app.store.agents import Agents
from app.store.keyspace import keyspace_of
from app.store.policy_owners import WORKSPACE_TOKEN, group_token

MOST_JUDGED = 1_000
"""The most candidates that one search judges; the next page has the others."""

_LOADED_AT_ONCE = 16
Judged = CachedAgent[CompiledAgent]
Candidate = tuple[Judged, Callable[[], AuthorizeRequest]]
"""An agent, and what makes the call to judge."""


class AccessSearch:
    """Finds what is allowed. Limits count as having room, and a call that needs approval is not allowed.

    agents: the records. cache: this replica's; an entry is used only if its version tokens are current.
    """

    def __init__(
        self, client: Client, agents: Agents, cache: AgentCache[CompiledAgent], clock: StoreClock, pool: FairThreadPool
    ) -> None:
        self._client = client
        self._agents = agents
        self._cache = cache
        self._clock = clock
        self._pool = pool

    async def agent(self, caller: Caller, called: str, kind: str) -> Judged | None:
        """The agent that `called` names, if the key may ask about it and it has this type; "" = any type."""
        try:
            found = await self._cache.load(caller.workspace_id, agent_named(called) or called)
        except AgentNotFound:
            return None
        is_meant = caller.may_ask_for(found.agent_id) and kind in ("", found.agent.type)
        return found if is_meant else None

    async def agents_of(self, caller: Caller, kind: str, after: str) -> tuple[list[Judged], bool]:
        """The active agents of this type whose reference comes after `after`, in order, and whether there are more.

        At most MOST_JUDGED of them.
        """
        found = [
            agent
            async for agent in self._agents.each(caller.workspace_id, status=AgentStatus.ACTIVE)
            if agent.type == kind and reference_of(agent) > after and caller.may_ask_for(agent.id)
        ]
        found.sort(key=reference_of)
        return await self._compiled(caller.workspace_id, found[:MOST_JUDGED]), len(found) > MOST_JUDGED

    async def permitted(self, caller: Caller, candidates: Iterable[Candidate], most: int) -> list[int]:
        """The places of the candidates that are allowed; the search ends after `most` of them."""
        return await self._pool.run(caller.workspace_id, self._judge, caller, candidates, most)

    def _judge(self, caller: Caller, candidates: Iterable[Candidate], most: int) -> list[int]:
        now_us = self._clock.now_us()
        allowed: list[int] = []
        for place, (agent, make) in enumerate(candidates):
            raise_if_cancelled()
            if len(allowed) == most:
                break
            try:
                call = replace(make(), agent_id=agent.agent_id)
            except (Invalid, PayloadTooLarge):  # no call can be made of it, so none is allowed
                continue
            if caller.session_from is not None:
                call = in_its_session(caller, call)
            if decide_at_length(agent.compiled, call, now_us, caller.key_id).outcome.result is Result.ALLOWED:
                allowed.append(place)
        return allowed

    async def _compiled(self, workspace_id: str, agents: Sequence[Agent]) -> list[Judged]:
        """The agents compiled, from the cache where that is current."""
        cached = {agent.id: self._cache.recall(workspace_id, agent.id) for agent in agents}
        tokens = {token for each in cached.values() if each is not None for token, _ in each.tokens.groups}
        groups = sorted(tokens)
        values = await self._client.call(
            "HMGET", keyspace_of(workspace_id).commits, WORKSPACE_TOKEN, *map(group_token, groups)
        )
        workspace, *others = (value or "" for value in values)
        current = dict(zip(groups, others, strict=True))
        room = asyncio.Semaphore(_LOADED_AT_ONCE)

        async def fresh(agent: Agent) -> Judged | None:
            known = cached[agent.id]
            if known is not None:
                shared = tuple((digest, current[digest]) for digest, _ in known.tokens.groups)
                if known.tokens == Tokens(agent.version, workspace, shared):
                    return known
            async with room:
                try:
                    return await self._cache.load(workspace_id, agent.id)
                except AgentNotFound:  # deleted meanwhile
                    return None

        return [each for each in await asyncio.gather(*map(fresh, agents)) if each is not None]


def reference_of(agent: Agent) -> str:
    """What names the agent in answers: its alias, or its id."""
    return agent.alias or agent.id
