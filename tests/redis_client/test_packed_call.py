"""Script calls that are packed once have the same words as those packed each time."""

import asyncio

import pytest
from commit_calls import named
from commit_scene import ALLOWED, DENIED, POLICY, quota
from msgspec.structs import replace

from app.authorize.agent_cache import CachedAgent, PackedCommits
from app.authorize.commit import CommitDecision, CommitQuestion
from app.errors import StoreUnavailable
from app.model.agents import Agent
from app.model.api_keys import Caller, Scope
from app.model.decision_codes import DecisionCode
from app.model.decisions import AuthorizeRequest, Idempotency, Outcome, Result, RuleRef
from app.model.plans import Plan, Tokens
from app.redis_client.packed_call import BatchedCalls, NoScript, PackedCall, pack
from app.redis_client.scripts import CHECK_KEY, COMMIT_BATCH
from app.runtime.clock import StoreClock
from app.store.keyspace import Keyspace

CALLER = Caller("w", "k", frozenset({Scope.READ}))
AGENT = Agent(id="a", name="n", created_ms=0, updated_ms=0, version="v")
ASKED = AuthorizeRequest("a", "file.read", "authorize", {}, b"{}")
PLAN = Plan(ALLOWED, (quota("wide", 10, 1_000),))


class Wire:
    """Takes whole commands; refuses the first `unknown` of them as calls of a script that it does not know."""

    def __init__(self, unknown=0):
        self.sent, self._unknown = [], unknown

    async def send(self, command):
        self.sent.append(command)
        if len(self.sent) <= self._unknown:
            raise NoScript("none")
        return "reply"


async def test_a_packed_call_has_the_same_bytes_as_one_packed_at_once():
    """With numbers, strings and bytes, in any mixture."""
    for per_call in ((), ("",), (1, "é", b"\xff", *map(str, range(20)))):
        for fixed in ((), ("last", 7)):
            wire = Wire()
            call = PackedCall(wire.send, CHECK_KEY, ["k1", "k2"], len(per_call), fixed)

            assert await call(*per_call) == "reply"

            assert wire.sent == [pack(["EVALSHA", CHECK_KEY.sha, 2, "k1", "k2", *per_call, *fixed])]


async def test_a_call_that_the_store_does_not_know_is_sent_in_full():
    """With the same arguments, preceded by the script itself."""
    wire = Wire(unknown=1)
    call = PackedCall(wire.send, CHECK_KEY, ["k"], 1, ["fixed"])

    assert await call("now") == "reply"

    assert wire.sent[1] == pack(["EVAL", CHECK_KEY.text, 1, "k", "now", "fixed"])


async def test_calls_in_a_row_that_are_the_same_each_time_are_sent_once():
    """A batch has of the second only what differs; of the same call after another one, all."""
    wire = Wire()
    first, same, other = (PackedCall(wire.send, CHECK_KEY, ["k"], 2, [fixed]) for fixed in ("f", "f", "g"))
    calls = BatchedCalls()
    with pytest.raises(StoreUnavailable):  # the wire gives no reply of a batch
        await asyncio.gather(*(calls.call(each, 1, 2) for each in (first, same, other, first)))
    counts = "parts 1 3 again 0 2 parts 1 3 parts 1 3 "
    arguments = (1, 2, "f", 1, 2, 1, 2, "g", 1, 2, "f")
    assert wire.sent == [pack(["EVALSHA", COMMIT_BATCH.sha, 3, "k", "k", "k", "each", counts, *arguments])]


class Runner:
    """Commits everything, and notes what was prepared and what was called."""

    def __init__(self):
        self.prepared, self.called = 0, []

    def prepare(self, script, keys, per_call, fixed):
        self.prepared += 1

        async def call(*given):
            assert len(given) == per_call
            self.called.append((keys, named(script, keys, [*given, *fixed])))
            return ["committed", given[script.args.index("decision_id")], "1000", 0, 0, 0]

        return call


class Compiled:
    """The compiled agent as far as commits need it: its plans recur."""

    def __init__(self, *plans):
        self._plans, self.versions = plans, {}

    def recurs(self, plan, _tool):
        return any(plan.quotas is each.quotas for each in self._plans)


class Committing:
    """Commits on a runner of its own, for an agent of which it keeps what can be kept."""

    def __init__(self, *plans):
        self.runner, self.grown = Runner(), []
        self._commit = CommitDecision(self.runner, StoreClock(), 1_000)
        self.cached = CachedAgent(
            AGENT, Compiled(*(plans or [PLAN])), Tokens("v"), 0, lambda _, more: self.grown.append(more)
        )

    async def __call__(self, plan=PLAN, caller=CALLER, request=ASKED):
        await self._commit(CommitQuestion(caller, request, self.cached.tokens, plan, "id", 0, 0, self.cached, now_us=1))
        return self.runner.called[-1]


async def test_a_recurring_outcome_is_packed_once():
    """Whatever the action; if the plan depends on the clock, once per minute."""
    commit = Committing()
    for number in range(6):
        start = number // 3 * 60
        plan = replace(PLAN, holds_from_us=start, holds_until_us=start + 60)
        _, args = await commit(plan, request=replace(ASKED, action=f"action {number}"))
        held = args["holds_from_us"], args["holds_until_us"], args["action"]
        assert held == (start, start + 60, f"action {number}")
    assert commit.runner.prepared == 2


async def test_a_plan_that_always_holds_has_no_interval():
    """So for most plans the script has nothing to compare."""
    _, args = await Committing()()
    assert not {"holds_from_us", "holds_until_us"} & args.keys()


async def test_a_recurring_denial_is_packed_once_with_a_fresh_reason_each_time():
    """A reason that quotes a parameter varies; the rest of the commit does not."""
    rule, commit = RuleRef(1, "parameter_constraint"), Committing(Plan(DENIED))
    for reason in ("is 900", "is 901"):
        _, args = await commit(Plan(Outcome(Result.DENIED, POLICY, rule, reason, DecisionCode.TOOL_DENIED)))
        assert (args["reason"], args["result"], args["rule"]) == (reason, "denied", "1 parameter_constraint")
    assert commit.runner.prepared == 1


async def test_another_rules_outcome_is_packed_separately():
    """Whether of the same policy, of another one, or another result of the same rule."""
    rule, commit = RuleRef(1, "parameter_constraint"), Committing(Plan(DENIED))
    outcome = Outcome(Result.DENIED, POLICY, rule, "no", DecisionCode.TOOL_DENIED)
    for other in (
        outcome,
        replace(outcome, rule=RuleRef(2, "parameter_constraint")),
        replace(outcome, policy_id="018bcfe5-6800-7000-8000-00000000beef"),
        replace(outcome, result=Result.ESCALATED),
        Outcome(Result.DENIED, None, None, "no", DecisionCode.DEFAULT_DENY),
    ):
        _, args = await commit(Plan(other))
        assert (args["result"], args["policy"]) == (other.result, other.policy_id or "")
        assert args["rule"] == ("" if other.rule is None else f"{other.rule.index} {other.rule.type}")
    assert commit.runner.prepared == 5


async def test_an_outcome_that_does_not_recur_is_not_cached():
    """Such as one with quotas made for each call."""
    commit = Committing()
    for _ in range(2):
        await commit(Plan(ALLOWED, (quota("wide", 10, 1_000),)))
    assert commit.runner.prepared == 2


async def test_other_callers_tools_and_keys_are_packed_separately():
    """No caller, tool or Idempotency-Key gets a commit packed for another."""
    commit = Committing()
    await commit()
    keys, args = await commit(caller=Caller("w", "other", CALLER.scopes))
    assert (keys[0], args["logged_as"]) == (Keyspace("w").key("other"), "other")
    keys, args = await commit(request=replace(ASKED, idempotency=Idempotency("key", "body")))
    assert (keys[-1], args["body_digest"]) == (Keyspace("w").first_answer("k", "key"), "1000000 body")
    _, args = await commit(request=replace(ASKED, tool_name="file.write"))
    assert args["tool_name"] == "file.write"
    assert "body_digest" not in args


async def test_what_is_packed_has_the_code_of_its_plan():
    """One rule can deny for two reasons, which differ in nothing else that the commit is given."""
    denied = Outcome(Result.DENIED, POLICY, RuleRef(0, "tool_denylist"), "no", DecisionCode.TOOL_DENIED)
    plans = [Plan(denied), Plan(replace(denied, code=DecisionCode.PARAMETER_INVALID))]
    commit = Committing(*plans)
    said = [(await commit(plan))[1].get("code") for plan in (*plans, *plans)]
    assert said == [None, DecisionCode.PARAMETER_INVALID] * 2
    assert commit.runner.prepared == 2


async def test_the_cache_of_packed_calls_is_bounded():
    """In bytes per tool; the oldest are evicted, and the agent cache is told of every byte."""
    plan = Plan(Outcome(Result.ALLOWED, POLICY, RuleRef(0, "x" * 5_000), "yes", DecisionCode.ALLOWED))
    commit = Committing(plan)
    commit.cached.commits = PackedCommits(max_bytes=20_000)
    for tool in "abcd":
        await commit(plan, request=replace(ASKED, tool_name=tool))
    await commit(plan, request=replace(ASKED, tool_name="d"))
    assert commit.runner.prepared == 4

    await commit(plan, request=replace(ASKED, tool_name="a"))

    assert commit.runner.prepared == 5
    assert sum(commit.grown) == commit.cached.commits.size <= 20_000
