"""Reads how full an agent's limits are, and for which values those are fullest that count each value separately.

A bucket's name is the digest of its values, and the store has only that name. The values themselves are in the log, in
the entry of the agent's newest call that counted in the bucket: when that was follows from the set of live buckets.
They are shown only as the log has them, so what is redacted, or dropped by retention, is not shown here either.
"""

import heapq
from collections.abc import Iterator
from typing import Any, NamedTuple

from msgspec import UNSET
from msgspec.structs import replace

from app.audit.log import AuditLog
from app.authorize.agent_cache import AgentCache
from app.authorize.commit.quotas import counted_in, live_in
from app.explain.rule_states import Level, level_shown, read_counters, read_levels
from app.model.agent_quotas import MOST_SHOWN, AgentQuota, AgentQuotas, CountedValue, CountedValues
from app.model.audit import AuditQuery
from app.model.decisions import AuthorizeRequest, Result
from app.model.explanations import QuotaLevel, SeenValue
from app.model.plans import DenialCount, Quota
from app.model.rule import Effect
from app.model.times import rfc3339
from app.pdp import CompiledAgent
from app.pdp.constraints import IsSecret
from app.pdp.explained import explained_agent
from app.pdp.rules import rule_in_words
from app.pdp.rules.denial_breaker import VaryingBreaker
from app.pdp.rules.limits import VaryingQuota
from app.pdp.rules.rule_type import CompiledRule
from app.redis_client.client import Client
from app.redis_client.replies import decoding_record
from app.replay.calls import decode_call, decode_object
from app.runtime.clock import StoreClock
from app.runtime.fairness.loop_turns import WorkspaceSlots
from app.store.keyspace import Keyspace, keyspace_of

_AT_ONCE = 256
"""The counters that one script run reads, which takes the store about a millisecond."""
_OF_ONE_MILLISECOND = 100
"""The entries looked at for one value: the agent's allowed calls of the same millisecond."""

_Varying = VaryingQuota | VaryingBreaker
_EFFECTS = {Result.DENIED: Effect.DENY, Result.ESCALATED: Effect.ESCALATE}


class _Bucket(NamedTuple):
    """A bucket of a limit with `per`: how full it is, its name, and the quota time (us) of the agent's newest call."""

    taken: int
    newest_us: int
    name: str
    level: Level


class QuotaReader:
    """Reads the limits of agents under their current policies. Nothing is taken or logged."""

    def __init__(
        self, client: Client, agents: AgentCache[CompiledAgent], audit: AuditLog, clock: StoreClock, is_secret: IsSecret
    ) -> None:
        self._client = client
        self._agents = agents
        self._audit = audit
        self._clock = clock
        self._is_secret = is_secret
        self._slots = WorkspaceSlots()

    async def read(self, workspace_id: str, agent_id: str, *, from_log: bool) -> AgentQuotas:
        """How full each limit, budget and denial breaker of the agent is.

        Limits are read in steps of 256 counters, each at one moment. from_log: whether values are named; they are in
        the log. Raises AgentNotFound, AuditLogDamaged.
        """
        cached = await self._agents.load(workspace_id, agent_id)
        keyspace, agent, at_ms = keyspace_of(workspace_id), cached.agent, self._clock.now_us() // 1000
        rules = [(rule, counter) for rule in _rules(cached.compiled) if (counter := _counter(rule, agent.id))]
        levels: dict[Quota | DenialCount, Level] = {}
        settled = [counter for _, counter in rules if not isinstance(counter, VaryingQuota | VaryingBreaker)]
        for start in range(0, len(settled), _AT_ONCE):
            some = settled[start : start + _AT_ONCE]
            levels |= (await read_levels(self._client, keyspace, some, agent_id=agent.id))[1]
        quotas = []
        for rule, counter in rules:
            if isinstance(counter, VaryingQuota | VaryingBreaker):
                async with self._slots.slot(workspace_id):
                    values = await self._values(workspace_id, agent.id, rule, counter, from_log=from_log)
                quotas.append(self._shown(rule, None, values))
            else:
                quotas.append(self._shown(rule, level_shown(counter, levels[counter]), None))
        return AgentQuotas(agent=explained_agent(agent), at=rfc3339(at_ms), quotas=quotas)

    def _shown(self, rule: CompiledRule, level: QuotaLevel | None, values: CountedValues | None) -> AgentQuota:
        counter = rule.rule.counter
        return AgentQuota(
            policy_id=rule.policy.id,
            policy_name=rule.policy.name,
            rule=rule.ref,
            effect=_EFFECTS[rule.when_failed],
            text=rule_in_words(rule.rule, covered=True, is_secret=self._is_secret),
            tools=list(rule.rule.tools),
            per=UNSET if counter is None else counter.per,
            quota=UNSET if level is None else level,
            values=UNSET if values is None else values,
        )

    async def _values(
        self, workspace_id: str, agent_id: str, rule: CompiledRule, varying: _Varying, *, from_log: bool
    ) -> CountedValues:
        """The values for which the limit or breaker has counted calls of the agent."""
        keyspace = keyspace_of(workspace_id)
        quota: Quota | DenialCount
        if isinstance(varying, VaryingBreaker):
            quota = varying.breaker
        else:
            quota = replace(varying.quota, amount=None if varying.amount is None else 0)
        per = () if rule.rule.counter is None else rule.rule.counter.per or ()
        names_values = from_log and not any(map(self._is_secret, per))
        skew_us, buckets = await self._buckets(keyspace, agent_id, quota)
        taken = [bucket for bucket in buckets if bucket.taken > 0]
        fullest = []
        for bucket in heapq.nlargest(MOST_SHOWN, taken):
            values = await self._named(workspace_id, agent_id, varying, bucket, skew_us) if names_values else None
            seen = values and [SeenValue(name=name, value=value) for name, value in zip(per, values, strict=True)]
            fullest.append(CountedValue(quota=level_shown(quota, bucket.level), values=seen))
        return CountedValues(total=len(taken), fullest=fullest)

    async def _buckets(
        self, keyspace: Keyspace, agent_id: str, quota: Quota | DenialCount
    ) -> tuple[int, list[_Bucket]]:
        """By how much quota time is ahead of the clock (us), and the buckets that the agent's calls have used."""
        live = live_in(keyspace, agent_id, quota)
        names, skew = await self._client.read_pipelined(
            (("ZRANGE", live, 0, -1, "WITHSCORES"), ("HGET", keyspace.commits, "skew_us"))
        )
        with decoding_record("A set of live buckets"):
            skew_us, found = (
                int(skew or 0),
                [(name, int(until)) for name, until in zip(names[::2], names[1::2], strict=True)],
            )
        kind = (quota.window_us, isinstance(quota, Quota) and quota.amount is not None)
        buckets: list[_Bucket] = []
        for start in range(0, len(found), _AT_ONCE):
            some = found[start : start + _AT_ONCE]
            keys = [counted_in(keyspace, agent_id, replace(quota, bucket=name)) for name, _ in some]
            _, levels = await read_counters(self._client, keyspace, keys, [kind] * len(some))
            buckets += (
                _Bucket(level.taken, until_us - quota.window_us, name, level)
                for (name, until_us), level in zip(some, levels, strict=True)
            )
        return skew_us, buckets

    async def _named(
        self, workspace_id: str, agent_id: str, varying: _Varying, bucket: _Bucket, skew_us: int
    ) -> list[Any] | None:
        """The bucket's values, from the entry of the agent's newest call that counted in it.

        None if the log does not show them; also if the clock stepped back twice since the call, so that it is unknown
        by how much quota time was ahead.
        """
        for time_us in dict.fromkeys((bucket.newest_us - skew_us, bucket.newest_us)):
            query = AuditQuery(
                agent_id=agent_id, from_ms=time_us // 1000, to_ms=time_us // 1000, limit=_OF_ONE_MILLISECOND
            )
            page = await self._audit.query(workspace_id, query)
            for call, key_id in map(_logged, page.lines):
                values = varying.counted_by(call, key_id, bucket.name)
                if values is not None:
                    return values
        return None


def _rules(compiled: CompiledAgent) -> Iterator[CompiledRule]:
    return (rule for _, rules in compiled.compiled_policies for rule in rules)


def _counter(rule: CompiledRule, agent_id: str) -> Quota | DenialCount | _Varying | None:
    """What the rule counts in: one bucket for all of the agent's calls, or several; None if it counts nothing."""
    if isinstance(rule.demands.breaker, DenialCount | VaryingBreaker):
        return rule.demands.breaker
    for quota in rule.demands.quotas:
        if isinstance(quota, VaryingQuota):
            is_one = rule.rule.limit is not None and rule.rule.limit.per in (UNSET, ["agent"])
            return quota.shared(agent_id, "") if is_one else quota
        if isinstance(quota, Quota):
            return quota
    return None


def _logged(line: bytes) -> tuple[AuthorizeRequest, str]:
    """The call of a line of the log, and the API key that made it."""
    call = decode_call(line)
    context = None if call.context is UNSET else decode_object(call.context)
    return AuthorizeRequest(
        call.agent_id, call.tool_name, "", decode_object(call.parameters), b"", context=context
    ), call.key_id
