"""Denial breakers in the commit: what they count, when they are full, and what a suspension writes."""

from commit_scene import ALLOWED, DENIED, ESCALATED, MINUTE, POLICY, SECOND, START, quota
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from profiles import examples

from app.authorize.commit.quotas import CROWDED, counted_in
from app.model.agents import AgentStatus, Trip
from app.model.changes import ChangeQuery
from app.model.decision_codes import DecisionCode
from app.model.decisions import Decision, Idempotency, Outcome, Result, RuleRef
from app.model.plans import DenialCount, Plan
from app.model.quotas import MAX_DENIALS, MAX_LIVE
from app.store.changes import Changes
from tests.support.actors import BY

OTHER = "018bcfe5-6800-7000-8000-00000000beef"


def breaker(most=2, *, suspends=True, denies=False, policy=POLICY, name="cafe", window_us=MINUTE, since=0, bucket=""):
    suspends = suspends and not denies
    result = Result.DENIED if suspends or denies else Result.ESCALATED
    full = Outcome(
        result,
        policy,
        RuleRef(8, "denial_breaker"),
        f"Denial breaker: {most} denials in 60 s",
        DecisionCode.APPROVAL_REQUIRED,
    )
    return DenialCount(policy, name, most, window_us, full, suspends, since, bucket)


def plan(*breakers, outcome=DENIED, quotas=()):
    """With those that escalate among the quotas, where they can change the outcome."""
    asking = tuple(each for each in breakers if not each.suspends) if outcome is ALLOWED else ()
    return Plan(outcome, (*quotas, *asking), breakers=breakers)


async def counted(scene, held):
    """The times that a breaker's list holds, newest first."""
    name = counted_in(scene.keyspace, scene.agent.id, held)
    return [int(time) for time in await scene.client.call("LRANGE", name, 0, -1)]


async def agent(scene):
    return await scene.agents.get(scene.workspace_id, scene.agent.id)


async def test_only_denied_calls_are_counted(scene):
    """By its plan or by a full limit; allowed and escalated calls do not count."""
    held, full = breaker(9), quota("full", 1, MINUTE)
    await scene.commit(full)
    for at, each in enumerate(
        (
            plan(held),
            plan(held, outcome=ALLOWED),
            plan(held, outcome=ESCALATED),
            plan(held, outcome=ALLOWED, quotas=(full,)),
        )
    ):
        await scene.commit(plan=each, at=START + at)
    assert await counted(scene, held) == [START + 3, START]
    assert (await agent(scene)).status is AgentStatus.ACTIVE


async def test_the_denial_that_fills_a_breaker_suspends_the_agent_in_the_same_step(scene):
    """I18: with a new version token, so that no plan made before is committed."""
    held, before = breaker(2), await agent(scene)
    first = await scene.commit(plan=plan(held))
    assert first.outcome == DENIED
    second = await scene.commit(plan=plan(held), at=START + 1, decision_id=scene.ids.new(1))

    assert second.outcome == DENIED
    after = await agent(scene)
    assert (after.status, after.tripped) == (AgentStatus.SUSPENDED, Trip(POLICY, second.id))
    assert (after.revision, after.version != before.version) == (before.revision + 1, True)
    assert after.updated_ms > before.updated_ms
    stale = await scene.commit(plan=plan(held, outcome=ALLOWED), version=before.version)
    assert not isinstance(stale, Decision)
    entries = await scene.entries()
    assert [entry.get("suspendedBy") for entry in entries] == [None, POLICY]
    ended = await scene.client.call("HGET", scene.keyspace.agent(scene.agent.id), "approvals_ended")
    assert ended == entries[-1]["stream_id"].partition("-")[0]


async def test_the_trail_says_that_a_breaker_did_it_and_why(scene):
    """I13: with the policy, the decision, and the newest entry before the suspension."""
    denied = [await scene.commit(plan=plan(breaker(2)), at=START + number) for number in range(2)]
    [change] = (await Changes(scene.client).query(scene.workspace_id, ChangeQuery(actor_id="breaker"))).changes
    assert (change.actor_id, change.actor_name, change.resource_id) == ("breaker", "breaker", scene.agent.id)
    assert (bytes(change.before), bytes(change.after)) == (
        b'{"status":"active","version":1}',
        b'{"status":"suspended","version":2}',
    )
    assert (change.reason, change.sequence) == ("Denial breaker: 2 denials in 60 s", 2)
    assert change.tripped == Trip(POLICY, denied[-1].id)


async def test_a_window_is_closed_at_its_old_end(scene):
    """A denial exactly one window ago no longer counts, and a moment less does."""
    held = breaker(2)
    for at in (START, START + MINUTE):
        await scene.commit(plan=plan(held), at=at)
    assert (await agent(scene)).status is AgentStatus.ACTIVE
    await scene.commit(plan=plan(held), at=START + 2 * MINUTE - 1)
    assert (await agent(scene)).status is AgentStatus.SUSPENDED


async def test_a_full_breaker_that_escalates_asks_like_a_full_limit(scene):
    """A call that would be allowed is escalated, with the time until room; a denied one stays denied."""
    held = breaker(2, suspends=False)
    for at in (0, 1):
        await scene.commit(plan=plan(held), at=START + at * SECOND)
    answer = await scene.commit(plan=plan(held, outcome=ALLOWED), at=START + 2 * SECOND)
    assert (answer.outcome, answer.retry_after_us) == (held.when_full, 58 * SECOND)
    assert (await scene.commit(plan=plan(held), at=START + 3 * SECOND)).outcome == DENIED
    assert (await scene.commit(plan=plan(held, outcome=ALLOWED), at=START + 2 * MINUTE)).outcome == ALLOWED
    assert len(await counted(scene, held)) == 3
    assert (await agent(scene)).status is AgentStatus.ACTIVE


async def test_a_full_breaker_that_denies_counts_no_denial_of_its_own(scene):
    """Nor does any other breaker; so it is full for one window, whatever the agent tries, and suspends nobody."""
    held, ends = breaker(2, denies=True), breaker(3, name="d1e")
    for at in (0, 1):
        await scene.commit(plan=plan(held, ends), at=START + at * SECOND)
    for at in (2, 3, 59):
        answer = await scene.commit(plan=plan(held, ends, outcome=ALLOWED), at=START + at * SECOND)
        assert (answer.outcome, answer.retry_after_us) == (held.when_full, (60 - at) * SECOND)
    assert (await scene.commit(plan=plan(held, ends, outcome=ALLOWED), at=START + MINUTE)).outcome == ALLOWED
    assert len(await counted(scene, ends)) == 2
    assert (await agent(scene)).status is AgentStatus.ACTIVE


async def test_a_breaker_per_value_stops_calls_of_that_value_alone(scene):
    """The others' counts are their own, and so is the room that is left."""
    one, other = breaker(2, denies=True, bucket="aa"), breaker(2, denies=True, bucket="bb")
    for each in (one, one, other):
        await scene.commit(plan=plan(each))
    assert (await scene.commit(plan=plan(one, outcome=ALLOWED))).outcome == one.when_full
    assert (await scene.commit(plan=plan(other, outcome=ALLOWED))).outcome == ALLOWED
    live = scene.keyspace.live_denials(scene.agent.id, 0, POLICY, "cafe")
    assert sorted(await scene.client.call("ZRANGE", live, 0, -1)) == ["aa", "bb"]
    for name in (live, counted_in(scene.keyspace, scene.agent.id, one)):
        assert int(await scene.client.call("PTTL", name)) > 0


async def test_the_denial_that_fills_a_breaker_is_marked_in_its_entry(scene):
    """Again only once it has been full and empty; a denial of a full breaker fills nothing."""
    held, steps = breaker(2, denies=True, bucket="aa"), (0, 1, 2, 60, 61, 125, 126)
    for at in steps:
        await scene.commit(plan=plan(held), at=START + at * SECOND)
    marked = [entry.get("trippedBy") for entry in await scene.entries()]
    assert marked == [None, POLICY, None, None, None, None, POLICY]


async def test_a_breaker_counts_no_more_values_than_a_limit(scene):
    """A call with another value is stopped as by a limit, its denials count nowhere, and known values go on."""
    known, new = breaker(2, denies=True, bucket="cafe"), breaker(2, denies=True, bucket="beef")
    await scene.commit(plan=plan(known))
    live = scene.keyspace.live_denials(scene.agent.id, 0, POLICY, "cafe")
    await scene.client.call("ZADD", live, *(word for n in range(MAX_LIVE - 1) for word in (START + MINUTE, f"{n:x}")))
    answer = await scene.commit(plan=plan(new, outcome=ALLOWED), at=START + SECOND)
    assert answer.outcome == replace(new.when_full, reason=CROWDED["values"])
    await scene.commit(plan=plan(new), at=START + SECOND)
    assert (await counted(scene, new), int(await scene.client.call("ZCARD", live))) == ([], MAX_LIVE)
    assert (await scene.commit(plan=plan(known, outcome=ALLOWED), at=START + SECOND)).outcome == ALLOWED
    assert (await scene.commit(plan=plan(new, outcome=ALLOWED), at=START + MINUTE)).outcome == ALLOWED


async def test_a_reactivated_agent_has_no_denials(scene):
    """However it was suspended; the breaker that suspended it is no longer shown."""
    held = breaker(2)
    await scene.commit(plan=plan(held))
    for status in (AgentStatus.SUSPENDED, AgentStatus.ACTIVE):
        scene.agent = await scene.agents.update(scene.workspace_id, scene.agent.id, status=status, by=BY)
    assert scene.agent.active_since == 3
    anew = breaker(2, since=scene.agent.active_since)
    await scene.commit(plan=plan(anew), at=START + 1)
    assert (await agent(scene)).status is AgentStatus.ACTIVE
    await scene.commit(plan=plan(anew), at=START + 2)
    suspended = await agent(scene)
    assert suspended.tripped is not None
    named = await scene.agents.update(scene.workspace_id, scene.agent.id, name="b", by=BY)
    assert (named.status, named.tripped) == (AgentStatus.SUSPENDED, suspended.tripped)
    active = await scene.agents.update(scene.workspace_id, scene.agent.id, status=AgentStatus.ACTIVE, by=BY)
    assert (active.tripped, active.active_since) == (None, active.revision)


async def test_of_several_full_breakers_the_first_is_named_and_all_have_counted(scene):
    """One suspension, one change."""
    ones = (breaker(3, name="a"), breaker(1, suspends=False, name="b"), breaker(1, policy=OTHER, name="c"))
    await scene.commit(plan=plan(*ones, breaker(1, name="d")))
    assert (await agent(scene)).tripped.policy_id == OTHER
    assert [await counted(scene, each) for each in ones] == [[START]] * 3
    assert len((await Changes(scene.client).query(scene.workspace_id, ChangeQuery(actor_id="breaker"))).changes) == 1


async def test_an_idempotent_repeat_counts_once(scene):
    """However often it is repeated, it is one decision."""
    held, again = breaker(9), Idempotency("1d" * 32, "b0" * 32)
    answers = [await scene.commit(plan=plan(held), idempotency=again, decision_id=scene.ids.new(at)) for at in (0, 1)]
    assert [each.repeated for each in answers] == [False, True]
    assert await counted(scene, held) == [START]


async def test_a_storm_does_not_grow_the_store(scene):
    """The newest thousand are kept, the maximum of the largest breaker."""
    held = breaker(MAX_DENIALS, suspends=False)
    name = scene.keyspace.denials(scene.agent.id, 0, POLICY, "cafe")
    await scene.client.call("RPUSH", name, *range(START + MAX_DENIALS + 20, START, -1))
    await scene.commit(plan=plan(held), at=START + 2 * MAX_DENIALS)
    times = await counted(scene, held)
    assert (len(times), times[0]) == (MAX_DENIALS, START + 2 * MAX_DENIALS)


@settings(max_examples=examples(40), deadline=None, suppress_health_check=list(HealthCheck))
@given(
    steps=st.lists(
        st.tuples(
            st.sampled_from([0, 0, 1, SECOND, MINUTE - 1, MINUTE, -SECOND]),
            st.sampled_from(["deny", "deny", "deny", "allow", "resume"]),
            st.integers(1, 4),
        ),
        min_size=3,
        max_size=25,
    )
)
async def test_any_history_of_denials_edits_and_clock_steps_is_as_a_list_of_times_says(scene, steps):
    """Two breakers with one maximum, edited from call to call: one escalates, one with a longer window suspends."""
    scene = await type(scene)(scene.client, scene.runner, scene.ids.new(0)).enter()
    clock_us, quota_us, times, held = START, START, [], scene.agent
    for moved_us, what, most in steps:
        clock_us += moved_us
        quota_us += max(0, moved_us)
        if what == "resume" or held.status is not AgentStatus.ACTIVE:
            for status in (AgentStatus.SUSPENDED, AgentStatus.ACTIVE):
                held = await scene.agents.update(scene.workspace_id, scene.agent.id, status=status, by=BY)
            times = []
        asks = breaker(most, suspends=False, since=held.active_since)
        ends = breaker(most + 1, name="d1e", window_us=2 * MINUTE, since=held.active_since)
        outcome = ALLOWED if what == "allow" else DENIED

        answer = await scene.commit(plan=plan(asks, ends, outcome=outcome), at=clock_us, version=held.version)

        is_full = sum(time + MINUTE > quota_us for time in times) >= most
        assert answer.outcome == (asks.when_full if outcome is ALLOWED and is_full else outcome)
        if outcome is DENIED:
            times.append(quota_us)
        is_over = outcome is DENIED and sum(time + 2 * MINUTE > quota_us for time in times) > most
        held = await agent(scene)
        assert held.status is (AgentStatus.SUSPENDED if is_over else AgentStatus.ACTIVE)
        assert held.tripped == (Trip(POLICY, answer.id) if is_over else None)
