"""A commit's script, keys and arguments agree with the scripts' headers."""

import pytest
from commit_calls import named, parts_of
from commit_scene import ALLOWED, DENIED, ESCALATED, MINUTE, POLICY, quota
from msgspec.structs import replace

from app.authorize.commit import ApprovalStep, CommitDecision, CommitQuestion
from app.authorize.commit.arguments import PER_CALL
from app.model.api_keys import Caller, Scope
from app.model.decision_codes import DecisionCode
from app.model.decisions import AuthorizeRequest, Idempotency, Result, RuleRef, ShadowOutcome
from app.model.plans import (
    DenialCount,
    FieldTests,
    HistoryCheck,
    Mark,
    Plan,
    RecordCheck,
    RememberedCheck,
    ShadowPlan,
    Target,
    Tokens,
)
from app.redis_client.scripts import COMMIT_ASKING, COMMIT_DECISION, COMMIT_PARTS, COMMIT_WITH_PARTS
from app.runtime.clock import StoreClock
from app.store.keyspace import Keyspace

CALLER = Caller("w", "k", frozenset({Scope.READ}))
REQUEST = AuthorizeRequest("a", "file.read", "authorize", {}, b"{}")
TOKENS = Tokens("v1", "v2")
LIMIT = quota("wide", 10, MINUTE)
CHECK = HistoryCheck(POLICY, True, ("aa", "bb"), MINUTE, DENIED, "5e")
KNOWN = RememberedCheck(POLICY, "m", RuleRef(1, "parameter_constraint"), MINUTE, ESCALATED, (Target("to", 5, ("aa",)),))
SEVERAL = {"live", "divergence", "outcome", "denials"}
"""Arguments that repeat any number of times."""


class Runner:
    """Notes what is called."""

    def prepare(self, script, keys, per_call, fixed):
        assert per_call == PER_CALL

        async def call(*given):
            self.called = (script, keys, [*given, *fixed])
            parts = parts_of(*self.called)
            status = "explained" if "explained" in parts else "committed"
            reply = [status, "id", "1000", 0, 0, 0]
            return [*reply, "shadow", 0, "would", "denied"] if "shadow" in parts else reply

        return call


async def called(plan, request=REQUEST, tokens=TOKENS, approval=None, patience_us=250_000):
    """The script, the keys and the arguments of a commit."""
    runner = Runner()
    commit = CommitDecision(runner, StoreClock(), 1_000, patience_us=patience_us)
    await commit(CommitQuestion(CALLER, request, tokens, plan, "id", 0, 7, approval=approval))
    return runner.called


async def test_a_plain_call_runs_the_script_without_parts():
    """Any number of rate limits, a context and a policy's version need no part."""
    script, keys, args = await called(Plan(ALLOWED, (LIMIT, replace(LIMIT, fingerprint="other"))))

    keyspace = Keyspace("w")
    assert script is COMMIT_DECISION
    assert keys[4:] == [keyspace.quota(POLICY, "wide"), keyspace.quota(POLICY, "other")]
    assert args[len(script.args) :] == [9, MINUTE, "denied", POLICY, "7 rate_limit", "Rate limit reached: wide"] * 2
    found = named(script, keys, args)
    assert (found["versions"], found["backlog"], found["waited_us"]) == ("v1 v2", "room:1000", 7)
    assert (found["reason"], found["policy"], found["rule"]) == (ALLOWED.reason, POLICY, "0 tool_allowlist")


BUDGET = replace(LIMIT, amount=5_000_000, refundable=True)
BREAKER = DenialCount(POLICY, "b", 5, MINUTE, ESCALATED, False, 3)
RECORD = RecordCheck(POLICY, "r", ("aa",), (FieldTests("f", ('="x"', ">1")),), MINUTE, DENIED, "bb", "5e")
STEP = ApprovalStep(step="attach", approval_id="i", digest="d")
WOULD = ShadowOutcome("other", Result.DENIED, RuleRef(0, "tool_denylist"))
SHADOW = ShadowPlan((LIMIT,), (WOULD, WOULD), (False,))
CASES = {
    "codes": {"plan": Plan(replace(DENIED, code=DecisionCode.PARAMETER_INVALID))},
    "groups": {"plan": Plan(ALLOWED), "tokens": Tokens("v1", "v2", (("g" * 64, "v3"), ("h" * 64, "")))},
    "first_answers": {"plan": Plan(ALLOWED), "request": replace(REQUEST, idempotency=Idempotency("key", "body"))},
    "keyed_batches": {
        "plan": Plan(ALLOWED),
        "request": replace(REQUEST, idempotency=Idempotency("key", "body", batch="batch")),
    },
    "interval": {"plan": Plan(ALLOWED, (), 60, 120)},
    "limits": {"plan": Plan(ALLOWED, (LIMIT, replace(LIMIT, bucket="b1"), replace(LIMIT, amount=5, bucket="b2")))},
    "sequences": {"plan": Plan(ALLOWED, (LIMIT, CHECK))},
    "records": {"plan": Plan(ALLOWED, (LIMIT, RECORD, replace(RECORD, asks=False)))},
    "remembered": {"plan": Plan(ALLOWED, (LIMIT, KNOWN, replace(KNOWN, renews=True)))},
    "marks": {"plan": Plan(ALLOWED, session="5e", marks=(Mark("aa", 1, 2), Mark("bb", 0, 2)))},
    "refunds": {"plan": Plan(ALLOWED, (replace(LIMIT, refundable=True),))},
    "shadow": {"plan": Plan(ALLOWED, (LIMIT,), shadow=SHADOW)},
    "breakers": {"plan": Plan(DENIED, breakers=(BREAKER, replace(BREAKER, suspends=True)))},
    "approvals": {"plan": Plan(ESCALATED), "approval": STEP},
    "explained": {"plan": Plan(DENIED), "patience_us": None},
}


@pytest.mark.parametrize("part", CASES)
async def test_a_part_gets_the_keys_and_arguments_of_its_header(part):
    """Exactly as many as the header declares, and no other part is included."""
    script, keys, args = await called(**CASES[part])

    assert script is (COMMIT_ASKING if part == "approvals" else COMMIT_WITH_PARTS)
    given = parts_of(script, keys, args)
    words = given.pop(part)
    assert set(given) == ({"first_answers"} if part == "keyed_batches" else set())
    for given, kind in zip(words, ("KEYS", "ARGV"), strict=True):
        declared = COMMIT_PARTS[part].words(kind)
        if SEVERAL & {*declared}:
            assert len(given) > len(declared) - 1
        else:
            assert len(given) == len(declared)


async def test_a_probe_for_approvals_says_so_and_no_more():
    """What it does not use would cost each call that an approval might let through."""
    probe, first = replace(STEP, step="probe"), CASES["first_answers"]["request"]
    assert parts_of(*await called(Plan(ESCALATED), approval=probe))["approvals"] == ([], ["probe"])
    assert parts_of(*await called(Plan(ESCALATED), first, approval=probe))["approvals"] == ([], ["probe"])


async def test_each_part_gets_its_arguments():
    """Several parts in one call, each with its own arguments."""
    tokens = CASES["groups"]["tokens"]
    plan = Plan(ALLOWED, (LIMIT, replace(BUDGET, bucket="b1"), CHECK), 60, 120)
    suspends = replace(BREAKER, fingerprint="c", max_denials=9, suspends=True)
    of_value = replace(BREAKER, fingerprint="d", bucket="b2")
    plan = replace(plan, quotas=(*plan.quotas, BREAKER), breakers=(suspends, BREAKER, of_value))
    call = await called(plan, tokens=tokens)

    parts, keyspace = parts_of(*call), Keyspace("w")
    assert parts["limits"] == ([keyspace.live_buckets(POLICY, "wide", "a")], ["2 5000000 b1 ;"])
    assert parts["refunds"] == ([keyspace.taken("id")], ["2 5000000 "])
    assert parts["sequences"] == ([], ["3 after aa bb;"])
    assert parts["interval"] == ([], [60, 120])
    assert parts["groups"] == ([], [f"group:{'g' * 64} v3 group:{'h' * 64} - "])
    counted = [keyspace.denials("a", 3, POLICY, each) for each in "cb"]
    of_value = (keyspace.denials_of_value("a", 3, POLICY, "d", "b2"), keyspace.live_denials("a", 3, POLICY, "d"))
    assert parts["breakers"][0] == [keyspace.changes, *counted, *of_value]
    said = [
        f"{most} {MINUTE} {acts} {POLICY} {bucket}\n{ESCALATED.reason}\n"
        for most, acts, bucket in ((9, "suspend 0", ""), (5, "escalate 4", ""), (5, "escalate 0", "b2"))
    ]
    assert parts["breakers"][1][2:] == ["".join(said)]
    assert [*parts] == ["interval", "groups", "breakers", "sequences", "refunds", "limits"]


def test_every_part_has_a_case():
    """Except the one that says where the others are."""
    assert {*CASES, "parts"} == COMMIT_PARTS.keys()
