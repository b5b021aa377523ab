"""Records in the commit: read in one step with the decision, by the store's clock; whatever the key holds."""

import msgspec
import pytest
from commit_scene import ALLOWED, MINUTE, POLICY, SECOND, START
from msgspec.structs import replace

from app.model.decision_codes import DecisionCode
from app.model.decisions import Decision, Outcome, RecordRead, Result, RuleRef, ShadowOutcome
from app.model.outcomes import CallStatus, DecidedCall
from app.model.plans import FieldTests, Plan, RecordCheck, ShadowPlan
from app.model.records import KEPT_SECONDS, MAX_RECORDS, digest, token
from app.model.sequences import session_digest
from app.model.times import rfc3339
from app.store.outcomes import Outcomes

SESSION = session_digest("s")
ODD = "a=b ~ , ; \n\t\"'\\ \u00e9"
FAILED = Outcome(
    Result.DENIED, POLICY, RuleRef(4, "parameter_constraint"), "the record", DecisionCode.PARAMETER_INVALID
)


def check(*tests, of="r", **more):
    fields = (FieldTests("a b", tests or ('="x"',)),)
    return RecordCheck(POLICY, of, (digest("get"),), fields, MINUTE, FAILED, digest(of), SESSION, **more)


async def report(scene, records, at=START, tool="get"):
    decision = await scene.commit(at=at)
    called = DecidedCall(
        id=decision.id, agent_id=scene.agent.id, key_id=scene.key.id, tool_name=tool, result=Result.ALLOWED,
        policy_id=None, rule=None, timestamp=rfc3339(at // 1000), context={"session": "s"},
    )  # fmt: skip
    outcomes = Outcomes(scene.client, scene.ids, 1_000)
    return await outcomes.record(scene.workspace_id, called, CallStatus.EXECUTED, records, now_us=at)


async def passes(scene, *checks, at=START):
    answer = await scene.commit(*checks, at=at)
    assert isinstance(answer, Decision)
    assert answer.outcome in (ALLOWED, FAILED)
    return answer.outcome == ALLOWED


async def test_a_record_counts_for_exactly_as_long_as_the_rule_says(scene):
    """To the millisecond; and not before it was reported, when the clock has been set back."""
    assert not await passes(scene, check())
    await report(scene, {"r": {"a b": "x"}}, at=START + SECOND)
    assert await passes(scene, check(), at=START + SECOND)
    assert await passes(scene, check(), at=START + SECOND + MINUTE - 1000)
    assert not await passes(scene, check(), at=START + SECOND + MINUTE)
    assert not await passes(scene, check(), at=START)


@pytest.mark.parametrize(
    ("value", "tests", "fits"),
    [
        ("x", ('="x"', '="y"'), True),
        ("z", ('="x"', '="y"'), False),
        ("z", ('!"x"', '!"y"'), True),
        ("x", ('!"x"',), False),
        (1, ('!"x"',), False),
        (1, ("!2", '!"x"'), True),
        (True, ("=true", "=1"), True),
        (False, ("!true",), True),
        (None, ("=null",), True),
        (None, ("!null",), False),
        (1.5, (">1", "<1.5"), True),
        (-3, (">-3", "<-3"), True),
        (1e300, (">1e+299",), True),
        (2, (">3",), False),
        ("5", (">1",), False),
        ("nan", (">1",), False),
        ("0x10", ("<1000",), False),
        (ODD, (f"={token(ODD)}",), True),
        (ODD, (f"!{token(ODD)}",), False),
    ],
    ids=str,
)
async def test_a_value_is_compared_as_the_rule_says(scene, value, tests, fits):
    """In type and value, and numbers as numbers."""
    await report(scene, {"r": {"a b": value}})
    assert await passes(scene, check(*tests)) is fits
    entry = (await scene.entries())[-1]
    assert entry["records"] == f'[{{"of":"r","fields":{{"a\\u0020b":{token(value)}}}}}]'


async def test_what_several_rules_read_is_told_in_one_order(scene):
    """Once for each rule, found or not; a secret's value is not told."""
    await report(scene, {"b": {"a b": "x"}})
    hidden = replace(check(of="b"), fields=(FieldTests("a b", ('="x"',), is_secret=True),))
    missing, told = check(of="a", asks=False), []
    for checks in ((check(of="b"), missing, hidden), (hidden, missing, check(of="b"))):
        assert await passes(scene, *checks)
        told.append((await scene.entries())[-1]["records"])
    assert (
        told[0]
        == told[1]
        == (
            '[{"of":"a","fields":null},{"of":"b","fields":{"a\\u0020b":"[REDACTED]"}},{"of":"b","fields":{"a\\u0020b":"x"}}]'
        )
    )


async def test_a_session_keeps_sixteen_records_for_a_day(scene):
    """Of those that are reported at the same time, any go."""
    for number in range(MAX_RECORDS + 4):
        await report(scene, {f"r{number}": {"a b": "x"}}, at=START + number * SECOND)
    at = START + 20 * SECOND
    kept = [await passes(scene, check(of=f"r{number}"), at=at) for number in range(MAX_RECORDS + 4)]
    assert kept == [False] * 4 + [True] * MAX_RECORDS
    key = scene.keyspace.session_records(scene.agent.id, SESSION)
    assert await scene.client.call("HLEN", key) == MAX_RECORDS
    assert 0 < await scene.client.call("PTTL", key) <= KEPT_SECONDS * 1000


async def test_what_is_no_record_fails_the_rule(scene):
    """Another program wrote it: it is as if nothing had been reported."""
    key = scene.keyspace.session_records(scene.agent.id, SESSION)
    for text in (
        "",
        "x",
        "nan get",
        f"{START // 1000}",
        f"{START // 1000} {digest('get')}",
        f"1e99 {digest('get')} a=1",
    ):
        await scene.client.call("HSET", key, digest("r"), text)
        assert not await passes(scene, check()), text


async def test_a_denied_call_tells_what_was_read(scene):
    """Its entry says why the rule failed."""
    await report(scene, {"r": {"a b": "y"}})
    assert not await passes(scene, check())
    assert (await scene.entries())[-1]["records"] == '[{"of":"r","fields":{"a\\u0020b":"y"}}]'


async def test_what_shadow_policies_read_is_told_beside_what_they_would_do(scene):
    """In `shadow` of the entry, and not among what enforced rules read; nothing if the result is the same."""
    aside, told = check(of="b"), []
    would = ShadowOutcome(scene.agent.id, Result.DENIED, RuleRef(0, "parameter_constraint"))
    shadow = ShadowPlan((aside,), (replace(would, result=Result.ALLOWED), would), (True,))
    for records in ({"r": {"a b": "x"}}, {"b": {"a b": "y", "c": 1}}, {"b": {"a b": "x"}}):
        await report(scene, records)
        await scene.commit(plan=Plan(ALLOWED, (check(),), shadow=shadow))
        entry = (await scene.entries())[-1]
        assert entry["records"] == '[{"of":"r","fields":{"a\\u0020b":"x"}}]'
        told.append(msgspec.json.decode(entry["shadow"], type=ShadowOutcome) if "shadow" in entry else None)
    assert told == [
        replace(would, records=[RecordRead("b", None)]),
        replace(would, records=[RecordRead("b", {"a b": "y"})]),
        None,
    ]
