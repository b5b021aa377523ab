"""Lists the tools an agent may call. Tools that the agent's rules treat alike are judged once, together."""

from collections.abc import Iterable, Mapping, Sequence
from weakref import WeakKeyDictionary

from msgspec import UNSET, Struct
from msgspec.structs import replace

from app.authorize.agent_cache import AgentCache, CachedAgent
from app.cancellation import raise_if_cancelled
from app.explain.rule_states import Level, level_shown, read_levels
from app.model.catalog import CatalogTool
from app.model.decisions import Result
from app.model.explanations import ExplainedAgent
from app.model.plans import Quota, Tokens
from app.model.rule import Effect
from app.model.times import MINUTE_US, rfc3339
from app.model.tool_access import AgentTools, ToolAccess, ToolCondition, ToolStatus
from app.pdp import CompiledAgent
from app.pdp.constraints import IsSecret
from app.pdp.explained import explained_agent
from app.pdp.policy_views import NOTHING_MATCHES
from app.pdp.rules.rule_type import FAIL, PASS
from app.pdp.tool_outcomes import Likeness, Possible, Reach, ToolRules
from app.redis_client.client import Client
from app.runtime.clock import StoreClock
from app.runtime.fairness.thread_pool import FairThreadPool
from app.store.catalog import Catalog
from app.store.keyspace import keyspace_of
from app.store.policy_owners import WORKSPACE_TOKEN, group_token

_QUOTAS_AT_ONCE = 256
"""The quotas that one script run reads, which takes the store about a millisecond."""

Levels = Mapping[Quota, Level]
_EFFECTS = {Result.DENIED: Effect.DENY, Result.ESCALATED: Effect.ESCALATE}


class ToolListing(Struct, frozen=True):
    """The tools an agent may call.

    tools: (name, the tool if it is in the catalogue, the result of its calls). Tools that are treated alike share one
    result, in which nothing of the tool itself is set.
    """

    agent: ExplainedAgent
    at: str
    total: int
    tools: list[tuple[str, CatalogTool | None, ToolAccess]]

    @property
    def whole(self) -> AgentTools:
        """The same listing with a record for each tool."""
        tools = [
            replace(access, name=name, catalogued=tool is not None, consequence=tool and tool.consequence)
            for name, tool, access in self.tools
        ]
        return AgentTools(agent=self.agent, at=self.at, total=self.total, tools=tools)


class ToolListings:
    """Lists the tools agents may call under their current policies. Nothing is taken or logged.

    agents: this replica's cache; each entry's version tokens are checked before it is used.
    """

    def __init__(
        self,
        client: Client,
        agents: AgentCache[CompiledAgent],
        catalog: Catalog,
        clock: StoreClock,
        is_secret: IsSecret,
        pool: FairThreadPool,
    ) -> None:
        self._client = client
        self._agents = agents
        self._catalog = catalog
        self._clock = clock
        self._is_secret = is_secret
        self._pool = pool
        self._rules: WeakKeyDictionary[CompiledAgent, ToolRules] = WeakKeyDictionary()

    async def list_tools(
        self,
        workspace_id: str,
        agent_id: str,
        *,
        limit: int | None = None,
        offset: int = 0,
        only: Sequence[str] | None = None,
    ) -> ToolListing:
        """The known tools, sorted by name, and the result of the agent's calls of each.

        only: list these, in this order, known or not. Raises AgentNotFound.
        """
        listing = await self._catalog.listing(workspace_id)
        names = listing.names
        total, listed = len(names), names[offset:][:limit] if only is None else only
        cached = await self._current(workspace_id, agent_id)
        now_us = self._clock.now_us()
        rules, likenesses, alike, quotas = await self._pool.run(workspace_id, self._grouped, cached.compiled, listed)
        levels = await self._levels(workspace_id, quotas)
        accesses = await self._pool.run(workspace_id, _judge_all, cached, rules, alike, now_us // MINUTE_US, levels)
        tools = [
            (name, listing.catalog.tools.get(name), accesses[likeness])
            for name, likeness in zip(listed, likenesses, strict=True)
        ]
        return ToolListing(explained_agent(cached.agent), rfc3339(now_us // 1000), total, tools)

    def _grouped(
        self, compiled: CompiledAgent, tools: Iterable[str]
    ) -> tuple[ToolRules, list[Likeness], dict[Likeness, str], list[Quota]]:
        """The agent's rules, each tool's group of alike tools, one tool of each group, and their limits."""
        rules = self._rules.get(compiled)
        if rules is None:
            rules = self._rules[compiled] = ToolRules(compiled, self._is_secret)
        alike: dict[Likeness, str] = {}
        likenesses = []
        for name in tools:
            raise_if_cancelled()
            likeness = rules.likeness(name)
            likenesses.append(likeness)
            alike.setdefault(likeness, name)
        return rules, likenesses, alike, list(dict.fromkeys(q for each in alike.values() for q in rules.quotas(each)))

    async def _current(self, workspace_id: str, agent_id: str) -> CachedAgent[CompiledAgent]:
        """The compiled agent as the store has it; the cached one is used only if its version tokens are current."""
        cached = self._agents.recall(workspace_id, agent_id)
        if cached is None:
            return await self._agents.load(workspace_id, agent_id)
        keyspace = keyspace_of(workspace_id)
        groups = [digest for digest, _ in cached.tokens.groups]
        version, shared = await self._client.read_snapshot(
            ("HGET", keyspace.agent(agent_id), "version"),
            ("HMGET", keyspace.commits, WORKSPACE_TOKEN, *map(group_token, groups)),
        )
        workspace, *others = (token or "" for token in shared)
        if cached.tokens == Tokens(version or "", workspace, tuple(zip(groups, others, strict=True))):
            return cached
        return await self._agents.load(workspace_id, agent_id)

    async def _levels(self, workspace_id: str, quotas: Sequence[Quota]) -> Levels:
        """The levels of the limits."""
        levels: dict[Quota, Level] = {}
        for start in range(0, len(quotas), _QUOTAS_AT_ONCE):
            some = quotas[start : start + _QUOTAS_AT_ONCE]
            levels |= (await read_levels(self._client, keyspace_of(workspace_id), some))[1]
        return levels


def _judge_all(
    cached: CachedAgent[CompiledAgent],
    rules: ToolRules,
    alike: Mapping[Likeness, str],
    minute: int,
    levels: Levels,
) -> dict[Likeness, ToolAccess]:
    """The result of calls for each group of alike tools."""
    if cached.compiled.refusal is not None:
        reason = cached.compiled.refusal.outcome.reason
        return dict.fromkeys(alike, _access(ToolStatus.DENIED, reason, [], parameters=False, is_exact=True))

    def has_room(quota: Quota) -> bool:
        return levels[quota].taken < quota.max_calls

    return {
        likeness: _judged(rules, tool, rules.possible(tool, minute, has_room), levels)
        for likeness, tool in alike.items()
    }


def _judged(rules: ToolRules, tool: str, possible: Possible, levels: Levels) -> ToolAccess:
    status = _status(possible)
    shown = [each for each in possible.reaches if each.ever != PASS]
    conditions = [_condition(each, rules.agent.id, tool, levels) for each in shown]
    reason = None
    if status is ToolStatus.DENIED:
        failed = (f"{each.policy_name}: {each.text}" for each in conditions if each.holds is False)
        reason = next(failed, NOTHING_MATCHES.outcome.reason)
    return _access(
        status,
        reason,
        conditions,
        parameters=status is not ToolStatus.DENIED and possible.parameters.schema,
        is_exact=status is ToolStatus.DENIED or possible.parameters.is_exact,
    )


def _status(possible: Possible) -> ToolStatus:
    if possible.parameters.schema is False or possible.ever == {Result.DENIED}:
        return ToolStatus.DENIED
    if Result.ALLOWED not in possible.ever:
        return ToolStatus.ESCALATED
    return ToolStatus.ALLOWED if possible.now == {Result.ALLOWED} else ToolStatus.CONDITIONAL


def _condition(reach: Reach, agent_id: str, tool: str, levels: Levels) -> ToolCondition:
    rule = reach.rule
    quota = rule.quota(agent_id, tool) if reach.covered else None
    level = None if quota is None else levels.get(quota)
    return ToolCondition(
        policy_id=rule.policy.id,
        policy_name=rule.policy.name,
        rule=rule.compiled.ref,
        effect=_EFFECTS[rule.compiled.when_failed],
        text=rule.words(covered=reach.covered),
        holds={PASS: True, FAIL: False}.get(reach.now),
        quota=UNSET if quota is None or level is None else level_shown(quota, level),
    )


def _access(
    status: ToolStatus, reason: str | None, conditions: Sequence[ToolCondition], *, parameters: object, is_exact: bool
) -> ToolAccess:
    schema = parameters if isinstance(parameters, dict | bool) else False
    return ToolAccess(
        name="",
        catalogued=False,
        consequence=None,
        status=status,
        reason=reason,
        conditions=list(conditions),
        parameter_schema={"type": "object", **schema} if isinstance(schema, dict) else schema,
        schema_is_exact=is_exact,
    )
