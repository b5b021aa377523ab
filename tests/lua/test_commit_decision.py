"""commit_decision: what it refuses and what it writes. For quotas, see test_quotas.py."""

import asyncio
import json

import pytest
from commit_scene import ALLOWED, DENIED, ESCALATED, MS, SECOND, START, Scene, quota
from msgspec.structs import replace

from app.authorize.commit import CommitDecision, Stale
from app.errors import ApiKeyExpired, StoreUnavailable, Unauthorized
from app.model.api_keys import Caller, Scope
from app.model.decisions import Decision, Idempotency
from app.model.plans import Plan
from app.redis_client.replies import as_record
from app.runtime.clock import StoreClock
from tests.support.actors import BY

WIDE = quota("wide", 10, 60 * SECOND)


@pytest.mark.parametrize(
    ("step", "waited_us", "latency_us"),
    [(0, 300, 1_500), (7_200 * SECOND, 300, 300), (-7_200 * SECOND, 300, 300), (0, 2_000, 2_000)],
    ids=["no step", "two hours forward", "two hours back", "the estimate is behind"],
)
async def test_the_latency_is_bounded_by_what_the_replica_measured(scene, step, waited_us, latency_us):
    """A step of the store's clock between arrival and commit does not show as latency."""
    answer = await scene.commit(at=START + step, arrived_us=START - 1_500, waited_us=waited_us)
    assert answer.latency_us == latency_us
    assert (await scene.entries())[-1]["latencyUs"] == str(latency_us)


async def test_the_entry_and_the_answer_share_id_and_content(scene):
    """I2: every decision is in the log, word for word."""
    parameters = json.dumps({"path": "/tmp/ä", "empty": [], "big": 12345678901234567890, "slash": "a/b"}).encode()

    answer = await scene.commit(WIDE, arrived_us=START - 1500, parameters=parameters)

    assert isinstance(answer, Decision)
    assert answer.outcome == ALLOWED
    assert (answer.time_us, answer.latency_us, answer.retry_after_us) == (START, 1500, None)
    assert await scene.entries() == [
        {
            "stream_id": "1-0",
            "id": answer.id,
            "timeMs": str(START // MS),
            "agentId": scene.agent.id,
            "keyId": scene.key.id,
            "action": "authorize",
            "toolName": "file.read",
            "parameters": parameters.decode(),
            "result": "allowed",
            "policyId": ALLOWED.policy_id,
            "rule": "0 tool_allowlist",
            "reason": ALLOWED.reason,
            "latencyUs": "1500",
        }
    ]


@pytest.mark.parametrize("outcome", [ALLOWED, DENIED, ESCALATED], ids=lambda each: each.result.value)
async def test_every_result_is_logged_as_it_is_answered(scene, outcome):
    """I2: for each of the three results."""
    answer = await scene.commit(outcome=outcome)

    [entry] = await scene.entries()
    assert answer.outcome == outcome
    assert (entry["result"], entry["policyId"], entry["reason"]) == (outcome.result, outcome.policy_id, outcome.reason)


async def test_a_full_quotas_outcome_is_answered_and_logged(scene):
    """The first full quota decides, and the entry says the same as the answer."""
    narrow, other = quota("narrow", 1, SECOND), quota("other", 1, SECOND)
    await scene.commit(narrow, other)

    answer = await scene.commit(WIDE, other, narrow)

    entry = (await scene.entries())[-1]
    assert answer.outcome == other.when_full
    assert (entry["id"], entry["result"], entry["rule"], entry["reason"]) == (
        answer.id,
        "denied",
        "7 rate_limit",
        "Rate limit reached: other",
    )


async def test_sequence_numbers_have_no_gaps(scene):
    """Refused calls take no number; concurrent ones take one each."""
    await scene.commit()
    await scene.commit(version="another")
    await asyncio.gather(*(scene.commit() for _ in range(20)))

    assert [entry["stream_id"] for entry in await scene.entries()] == [f"{n}-0" for n in range(1, 22)]


async def test_concurrent_answers_are_not_mixed_up(scene):
    """Each caller gets its own decision."""
    ids = [scene.ids.new(0) for _ in range(50)]
    answers = await asyncio.gather(*(scene.commit(decision_id=each) for each in ids))
    assert [answer.id for answer in answers] == ids


async def test_without_a_given_time_the_store_is_the_clock(scene):
    """The answer has the store's time, from which the replica's estimate learns."""
    seconds, micros = await scene.client.call("TIME")

    answer = await scene.commit(at=None)

    later_seconds, later_micros = await scene.client.call("TIME")
    assert int(seconds) * SECOND + int(micros) <= answer.time_us <= int(later_seconds) * SECOND + int(later_micros)


async def test_a_revoked_key_gets_no_decision_and_nothing_is_written(scene):
    """I7: once the revocation has returned, there is no answer and no trace of the request."""
    await scene.commit(WIDE)
    await scene.keys.revoke(scene.workspace_id, scene.key.id, by=BY)
    before = await scene.everything()

    with pytest.raises(Unauthorized):
        await scene.commit(WIDE)

    assert await scene.everything() == before


@pytest.mark.parametrize(("late_us", "valid"), [(-1, True), (0, False), (SECOND, False)])
async def test_a_key_is_valid_until_its_expiry_and_not_at_it(path, workspace_id, late_us, valid):
    """It has expired at that very millisecond, by the store's clock; nothing is written then."""
    scene = await Scene(*path, workspace_id).enter(expires_ms=START // MS)
    before = await scene.everything()

    if valid:
        assert isinstance(await scene.commit(at=START + late_us), Decision)
    else:
        with pytest.raises(ApiKeyExpired):
            await scene.commit(at=START + late_us)
        assert await scene.everything() == before


async def test_a_plan_from_another_version_is_stale_and_nothing_is_written(scene):
    """I8: a plan made from an outdated agent is not committed."""
    await scene.commit(WIDE)
    version = scene.agent.version
    await scene.agents.update(scene.workspace_id, scene.agent.id, name="renamed", by=BY)
    before = await scene.everything()

    assert await scene.commit(WIDE, version=version) == Stale(START, version_moved=True)

    assert await scene.everything() == before


async def test_a_plan_for_an_agent_that_is_gone_is_stale_and_nothing_is_written(scene):
    """I8: even if the agent no longer exists."""
    await scene.agents.delete(scene.workspace_id, scene.agent.id, by=BY)
    before = await scene.everything()

    assert await scene.commit(WIDE) == Stale(START, version_moved=True)

    assert await scene.everything() == before


@pytest.mark.parametrize(("offset_us", "holds"), [(-1, False), (0, True), (59, True), (60, False)])
async def test_a_plan_holds_from_its_first_moment_to_before_its_last(scene, offset_us, holds):
    """Outside the interval nothing is written, and the answer says what time it is."""
    plan = Plan(ALLOWED, (WIDE,), START, START + 60)
    before = await scene.everything()

    answer = await scene.commit(plan=plan, at=START + offset_us)

    if holds:
        assert isinstance(answer, Decision)
    else:
        assert answer == Stale(START + offset_us, version_moved=False)
        assert await scene.everything() == before


async def test_a_full_backlog_is_a_refusal_and_nothing_is_written(path, workspace_id):
    """The log fills up to its bound, and not one entry further."""
    scene = await Scene(*path, workspace_id, backlog_max=2).enter()
    await scene.commit(WIDE)
    await scene.commit(WIDE)
    before = await scene.everything()

    with pytest.raises(StoreUnavailable, match="backlog"):
        await scene.commit(WIDE)

    assert await scene.everything() == before


async def test_a_log_without_its_counter_takes_no_entry(scene):
    """The stream refuses a used sequence number before anything else is written."""
    await scene.commit(WIDE)
    await scene.client.call("DEL", scene.keyspace.commits)
    before = await scene.everything()

    with pytest.raises(StoreUnavailable):
        await scene.commit(WIDE)

    assert await scene.everything() == before


class Echo:
    """A runner whose store answers another decision than the one asked for, or no decision at all.

    change: what becomes of a script's reply; change_record: of a command's.
    """

    def __init__(self, runner, change, change_record=None) -> None:
        self._runner, self._change, self._change_record = runner, change, change_record
        self.was_reset = 0

    def prepare(self, *what):
        call = self._runner.prepare(*what)

        async def changed(*per_call):
            return self._change(await call(*per_call))

        return changed

    async def call(self, *args):
        return self._change_record(await self._runner.call(*args))

    async def reset_connections(self) -> None:
        self.was_reset += 1


@pytest.mark.parametrize(
    "change",
    [
        lambda reply: [reply[0], "018bcfe5-6800-7000-8000-000000000000", *reply[2:]],
        lambda reply: ["admitted", *reply[1:]],
        lambda reply: reply[:5],
        lambda _: "OK",
        lambda _: None,
    ],
    ids=["another id", "unknown status", "too short", "a string", "nothing"],
)
async def test_a_reply_to_another_decision_is_not_an_answer(scene, change):
    """I6: it is 503, and the connection it came over is not used again."""
    echo = Echo(scene.runner, change)
    scene.committing = CommitDecision(echo, StoreClock(), 1_000)

    with pytest.raises(StoreUnavailable):
        await scene.commit()

    assert echo.was_reset == 1


@pytest.mark.parametrize(
    "change",
    [
        lambda record: record | {"body_digest": "c" * 64},
        lambda _: ["committed", "id", "0"],
        lambda _: ["result", "allowed"],
        lambda _: "OK",
        lambda _: None,
    ],
    ids=["another answer", "a script's reply", "another record", "a string", "nothing"],
)
async def test_a_first_answer_to_another_request_is_not_repeated(scene, change):
    """I6: the record in the place of a retry's first answer must be the answer to the same request."""
    first = await scene.commit(idempotency=Idempotency("a" * 64, "b" * 64))
    echo = Echo(scene.runner, lambda reply: reply, lambda reply: change(as_record(reply)))
    scene.committing = CommitDecision(echo, StoreClock(), 1_000)

    with pytest.raises(StoreUnavailable):
        await scene.commit(idempotency=Idempotency("a" * 64, "b" * 64))

    assert echo.was_reset == 1
    assert [entry["id"] for entry in await scene.entries()] == [first.id]


async def test_the_latency_is_never_negative(scene):
    """A replica whose clock runs ahead of the store's reports 0."""
    assert (await scene.commit(arrived_us=START + SECOND)).latency_us == 0


async def test_last_use_is_written_once_a_second(scene):
    """For a key in use: only once a whole second has passed."""
    seen = []
    for offset_us in (0, 999 * MS, SECOND, SECOND + 999 * MS, 2 * SECOND):
        await scene.commit(at=START + offset_us)
        seen.append(await scene.client.call("HGET", scene.keyspace.key(scene.key.id), "last_used_ms"))

    first = START // MS
    assert seen == [str(first), str(first), str(first + 1000), str(first + 1000), str(first + 2000)]


async def test_last_use_follows_a_clock_that_steps_back(scene):
    """Otherwise the key would look unused until the clock had made up for the step."""
    await scene.commit(at=START)
    await scene.commit(at=START - 600 * SECOND)

    held = await scene.client.call("HGET", scene.keyspace.key(scene.key.id), "last_used_ms")
    assert held == str(START // MS - 600_000)


async def test_a_backlog_known_to_have_room_is_not_counted_again(scene):
    """The stream grows by one per sequence number, so the number up to which there is room is stored with it."""
    await scene.commit(WIDE)
    assert await scene.client.call("HGET", scene.keyspace.commits, "room:1000") == "500"

    await scene.commit(WIDE)

    assert await scene.client.call("HGET", scene.keyspace.commits, "room:1000") == "500"
    # Where many may wait, it is counted every thousand entries anyway.
    scene.committing = CommitDecision(scene.runner, scene.clock, 1_000_000)
    await scene.commit(WIDE)
    assert await scene.client.call("HGET", scene.keyspace.commits, "room:1000000") == "1002"


async def test_one_key_takes_half_of_the_backlog_and_the_rest_is_for_others(path, workspace_id):
    """The bound is for all keys together, and one of them may ask faster than the log is sealed."""
    scene = await Scene(*path, workspace_id, backlog_max=20).enter()
    greedy = scene.caller
    for _ in range(10):
        await scene.commit(WIDE)
    before = await scene.everything()
    with pytest.raises(StoreUnavailable, match="backlog"):
        await scene.commit(WIDE)
    assert await scene.everything() == before

    other, _ = await scene.keys.create(workspace_id, "other", (Scope.READ,), None, by=BY)
    scene.caller = Caller(workspace_id, other.id, frozenset((Scope.READ,)))
    for _ in range(3):
        await scene.commit(WIDE)
    scene.caller = greedy
    for _ in range(6):  # until six of the newest eight entries are its own again
        await scene.commit(WIDE)
    with pytest.raises(StoreUnavailable, match="backlog"):
        await scene.commit(WIDE)


async def test_workloads_of_one_issuer_have_a_share_each(path, workspace_id):
    """Their entries have the same key, and the subject tells them apart."""
    scene = await Scene(*path, workspace_id, backlog_max=20).enter()
    scene.caller = replace(scene.caller, logged_as=f"{scene.key.id} spiffe://greedy")
    for _ in range(10):
        await scene.commit(WIDE)
    with pytest.raises(StoreUnavailable, match="backlog"):
        await scene.commit(WIDE)

    scene.caller = replace(scene.caller, logged_as=f"{scene.key.id} spiffe://other")
    await scene.commit(WIDE)


async def test_a_lowered_bound_applies_to_the_next_commit(scene):
    """Room under another replica's bound does not count."""
    await scene.commit(WIDE)
    await scene.commit(WIDE)
    lower, higher = (CommitDecision(scene.runner, scene.clock, most) for most in (2, 1_000))
    before = await scene.everything()

    scene.committing = lower
    with pytest.raises(StoreUnavailable, match="backlog"):
        await scene.commit(WIDE)
    assert await scene.everything() == before

    scene.committing = higher
    await scene.commit(WIDE)


async def test_room_made_by_sealing_is_found_once_the_known_room_is_used_up(path, workspace_id):
    """Exactly as many entries as the bound allows, before and after."""
    scene = await Scene(*path, workspace_id, backlog_max=3).enter()
    for _ in range(3):
        await scene.commit(WIDE)
    with pytest.raises(StoreUnavailable, match="backlog"):
        await scene.commit(WIDE)
    await scene.client.call("XTRIM", scene.keyspace.audit_stream, "MINID", "3-0")

    for _ in range(2):
        await scene.commit(WIDE)

    with pytest.raises(StoreUnavailable, match="backlog"):
        await scene.commit(WIDE)
    assert [entry["stream_id"] for entry in await scene.entries()] == ["3-0", "4-0", "5-0"]
