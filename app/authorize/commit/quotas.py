"""The commit's parts for limits, sessions and denial breakers: their keys and arguments, and what their reply means."""

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from app.authorize.commit.arguments import CommitArguments
from app.authorize.commit.reply import CommitReply
from app.authorize.commit.shadow import add_shadow
from app.model.decisions import Outcome
from app.model.marks import TOO_MANY_SESSIONS
from app.model.plans import Check, DenialCount, HistoryCheck, Plan, Quota, RecordCheck, RememberedCheck, SessionRoom
from app.model.policies import SHADOW_BUCKET
from app.model.quotas import MAX_LIVE
from app.model.records import digest, token
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
    quotas: tuple[Check | SessionRoom, ...] = plan.quotas
    if plan.shadow is not None:
        quotas += add_shadow(arguments, plan, plan.shadow)
    if quotas:
        _add_checks(arguments, quotas, decision_id, own=len(plan.quotas))
    _add_marks(arguments, plan)


def _add_checks(
    arguments: CommitArguments, quotas: Sequence[Check | SessionRoom], decision_id: str, *, own: int
) -> None:
    """Add the quotas, with the parts that they need. own: how many are the plan's own; shadow policies ask the rest."""
    for quota in quotas:
        arguments.keys.append(_read_key(arguments.keyspace, arguments.agent_id, quota))
        if isinstance(quota, SessionRoom):
            arguments.fixed += (0, 0, "", "", "", "")
        else:
            arguments.fixed += (_newest_spared(quota), quota.window_us, *arguments.outcome(quota.when_full))
    numbered = list(enumerate(quotas, 1))
    if limits := [(number, quota) for number, quota in numbered if isinstance(quota, Quota)]:
        _add_limits(arguments, limits, decision_id)
    if looks_back := "".join(f"{n} {_asks(quota)};" for n, quota in numbered if isinstance(quota, HistoryCheck)):
        arguments.add_part("sequences", (), (looks_back,))
    if remembered := [_remembered(n, quota) for n, quota in numbered if isinstance(quota, RememberedCheck)]:
        arguments.add_part("remembered", (), tuple(map("".join, zip(*remembered, strict=True))))
    if reads := "".join(_reads(n, quota, aside=n > own) for n, quota in numbered if isinstance(quota, RecordCheck)):
        arguments.add_part("records", (), (reads,))


def _newest_spared(quota: Check) -> int:
    """The index of the newest call that a quota spares; 0 for what is no list of calls."""
    if isinstance(quota, DenialCount):
        return quota.max_denials - 1
    if isinstance(quota, Quota):
        return quota.max_calls - 1 if quota.amount is None else quota.max_calls
    return 0


def _read_key(keyspace: Keyspace, agent_id: str, quota: Check | SessionRoom) -> str:
    """The key in which the commit looks whether a quota has room."""
    match quota:
        case Quota() | DenialCount():
            return counted_in(keyspace, agent_id, quota)
        case SessionRoom():
            return keyspace.live_sessions(agent_id, quota.mark)
        case HistoryCheck():
            # Of the session's marks, or of those that this agent has left in it.
            return keyspace.session(quota.session) if quota.forbids else keyspace.agent_session(agent_id, quota.session)
        case RecordCheck():
            return keyspace.session_records(agent_id, quota.session)
        case _:
            # Of what the rule remembers for the agent, or of the request that is pinned for the session.
            return (
                keyspace.pinned(quota.pinned_for) if quota.pinned_for else keyspace.remembered(agent_id, quota.memory)
            )


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
        if quota.bucket or quota.amount is not None or quota.counted_us:
            amount, counted = "" if quota.amount is None else quota.amount, quota.counted_us or ""
            takes += f"{number} {amount} {quota.bucket} {counted};"
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


def _remembered(number: int, check: RememberedCheck) -> tuple[str, str]:
    """The values that must be remembered, and those that are remembered if the call uses an approval."""
    asked = (f" {target.within_ms}={','.join(target.macs)}" for target in check.targets if check.asks)
    kept = (f"{number} {each.macs[0]} {each.parameter}\n" for each in check.targets if check.renews and each.macs)
    return f"{number}{''.join(asked)};", "".join(kept)


def _reads(number: int, check: RecordCheck, *, aside: bool) -> str:
    """What a rule demands of a record. aside: True if only shadow policies ask, and what they read is told apart."""
    how = "aside" if aside else "asks" if check.asks else "passes"
    words = [str(number), how, str(check.window_us // 1000), check.record, "".join(f"{tool}," for tool in check.tools)]
    words.append(f'{{"of":{token(check.of)},"fields":')
    for name, tests, is_secret in check.fields:
        words += (digest(name), f"{'~' if is_secret else ''}{token(name)}:", str(len(tests)), *tests)
    return " ".join(words) + "\n"


def _breaker_keys(keyspace: Keyspace, agent_id: str, breaker: DenialCount) -> Iterator[str]:
    yield counted_in(keyspace, agent_id, breaker)
    if breaker.bucket:
        yield live_in(keyspace, agent_id, breaker)


def _breaker_lines(breaker: DenialCount, plan: Plan) -> str:
    number = plan.quotas.index(breaker) + 1 if breaker in plan.quotas else 0
    counts = f"{breaker.max_denials} {breaker.window_us} {breaker.action} {number}"
    return f"{counts} {breaker.policy_id} {breaker.bucket}\n{breaker.when_full.reason}\n"
