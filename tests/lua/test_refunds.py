"""Refunded calls: found in their bucket and removed once, whatever was added later."""

import asyncio

import pytest
from commit_scene import MINUTE, MS, POLICY, SECOND, START, Scene
from fake_store import FakeClient
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from profiles import examples

from app.errors import OutcomeConflict, StoreUnavailable, Unauthorized
from app.model.decision_codes import DecisionCode
from app.model.decisions import Outcome, Result, RuleRef
from app.model.ids import Ids
from app.model.outcomes import REPORT_MS, CallStatus, DecidedCall
from app.model.plans import Mark, Plan, Quota
from app.model.times import rfc3339
from app.store.outcomes import Outcomes
from tests.support.actors import BY

FULL = Outcome(Result.DENIED, POLICY, RuleRef(3, "rate_limit"), "full", DecisionCode.QUOTA_FULL)


def calls(most, bucket=""):
    return Quota(POLICY, "calls", most, MINUTE, FULL, None, bucket, refundable=True)


def budget(amount, most=100, bucket=""):
    return Quota(POLICY, "budget", most, MINUTE, FULL, amount, bucket, refundable=True)


def call_of(scene, decision):
    return DecidedCall(
        id=decision.id,
        agent_id=scene.agent.id,
        key_id=scene.key.id,
        tool_name="file.read",
        result=Result.ALLOWED,
        policy_id=POLICY,
        rule=RuleRef(0, "tool_allowlist"),
        timestamp=rfc3339(decision.time_us // 1000),
    )


async def report(scene, decision, status=CallStatus.NOT_EXECUTED, at=START):
    outcomes = Outcomes(scene.client, scene.ids, 1_000)
    return await outcomes.record(scene.workspace_id, call_of(scene, decision), status, now_us=at)


async def test_concurrent_reports_give_back_once(scene):
    """Over separate connections, with both statuses."""
    decision = await scene.commit(calls(3), budget(30))
    await scene.commit(calls(3), budget(30))
    reports = [report(scene, decision) for _ in range(8)]

    told = await asyncio.gather(*reports)

    assert len({each.id for each in told}) == 1
    assert {each.refunded for each in told} == {2}
    assert [(await scene.commit(calls(3), budget(35), at=START + n)).outcome.result for n in range(3)] == [
        "allowed", "allowed", "denied"
    ]  # fmt: skip


async def test_a_refund_goes_to_the_bucket_of_its_value(scene):
    """Other values' buckets stay as they are."""
    one = await scene.commit(calls(1, "a"), budget(100, bucket="b"))
    await scene.commit(calls(1, "c"), budget(100, bucket="d"))
    assert (await report(scene, one)).refunded == 2
    assert (await scene.commit(calls(1, "a"), budget(100, bucket="b"))).outcome.result == "allowed"
    assert (await scene.commit(calls(1, "c"))).outcome.result == "denied"
    assert (await scene.commit(budget(1, bucket="d"))).outcome.result == "denied"


async def test_a_bucket_that_started_afresh_gives_nothing_back(scene):
    """The call is not in it, so nothing can be given back."""
    decision = await scene.commit(calls(2), budget(60))
    for quota in (calls(2), budget(60)):
        await scene.client.call("DEL", scene.keyspace.quota(POLICY, quota.fingerprint))
    await scene.commit(calls(2), budget(60), at=START + 1)
    assert (await report(scene, decision, at=START + 2)).refunded == 0
    assert (await scene.commit(budget(41), at=START + 3)).outcome.result == "denied"


async def test_giving_back_a_call_that_has_left_its_window_makes_no_room(scene):
    """It may still stand in the bucket, behind those that count, and is then reported as given back."""
    one = await scene.commit(calls(1))
    assert (await scene.commit(calls(1), at=START + MINUTE)).outcome.result == "allowed"
    assert (await report(scene, one, at=START + MINUTE)).refunded == 1
    assert (await scene.commit(calls(1), at=START + MINUTE + 1)).outcome.result == "denied"


async def test_a_report_comes_in_time_or_not_at_all(scene):
    """Within 24 hours, to the millisecond, and with a valid key."""
    decision, other = await scene.commit(calls(2)), await scene.commit(calls(2))
    with pytest.raises(OutcomeConflict, match="24 hours"):
        await report(scene, decision, at=START + REPORT_MS * MS)
    await report(scene, decision, at=START + REPORT_MS * MS - 1)
    with pytest.raises(OutcomeConflict, match="not_executed already"):
        await report(scene, decision, CallStatus.FAILED)
    await scene.keys.revoke(scene.workspace_id, scene.key.id, by=BY)
    with pytest.raises(Unauthorized):
        await report(scene, other)


async def test_only_the_decisions_own_record_is_kept_and_it_expires(scene):
    """For a day, if an allowed call took from a refundable limit; marks are stored separately."""
    taken = scene.keyspace.taken
    plain = await scene.commit(Quota(POLICY, "plain", 9, MINUTE, FULL))
    assert await scene.client.call("EXISTS", taken(plain.id)) == 0
    plan = Plan(FULL, (calls(1),))
    denied = await scene.commit(plan=plan)
    assert await scene.client.call("EXISTS", taken(denied.id)) == 0
    allowed = Outcome(Result.ALLOWED, POLICY, RuleRef(0, "tool_allowlist"), "", DecisionCode.ALLOWED)
    marked = Plan(allowed, (calls(1),), session="5e", marks=(Mark("aa", MINUTE, MINUTE),))
    decision = await scene.commit(plan=marked)
    assert 0 < await scene.client.call("PTTL", taken(decision.id)) <= REPORT_MS
    assert await scene.client.call("HLEN", scene.keyspace.session("5e")) == 1
    full = await scene.commit(calls(1))
    assert full.outcome.result == "denied"
    assert await scene.client.call("EXISTS", taken(full.id)) == 0
    assert (await report(scene, decision)).refunded == 1
    assert await scene.client.call("EXISTS", taken(decision.id)) == 0
    assert await scene.client.call("HLEN", scene.keyspace.session("5e")) == 1


@pytest.mark.parametrize("nth", range(7))
async def test_a_key_of_another_type_leaves_nothing_half_refunded(scene, nth):
    """I6: it is an error, and everything is as it was."""
    decision = await scene.commit(calls(2), budget(60))
    keyspace = scene.keyspace
    name = [
        keyspace.key(scene.key.id), keyspace.commits, keyspace.audit_stream, keyspace.outcome(decision.id),
        keyspace.taken(decision.id), keyspace.quota(POLICY, "calls"), keyspace.quota(POLICY, "budget"),
    ][nth]  # fmt: skip
    await scene.client.call("DEL", name)
    await scene.client.call("SADD", name, "of another type")
    before = await scene.everything()
    with pytest.raises(StoreUnavailable):
        await report(scene, decision)
    assert await scene.everything() == before


steps = st.lists(
    st.tuples(
        st.sampled_from([0, 0, 1, SECOND, MINUTE // 3, MINUTE - 1, MINUTE]),
        st.sampled_from([1, 7, 30, 50, 100]),
        st.none() | st.integers(0, 30),
    ),
    min_size=4,
    max_size=30,
)


@settings(max_examples=examples(60), suppress_health_check=list(HealthCheck), deadline=None)
@given(history=steps)
def test_any_history_of_calls_and_reports_is_as_a_list_says(history):
    """Calls of a limit and a budget, of which some are refunded, some of those twice."""

    async def run():
        client, ids = FakeClient(), Ids()
        scene = await Scene(client, client, ids.new(0)).enter()
        now, admitted, decisions = START, [], []
        for later, amount, given_back in history:
            now += later
            if given_back is not None and decisions:
                decision = decisions[given_back % len(decisions)]
                await report(scene, decision, at=now)
                admitted = [each for each in admitted if each[2] != decision.id]
            held = [each for each in admitted if each[0] + MINUTE > now]
            fits = len(held) < 4 and sum(each[1] for each in held) + amount <= 100

            decision = await scene.commit(calls(4), budget(amount), at=now)

            assert (decision.outcome.result == "allowed") == fits
            if fits:
                admitted.append((now, amount, decision.id))
                decisions.append(decision)
        await client.close()

    asyncio.run(run())
