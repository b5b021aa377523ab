"""An idempotency key makes a retry the same call: one entry, one place in each quota, one answer."""

import asyncio

import pytest
from commit_scene import ALLOWED, DENIED, SECOND, START, quota

from app.authorize.commit import CommitDecision, CommitQuestion, Stale
from app.errors import IdempotencyConflict, IdempotencyStale, LimitReached
from app.model.agents import AgentStatus
from app.model.api_keys import Caller, Scope
from app.model.decision_codes import DecisionCode
from app.model.decisions import AuthorizeRequest, Decision, Idempotency, Outcome, Result
from app.model.plans import Plan, Tokens
from app.model.policies import WORKSPACE, Owner, PolicyFields, PolicyKind
from app.model.rules import ToolDenylist
from tests.support import parts
from tests.support.actors import BY

DAY_MS = 24 * 60 * 60 * 1000
ASKED = Idempotency("a" * 64, "b" * 64)
ANOTHER_BODY = Idempotency("a" * 64, "c" * 64)
ANOTHER_KEY = Idempotency("d" * 64, "b" * 64)


async def commit(scene, plan, idempotency=ASKED, *, at=START, tokens=None):
    """Close the plan for a request that carries this idempotency key."""
    request = AuthorizeRequest(scene.agent.id, "file.read", "authorize", {}, b"{}", idempotency)
    decision_id = scene.ids.new(0)
    tokens = tokens or Tokens(scene.agent.version)
    return await scene.committing(CommitQuestion(scene.caller, request, tokens, plan, decision_id, at, now_us=at))


async def test_a_retry_gets_the_first_answer_and_takes_nothing(scene):
    """I4: same entry, no second call in the quota, whatever the second plan's quotas say."""
    one = quota("one", 1, 60 * SECOND)
    first = await commit(scene, Plan(ALLOWED, (one,)))

    again = await commit(scene, Plan(ALLOWED, (one,)), at=START + SECOND)

    assert isinstance(first, Decision)
    assert isinstance(again, Decision)
    assert (first.repeated, again.repeated) == (False, True)
    assert (again.id, again.outcome, again.time_us) == (first.id, first.outcome, first.time_us)
    assert (again.latency_us, again.retry_after_us) == (first.latency_us, first.retry_after_us)
    assert [entry["id"] for entry in await scene.entries()] == [first.id]
    assert len(await scene.admitted(one)) == 1


async def test_a_refusal_is_repeated_with_its_reason_and_its_wait(scene):
    """The first answer stays, even if the quota has room by now."""
    one = quota("one", 1, 60 * SECOND)
    await scene.commit(one)
    refused = await commit(scene, Plan(ALLOWED, (one,)), at=START + SECOND)

    again = await commit(scene, Plan(ALLOWED, (one,)), at=START + 61 * SECOND)

    assert refused.outcome.result is Result.DENIED
    assert (again.outcome, again.retry_after_us) == (refused.outcome, 59 * SECOND)


async def test_the_same_key_for_another_request_is_a_conflict(scene):
    """Nothing is written, and the first answer stays."""
    await commit(scene, Plan(ALLOWED))
    before = await scene.everything()

    with pytest.raises(IdempotencyConflict):
        await commit(scene, Plan(ALLOWED), ANOTHER_BODY)

    assert await scene.everything() == before


async def test_another_key_is_another_call(scene):
    """Two keys give two entries, even for the same request."""
    await commit(scene, Plan(ALLOWED))
    await commit(scene, Plan(ALLOWED), ANOTHER_KEY)

    assert len(await scene.entries()) == 2


async def test_a_retry_is_known_while_secrets_are_replaced(scene):
    """The request has digests under both secrets; the answer was stored with the old one."""
    first = await commit(scene, Plan(ALLOWED), Idempotency("a" * 64, "0" * 64))
    replaced = Idempotency("a" * 64, "1" * 64, ("0" * 64,))

    assert (await commit(scene, Plan(ALLOWED), replaced)).id == first.id
    with pytest.raises(IdempotencyConflict):
        await commit(scene, Plan(ALLOWED), Idempotency("a" * 64, "1" * 64, ("2" * 64,)))


async def test_only_the_newest_digest_is_kept(scene):
    """A digest under an old secret is useless once that secret is removed."""
    asked = Idempotency("a" * 64, "1" * 64, ("0" * 64,))
    first = await commit(scene, Plan(ALLOWED), asked)

    name = scene.keyspace.first_answer(scene.key.id, asked.key_digest)
    assert await scene.client.call("HGET", name, "body_digest") == "1" * 64
    assert (await commit(scene, Plan(ALLOWED), Idempotency("a" * 64, "1" * 64))).id == first.id


async def test_twenty_concurrent_retries_are_one_call(scene):
    """One script checks and writes, so overlapping retries cannot both be the first."""
    one = quota("one", 10, 60 * SECOND)

    answers = await asyncio.gather(*(commit(scene, Plan(ALLOWED, (one,))) for _ in range(20)))

    assert len({answer.id for answer in answers}) == 1
    assert sum(not answer.repeated for answer in answers) == 1
    assert len(await scene.admitted(one)) == 1


async def suspend(scene, _):
    await scene.agents.update(scene.workspace_id, scene.agent.id, status=AgentStatus.SUSPENDED, by=BY)


async def edit(scene, policies):
    await policies.create(
        scene.workspace_id, Owner(scene.agent.id), PolicyFields(name="p", rules=(ToolDenylist(tools=["*"]),)), by=BY
    )


async def guard(scene, policies):
    rules = (ToolDenylist(tools=["*"]),)
    await policies.create(
        scene.workspace_id, WORKSPACE, PolicyFields(kind=PolicyKind.GUARDRAIL, name="g", rules=rules), by=BY
    )


@pytest.mark.parametrize("change", [suspend, edit, guard])
async def test_an_answer_from_before_a_change_is_not_repeated(scene, change):
    """I8: after a yes, nothing is written, and no quota is taken a second time."""
    one = quota("one", 10, 60 * SECOND)
    await commit(scene, Plan(ALLOWED, (one,)))
    await change(scene, parts.policies(scene.client, scene.ids))
    tokens = (await scene.agents.load(scene.workspace_id, scene.agent.id)).tokens
    before = await scene.everything()

    with pytest.raises(IdempotencyStale):
        await commit(scene, Plan(ALLOWED, (one,)), tokens=tokens)

    assert await scene.everything() == before
    assert isinstance(await commit(scene, Plan(ALLOWED, (one,)), ANOTHER_KEY, tokens=tokens), Decision)


@pytest.mark.parametrize("change", [suspend, edit, guard])
async def test_a_no_from_before_a_change_is_decided_anew(scene, change):
    """It took nothing. The new answer takes its place, and is forgotten when the first would have been."""
    one = quota("one", 10, 60 * SECOND)
    first = await commit(scene, Plan(DENIED, (one,)))
    name = scene.keyspace.first_answer(scene.key.id, ASKED.key_digest)
    await scene.client.call("PEXPIRE", name, 1_000_000)
    counted = await scene.client.call("HGETALL", scene.keyspace.answer_counts(scene.key.id))
    await change(scene, parts.policies(scene.client, scene.ids))
    tokens = (await scene.agents.load(scene.workspace_id, scene.agent.id)).tokens

    now, again = [await commit(scene, Plan(ALLOWED, (one,)), tokens=tokens) for _ in range(2)]

    assert (now.outcome, now.repeated, now.id != first.id) == (ALLOWED, False, True)
    assert (again.id, again.repeated) == (now.id, True)
    assert len(await scene.admitted(one)) == 1
    assert await scene.client.call("PTTL", name) <= 1_000_000
    assert await scene.client.call("HGETALL", scene.keyspace.answer_counts(scene.key.id)) == counted


@pytest.mark.parametrize(
    "now",
    [DENIED, Outcome(Result.ESCALATED, None, None, "ask", DecisionCode.APPROVAL_REQUIRED)],
    ids=["denied", "escalated"],
)
async def test_what_the_clock_no_longer_permits_is_not_repeated(scene, now):
    """I8: a time window that has closed changes no policy, and forbids what was allowed in it all the same."""
    one, closes = quota("one", 10, 60 * SECOND), START + SECOND
    await commit(scene, Plan(ALLOWED, (one,), START, closes), at=START)
    assert (await commit(scene, Plan(ALLOWED, (one,), START, closes), at=closes - 1)).repeated
    assert await commit(scene, Plan(ALLOWED, (one,), START, closes), at=closes) == Stale(closes, version_moved=False)
    before = await scene.everything()

    with pytest.raises(IdempotencyStale):
        await commit(scene, Plan(now, holds_from_us=closes), at=closes)

    assert await scene.everything() == before


async def test_a_no_is_repeated_although_the_clock_would_permit_it_now(scene):
    """Who wants to know whether it does asks with another key."""
    assert (await commit(scene, Plan(DENIED))).outcome == (await commit(scene, Plan(ALLOWED))).outcome == DENIED


async def test_an_outdated_replica_learns_of_a_change_before_an_answer_is_repeated(scene):
    """An outdated replica reads again; then the first answer no longer holds, or the agent is gone."""
    await commit(scene, Plan(ALLOWED))
    await suspend(scene, None)
    assert await commit(scene, Plan(ALLOWED)) == Stale(START, version_moved=True)

    await scene.agents.delete(scene.workspace_id, scene.agent.id, by=BY)
    assert await commit(scene, Plan(ALLOWED)) == Stale(START, version_moved=True)


async def test_an_answer_of_a_release_that_kept_no_tokens_is_not_repeated(scene):
    """Nobody can tell whether it still holds."""
    await commit(scene, Plan(ALLOWED))
    name = scene.keyspace.first_answer(scene.key.id, ASKED.key_digest)
    await scene.client.call("HDEL", name, "version", "shared_version")

    with pytest.raises(IdempotencyStale):
        await commit(scene, Plan(ALLOWED))


HOUR = 3600 * SECOND


async def test_an_api_key_has_a_limited_number_of_first_answers(scene):
    """One more is refused, and nothing is written; retries, calls without the header and other keys still work."""
    scene.committing = CommitDecision(scene.runner, scene.clock, 1_000, first_answers_max=3)
    asked = [Idempotency(f"{n:064}", "b" * 64) for n in range(4)]
    one = quota("one", 100, 60 * SECOND)
    for each in asked[:3]:
        await commit(scene, Plan(ALLOWED, (one,)), each)
    before = await scene.everything()

    with pytest.raises(LimitReached, match="Idempotency-Keys"):
        await commit(scene, Plan(ALLOWED, (one,)), asked[3])
    assert await scene.everything() == before

    assert (await commit(scene, Plan(ALLOWED, (one,)), asked[0])).repeated
    assert isinstance(await scene.commit(one), Decision)
    scene.key, _ = await scene.keys.create(scene.workspace_id, "another", (Scope.READ,), None, by=BY)
    scene.caller = Caller(scene.workspace_id, scene.key.id, frozenset({Scope.READ}))
    assert isinstance(await commit(scene, Plan(ALLOWED, (one,)), asked[3]), Decision)


async def test_first_answers_make_room_after_a_day(scene):
    """Not earlier, because each counts as long as it is kept; and not much later."""
    scene.committing = CommitDecision(scene.runner, scene.clock, 1_000, first_answers_max=2)
    start = START - START % (4 * HOUR)
    used = iter(Idempotency(f"{n:064}", "b" * 64) for n in range(99))
    await commit(scene, Plan(ALLOWED), next(used), at=start)
    await commit(scene, Plan(ALLOWED), next(used), at=start + 5 * HOUR)
    for hours in (6, 12, 24, 27):
        with pytest.raises(LimitReached):
            await commit(scene, Plan(ALLOWED), next(used), at=start + hours * HOUR)
    assert isinstance(await commit(scene, Plan(ALLOWED), next(used), at=start + 28 * HOUR), Decision)
    with pytest.raises(LimitReached):
        await commit(scene, Plan(ALLOWED), next(used), at=start + 31 * HOUR)
    assert isinstance(await commit(scene, Plan(ALLOWED), next(used), at=start + 33 * HOUR), Decision)
    assert isinstance(await commit(scene, Plan(ALLOWED), next(used), at=start + 500 * HOUR), Decision)


async def test_the_first_answer_is_kept_for_a_day(scene):
    """A retry within 24 hours finds it; then its memory is freed."""
    await commit(scene, Plan(ALLOWED))

    left = await scene.client.call("PTTL", scene.keyspace.first_answer(scene.key.id, ASKED.key_digest))

    assert 0 < left <= DAY_MS
