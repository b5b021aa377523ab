"""The commit's part for limits and sessions: its keys and arguments, and the meaning of the reply."""

from collections.abc import Sequence

from msgspec.structs import replace

from app.authorize.breaker_part import add_breakers, denials_of
from app.authorize.commit_arguments import CommitArguments
from app.authorize.shadow_part import Versions, add_shadow
from app.model.decisions import Check, DenialCount, HistoryCheck, Outcome, Plan, Quota, SessionRoom
from app.model.marks import TOO_MANY_SESSIONS
from app.model.policies import SHADOW_BUCKET
from app.model.quotas import MAX_LIVE
from app.store.keyspace import Keyspace

CROWDED = f"This limit counts {MAX_LIVE} different values for the agent already"
"""The script's reason if a rule has too many buckets in use."""


def add_quotas(
    words: CommitArguments, keyspace: Keyspace, agent_id: str, plan: Plan, decision_id: str, versions: Versions
) -> None:
    """Add the plan's quotas, marks and breakers, with the parts that they need."""
    limits, checks = list[tuple[int, Quota]](), list[tuple[int, HistoryCheck]]()
    quotas: tuple[Check | SessionRoom, ...] = plan.quotas
    if plan.shadow is not None:
        quotas += add_shadow(words, keyspace, plan, plan.shadow, versions)
    for number, quota in enumerate(quotas, 1):
        if isinstance(quota, SessionRoom):
            words.keys.append(keyspace.live_sessions(agent_id, quota.mark))
            words.settled += (0, 0, "", "", "", "")
            continue
        if isinstance(quota, DenialCount):
            words.keys.append(counted_in(keyspace, agent_id, quota))
            newest_spared = quota.max_denials - 1
        elif isinstance(quota, HistoryCheck):
            checks.append((number, quota))
            words.keys.append(_history_key(keyspace, agent_id, quota))
            newest_spared = 0
        else:
            limits.append((number, quota))
            words.keys.append(counted_in(keyspace, agent_id, quota))
            newest_spared = quota.max_calls - 1 if quota.amount is None else quota.max_calls
        words.settled += (newest_spared, quota.window_us, *outcome_args(quota.when_full, versions))
    if limits:
        _add_limits(words, keyspace, agent_id, limits, decision_id)
    if checks:
        words.add_part("sequences", (), ("".join(f"{number} {_asks(check)};" for number, check in checks),))
    if plan.marks:
        sessions = (keyspace.session(plan.session), keyspace.agent_session(agent_id, plan.session))
        live = (keyspace.live_sessions(agent_id, mark.name) for mark in plan.marks)
        leaves = (f"{'~' if mark.soft else ''}{mark.name} {mark.shared_us} {mark.own_us}" for mark in plan.marks)
        words.add_part("marks", (*sessions, *live), (" ".join((plan.session, *leaves)),))
    if plan.breakers:
        add_breakers(words, keyspace, agent_id, plan)


def _add_limits(
    words: CommitArguments, keyspace: Keyspace, agent_id: str, limits: Sequence[tuple[int, Quota]], decision_id: str
) -> None:
    """Add the parts for budgets, for rules with several buckets, and for refundable quotas."""
    live, takes, refundable = list[str](), "", ""
    for number, quota in limits:
        if quota.bucket:
            live.append(keyspace.live_buckets(quota.policy_id, quota.fingerprint, agent_id))
        if quota.bucket or quota.amount is not None:
            takes += f"{number} {'' if quota.amount is None else quota.amount} {quota.bucket};"
        if quota.refundable:
            aside = "~" if quota.fingerprint.endswith(SHADOW_BUCKET) else ""
            refundable += f"{number} {aside}{'-' if quota.amount is None else quota.amount} "
    if takes:
        words.add_part("limits", live, (takes,))
    if refundable:
        words.add_part("refunds", (keyspace.taken(decision_id),), (refundable,))


def final_outcome(plan: Plan, full: int) -> Outcome:
    """The outcome that the script has logged, given the quota that it found full."""
    if full == 0:
        return plan.outcome
    if full > len(plan.quotas):
        return TOO_MANY_SESSIONS
    outcome = plan.quotas[abs(full) - 1].when_full
    return outcome if full > 0 else replace(outcome, reason=CROWDED)


def outcome_args(outcome: Outcome, versions: Versions) -> tuple[str, str, str, str]:
    """Result, policy, rule and reason as the script reads them. versions: the policy versions that are known, by id."""
    policy = outcome.policy_id or ""
    if outcome.rule is None:
        return outcome.result, policy, "", outcome.reason
    if policy in versions:
        policy = f"{policy} {versions[policy]}"
    return outcome.result, policy, f"{outcome.rule.index} {outcome.rule.type}", outcome.reason


def counted_in(keyspace: Keyspace, agent_id: str, quota: Quota | DenialCount) -> str:
    """The key under which a limit counts the agent's calls, or a breaker its denials."""
    if isinstance(quota, DenialCount):
        return denials_of(keyspace, agent_id, quota)
    if quota.bucket:
        return keyspace.bucket(quota.policy_id, quota.fingerprint, quota.bucket)
    return keyspace.quota(quota.policy_id, quota.fingerprint)


def _asks(check: HistoryCheck) -> str:
    """What a sequence rule requires of the session's marks."""
    return " ".join(("after" if check.forbids else "before", *check.marks))


def _history_key(keyspace: Keyspace, agent_id: str, check: HistoryCheck) -> str:
    """The key of the session's marks, or of those that this agent has left in it."""
    return keyspace.session(check.session) if check.forbids else keyspace.agent_session(agent_id, check.session)
