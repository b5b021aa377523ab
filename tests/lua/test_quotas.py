"""Quotas are exact: one script reads and extends the list of admitted calls."""

import asyncio

import pytest
from commit_scene import ALLOWED, DENIED, ESCALATED, MINUTE, SECOND, START, quota
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from profiles import examples

from app.model.decisions import AuthorizeRequest, Result
from app.model.policies import Owner, PolicyChanges, PolicyFields
from app.model.quotas import RateLimit
from app.model.rules import RateLimited
from app.pdp import compile_agent, decide
from tests.support import parts
from tests.support.actors import BY

STEP = 10 * MINUTE
ONE = quota("one", 1, MINUTE)
TWO = quota("two", 2, MINUTE)


async def results(scene, *quotas, times):
    """What calls at these times are answered, as a string of a(llowed) and d(enied)."""
    return "".join([(await scene.commit(*quotas, at=START + time)).outcome.result[0] for time in times])


async def test_nobody_is_told_to_wait_for_a_limit_that_changes_nothing(scene):
    """The full limit is named, but with room in it the call would be denied, too."""
    await scene.commit(ONE)
    denied = await scene.commit(ONE, outcome=DENIED, at=START + SECOND)
    assert (denied.outcome, denied.retry_after_us) == (ONE.when_full, None)


async def test_quotas_are_taken_all_together_or_not_at_all(scene):
    """I3: a call that one quota denies costs nothing in the others."""
    wide, narrow = quota("wide", 10, MINUTE), quota("narrow", 1, MINUTE)
    await scene.commit(wide, narrow)

    denied = await scene.commit(wide, narrow, at=START + SECOND)

    assert denied.outcome == narrow.when_full
    assert await scene.admitted(wide) == [START]
    assert await scene.admitted(narrow) == [START]


@pytest.mark.parametrize("outcome", [DENIED, ESCALATED], ids=["denied", "escalated"])
async def test_a_call_that_is_not_allowed_costs_nothing(scene, outcome):
    """I4: its quotas are checked, not taken."""
    await scene.commit(TWO, outcome=outcome)
    assert await scene.admitted(TWO) == []


def calendar(end_us, max_calls=1, amount=None):
    """A limit whose calls count until the period ends."""
    held = quota("calendar", max_calls, STEP)
    return replace(held, counted_us=end_us - STEP, amount=amount)


@pytest.mark.parametrize("amount", [None, 1])
async def test_what_is_counted_by_a_calendar_leaves_when_the_period_ends(scene, amount):
    """All of it together, also what was admitted just before, and over the same time that the reply says."""
    today, tomorrow = calendar(START + 5 * MINUTE, 2, amount), calendar(START + 9 * MINUTE, 2, amount)
    assert await results(scene, today, times=[0, 5 * MINUTE - 2]) == "aa"
    denied = await scene.commit(today, at=START + 5 * MINUTE - 1)
    assert (denied.outcome.result, denied.retry_after_us) == (Result.DENIED, 1)
    assert await results(scene, tomorrow, times=[5 * MINUTE, 5 * MINUTE + 1, 6 * MINUTE]) == "aad"


@pytest.mark.parametrize("amount", [None, 1])
async def test_a_clock_that_steps_back_gives_no_call_of_a_calendar_away(scene, amount):
    """Quota time is then ahead, and would end the period early; and a period that has begun stays."""
    today, tomorrow = calendar(START + 8 * MINUTE, 2, amount), calendar(START + 16 * MINUTE, 2, amount)
    times = [6 * MINUTE, MINUTE, 4 * MINUTE, 8 * MINUTE - 1]
    assert await results(scene, today, times=times) == "aadd"
    assert await results(scene, tomorrow, times=[8 * MINUTE]) == "a"
    again = await results(scene, today, times=[7 * MINUTE, 7 * MINUTE + 1])
    again += await results(scene, tomorrow, times=[8 * MINUTE, 8 * MINUTE + 1])
    assert again.count("a") == 1


async def test_the_counter_of_a_calendar_lasts_until_the_period_ends(scene):
    """Also if that is longer than its ordinary length, as on a day of 25 hours."""
    today = calendar(START + 2 * STEP)
    await scene.commit(today)
    assert await results(scene, today, times=[STEP, 2 * STEP - 1]) == "dd"
    expires_ms = await scene.client.call("PEXPIRETIME", scene.keyspace.quota(today.policy_id, today.fingerprint))
    assert expires_ms * 1000 > START + 2 * STEP + 6_307_200_000_000_000


async def test_calls_denied_by_a_full_quota_do_not_prolong_it(scene):
    """I4: a client that keeps retrying is admitted when the window ends, and not a moment later."""
    assert await results(scene, ONE, times=[0, SECOND, 30 * SECOND, MINUTE - 1, MINUTE]) == "addda"


async def test_concurrent_calls_admit_exactly_the_maximum(scene):
    """One hundred at once on a quota of 37."""
    held = quota("held", 37, MINUTE)

    answers = await asyncio.gather(*(scene.commit(held) for _ in range(100)))

    assert sum(answer.outcome.result is Result.ALLOWED for answer in answers) == 37
    assert len(await scene.admitted(held)) == 37
    assert len(await scene.entries()) == 100


@pytest.mark.parametrize(("age_us", "result"), [(MINUTE - 1, "d"), (MINUTE, "a"), (MINUTE + 1, "a")])
async def test_a_call_counts_until_exactly_one_window_later(scene, age_us, result):
    """The window includes its newest moment, but not its oldest."""
    assert await results(scene, ONE, times=[0, age_us]) == "a" + result


async def test_the_time_to_wait_is_exact_to_the_microsecond(scene):
    """One microsecond earlier, the quota is still full."""
    await scene.commit(TWO, at=START)
    await scene.commit(TWO, at=START + 20 * SECOND)

    denied = await scene.commit(TWO, at=START + 25 * SECOND)

    assert denied.retry_after_us == 35 * SECOND
    assert await results(scene, TWO, times=[MINUTE - 1, MINUTE]) == "da"


async def test_the_time_to_wait_is_that_of_the_last_quota_to_have_room(scene):
    """After that time, all of them admit the call."""
    short, long = quota("short", 1, SECOND), quota("long", 1, MINUTE)
    await scene.commit(short, long)

    denied = await scene.commit(short, long)

    assert denied.outcome == short.when_full
    assert denied.retry_after_us == MINUTE
    assert await results(scene, short, long, times=[MINUTE - 1, MINUTE]) == "da"


async def test_a_lowered_maximum_applies_at_once_and_raising_it_forgets_nothing(scene):
    """If maxCalls is edited up, down and up again, every call in the window counts once."""
    at_most = {n: quota("edited", n, MINUTE) for n in (1, 2, 3, 5)}
    assert await results(scene, at_most[3], times=[0, 1, 2, 3]) == "aaad"
    assert await results(scene, at_most[5], times=[4, 5, 6]) == "aad"
    assert await results(scene, at_most[2], times=[7]) == "d"
    assert await results(scene, at_most[1], times=[8]) == "d"
    # Four of the five leave; the one that stays fills a maximum of one and leaves room for one of two.
    assert await results(scene, at_most[1], times=[MINUTE + 4]) == "d"
    assert await results(scene, at_most[2], times=[MINUTE + 4, MINUTE + 4]) == "ad"
    assert await results(scene, at_most[5], times=[MINUTE + 4, *[MINUTE + 5] * 4]) == "aaaad"


async def test_a_lowered_maximum_counts_only_calls_still_in_the_window(scene):
    """With five in the bucket, of which four have left the window, a maximum of two has room for one."""
    many, few = quota("edited", 5, MINUTE), quota("edited", 2, MINUTE)
    assert await results(scene, many, times=[0, 1, 2, 3, 30 * SECOND]) == "aaaaa"
    assert await results(scene, few, times=[MINUTE + 5, MINUTE + 5]) == "ad"


@pytest.mark.parametrize("step", [-STEP, STEP], ids=["back", "forward"])
async def test_a_full_quota_is_not_locked_out_by_a_clock_step(scene, step):
    """Decision 0003: after a step of ten minutes in either direction, it has room at most one window later."""
    assert await results(scene, TWO, times=[0, 0, step]) in {"aad", "aaa"}
    assert await results(scene, TWO, times=[step + MINUTE]) == "a"


async def test_a_step_back_admits_nothing_early(scene):
    """Decision 0003: quota time goes on from where it was, so the window is as long as ever."""
    assert await results(scene, ONE, times=[0]) == "a"
    assert await results(scene, ONE, times=[-STEP, -STEP + MINUTE - 1, -STEP + MINUTE]) == "dda"


async def test_a_step_back_keeps_the_time_that_had_passed(scene):
    """Thirty seconds before the step and thirty after it make a window."""
    assert await results(scene, ONE, times=[0]) == "a"
    await scene.commit(at=START + 30 * SECOND)
    assert await results(scene, ONE, times=[-STEP, -STEP + 30 * SECOND - 1, -STEP + 30 * SECOND]) == "dda"


async def test_a_step_forward_counts_as_time_that_has_passed(scene):
    """Decision 0003: the two cannot be told apart, so one window's room comes early, once per step."""
    assert await results(scene, TWO, times=[0, 0, 0]) == "aad"
    assert await results(scene, TWO, times=[STEP, STEP, STEP]) == "aad"


async def test_a_clock_that_steps_forward_and_back_locks_nobody_out(scene):
    """The step back is not paid for with ten minutes of denials."""
    assert await results(scene, TWO, times=[0, STEP, STEP, STEP]) == "aaad"
    assert await results(scene, TWO, times=[1, MINUTE - 1, MINUTE + 1]) == "dda"


@pytest.mark.parametrize("window_seconds", [1, 2_678_400])
async def test_the_smallest_and_largest_window_and_maximum_work(scene, window_seconds):
    """The bounds of a rate limit fit into a Lua number and PEXPIREAT."""
    held = quota("held", 1_000_000, window_seconds * SECOND)
    assert await results(scene, held, times=[0, 1]) == "aa"
    lowered = quota("held", 1, window_seconds * SECOND)
    assert (await scene.commit(lowered, at=START + 2)).retry_after_us == window_seconds * SECOND - 1


async def test_fifty_quotas_in_one_decision_are_taken_together(scene):
    """As many as a policy has rules."""
    held = [quota(f"q{n}", 1, MINUTE) for n in range(50)]
    assert await results(scene, *held, times=[0, 1]) == "ad"
    assert [await scene.admitted(each) for each in held] == [[START]] * 50


async def test_expired_times_are_dropped_as_calls_come_in(scene):
    """A bucket does not grow beyond what its window and maximum need."""
    held = quota("held", 20, MINUTE)
    assert await results(scene, held, times=range(20)) == "a" * 20
    assert await results(scene, held, times=[2 * MINUTE + n for n in range(20)]) == "a" * 20
    assert len(await scene.admitted(held)) == 20


async def test_two_equal_rate_limits_in_one_policy_have_a_bucket_each(scene):
    """They differ only in their place, and neither counts a call twice."""
    limit = RateLimited(tools=["file.*"], rate_limit=RateLimit(max_calls=3, window_seconds=60))
    policies = parts.policies(scene.client, scene.ids)
    await policies.create(
        scene.workspace_id, Owner(scene.agent.id), PolicyFields(name="p", rules=(limit, limit)), by=BY
    )
    governed = await scene.agents.load(scene.workspace_id, scene.agent.id)
    agent = governed.agent
    view = compile_agent(agent, governed.policies, lambda _: False).view("file.read")
    [policy] = view.asked

    assert len({each.fingerprint for each in policy.quotas}) == 2
    scene.agent = agent
    quotas = policy.quotas
    assert await results(scene, *quotas, times=[0, 1, 2, 3]) == "aaad"
    names = [scene.keyspace.quota(each.policy_id, each.fingerprint) for each in quotas]
    assert [await scene.client.call("LLEN", name) for name in names] == [3, 3]


async def test_a_bucket_survives_edits_of_the_policy(scene):
    """Name, priority and maxCalls may change; the calls in the window stay counted."""
    policies = parts.policies(scene.client, scene.ids)
    limits = {n: RateLimited(tools=["file.*"], rate_limit=RateLimit(max_calls=n, window_seconds=60)) for n in (2, 3)}
    policy = await policies.create(
        scene.workspace_id, Owner(scene.agent.id), PolicyFields(name="p", rules=(limits[2],)), by=BY
    )

    async def ask() -> str:
        governed = await scene.agents.load(scene.workspace_id, scene.agent.id)
        scene.agent = governed.agent
        request = AuthorizeRequest("a", "file.read", "authorize", {}, b"{}")
        plan = decide(compile_agent(governed.agent, governed.policies, lambda _: False), request, START)
        return (await scene.commit(plan=plan)).outcome.result[0]

    assert [await ask() for _ in range(3)] == ["a", "a", "d"]
    await policies.update(scene.workspace_id, policy.id, PolicyChanges(name="renamed", priority=7), by=BY)
    assert await ask() == "d"
    await policies.update(scene.workspace_id, policy.id, PolicyChanges(rules=(limits[3],)), by=BY)
    assert [await ask(), await ask()] == ["a", "d"]
    await policies.update(scene.workspace_id, policy.id, PolicyChanges(rules=(limits[2],)), by=BY)
    assert await ask() == "d"
    await policies.update(scene.workspace_id, policy.id, PolicyChanges(enabled=False), by=BY)
    await policies.update(scene.workspace_id, policy.id, PolicyChanges(enabled=True, rules=(limits[3],)), by=BY)
    assert await ask() == "d"


BUCKETS = {"s": SECOND, "m": 10 * SECOND, "l": MINUTE}
STEPS = st.lists(
    st.tuples(
        # How far the clock moves: mostly a little, sometimes to the edge of a window, sometimes it steps.
        st.one_of(
            st.integers(0, 3 * SECOND),
            st.sampled_from([0, 1, SECOND - 1, SECOND, 10 * SECOND, MINUTE, -1, -SECOND, -STEP, STEP]),
        ),
        st.dictionaries(st.sampled_from(sorted(BUCKETS)), st.integers(1, 3), max_size=3),
        st.sampled_from([ALLOWED, ALLOWED, ALLOWED, DENIED, ESCALATED]),
    ),
    min_size=1,
    max_size=25,
)


@settings(max_examples=examples(40), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS)
async def test_any_sequence_of_calls_edits_and_clock_steps_is_as_a_list_of_times_says(scene, steps):
    """Compared with a model that keeps every admitted call: what is admitted, what is full, and for how long."""
    scene = await type(scene)(scene.client, scene.runner, scene.ids.new(0)).enter()
    clock_us, quota_us = START, START
    admitted: dict[str, list[int]] = {name: [] for name in BUCKETS}
    for moved_us, limits, outcome in steps:
        clock_us += moved_us
        # Quota time is the sum of all forward movement.
        quota_us += max(0, moved_us)
        waits = {}
        for name, max_calls in limits.items():
            ends = sorted(time + BUCKETS[name] for time in admitted[name] if time + BUCKETS[name] > quota_us)
            if len(ends) >= max_calls:
                waits[name] = ends[len(ends) - max_calls] - quota_us
        quotas = {name: quota(name, max_calls, BUCKETS[name]) for name, max_calls in limits.items()}

        answer = await scene.commit(*quotas.values(), at=clock_us, outcome=outcome)

        assert answer.outcome == (quotas[next(iter(waits))].when_full if waits else outcome)
        same_with_room = outcome.result is answer.outcome.result
        assert answer.retry_after_us == (max(waits.values()) if waits and not same_with_room else None)
        if answer.outcome.result is Result.ALLOWED:
            for name in limits:
                admitted[name].append(quota_us)
    assert len(await scene.entries()) == len(steps)
