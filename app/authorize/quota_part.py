"""The part of a commit that is about limits and sessions: its keys and arguments, and what the reply says of it."""

from collections.abc import Mapping

from msgspec.structs import replace

from app.model.decisions import HistoryCheck, Outcome, Plan, Quota, Result
from app.model.marks import MAX_SESSIONS
from app.model.quotas import MAX_LIVE
from app.redis_client.client import Value
from app.store.keyspace import Keyspace

Versions = Mapping[str, int]

CROWDED = f"This limit counts {MAX_LIVE} different values for the agent already"
"""What the script gives as the reason where a rule has too many live buckets."""

MANY_SESSIONS = f"Sequence rules look back on {MAX_SESSIONS} sessions of the agent already"
"""The same where there is no room for the marks of one session more."""


def add_quotas(
    keyspace: Keyspace,
    agent_id: str,
    plan: Plan,
    decision_id: str,
    versions: Versions,
    keys: list[str],
    settled: list[Value],
) -> None:
    """The keys and arguments of the plan's quotas and marks are added, in the order of the script's header."""
    live: list[str] = []
    for quota in plan.quotas:
        if isinstance(quota, HistoryCheck):
            keys.append(_history_key(keyspace, agent_id, quota))
            settled += (0, quota.window_us, _asks(quota), *outcome_args(quota.when_full, versions))
            continue
        if quota.bucket:
            keys.append(keyspace.bucket(quota.policy_id, quota.fingerprint, quota.bucket))
            live.append(keyspace.live_buckets(quota.policy_id, quota.fingerprint, agent_id))
        else:
            keys.append(keyspace.quota(quota.policy_id, quota.fingerprint))
        settled += (quota.max_calls, quota.window_us, _takes(quota), *outcome_args(quota.when_full, versions))
    keys += live
    refundable = [n for n, each in enumerate(plan.quotas, 1) if isinstance(each, Quota) and each.refundable]
    if plan.marks:
        keys += (keyspace.session(plan.session), keyspace.agent_session(agent_id, plan.session))
        keys += (keyspace.live_sessions(agent_id, mark.name) for mark in plan.marks)
    if refundable:
        keys.append(keyspace.taken(decision_id))
    if plan.marks or refundable:
        marks = (f"{each.name} {each.shared_us} {each.own_us}" for each in plan.marks)
        numbers = ",".join(map(str, refundable))
        settled.append(" ".join((numbers or "-", plan.session or "-", *marks)))


def final_outcome(plan: Plan, full: int) -> Outcome:
    """The outcome that the script has logged, by what it says of full quotas."""
    if full == 0:
        return plan.outcome
    if full > len(plan.quotas):
        return Outcome(Result.DENIED, None, None, MANY_SESSIONS)
    outcome = plan.quotas[abs(full) - 1].when_full
    return outcome if full > 0 else replace(outcome, reason=CROWDED)


def outcome_args(outcome: Outcome, versions: Versions) -> tuple[str, str, str, str]:
    """Result, policy, rule and reason as the script reads them. versions: of policies by their id, as far as known."""
    policy_id = outcome.policy_id or ""
    rule = "" if outcome.rule is None else f"{outcome.rule.index} {outcome.rule.type}"
    if rule and policy_id in versions:
        rule += f" v{versions[policy_id]}"
    return outcome.result, policy_id, rule, outcome.reason


def _takes(quota: Quota) -> str:
    """How much of which bucket; "" = one call of the only one."""
    if quota.amount is None and not quota.bucket:
        return ""
    return f"{'' if quota.amount is None else quota.amount} {quota.bucket}"


def _asks(check: HistoryCheck) -> str:
    """What a sequence rule asks of the session's marks."""
    return " ".join(("after" if check.forbids else "before", *check.marks))


def _history_key(keyspace: Keyspace, agent_id: str, check: HistoryCheck) -> str:
    """The session's own marks, or those that the agent has left in it."""
    return keyspace.session(check.session) if check.forbids else keyspace.agent_session(agent_id, check.session)
