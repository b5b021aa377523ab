"""An idempotency key makes a retry the same call: one entry, one place in each quota, one answer."""

import asyncio

import pytest
from deciding import ALLOWED, DENIED, SECOND, START, quota

from app.errors import IdempotencyConflict
from app.model.decisions import AuthorizeRequest, Decision, Idempotency, Plan, Result, Tokens

DAY_MS = 24 * 60 * 60 * 1000
ASKED = Idempotency("a" * 64, "b" * 64)
ANOTHER_BODY = Idempotency("a" * 64, "c" * 64)
ANOTHER_KEY = Idempotency("d" * 64, "b" * 64)


async def commit(scene, plan, idempotency=ASKED, *, at=START, version=None):
    """Close the plan for a request that carries this idempotency key."""
    request = AuthorizeRequest(scene.agent.id, "file.read", "authorize", {}, b"{}", idempotency)
    decision_id = scene.ids.new(0)
    return await scene.committing(
        scene.caller, request, Tokens(version or scene.agent.version), plan, decision_id, at, now_us=at
    )


async def test_a_retry_gets_the_first_answer_and_takes_nothing(scene):
    """I4: same entry, no second call in the quota, whatever the second plan says."""
    one = quota("one", 1, 60 * SECOND)
    first = await commit(scene, Plan(ALLOWED, (one,)))

    again = await commit(scene, Plan(DENIED), at=START + SECOND)

    assert isinstance(first, Decision)
    assert isinstance(again, Decision)
    assert (first.repeated, again.repeated) == (False, True)
    assert (again.id, again.outcome, again.time_us) == (first.id, first.outcome, first.time_us)
    assert (again.latency_us, again.retry_after_us) == (first.latency_us, first.retry_after_us)
    assert [entry["id"] for entry in await scene.entries()] == [first.id]
    assert len(await scene.admitted(one)) == 1


async def test_a_refusal_is_repeated_with_its_reason_and_its_wait(scene):
    """The first answer is the answer, also when the quota has room by now."""
    one = quota("one", 1, 60 * SECOND)
    await scene.commit(one)
    refused = await commit(scene, Plan(ALLOWED, (one,)), at=START + SECOND)

    again = await commit(scene, Plan(ALLOWED, (one,)), at=START + 61 * SECOND)

    assert refused.outcome.result is Result.DENIED
    assert (again.outcome, again.retry_after_us) == (refused.outcome, 59 * SECOND)


async def test_the_same_key_for_another_question_is_a_conflict(scene):
    """Nothing is written, and the first answer stays."""
    await commit(scene, Plan(ALLOWED))
    before = await scene.everything()

    with pytest.raises(IdempotencyConflict):
        await commit(scene, Plan(ALLOWED), ANOTHER_BODY)

    assert await scene.everything() == before


async def test_another_key_is_another_call(scene):
    """Two entries for two keys, though the question is the same."""
    await commit(scene, Plan(ALLOWED))
    await commit(scene, Plan(ALLOWED), ANOTHER_KEY)

    assert len(await scene.entries()) == 2


async def test_twenty_at_once_are_one_call(scene):
    """The check and the write are one script, so retries that overlap cannot both be first."""
    one = quota("one", 10, 60 * SECOND)

    answers = await asyncio.gather(*(commit(scene, Plan(ALLOWED, (one,))) for _ in range(20)))

    assert len({answer.id for answer in answers}) == 1
    assert sum(not answer.repeated for answer in answers) == 1
    assert len(await scene.admitted(one)) == 1


async def test_a_repeated_question_needs_no_fresh_plan(scene):
    """The policies may have changed since: the answer that was given is still the answer."""
    first = await commit(scene, Plan(ALLOWED))

    again = await commit(scene, Plan(ALLOWED), version="0" * 32)

    assert again.id == first.id


async def test_the_first_answer_is_kept_for_a_day(scene):
    """A retry within 24 hours finds it, and then its memory is free again."""
    await commit(scene, Plan(ALLOWED))

    left = await scene.client.call("PTTL", scene.keyspace.first_answer(scene.key.id, ASKED.key_digest))

    assert 0 < left <= DAY_MS
