"""A call that was reported as not executed takes nothing in a replay, as it took nothing in the end."""

import pytest
from fake_store import FakeClient
from msgspec.structs import astuple
from replayed import START_MS, Logged

from app.model.outcomes import CallStatus, decode_call
from app.store.outcomes import Outcomes

START = START_MS * 1000
FREE = {"type": "tool_allowlist", "tools": ["*"]}
PER = ["context.session"]


def limit(most, **more):
    counts = {"maxCalls": most, "windowSeconds": 60, **more}
    return {"type": "rate_limit", "tools": ["*"], "rateLimit": counts}


def budget(most, **more):
    sums = {"parameter": "n", "max": most, "windowSeconds": 60, **more}
    return {"type": "budget", "tools": ["*"], "budget": sums}


async def call(log, second):
    return await log.call("t", START + second * 1_000_000, {"n": 1}, context={"session": "s"})


async def report(log, status, second):
    """Report the outcome of the first decision in the log."""
    decision = decode_call((await log.lines()).splitlines()[0])
    await Outcomes(log.client, log.made, 1_000).record(log.id, decision, status, now_us=START + second * 1_000_000)


@pytest.mark.parametrize(
    "rule",
    [
        limit(1, refundable=True),
        limit(1, refundable=True, per=PER),
        budget(1, refundable=True),
        budget(1, refundable=True, per=PER),
    ],
    ids=str,
)
@pytest.mark.parametrize("begin", [0, 2], ids=["replayed", "before the span"])
async def test_a_call_that_was_given_back_takes_nothing(rule, begin):
    """Neither among the calls replayed nor among those that fill the limits beforehand."""
    log = await Logged(FakeClient()).enter({"name": "p", "rules": [FREE, rule]})
    assert await call(log, 0) == "allowed"
    await report(log, CallStatus.NOT_EXECUTED, 1)
    assert [await call(log, second) for second in (2, 3)] == ["allowed", "denied"]
    reports = [
        await log.replay(from_ms=START_MS + begin * 1000),
        await log.replay([{"name": "p", "rules": [FREE, rule]}]),
    ]
    assert [(each.flipped, sum(astuple(each.unjudged))) for each in reports] == [(0, 0), (0, 0)]


@pytest.mark.parametrize(("status", "refundable"), [("executed", True), ("failed", True), ("not_executed", False)])
async def test_other_reports_and_limits_give_nothing_back(status, refundable):
    """What was tried counts, and so does everything in a limit that is not refundable."""
    rule = limit(1, refundable=refundable)
    log = await Logged(FakeClient()).enter({"name": "p", "rules": [FREE, rule]})
    await call(log, 0)
    await report(log, CallStatus(status), 1)
    assert await call(log, 2) == "denied"
    assert (await log.replay()).flipped == 0
    refunded = {"name": "p", "rules": [FREE, limit(1, refundable=True)]}
    assert (await log.replay([refunded])).flipped == (status == "not_executed")
