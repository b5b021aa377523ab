"""Marks in sessions: left only by allowed calls, visible only where they belong, bounded, and in quota time."""

import pytest
from commit_scene import ALLOWED, DENIED, ESCALATED, MINUTE, POLICY, SECOND, START, quota

from app.authorize.commit import CommitDecision, CommitQuestion
from app.model.decision_codes import DecisionCode
from app.model.decisions import AuthorizeRequest, Decision, Idempotency, Outcome, Result, RuleRef
from app.model.marks import MAX_SESSIONS, TOO_MANY_SESSIONS
from app.model.plans import HistoryCheck, Mark, Plan, Tokens
from tests.support.actors import BY

WITHIN = MINUTE
FAILED = Outcome(Result.DENIED, POLICY, RuleRef(4, "sequence"), "the session's past", DecisionCode.SEQUENCE_FORBIDDEN)
READ = "ad" * 16
BOTH = Mark(READ, WITHIN, WITHIN)


def after(session="5e", *names):
    return HistoryCheck(POLICY, True, names or (READ,), WITHIN, FAILED, session)


def before(session="5e", *names):
    return HistoryCheck(POLICY, False, names or (READ,), WITHIN, FAILED, session)


def once(session="5e", **more):
    return HistoryCheck(POLICY, False, (READ,), WITHIN, FAILED, session, spends=True, **more)


def leaving(*marks, session="5e", outcome=ALLOWED, quotas=()):
    return Plan(outcome, quotas, session=session, marks=marks or (BOTH,))


async def passes(scene, *checks, at=START):
    answer = await scene.commit(*checks, at=at)
    assert isinstance(answer, Decision)
    return answer.outcome == ALLOWED


async def marks_of(scene):
    return {name: held for name, held in (await scene.everything()).items() if "session:" in name or "marked:" in name}


async def test_a_mark_is_seen_by_later_commits(scene):
    """But not by the call that leaves it."""
    first = leaving(quotas=(after(), quota("wide", 9, MINUTE)))
    assert (await scene.commit(plan=first)).outcome == ALLOWED
    assert not await passes(scene, after())
    assert await passes(scene, before())
    assert await passes(scene, after("aa"))
    assert not await passes(scene, before("aa"))


@pytest.mark.parametrize("outcome", [DENIED, ESCALATED], ids=lambda outcome: outcome.result)
async def test_a_call_that_is_not_allowed_leaves_no_mark(scene, outcome):
    """I4, I15: whether its plan or a full quota refuses it."""
    full = quota("full", 1, MINUTE)
    await scene.commit(full)

    await scene.commit(plan=leaving(outcome=outcome))
    await scene.commit(plan=leaving(quotas=(full,)))
    await scene.commit(plan=leaving(quotas=(before(),)))

    assert await marks_of(scene) == {}


async def test_another_agent_removes_no_mark_and_proves_nothing(scene):
    """Marks that forbid belong to the session; required ones belong to session and agent."""
    await scene.commit(plan=leaving())
    scene.agent = await scene.agents.create(scene.workspace_id, "other", None, by=BY)

    assert not await passes(scene, after())
    assert not await passes(scene, before())


async def test_a_mark_counts_to_the_microsecond(scene):
    """A forbidding mark says when to retry; a missing required one does not, because waiting does not help."""
    await scene.commit(plan=leaving())
    assert (await scene.commit(after(), at=START + 1)).retry_after_us == WITHIN - 1
    assert not await passes(scene, after(), at=START + WITHIN - 1)
    assert await passes(scene, before(), at=START + WITHIN - 1)
    assert await passes(scene, after(), at=START + WITHIN)
    answer = await scene.commit(before(), at=START + WITHIN)
    assert (answer.outcome, answer.retry_after_us) == (FAILED, None)


async def test_a_clock_that_steps_back_makes_no_mark_younger_or_older(scene):
    """Quota time continues from where it was."""
    await scene.commit(plan=leaving(), at=START + 30 * SECOND)
    assert not await passes(scene, after(), at=START)
    assert not await passes(scene, after(), at=START + WITHIN - 1)
    assert await passes(scene, after(), at=START + WITHIN)


async def test_a_session_beyond_the_limit_is_refused_and_says_so(scene):
    """Only for this agent; known sessions still work, and there is room once the first has expired."""
    live = scene.keyspace.live_sessions(scene.agent.id, READ)
    await scene.client.call(
        "ZADD", live, *(word for n in range(MAX_SESSIONS) for word in (START + MINUTE + n, f"{n:x}"))
    )
    before_it, told = await marks_of(scene), []
    scene.committing = CommitDecision(scene.runner, scene.clock, 1_000, crowded=told.append)

    answer = await scene.commit(plan=leaving(session="abcdef"), at=START + SECOND)

    assert answer.outcome == TOO_MANY_SESSIONS
    assert answer.retry_after_us == MINUTE - SECOND
    entry = (await scene.entries())[-1]
    assert [entry[name] for name in ("result", "policyId", "rule")] == ["denied", "", ""]
    assert entry["reason"] == TOO_MANY_SESSIONS.reason
    assert await marks_of(scene) == before_it
    assert (await scene.commit(plan=leaving(session="7"), at=START + SECOND)).outcome == ALLOWED
    mine, scene.agent = scene.agent, await scene.agents.create(scene.workspace_id, "other", None, by=BY)
    assert (await scene.commit(plan=leaving(session="abcdef"), at=START + SECOND)).outcome == ALLOWED
    scene.agent = mine
    assert (await scene.commit(plan=leaving(session="abcdef"), at=START + MINUTE)).outcome == ALLOWED
    assert await scene.client.call("ZSCORE", live, "0") is None
    assert told == ["sessions"]


async def test_a_call_without_room_for_one_of_its_marks_leaves_none_of_them(scene):
    """I15: it is refused, even if some of them had room."""
    live = scene.keyspace.live_sessions(scene.agent.id, READ)
    await scene.client.call("ZADD", live, *(word for n in range(MAX_SESSIONS) for word in (START + MINUTE, f"{n:x}")))
    before_it = await marks_of(scene)

    answer = await scene.commit(plan=leaving(Mark("bb" * 16, WITHIN, WITHIN), BOTH, session="abcdef"))

    assert answer.outcome == TOO_MANY_SESSIONS
    assert await marks_of(scene) == before_it


async def test_a_repeated_answer_ignores_the_marks_of_its_call(scene):
    """A retry with its Idempotency-Key gets the first answer, whatever marks the call left."""
    plan = leaving(quotas=(after(),))
    request = AuthorizeRequest(scene.agent.id, "t", "authorize", {}, b"{}", Idempotency("aa", "bb"))
    tokens, ids = Tokens(scene.agent.version), [scene.ids.new(0) for _ in range(2)]
    answers = [
        await scene.committing(CommitQuestion(scene.caller, request, tokens, plan, decision_id, START, now_us=START))
        for decision_id in ids
    ]
    assert [(each.id, each.outcome, each.repeated) for each in answers] == [
        (ids[0], ALLOWED, False),
        (ids[0], ALLOWED, True),
    ]


async def test_a_call_uses_up_what_came_before_it(scene):
    """All that came before, in its own session; other rules still see it."""
    for at in (START, START + 1):
        await scene.commit(plan=leaving(), at=at)
    await scene.commit(plan=leaving(session="aa"))

    assert await passes(scene, once())

    assert not await passes(scene, once())
    assert await passes(scene, once("aa"))
    assert not await passes(scene, after())
    await scene.commit(plan=leaving())
    assert await passes(scene, once())


@pytest.mark.parametrize("outcome", [DENIED, ESCALATED], ids=lambda outcome: outcome.result)
async def test_a_call_that_is_not_allowed_uses_nothing_up(scene, outcome):
    """I4, I15: whether its plan or a full quota refuses it."""
    full = quota("full", 1, MINUTE)
    await scene.commit(full)
    await scene.commit(plan=leaving())

    await scene.commit(once(), outcome=outcome)
    await scene.commit(once(), full)

    assert await passes(scene, once())


async def test_a_call_that_people_approved_uses_up_what_came_before(scene):
    """It passes whatever came before, and makes no key of a session that has none."""
    assert await passes(scene, once(asks=False))
    assert await marks_of(scene) == {}
    await scene.commit(plan=leaving())
    assert await passes(scene, once(asks=False))

    assert not await passes(scene, once())


async def test_a_call_does_not_come_before_the_next_if_it_uses_up_its_own_mark(scene):
    """It leaves the mark, and then all that it has used up ends."""
    await scene.commit(plan=leaving())
    await scene.commit(plan=leaving(quotas=(once(),)))

    assert not await passes(scene, once())
