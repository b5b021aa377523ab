"""Replays against what the real commit did, or would have done, at the same times."""

import asyncio

import pytest
from fake_store import FakeClient
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from profiles import examples
from replayed import SECOND_MS, START_MS, Logged

PROFILE = settings(max_examples=examples(40), suppress_health_check=list(HealthCheck), deadline=None)
TOOLS = ["mail.send", "mail.read", "pay", "rm"]
WINDOWS = [1, 2, 5]
EDITS = ["deny", "most", "off", "on"]


def limit(tools, most, seconds, **more):
    counts = {name: more.pop(name) for name in ("per", "refundable") if name in more}
    return {
        "type": "rate_limit",
        "tools": tools,
        "rateLimit": {"maxCalls": most, "windowSeconds": seconds, **counts},
    } | more


def budget(most, seconds, refundable):
    sums = {"parameter": "amount", "max": most, "windowSeconds": seconds, "refundable": refundable}
    return {"type": "budget", "tools": ["pay"], "budget": sums}


def after(side, tool, seconds, more):
    looks = {"requiresBefore": [tool], "once": True} if side == "once" else {side: [tool]}
    tools = ["pay", "rm"] if side == "once" else ["*"]
    return {"type": "sequence", "tools": tools, "sequence": looks | {"withinSeconds": seconds}} | more


def breaker(most, seconds, acts, tools):
    terms = {"maxDenials": most, "windowSeconds": seconds} | acts
    return {"type": "denial_breaker", "tools": tools, "denialBreaker": terms}


def of_its_kind(body):
    """A grant has no breakers."""
    rules = [each for each in body["rules"] if each["type"] != "denial_breaker" or body["kind"] == "guardrail"]
    return body | {"rules": rules or [{"type": "tool_allowlist", "tools": ["*"]}]}


effects = st.sampled_from([{"refundable": True}, {"refundable": True}, {"effect": "escalate"}])
asked = st.sampled_from([{}, {}, {"effect": "escalate"}])
windows = st.sampled_from(WINDOWS)
SIDES = st.sampled_from(["forbiddenAfter", "requiresBefore", "once"])
rules = st.one_of(
    st.builds(lambda most, span, more: limit(["*"], most, span, **more), st.integers(1, 3), windows, effects),
    st.builds(lambda most, span: limit(["mail.*"], most, span, per=["tool"]), st.integers(1, 2), windows),
    st.builds(
        lambda most, span, back: limit(["*"], most, span, per=["parameters.amount"], refundable=back),
        st.integers(1, 2),
        windows,
        st.booleans(),
    ),
    st.builds(after, SIDES, st.sampled_from(TOOLS), windows, asked),
    st.builds(budget, st.sampled_from([5, 10, 12.5]), windows, st.booleans()),
    st.builds(
        breaker,
        st.integers(1, 3),
        windows,
        st.sampled_from(
            [{"action": each} for each in ("suspend", "escalate", "deny")]
            + [{"action": "deny", "per": ["context.session"]}]
        ),
        st.sampled_from([["*"], ["rm"]]),
    ),
    st.sampled_from(
        [
            {"type": "tool_denylist", "tools": ["rm"]},
            {"type": "tool_allowlist", "tools": ["*"]},
            {"type": "tool_allowlist", "tools": ["mail.*", "pay"]},
            {"type": "approval_required", "tools": ["rm"]},
            {"type": "parameter_constraint", "tools": ["pay"], "parameters": {"amount": {"max": 7}}},
            {
                "type": "parameter_constraint",
                "tools": ["pay"],
                "parameters": {"amount": {"max": 3}},
                "effect": "escalate",
            },
            {"type": "time_based", "tools": ["*"], "timeWindow": {"allowedHours": [8]}},
        ]
    ),
)  # fmt: skip
policies = st.lists(
    st.fixed_dictionaries(
        {
            "name": st.just("p"),
            "rules": st.lists(rules, min_size=1, max_size=3),
            "priority": st.sampled_from([0, 0, 5]),
            "kind": st.sampled_from(["grant", "grant", "guardrail"]),
        }
    ),
    min_size=1,
    max_size=3,
).map(lambda bodies: [of_its_kind(body) | {"name": f"p{place}"} for place, body in enumerate(bodies)])
steps = st.lists(
    st.tuples(
        st.sampled_from(TOOLS),
        st.sampled_from([0, 1, 300, 777, 999, 1000, 1001, 2000, 4999, 60_000]),
        st.sampled_from([0, 1, 400, 999]),
        st.sampled_from([(1, "s"), (2.5, "s"), (5, "s"), (5, "t"), (8, "s")]),
        # Now and then a tool is denied besides, or a maximum is another, or the policy is off.
        st.none() | st.none() | st.none() | st.tuples(st.integers(0, 2), st.sampled_from(EDITS)),
        # Some time later, one of the latest allowed calls may be reported as not executed.
        st.none() | st.tuples(st.integers(1, 2), st.sampled_from([0, 1, 999, 400_000])),
    ),
    min_size=3,
    max_size=25,
)  # fmt: skip


@pytest.fixture(scope="module")
def fake():
    """An in-process store on an event loop of its own, since Hypothesis runs a test many times in one call of it."""
    with asyncio.Runner() as runner:
        yield FakeClient(), runner


def edited(body, how):
    """The fields of the policy after the edit."""
    if how in ("off", "on"):
        return {"enabled": how == "on"}
    if how == "deny":
        return {"rules": [{"type": "tool_denylist", "tools": ["mail.read"]}, *body["rules"]]}
    return {
        "rules": [
            each | {"rateLimit": each["rateLimit"] | {"maxCalls": 2}} if each["type"] == "rate_limit" else each
            for each in body["rules"]
        ]
    }


def may_tie(times_ms):
    """Whether two calls are exactly a window apart in whole milliseconds, which the log cannot resolve."""
    return any(later - earlier in {each * SECOND_MS for each in WINDOWS} for earlier in times_ms for later in times_ms)


@PROFILE
@given(bodies=policies, calls=steps, begin=st.sampled_from([0, 0, 2_000, 6_000]))
def test_the_policies_of_the_time_flip_nothing(fake, bodies, calls, begin):
    """With full limits and budgets, guardrails, time windows, edits, and a span that begins midway."""
    client, runner = fake

    async def run():
        log = await Logged(client).enter(*bodies)
        at_us, times = START_MS * 1000, []
        for tool, later_ms, later_us, (amount, session), edit, given_back in calls:
            at_us += later_ms * 1000 + later_us
            if edit is not None:
                place = edit[0] % len(bodies)
                await log.edit(place, **edited(bodies[place], edit[1]))
                await log.resume()
            await log.call(tool, at_us, {"amount": amount}, context={"session": session})
            times.append(at_us // 1000)
            if given_back is not None:
                at_us += given_back[1]
                await log.give_back(given_back[0], at_us)

        report = await log.replay(from_ms=START_MS + begin)

        in_span = sum(each >= START_MS + begin for each in times)
        assert (report.flips, report.flipped) == ([], 0)
        assert report.judged + report.inactive + report.unjudged.total == in_span
        assert (report.unjudged.edited, report.unjudged.unknown) == (0, 0)
        if not may_tie(times):
            assert report.unjudged.total == 0

    runner.run(run())


@PROFILE
@given(bodies=policies, draft=policies, calls=steps)
def test_a_draft_gives_what_the_real_commit_gives_of_it(fake, bodies, draft, calls):
    """The same calls at the same times are really decided by the policies and by the draft."""
    client, runner = fake

    async def run():
        real, other = await Logged(client).enter(*bodies), await Logged(client).enter(*draft)
        at_us, times = START_MS * 1000, []
        for tool, later_ms, later_us, (amount, session), *_ in calls:
            at_us += later_ms * 1000 + later_us
            for log in (real, other):
                await log.call(tool, at_us, {"amount": amount}, context={"session": session})
            times.append(at_us // 1000)
        # Policies of new names: nothing of what was counted is theirs.
        renamed = [{**body, "name": f"new {body['name']}"} for body in draft]

        report = await real.replay(renamed)

        assert report.judged + report.inactive + report.unjudged.total == len(calls)
        if not may_tie(times):
            assert report.unjudged.total == 0
            assert found(report) == flips(real.results, other.results, calls)

    runner.run(run())


@PROFILE
@given(
    bodies=policies,
    calls=steps,
    half=st.integers(0, 25),
    how=st.tuples(st.integers(0, 2), st.sampled_from(EDITS[:3])),
)
@pytest.mark.slow
def test_windows_are_as_full_as_they_were_when_the_span_begins(fake, bodies, calls, half, how):
    """After half of the calls, the draft is applied in one log and replayed over another."""
    client, runner = fake

    async def run():
        real, other = await Logged(client).enter(*bodies), await Logged(client).enter(*bodies)
        at_us, times, half_ms = START_MS * 1000, [], None
        place = how[0] % len(bodies)
        change = edited(bodies[place], how[1])
        for number, (tool, later_ms, later_us, (amount, session), *_) in enumerate(calls):
            at_us += later_ms * 1000 + later_us + 1_000
            if half_ms is None and number >= half:
                half_ms = at_us // 1000
                await other.edit(place, **change)
            for log in (real, other):
                await log.call(tool, at_us, {"amount": amount}, context={"session": session})
            times.append(at_us // 1000)
        half_ms = half_ms or START_MS + 10**9
        draft = [body | change if each == place else body for each, body in enumerate(bodies)]

        report = await real.replay(draft, from_ms=half_ms)

        if not may_tie(times):
            start = sum(each < half_ms for each in times)
            assert report.unjudged.total == 0
            assert found(report) == flips(real.results[start:], other.results[start:], calls[start:])

    runner.run(run())


def found(report):
    """How often each flip is reported."""
    counts = {}
    for flip in report.flips:
        key = (flip.was.value, flip.becomes.value, flip.tool_name)
        counts[key] = counts.get(key, 0) + flip.count
    return counts


def flips(was, becomes, calls):
    """How often each happened."""
    counts = {}
    for before, after, call in zip(was, becomes, calls, strict=True):
        if before != after:
            key = (before, after, call[0])
            counts[key] = counts.get(key, 0) + 1
    return counts
