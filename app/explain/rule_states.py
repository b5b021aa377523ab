"""Reads how full a call's limits are and what its session was allowed, without taking anything."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeVar

from app.authorize.commit.quotas import counted_in
from app.model.explanations import QuotaLevel, SeenMark
from app.model.plans import DenialCount, HistoryCheck, Quota, RecordCheck
from app.model.quotas import FOREVER_SECONDS, MICRO
from app.model.rules import Sequenced
from app.model.sequences import CallSequence
from app.pdp.explained import Place, RuleState
from app.pdp.rules.records import read_record
from app.pdp.trace import RuleTrace, Trace
from app.redis_client.client import Client, Value
from app.redis_client.clients import store_time_ms
from app.redis_client.replies import check_reply, decoding_record
from app.redis_client.scripts import READ_QUOTAS
from app.store.keyspace import Keyspace, keyspace_of

_US = 1_000_000
_Counted = TypeVar("_Counted", bound=Quota | DenialCount)


class Level(NamedTuple):
    """Calls in the window, or millionths of a budget spent, and the us until the oldest leaves it (0 if empty)."""

    taken: int
    leaves_us: int


async def read_rule_states(
    client: Client, workspace_id: str, agent_id: str, traced: Trace, now_us: int | None
) -> Mapping[Place, RuleState]:
    """The store's counts for each rule that counts something, by policy and index of the rule.

    now_us: None for the store's clock; a time before the last decision counts as the time of that decision.
    """
    rules = {
        (policy.policy.id, rule.rule.ref.index): rule
        for policy in traced.policies
        for rule in policy.rules
        if rule.checks
    }
    if not rules:
        return {}
    keyspace = keyspace_of(workspace_id)
    quotas = [check for rule in rules.values() for check in rule.checks if isinstance(check, Quota | DenialCount)]
    quota_us, levels = await read_levels(client, keyspace, quotas, now_us, agent_id)
    states: dict[Place, RuleState] = {}
    for place, rule in rules.items():
        if isinstance(sequenced := rule.rule.rule, Sequenced):
            sequence = sequenced.sequence
            states[place] = await _session_state(client, keyspace, agent_id, rule, sequence, quota_us)
        for check in rule.checks:
            if isinstance(check, DenialCount):
                states[place] = _denial_state(check, levels[check])
            elif isinstance(check, Quota):
                states[place] = _quota_state(check, levels[check])
            elif isinstance(check, RecordCheck):
                states[place] = await _record_state(client, keyspace, agent_id, check, now_us)
    return states


async def read_levels(
    client: Client, keyspace: Keyspace, quotas: Sequence[_Counted], now_us: int | None = None, agent_id: str = ""
) -> tuple[int, dict[_Counted, Level]]:
    """The quota time in us, and how full each quota is. Takes nothing. agent_id: for breakers."""
    keys = [counted_in(keyspace, agent_id, quota) for quota in quotas]
    kinds = [(quota.window_us, isinstance(quota, Quota) and quota.amount is not None) for quota in quotas]
    quota_us, levels = await read_counters(client, keyspace, keys, kinds, now_us)
    return quota_us, dict(zip(quotas, levels, strict=True))


async def read_counters(
    client: Client,
    keyspace: Keyspace,
    counters: Sequence[str],
    kinds: Iterable[tuple[int, bool]],
    now_us: int | None = None,
) -> tuple[int, list[Level]]:
    """The quota time in us, and how full the limits are that count under these keys.

    kinds: of each, the window in us, and whether it is a budget.
    """
    args = list[Value](["" if now_us is None else now_us])
    for window_us, is_budget in kinds:
        args += (window_us, "budget" if is_budget else "calls")
    _, quota_us, levels = check_reply(READ_QUOTAS, await client.run(READ_QUOTAS, [keyspace.commits, *counters], args))
    with decoding_record("A quota"):
        pairs = zip(levels[::2], levels[1::2], strict=True)
        return int(quota_us), [Level(int(taken), int(leaves_us)) for taken, leaves_us in pairs]


def level_shown(quota: Quota | DenialCount, level: Level) -> QuotaLevel:
    """The level in calls, in denials, or in the budget's own unit."""
    is_budget = isinstance(quota, Quota) and quota.amount is not None
    is_forever = quota.window_us == FOREVER_SECONDS * _US
    unit, most = MICRO if is_budget else 1, quota.max_calls if isinstance(quota, Quota) else quota.max_denials
    return QuotaLevel(
        most=most / unit,
        taken=level.taken / unit,
        left=max(0, most - level.taken) / unit,
        window_seconds=None if is_forever else quota.window_us // _US,
        frees_in_seconds=-(-level.leaves_us // 1000) / 1000 if level.leaves_us > 0 and not is_forever else None,
    )


def _quota_state(quota: Quota, level: Level) -> RuleState:
    takes = 1 if quota.amount is None else quota.amount
    is_full = level.taken + takes > quota.max_calls
    return RuleState(level_shown(quota, level), (), quota.when_full.reason if is_full else None)


def _denial_state(breaker: DenialCount, denials: Level) -> RuleState:
    level = level_shown(breaker, denials)
    return RuleState(level, (), breaker.when_full.reason if level.left == 0 else None)


async def _record_state(
    client: Client, keyspace: Keyspace, agent_id: str, check: RecordCheck, now_us: int | None
) -> RuleState:
    """What was reported of a record in the session, and why the rule fails, if it does."""
    stored = await client.call("HGET", keyspace.session_records(agent_id, check.session), check.record)
    now_ms = await store_time_ms(client) if now_us is None else now_us // 1000
    with decoding_record("A record of a session"):
        read, fits = read_record(check, stored, now_ms)
    return RuleState(None, (), None if fits else check.when_full.reason, read)


async def _session_state(
    client: Client, keyspace: Keyspace, agent_id: str, traced: RuleTrace, sequence: CallSequence, quota_us: int
) -> RuleState:
    """The session's marks that a sequence rule looks up, and why the rule fails, if it does."""
    marks: list[SeenMark] = []
    failed = None
    for check in traced.checks:
        if not isinstance(check, HistoryCheck):
            continue
        patterns = list(dict.fromkeys(sequence.forbidden if check.forbids else sequence.required))
        session, own = keyspace.session(check.session), keyspace.agent_session(agent_id, check.session)
        times = await client.call("HMGET", session if check.forbids else own, *check.marks)
        is_there = False
        for pattern, time in zip(patterns, times, strict=True):
            with decoding_record("A session"):
                ago_us = None if time is None else quota_us - int(time)
            counts = ago_us is not None and ago_us < check.window_us
            is_there |= counts
            ago = None if ago_us is None or not counts else max(0, ago_us) / _US
            marks.append(SeenMark(tool=pattern, forbids=check.forbids, allowed_seconds_ago=ago))
        if is_there is check.forbids:
            failed = failed or check.when_full.reason
    return RuleState(None, tuple(marks), failed)
