"""How full the limits are that count for a call, and what its session was allowed: read, and nothing taken."""

from collections.abc import Mapping

from app.model.decisions import HistoryCheck, Quota
from app.model.explanations import QuotaLevel, SeenMark
from app.model.marks import mark_name
from app.model.policies import Sequenced
from app.model.quotas import MICRO
from app.pdp.explained import Place, Standing
from app.pdp.trace import RuleTrace, Trace
from app.redis_client.client import Client, Value, check_reply
from app.redis_client.scripts import READ_QUOTAS
from app.store.keyspace import Keyspace, keyspace_of

_US = 1_000_000


async def read_standings(
    client: Client, workspace_id: str, agent_id: str, traced: Trace, now_us: int | None
) -> Mapping[Place, Standing]:
    """What the store has for each rule that counts something, by policy and place of the rule.

    now_us: None = by the store's clock; earlier than the last decision = as of that.
    """
    rules = {
        (each.policy.id, rule.rule.ref.index): rule for each in traced.policies for rule in each.rules if rule.checks
    }
    if not rules:
        return {}
    keyspace = keyspace_of(workspace_id)
    quotas = [check for rule in rules.values() for check in rule.checks if isinstance(check, Quota)]
    keys, args = [keyspace.commits], list[Value](["" if now_us is None else now_us])
    for quota in quotas:
        bucket = (quota.policy_id, quota.fingerprint)
        keys.append(keyspace.bucket(*bucket, quota.bucket) if quota.bucket else keyspace.quota(*bucket))
        args += (quota.window_us, "calls" if quota.amount is None else "budget")
    _, quota_us, levels = check_reply(READ_QUOTAS, await client.run(READ_QUOTAS, keys, args))
    by_quota = {
        quota: (int(taken), int(leaves_us))
        for quota, taken, leaves_us in zip(quotas, levels[::2], levels[1::2], strict=True)
    }
    found: dict[Place, Standing] = {}
    for place, rule in rules.items():
        if isinstance(rule.rule.rule, Sequenced):
            found[place] = await _session(client, keyspace, agent_id, rule, int(quota_us))
        for check in rule.checks:
            if isinstance(check, Quota):
                found[place] = _level(check, *by_quota[check])
    return found


def _level(quota: Quota, taken: int, leaves_us: int) -> Standing:
    unit = 1 if quota.amount is None else MICRO
    level = QuotaLevel(
        most=quota.max_calls / unit,
        taken=taken / unit,
        left=max(0, quota.max_calls - taken) / unit,
        window_seconds=quota.window_us // _US,
        frees_in_seconds=-(-leaves_us // 1000) / 1000 if leaves_us > 0 else None,
    )
    takes = 1 if quota.amount is None else quota.amount
    return Standing(level, (), quota.when_full.reason if taken + takes > quota.max_calls else None)


async def _session(client: Client, keyspace: Keyspace, agent_id: str, traced: RuleTrace, quota_us: int) -> Standing:
    """The marks of the session that a sequence rule looks back on, and why it fails if it does."""
    marks: list[SeenMark] = []
    failed = None
    sequence = traced.rule.rule.sequence  # type: ignore[union-attr]
    for check in traced.checks:
        if not isinstance(check, HistoryCheck):
            continue
        patterns = list(dict.fromkeys(sequence.forbidden if check.forbids else sequence.required))
        session, own = keyspace.session(check.session), keyspace.agent_session(agent_id, check.session)
        times = await client.call("HMGET", session if check.forbids else own, *map(mark_name, patterns))
        is_there = False
        for pattern, time in zip(patterns, times, strict=True):
            ago_us = None if time is None else quota_us - int(time)
            counts = ago_us is not None and ago_us < check.window_us
            is_there |= counts
            ago = None if ago_us is None or not counts else max(0, ago_us) / _US
            marks.append(SeenMark(tool=pattern, forbids=check.forbids, allowed_seconds_ago=ago))
        if is_there is check.forbids:
            failed = failed or check.when_full.reason
    return Standing(None, tuple(marks), failed)
