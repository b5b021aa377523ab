"""A batch that is written as a whole or not at all: allowed, logged or repeated, on every store."""

import asyncio

import hiredis
import pytest
from commit_scene import ALLOWED, DENIED, SECOND, START, quota
from msgspec.structs import replace

from app.authorize.commit import CommitDecision, CommitQuestion, Stale
from app.errors import IdempotencyConflict, StoreUnavailable
from app.model.decisions import AuthorizeRequest, Decision, Idempotency, Result
from app.model.plans import HistoryCheck, Mark, Plan, Tokens
from app.redis_client.packed_call import BatchedCalls, NoScript, NotTaken, PackedCall
from app.redis_client.pipelined import PipelinedClient
from app.redis_client.scripts import COMMIT_BATCH


class Wire:
    """Prepares calls, and sends what is packed through the scene's client."""

    def __init__(self, scene):
        self._client = scene.client
        self._is_fake = not isinstance(scene.runner, PipelinedClient) and "Fake" in type(scene.client).__name__

    def prepare(self, script, keys, per_call, fixed):
        return PackedCall(self.send, script, keys, per_call, fixed)

    def call(self, *args):
        return self._client.call(*args)

    async def send(self, packed):
        reader = hiredis.Reader()
        reader.feed(packed)
        command, script, *args = reader.gets()
        if command == b"EVALSHA":
            raise NoScript("none")
        text = script.decode().partition("\n")[2] if self._is_fake else script
        return await self._client.call(command, text, *args)


class Whole:
    """Commits batches of the scene in one mode each."""

    def __init__(self, scene):
        self._scene = scene
        wire = scene.runner if isinstance(scene.runner, PipelinedClient) else Wire(scene)
        self._commit = CommitDecision(wire, scene.clock, 1_000)

    def question(self, plan, place=0, key=None, at=START):
        named = None if key is None else Idempotency(f"{place:063}{key}", "b" * 64)
        request = AuthorizeRequest(self._scene.agent.id, "file.read", "authorize", {}, b"{}", named)
        tokens = Tokens(self._scene.agent.version)
        return CommitQuestion(self._scene.caller, request, tokens, plan, self._scene.ids.new(0), at, now_us=at)

    async def commit(self, mode, questions):
        """What each call gets, and the place of the one that stood in the way."""
        calls = BatchedCalls(len(questions), mode)
        answers = await asyncio.gather(*map(replace(self._commit, together=calls), questions), return_exceptions=True)
        return answers, calls.refused


@pytest.fixture
def whole(scene):
    return Whole(scene)


async def written(scene):
    """All that is stored but the key's record, which says when the key was last used."""
    return {
        name: value for name, value in (await scene.everything()).items() if name != scene.keyspace.key(scene.key.id)
    }


def ids(answers):
    return [each.id for each in answers]


async def test_all_are_allowed_and_logged_or_nothing_is_written(scene, whole):
    """I2, I3: the call that is full says so; what the others took is given back."""
    two = quota("two", 2, 60 * SECOND)
    plan = Plan(ALLOWED, (two,))
    before = await written(scene)
    answers, refused = await whole.commit("allowed", [whole.question(plan) for _ in range(3)])
    assert (refused, [type(each) for each in answers[:2]]) == (2, [NotTaken, NotTaken])
    assert answers[2].outcome == two.when_full
    assert await written(scene) == before

    answers, refused = await whole.commit("allowed", [whole.question(plan) for _ in range(2)])
    assert refused is None
    assert [entry["id"] for entry in await scene.entries()] == ids(answers)


@pytest.mark.parametrize("number", [1, 3])
async def test_denials_are_logged_together_or_not_at_all(scene, whole, number):
    """A call that is out of date stands in the way of all."""
    questions = [whole.question(Plan(DENIED)) for _ in range(number)]
    before = await written(scene)
    outdated = [*questions[:-1], replace(questions[-1], tokens=Tokens("another"))]
    answers, refused = await whole.commit("logged", outdated)
    assert (refused, isinstance(answers[-1], Stale)) == (number - 1, True)
    assert await written(scene) == before

    answers, refused = await whole.commit("logged", questions)
    assert refused is None
    assert [(entry["id"], entry["result"]) for entry in await scene.entries()] == [
        (each, "denied") for each in ids(answers)
    ]


@pytest.mark.parametrize(("mode", "outcome"), [("allowed", ALLOWED), ("logged", DENIED)])
async def test_first_answers_are_repeated_together(scene, whole, mode, outcome):
    """Whatever the repetition is planned as: a quota that is full by now, or a plan that would be allowed by now."""
    one = quota("one", 2, 60 * SECOND)
    plan = Plan(outcome, (one,) if outcome is ALLOWED else ())
    first, _ = await whole.commit(mode, [whole.question(plan, place, "k") for place in range(2)])
    before = await written(scene)

    again = [whole.question(Plan(ALLOWED, (one,)), place, "k", START + SECOND) for place in range(2)]
    answers, refused = await whole.commit("allowed", again)

    assert (refused, ids(answers), {each.repeated for each in answers}) == (None, ids(first), {True})
    assert await written(scene) == before


@pytest.mark.parametrize("mode", ["allowed", "logged"])
@pytest.mark.parametrize("answered", [0, 1])
async def test_a_batch_of_which_only_some_were_answered_is_not_written(scene, whole, mode, answered):
    """Neither is a part of it decided now."""
    plan = Plan(ALLOWED if mode == "allowed" else DENIED)
    await whole.commit(mode, [whole.question(plan, answered, "k")])
    before = await written(scene)

    answers, refused = await whole.commit(mode, [whole.question(plan, place, "k") for place in range(2)])

    assert (refused, isinstance(answers[1], Decision), isinstance(answers[0], NotTaken)) == (1, True, True)
    assert await written(scene) == before


async def test_another_batch_under_the_same_key_is_a_conflict(scene, whole):
    """With nothing written."""
    await whole.commit("allowed", [whole.question(Plan(ALLOWED), place, "k") for place in range(2)])
    before = await written(scene)
    other = [whole.question(Plan(ALLOWED), place, "k") for place in range(2)]
    other = [
        replace(each, request=replace(each.request, idempotency=replace(each.request.idempotency, body_digest="c")))
        for each in other
    ]

    answers, refused = await whole.commit("allowed", other)

    assert (refused, isinstance(answers[0], IdempotencyConflict)) == (0, True)
    assert await written(scene) == before


async def test_first_answers_of_a_batch_that_is_refused_are_given_back(scene, whole):
    """The key was not used: its calls are decided when it comes again."""
    one = quota("one", 1, 60 * SECOND)
    before = await written(scene)
    questions = [whole.question(Plan(ALLOWED, (one,)), place, "k") for place in range(2)]
    answers, refused = await whole.commit("allowed", questions)
    assert (refused, answers[1].outcome.result) == (1, Result.DENIED)
    assert await written(scene) == before

    answers, refused = await whole.commit("logged", [whole.question(Plan(DENIED), place, "k") for place in range(2)])
    assert (refused, [each.repeated for each in answers]) == (None, [False, False])


async def test_a_full_log_stands_in_the_way_of_all(scene, whole):
    """The entries before it, for which there would have been room, are not written."""
    whole._commit = CommitDecision(whole._commit.runner, scene.clock, 2)
    answers, refused = await whole.commit("logged", [whole.question(Plan(DENIED)) for _ in range(3)])
    assert (refused, isinstance(answers[2], StoreUnavailable)) == (2, True)
    assert await scene.entries() == []


def test_every_mode_is_named_in_the_header():
    """The client's modes are the script's."""
    assert all(f"{mode} = " in COMMIT_BATCH.text for mode in ("each", "allowed", "logged"))


async def test_in_a_batch_each_call_uses_up_what_came_before_it_there(scene, whole):
    """At one and the same time: order decides. A batch that is refused gives back what its calls used up."""
    mark = Mark("ad" * 16, 0, 60 * SECOND)
    failed = replace(DENIED, reason="nothing came before")
    check = HistoryCheck(DENIED.policy_id, False, (mark.name,), 60 * SECOND, failed, "5e", spends=True)
    first, then = Plan(ALLOWED, session="5e", marks=(mark,)), Plan(ALLOWED, (check,))

    answers, refused = await whole.commit("allowed", [whole.question(each) for each in (first, then, first, then)])
    assert refused is None
    assert [each.outcome.result for each in answers] == [Result.ALLOWED] * 4

    _, refused = await whole.commit("allowed", [whole.question(each) for each in (first, then, then)])
    assert refused is not None
    await scene.commit(plan=first)
    before = await written(scene)
    _, refused = await whole.commit("allowed", [whole.question(each) for each in (then, then)])
    assert refused is not None
    assert await written(scene) == before
