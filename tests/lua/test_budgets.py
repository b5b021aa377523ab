"""Budgets and limits per value: exact over any history, on every store, and bounded."""

import asyncio

import pytest
from commit_scene import ALLOWED, MINUTE, POLICY, SECOND, START, Scene
from fake_store import FakeClient
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from profiles import examples

from app.authorize.commit import CommitDecision
from app.authorize.commit.quotas import CROWDED
from app.model.decision_codes import DecisionCode
from app.model.decisions import Outcome, Result, RuleRef
from app.model.ids import Ids
from app.model.plans import Quota
from app.model.quotas import FOREVER_SECONDS, MAX_LIVE
from app.store.spent_counts import drop_spent_counts

WINDOW = MINUTE
FULL = Outcome(Result.DENIED, POLICY, RuleRef(3, "budget"), "spent", DecisionCode.BUDGET_SPENT)


def budget(amount, most=100, bucket=""):
    return Quota(POLICY, "budget", most, WINDOW, FULL, amount, bucket)


def one_of(bucket, max_calls=1):
    return Quota(POLICY, "per", max_calls, WINDOW, FULL, None, bucket)


def wait_of(entries, now_us, amount, most):
    """The time until the amount fits, by adding up; None = never."""
    held = [entry for entry in entries if entry[0] + WINDOW > now_us]
    for gone in range(len(held) + 1):
        if sum(spent for _, spent in held[gone:]) + amount <= most:
            return held[gone - 1][0] + WINDOW - now_us if gone else 0
    return None


calls = st.lists(
    st.tuples(
        st.sampled_from([0, 0, 1, SECOND, WINDOW // 3, WINDOW - 1, WINDOW, 3 * WINDOW, -5 * SECOND]),
        st.sampled_from([0, 1, 7, 30, 50, 100, 101]),
        st.sampled_from([100, 100, 100, 60, 250]),
    ),
    min_size=4,
    max_size=40,
)


@settings(max_examples=examples(60), suppress_health_check=list(HealthCheck), deadline=None)
@given(history=calls)
def test_any_history_of_amounts_maxima_and_clock_steps_is_as_a_list_says(history):
    """I3: which calls are admitted, and how long until there is room; quota time continues after a step back."""

    async def run():
        client, ids = FakeClient(), Ids()
        scene = await Scene(client, client, ids.new(0)).enter()
        entries, clock, quota_us, last = [], START, START, START
        for later, amount, most in history:
            clock += later
            quota_us += max(0, clock - last)
            last = clock
            answer = await scene.commit(budget(amount, most), at=clock)
            wait = wait_of(entries, quota_us, amount, most)
            assert (answer.outcome.result is Result.ALLOWED) == (wait == 0)
            assert answer.retry_after_us == (wait or None)
            if wait == 0 and amount:
                entries.append((quota_us, amount))
        await client.close()

    asyncio.run(run())


async def test_however_many_expire_at_once_none_of_them_counts(scene):
    """Three thousand amounts expire together; the next call is judged by the rest, and the bucket shrinks."""
    for number in range(300):
        await scene.commit(budget(1, 10_000), at=START + number)
    await scene.commit(budget(50, 10_000), at=START + MINUTE - 1)

    late = START + MINUTE + 299
    assert (await scene.commit(budget(51), at=late)).outcome == FULL
    assert (await scene.commit(budget(50), at=late)).outcome == ALLOWED
    for number in range(5):
        await scene.commit(budget(0, 1), at=late + number)
        await scene.commit(budget(1, 500), at=late + number)
    length = await scene.client.call("LLEN", scene.keyspace.quota(POLICY, "budget"))
    assert length <= 8 + 64


@pytest.mark.parametrize("leaving", [1, 2, 3, 5])
async def test_amounts_leave_exactly_one_window_later(scene, leaving):
    """However many leave together; a microsecond earlier, all of them count."""
    for _ in range(leaving):
        await scene.commit(budget(10), at=START)
    await scene.commit(budget(1), at=START + 1)
    assert (await scene.commit(budget(100 - 10 * leaving), at=START + WINDOW - 1)).outcome == FULL
    assert (await scene.commit(budget(100), at=START + WINDOW)).outcome == FULL
    assert (await scene.commit(budget(99), at=START + WINDOW)).outcome == ALLOWED


async def test_totals_wrap_around_unnoticed(scene):
    """More than 2^52 millionths in total, but never more than the maximum at once."""
    most = 10**15
    for turn in range(12):
        at = START + turn * MINUTE
        assert (await scene.commit(budget(most, most), at=at)).outcome == ALLOWED
        assert (await scene.commit(budget(1, most), at=at)).outcome == FULL


@pytest.mark.parametrize(("counted_us", "window"), [(1, FOREVER_SECONDS * SECOND), (START - SECOND, WINDOW)])
async def test_amounts_that_count_under_one_time_are_one_sum(scene, counted_us, window):
    """For good or until a period ends, there is room for as many as fit, and the list stays as long as it is."""
    held = replace(budget(1, MAX_LIVE + 9), counted_us=counted_us, window_us=window)
    name = scene.keyspace.quota(POLICY, "budget")
    await scene.commit(replace(held, amount=MAX_LIVE))
    assert [(await scene.commit(held, at=START + n)).outcome for n in range(9)] == [ALLOWED] * 9
    assert await scene.client.call("LRANGE", name, 0, -1) == [f"{counted_us} {MAX_LIVE + 9}", "0 0"]
    full = await scene.commit(held, at=START + 9)
    assert (full.outcome, full.retry_after_us) == (FULL, None if counted_us == 1 else WINDOW - SECOND - 9)


async def test_what_counts_for_good_is_never_dropped(scene):
    """Neither by the key's expiry, nor by what deletes spent counts, a lifetime later."""
    held = replace(budget(1, 1), counted_us=1, window_us=FOREVER_SECONDS * SECOND)
    calls = replace(one_of(""), window_us=FOREVER_SECONDS * SECOND)
    await scene.commit(held, calls)
    late = START + 70 * 365 * 24 * 60 * MINUTE
    await scene.commit(at=late)
    keys = [scene.keyspace.quota(POLICY, each.fingerprint) for each in (held, calls)]
    assert await drop_spent_counts(scene.client, scene.workspace_id, keys) == 0
    assert min([await scene.client.call("PEXPIRETIME", key) for key in keys]) > late // 1000
    for each in (held, calls):
        answer = await scene.commit(each, at=late)
        assert (answer.outcome, answer.retry_after_us) == (FULL, None)


async def test_a_window_holds_no_more_than_ten_thousand_amounts(scene):
    """The next one waits until the oldest has left, and its reason says what is full."""
    name = scene.keyspace.quota(POLICY, "budget")
    entries = [f"{START + n} {n + 1}" for n in range(MAX_LIVE)]
    await scene.client.call("LPUSH", name, "0 0", *entries)
    told = []
    scene.committing = CommitDecision(scene.runner, scene.clock, 1_000, crowded=told.append)

    spent = await scene.commit(budget(1, MAX_LIVE), at=START + SECOND)
    answer = await scene.commit(budget(1, 10**9), at=START + SECOND)

    assert spent.outcome == FULL
    assert (answer.outcome.reason, answer.retry_after_us) == (CROWDED["amounts"], MINUTE - SECOND)
    assert answer.outcome.code is DecisionCode.BUDGET_SPENT
    assert told == ["amounts"]
    assert [entry["reason"] for entry in (await scene.entries())[-2:]] == [FULL.reason, CROWDED["amounts"]]
    assert (await scene.commit(budget(1, 10**9), at=START + MINUTE)).outcome == ALLOWED


async def test_each_value_has_a_bucket(scene):
    """And is among the live ones of its rule."""
    assert [(await scene.commit(one_of(value), at=START)).outcome for value in "aab"] == [ALLOWED, FULL, ALLOWED]
    live = scene.keyspace.live_buckets(POLICY, "per", scene.agent.id)
    assert await scene.client.call("ZRANGE", live, 0, -1) == ["a", "b"]


async def test_beyond_ten_thousand_live_values_the_rule_fails_and_says_so(scene):
    """Only for this agent; known values still work, and there is room once the first has expired."""
    live = scene.keyspace.live_buckets(POLICY, "per", scene.agent.id)
    scores = [word for n in range(MAX_LIVE) for word in (START + MINUTE + n, f"{n:x}")]
    await scene.client.call("ZADD", live, *scores)
    told = []
    scene.committing = CommitDecision(scene.runner, scene.clock, 1_000, crowded=told.append)

    answer = await scene.commit(one_of("abcdef", 5), at=START + SECOND)

    assert answer.outcome.reason == CROWDED["values"]
    assert told == ["values"]
    assert (await scene.entries())[-1]["reason"] == CROWDED["values"]
    assert answer.retry_after_us == MINUTE - SECOND
    assert (await scene.commit(one_of("7", 5), at=START + SECOND)).outcome == ALLOWED
    assert (await scene.commit(one_of("abcdef", 5), at=START + MINUTE)).outcome == ALLOWED
    assert await scene.client.call("ZSCORE", live, "0") is None


async def test_limits_of_all_kinds_are_taken_together_or_not_at_all(scene):
    """I3, I4: whichever of them is full."""
    wide = Quota(POLICY, "wide", 10, MINUTE, FULL)
    await scene.commit(wide, one_of("a"), budget(60, bucket="b"))
    for refused in ((wide, one_of("a"), budget(1, bucket="b")), (wide, one_of("c"), budget(41, bucket="b"))):
        before = {
            name: held for name, held in (await scene.everything()).items() if ":quota:" in name or ":live:" in name
        }
        assert (await scene.commit(*refused, at=START + 1)).outcome == FULL
        after = {
            name: held for name, held in (await scene.everything()).items() if ":quota:" in name or ":live:" in name
        }
        assert before == after
    assert (await scene.commit(wide, one_of("c"), budget(40, bucket="b"), at=START + 2)).outcome == ALLOWED
