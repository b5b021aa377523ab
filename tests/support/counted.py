"""Everything that rules count in the store: for each kind, what makes it count, and whether it still does."""

from collections.abc import Awaitable, Callable
from typing import NamedTuple

from commit_scene import ALLOWED, DENIED, MINUTE, POLICY, Scene

from app.model.agents import AgentStatus
from app.model.decision_codes import DecisionCode
from app.model.decisions import Outcome, Result, RuleRef
from app.model.marks import MAX_SESSIONS, TOO_MANY_SESSIONS
from app.model.plans import DenialCount, HistoryCheck, Mark, Plan, Quota
from app.model.quotas import MAX_LIVE

FULL = Outcome(Result.DENIED, POLICY, RuleRef(3, "rate_limit"), "full", DecisionCode.QUOTA_FULL)
CALL = "ad" * 16


class Kind(NamedTuple):
    """`count` commits at a store time (None = the store's clock); `counts` then tells whether that still has effect."""

    count: Callable[[Scene, int | None], Awaitable[object]]
    counts: Callable[[Scene, int | None], Awaitable[bool]]


def _limit(amount: int | None = None, bucket: str = "") -> Quota:
    return Quota(POLICY, f"limit {amount}", 1, MINUTE, FULL, amount, bucket)


def _of_limit(limit: Quota) -> Kind:
    async def count(scene: Scene, at: int | None) -> None:
        assert (await scene.commit(limit, at=at)).outcome == ALLOWED

    async def counts(scene: Scene, at: int | None) -> bool:
        return (await scene.commit(limit, at=at)).outcome == FULL

    return Kind(count, counts)


async def _count_values(scene: Scene, at: int | None) -> None:
    answer = await scene.commit(_limit(bucket="aaaa"), at=at)
    live = scene.keyspace.live_buckets(POLICY, "limit None", scene.agent.id)
    await _fill(scene, live, MAX_LIVE, answer.time_us)


async def _no_other_value(scene: Scene, at: int | None) -> bool:
    return (await scene.commit(_limit(bucket="bbbb"), at=at)).outcome != ALLOWED


def _leaving(session: str) -> Plan:
    return Plan(ALLOWED, (), session=session, marks=(Mark(CALL, MINUTE, MINUTE),))


async def _leave(scene: Scene, at: int | None) -> None:
    assert (await scene.commit(plan=_leaving("5e5e"), at=at)).outcome == ALLOWED


def _past(*, forbids: bool) -> HistoryCheck:
    return HistoryCheck(POLICY, forbids, (CALL,), MINUTE, FULL, "5e5e")


async def _forbidden_after(scene: Scene, at: int | None) -> bool:
    return (await scene.commit(_past(forbids=True), at=at)).outcome == FULL


async def _was_before(scene: Scene, at: int | None) -> bool:
    return (await scene.commit(_past(forbids=False), at=at)).outcome == ALLOWED


async def _count_sessions(scene: Scene, at: int | None) -> None:
    answer = await scene.commit(plan=_leaving("5e5e"), at=at)
    await _fill(scene, scene.keyspace.live_sessions(scene.agent.id, CALL), MAX_SESSIONS, answer.time_us)


async def _no_other_session(scene: Scene, at: int | None) -> bool:
    return (await scene.commit(plan=_leaving("e5e5"), at=at)).outcome == TOO_MANY_SESSIONS


def _denied() -> Plan:
    return Plan(DENIED, (), breakers=(DenialCount(POLICY, "cafe", 2, MINUTE, FULL, suspends=True, since=0),))


async def _deny(scene: Scene, at: int | None) -> None:
    await scene.commit(plan=_denied(), at=at)


async def _trips(scene: Scene, at: int | None) -> bool:
    await scene.commit(plan=_denied(), at=at)
    return (await scene.agents.get(scene.workspace_id, scene.agent.id)).status is AgentStatus.SUSPENDED


def _of_value(value: str, outcome: Outcome = DENIED) -> Plan:
    breaker = DenialCount(POLICY, "cafe", 1, MINUTE, FULL, suspends=False, since=0, bucket=value)
    return Plan(outcome, (breaker,) if outcome == ALLOWED else (), breakers=(breaker,))


async def _deny_value(scene: Scene, at: int | None) -> None:
    await scene.commit(plan=_of_value("cafe"), at=at)


async def _is_stopped(scene: Scene, at: int | None) -> bool:
    return (await scene.commit(plan=_of_value("cafe", ALLOWED), at=at)).outcome == FULL


async def _deny_values(scene: Scene, at: int | None) -> None:
    answer = await scene.commit(plan=_of_value("cafe"), at=at)
    await _fill(scene, scene.keyspace.live_denials(scene.agent.id, 0, POLICY, "cafe"), MAX_LIVE, answer.time_us)


async def _no_other_denied_value(scene: Scene, at: int | None) -> bool:
    return (await scene.commit(plan=_of_value("beef", ALLOWED), at=at)).outcome != ALLOWED


async def _fill(scene: Scene, live: str, most: int, time_us: int) -> None:
    """As many live members as there may be, counting until a minute after the time of a decision."""
    members = (word for n in range(most) for word in (time_us + MINUTE, f"{n:x}"))
    await scene.client.call("ZADD", live, *members)


KINDS = {
    "limit": _of_limit(_limit()),
    "budget": _of_limit(_limit(1)),
    "limit per value": _of_limit(_limit(bucket="b")),
    "budget per value": _of_limit(_limit(1, "b")),
    "values of a limit": Kind(_count_values, _no_other_value),
    "forbiddenAfter": Kind(_leave, _forbidden_after),
    "requiresBefore": Kind(_leave, _was_before),
    "sessions of an agent": Kind(_count_sessions, _no_other_session),
    "denials": Kind(_deny, _trips),
    "denials per value": Kind(_deny_value, _is_stopped),
    "values of a breaker": Kind(_deny_values, _no_other_denied_value),
}
