"""The part of the commit that is about shadow policies: what it reads, takes, counts and leaves alone."""

import pytest
from commit_scene import ALLOWED, DENIED, MINUTE, POLICY, SECOND, START, quota
from msgspec.structs import replace

from app.errors import StoreUnavailable
from app.model.decisions import Result, RuleRef, ShadowOutcome
from app.model.marks import MAX_SESSIONS
from app.model.plans import Mark, Plan, SessionRoom, ShadowPlan

TRIED = "018bcfe5-6800-7000-8000-0000000000aa"
READ = "ad" * 16
SOFT = Mark(READ, MINUTE, MINUTE, soft=True)
LIMIT = quota("wide", 1, MINUTE)
OWN = replace(quota("tried-shadow", 1, MINUTE), policy_id=TRIED)


def would(result):
    return ShadowOutcome(TRIED, result, RuleRef(0, "rate_limit"))


def beside(*quotas, outcome=Result.ALLOWED, full=Result.DENIED):
    """The plan of all policies together; the quotas of TRIED belong to the shadow."""
    own = tuple(not isinstance(each, SessionRoom) and each.policy_id == TRIED for each in quotas)
    return ShadowPlan(quotas, (would(outcome), *(would(full) for _ in quotas)), own)


async def shadow_of(scene):
    return (await scene.entries())[-1].get("shadow")


async def test_a_shadow_only_bucket_counts_although_the_call_is_denied(scene):
    """An enforced bucket that it reads is unchanged."""
    plan = Plan(DENIED, shadow=beside(LIMIT, OWN))

    first = await scene.commit(plan=plan)
    second = await scene.commit(plan=plan, at=START + SECOND)

    assert (first.outcome, first.shadow) == (DENIED, would(Result.ALLOWED))
    assert (second.outcome, second.shadow) == (DENIED, would(Result.DENIED))
    assert await scene.client.call("LLEN", scene.keyspace.quota(TRIED, "tried-shadow")) == 1
    assert await scene.client.call("LLEN", scene.keyspace.quota(POLICY, "wide")) == 0


async def test_a_quota_of_both_plans_is_taken_once(scene):
    """The wait is that of the enforced limit, however full the others are."""
    plan = Plan(ALLOWED, (LIMIT,), shadow=beside(LIMIT, OWN))
    assert (await scene.commit(plan=plan)).outcome == ALLOWED
    assert await shadow_of(scene) is None

    answer = await scene.commit(plan=plan, at=START + SECOND)

    assert (answer.outcome, answer.retry_after_us) == (LIMIT.when_full, MINUTE - SECOND)
    assert await scene.client.call("LLEN", scene.keyspace.quota(POLICY, "wide")) == 1


async def test_a_denied_call_that_would_be_allowed_needs_room_in_its_session(scene):
    """Although it leaves no marks and has no limits."""
    plan = Plan(DENIED, shadow=beside(SessionRoom(READ, "abcdef")))
    answer = await scene.commit(plan=plan)
    assert (answer.outcome, answer.shadow) == (DENIED, would(Result.ALLOWED))


async def test_a_call_without_room_for_a_shadow_mark_is_allowed_without_it(scene):
    """The entry says that it would have been denied."""
    live = scene.keyspace.live_sessions(scene.agent.id, READ)
    many = (word for n in range(MAX_SESSIONS) for word in (START + MINUTE + n, f"{n:x}"))
    await scene.client.call("ZADD", live, *many)
    plan = Plan(ALLOWED, session="abcdef", marks=(SOFT,), shadow=beside(SessionRoom(READ, "abcdef")))

    answer = await scene.commit(plan=plan, at=START + SECOND)

    assert (answer.outcome, answer.shadow, answer.retry_after_us) == (ALLOWED, would(Result.DENIED), None)
    assert await scene.client.call("EXISTS", scene.keyspace.session("abcdef")) == 0
    assert await scene.client.call("ZCARD", live) == MAX_SESSIONS
    known = replace(plan, session="7", shadow=beside(SessionRoom(READ, "7")))
    assert (await scene.commit(plan=known, at=START + SECOND)).shadow == would(Result.ALLOWED)
    assert await scene.client.call("HEXISTS", scene.keyspace.session("7"), READ) == 1


async def test_a_counter_of_another_type_is_an_error_before_anything_is_written(scene):
    """Scripts do not roll back."""
    await scene.client.call("SET", scene.keyspace.divergence(TRIED), "no hash")
    before = await scene.everything()

    with pytest.raises(StoreUnavailable):
        await scene.commit(plan=Plan(DENIED, shadow=beside(OWN)))

    assert await scene.everything() == before


async def test_an_equal_result_counts_no_divergence(scene):
    """And no key is created."""
    await scene.commit(plan=Plan(ALLOWED, shadow=beside(OWN)))
    assert await scene.client.call("EXISTS", scene.keyspace.divergence(TRIED)) == 0
    await scene.commit(plan=Plan(ALLOWED, shadow=beside(OWN)))
    counts = await scene.client.call("HGET", scene.keyspace.divergence(TRIED), "allowed denied")
    assert counts == "1"
