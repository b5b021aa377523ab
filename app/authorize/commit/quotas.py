"""The commit's parts for limits, sessions and denial breakers: their keys and arguments, and what their reply means."""

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from app.authorize.commit.arguments import CommitArguments
from app.authorize.commit.reply import CommitReply
from app.authorize.commit.shadow import add_shadow
from app.model.decisions import Outcome
from app.model.marks import TOO_MANY_SESSIONS
from app.model.plans import Check, DenialCount, HistoryCheck, Plan, Quota, RememberedCheck, SessionRoom
from app.model.policies import SHADOW_BUCKET
from app.model.quotas import MAX_LIVE
from app.store.keyspace import Keyspace

CROWDED = {
    "values": f"This limit counts {MAX_LIVE} different values for the agent already",
    "amounts": f"This limit counts {MAX_LIVE} amounts already",
}
"""The script's reasons if a rule has too many buckets in use, or a budget too many amounts in its window."""

_ACTIVE, _SUSPENDED = '{"status":"active","version":%.0f}', '{"status":"suspended","version":%.0f}'
"""The agent before and after a denial trips a breaker, in the form of `snapshots.snapshots`, with a placeholder for the
version.
"""


def add_quotas(arguments: CommitArguments, plan: Plan, decision_id: str) -> None:
    """Add the plan's quotas, marks and breakers, with the parts that they need."""
    keyspace, agent_id = arguments.keyspace, arguments.agent_id
    limits, checks = list[tuple[int, Quota]](), list[tuple[int, HistoryCheck]]()
    remembered = list[tuple[int, RememberedCheck]]()
    quotas: tuple[Check | SessionRoom, ...] = plan.quotas
    if plan.shadow is not None:
        quotas += add_shadow(arguments, plan, plan.shadow)
    for number, quota in enumerate(quotas, 1):
        if isinstance(quota, SessionRoom):
            arguments.keys.append(keyspace.live_sessions(agent_id, quota.mark))
            arguments.fixed += (0, 0, "", "", "", "")
            continue
        if isinstance(quota, DenialCount):
            arguments.keys.append(counted_in(keyspace, agent_id, quota))
            newest_spared = quota.max_denials - 1
        elif isinstance(quota, Quota):
            limits.append((number, quota))
            arguments.keys.append(counted_in(keyspace, agent_id, quota))
            newest_spared = quota.max_calls - 1 if quota.amount is None else quota.max_calls
        elif isinstance(quota, HistoryCheck):
            checks.append((number, quota))
            arguments.keys.append(_history_key(keyspace, agent_id, quota))
            newest_spared = 0
        else:
            remembered.append((number, quota))
            arguments.keys.append(_memory_key(keyspace, agent_id, quota))
            newest_spared = 0
        arguments.fixed += (newest_spared, quota.window_us, *arguments.outcome(quota.when_full))
    if limits:
        _add_limits(arguments, limits, decision_id)
    if checks:
        arguments.add_part("sequences", (), ("".join(f"{number} {_asks(check)};" for number, check in checks),))
    if remembered:
        arguments.add_part("remembered", (), tuple(map("".join, zip(*map(_remembered, remembered), strict=True))))
    _add_marks(arguments, plan)


def _add_marks(arguments: CommitArguments, plan: Plan) -> None:
    """Add the parts for what the call leaves in its session if it is allowed, and in breakers if it is denied."""
    keyspace, agent_id = arguments.keyspace, arguments.agent_id
    if plan.marks:
        sessions = (keyspace.session(plan.session), keyspace.agent_session(agent_id, plan.session))
        live = (keyspace.live_sessions(agent_id, mark.name) for mark in plan.marks)
        leaves = (f"{'~' if mark.soft else ''}{mark.name} {mark.shared_us} {mark.own_us}" for mark in plan.marks)
        arguments.add_part("marks", (*sessions, *live), (" ".join((plan.session, *leaves)),))
    if plan.breakers:
        denials = (key for breaker in plan.breakers for key in _breaker_keys(keyspace, agent_id, breaker))
        lines = "".join(_breaker_lines(breaker, plan) for breaker in plan.breakers)
        arguments.add_part("breakers", (keyspace.changes, *denials), (_ACTIVE, _SUSPENDED, lines))


def _add_limits(arguments: CommitArguments, limits: Sequence[tuple[int, Quota]], decision_id: str) -> None:
    """Add the parts for budgets, for rules with several buckets, and for refundable quotas."""
    keyspace = arguments.keyspace
    live, takes, refundable = list[str](), "", ""
    for number, quota in limits:
        if quota.bucket:
            live.append(live_in(keyspace, arguments.agent_id, quota))
        if quota.bucket or quota.amount is not None:
            takes += f"{number} {'' if quota.amount is None else quota.amount} {quota.bucket};"
        if quota.refundable:
            aside = "~" if quota.fingerprint.endswith(SHADOW_BUCKET) else ""
            refundable += f"{number} {aside}{'-' if quota.amount is None else quota.amount} "
    if takes:
        arguments.add_part("limits", live, (takes,))
    if refundable:
        arguments.add_part("refunds", (keyspace.taken(decision_id),), (refundable,))


def final_outcome(plan: Plan, reply: CommitReply) -> Outcome:
    """The outcome that the script has logged, given what it found full or crowded."""
    if reply.crowded == "sessions":
        return TOO_MANY_SESSIONS
    outcome = plan.quotas[reply.full - 1].when_full
    return replace(outcome, reason=CROWDED[reply.crowded]) if reply.crowded else outcome


def counted_in(keyspace: Keyspace, agent_id: str, quota: Quota | DenialCount) -> str:
    """The key under which a limit counts the agent's calls, or a breaker its denials."""
    if isinstance(quota, DenialCount):
        rule = (agent_id, quota.since, quota.policy_id, quota.fingerprint)
        return keyspace.denials_of_value(*rule, quota.bucket) if quota.bucket else keyspace.denials(*rule)
    if quota.bucket:
        return keyspace.bucket(quota.policy_id, quota.fingerprint, quota.bucket)
    return keyspace.quota(quota.policy_id, quota.fingerprint)


def live_in(keyspace: Keyspace, agent_id: str, quota: Quota | DenialCount) -> str:
    """The key of the buckets in use, if there is one for each value."""
    if isinstance(quota, DenialCount):
        return keyspace.live_denials(agent_id, quota.since, quota.policy_id, quota.fingerprint)
    return keyspace.live_buckets(quota.policy_id, quota.fingerprint, agent_id)


def _asks(check: HistoryCheck) -> str:
    """What a sequence rule requires of the session's marks."""
    required = ("once" if check.asks else "spent") if check.spends else "before"
    return " ".join(("after" if check.forbids else required, *check.marks))


def _remembered(numbered: tuple[int, RememberedCheck]) -> tuple[str, str]:
    """The values that must be remembered, and those that are remembered if the call uses an approval."""
    number, check = numbered
    asked = (f" {target.within_ms}={','.join(target.macs)}" for target in check.targets if check.asks)
    kept = (f"{number} {each.macs[0]} {each.parameter}\n" for each in check.targets if check.renews and each.macs)
    return f"{number}{''.join(asked)};", "".join(kept)


def _memory_key(keyspace: Keyspace, agent_id: str, check: RememberedCheck) -> str:
    """The key of what the rule remembers for the agent, or of the request that is pinned for the session."""
    return keyspace.pinned(check.pinned_for) if check.pinned_for else keyspace.remembered(agent_id, check.memory)


def _history_key(keyspace: Keyspace, agent_id: str, check: HistoryCheck) -> str:
    """The key of the session's marks, or of those that this agent has left in it."""
    return keyspace.session(check.session) if check.forbids else keyspace.agent_session(agent_id, check.session)


def _breaker_keys(keyspace: Keyspace, agent_id: str, breaker: DenialCount) -> Iterator[str]:
    yield counted_in(keyspace, agent_id, breaker)
    if breaker.bucket:
        yield live_in(keyspace, agent_id, breaker)


def _breaker_lines(breaker: DenialCount, plan: Plan) -> str:
    number = plan.quotas.index(breaker) + 1 if breaker in plan.quotas else 0
    counts = f"{breaker.max_denials} {breaker.window_us} {breaker.action} {number}"
    return f"{counts} {breaker.policy_id} {breaker.bucket}\n{breaker.when_full.reason}\n"
