"""Explain agrees with authorize for any agent, policies and calls, and changes nothing.

EXAMPLES=100000 pytest tests/pdp/test_explanations.py searches for longer.
"""

import asyncio
import random

import pytest
from commit_scene import everything
from fake_store import FakeClient
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from mirror import naive
from pdp_and_mirror import REDACTOR, PdpAndMirror, request
from profiles import examples
from test_differential import POLICIES, STARTS, TOOLS, asked_of, calls, circumstances, edit_one, parameters, steps
from test_on_stores import Workspace

from app.authorize.commit import CommitDecision
from app.model.decisions import AuthorizeRequest, Result
from app.model.explanations import Part
from app.pdp import compile_agent, decide
from app.pdp.trace import trace
from app.redaction.signer import UNSIGNED
from app.redis_client.clients import open_client
from app.runtime.clock import StoreClock
from tests.support import parts

PHASES = [Phase.explicit, Phase.generate, Phase.shrink]
PROFILE = settings(max_examples=examples(150, least=30), suppress_health_check=list(HealthCheck), phases=PHASES)
ON_A_STORE = settings(PROFILE, max_examples=examples(40))
FAILS = {Result.DENIED: naive.DENY, Result.ESCALATED: naive.ESCALATE}
PER = st.sampled_from([["tool"], ["agent"], ["parameters.x"], ["context.x"]])
ADDED_UP = st.sampled_from(["x", "p.x", "a[*]"])
CONDITIONS = st.sampled_from(["when", "unless"])
ONE_IN_FOUR = st.integers(0, 3)


@st.composite
def all_policies(draw):
    """Those of the differential tests, with budgets, limits per value, and rules that apply to some calls only."""
    bodies = draw(POLICIES)
    for body in bodies:
        for rule in body["rules"]:
            if rule["type"] == "rate_limit" and draw(st.booleans()):
                ends = rule["rateLimit"].get("windowSeconds") != "forever"
                rule["rateLimit"] |= {"per": draw(PER)} if ends else {}
            elif rule["type"] == "rate_limit" and draw(st.booleans()):
                limit = rule.pop("rateLimit")
                span = {name: limit[name] for name in ("windowSeconds", "calendar", "timezone") if name in limit}
                rule |= {"type": "budget", "budget": {"parameter": draw(ADDED_UP), "max": 1.5, **span}}
            if rule["type"] != "denial_breaker" and draw(ONE_IN_FOUR) == 0:
                rule[draw(CONDITIONS)] = asked_of(rule, draw(circumstances))
    return bodies


class Explained(Workspace):
    """A workspace in which calls are explained before they are judged."""

    def __init__(self, client):
        super().__init__(client)
        unwritten = CommitDecision(client, StoreClock(), 100_000, patience_us=None)
        self.explainer = parts.explainer(
            client,
            self.agents,
            unwritten,
            parts.escalated_commit(client.call, UNSIGNED),
            StoreClock(),
            self.made,
            lambda agent, held, marks: compile_agent(agent, held, REDACTOR.is_secret, marks),
        )

    async def explain(self, tool, given_parameters, now_us, context=None, drafting=None):
        call = AuthorizeRequest(self.agent_id, tool, "authorize", given_parameters, b"{}", context=context)
        return await self.explainer.explain(self.caller, call, now_us, drafting)

    async def agree(self, tool, given_parameters, now_us, context=None):
        """Explain, then judge, and require the same answer."""
        told = await self.explain(tool, given_parameters, now_us, context)
        answer, reason = await self.judge(tool, given_parameters, now_us, context=context)
        called = {policy_id: name for name, policy_id in self.ids.items()}.get(told.policy_id)
        index = None if told.rule is None else told.rule.index
        wait_us = None if answer[3] is None else -(-answer[3] // 1000) / 1000
        assert (told.result, called, index) == answer[:3]
        assert (told.reason, told.retry_after_seconds) == (reason, wait_us)
        for name in ("allowed", "code", "next_action", "agent_message", "retry_after_seconds"):
            assert getattr(told, name) == getattr(self.told, name)
        assert_consistent(told)
        return told


def assert_consistent(told):
    """The rule that decided is among those that say so, and what is allowed has nothing that failed in its tier."""
    rules = {(each.id, rule.index): rule for each in told.policies for rule in each.rules}
    if told.rule is None:
        assert not any(rule.part is Part.PASSED for rule in rules.values())
        return
    decided = rules[told.policy_id, told.rule.index]
    if told.result is Result.ALLOWED:
        assert decided.part is Part.PASSED
        assert Part.FAILED not in {rule.part for rule in rules.values()}
    else:
        assert (decided.part, decided.on_failure) == (Part.FAILED, told.result)
        assert decided.reason == told.reason


@pytest.fixture(scope="module")
def fake():
    """An in-process store on an event loop of its own, since Hypothesis runs a test many times in one call of it."""
    with asyncio.Runner() as runner:
        yield FakeClient(), runner


@ON_A_STORE
@given(bodies=all_policies(), history=steps, context=calls, start=st.sampled_from(STARTS))
def test_explain_says_what_authorize_answers(fake, bodies, history, context, start):
    """Quotas, budgets, guardrails and edits in between; result, policy, rule, reason and wait."""
    client, runner = fake

    async def run():
        oldest_first = sorted(bodies, key=lambda body: (body["createdAt"], body["id"]))
        workspace, sides = await Explained(client).enter(oldest_first), PdpAndMirror(bodies)
        now_us = start
        for tool, given_parameters, later_us, edit, _, session in history:
            now_us += later_us
            if edit is not None:
                changed = edit_one(sides, bodies, *edit)
                await workspace.patch(changed["id"], {"rules": changed["rules"]})
            await workspace.agree(tool, given_parameters, now_us, {**context, **(session or {})})

    runner.run(run())


@PROFILE
@given(all_policies(), st.sampled_from(TOOLS), parameters, calls, st.sampled_from(STARTS))
def test_a_trace_has_the_plan_and_agrees_with_the_mirror_on_each_rule(bodies, tool, given_parameters, context, now):
    """The plan is that of `decide`; what passed, failed or abstained did so by a reading of the rules from scratch."""
    sides = PdpAndMirror(bodies)
    held = [policy for policy, _ in sides.compiled.compiled_policies]
    call = request(tool, given_parameters, context=context)
    traced = trace(sides.compiled, held, call, now)
    assert traced.plan == decide(sides.compiled, call, now)

    asked = {"tool_name": tool, "parameters": given_parameters, "context": context}
    for policy in traced.policies:
        rules = sides.bodies[policy.policy.id]["rules"]
        assert [each.rule.ref.index for each in policy.rules] == list(range(len(rules)))
        for each, rule in zip(policy.rules, rules, strict=True):
            wanted = {Part.PASSED: naive.PASS, Part.ABSTAINED: naive.ABSTAIN, Part.FAILED: FAILS[each.rule.when_failed]}
            is_open = each.part is Part.PASSED and rule["type"] == "pinned_request"  # the commit looks for the pin
            if each.part in wanted and not is_open:
                assert naive.rule_verdict(rule, asked, now, full=False) == wanted[each.part]
            covered = [pattern for pattern in rule["tools"] if naive.covers([pattern], tool)]
            assert each.pattern == (covered[0] if covered else None)


def at_random(rng):
    """Policies of any kind, a hundred times as fast as Hypothesis makes them."""
    many = ["*", "file.*", "file.read", "db.query", "file.a.*"]

    def rule():
        tools, kind = rng.sample(many, rng.randint(1, 2)), rng.randrange(9)
        made = {"tools": tools, **rng.choice([{}, {"effect": "deny"}, {"effect": "escalate"}])}
        if kind < 3:
            made.pop("effect", None)
            made["type"] = rng.choice(["tool_allowlist", "tool_allowlist", "tool_denylist", "approval_required"])
        elif kind < 5:
            per = rng.choice([{}, {"per": [rng.choice(["tool", "agent", "parameters.x", "context.session"])]}])
            limit = {"maxCalls": rng.randint(1, 3), "windowSeconds": rng.choice([1, 2, 3600])}
            made |= {"type": "rate_limit", "rateLimit": limit | per}
        elif kind == 5:
            made |= {"type": "budget", "budget": {"parameter": "x", "max": rng.choice([1, 2.5]), "windowSeconds": 2}}
        elif kind == 6:
            bound = rng.choice([{"max": 1}, {"min": 1}, {"enum": [0, "a"]}, {"required": False, "max": 2}])
            made |= {"type": "parameter_constraint", "parameters": {rng.choice(["x", "p.x"]): bound}}
        elif kind == 7:
            window = {"allowedHours": rng.sample(range(24), rng.randint(1, 23))}
            made |= {"type": "time_based", "timeWindow": window}
        else:
            side = rng.choice(["forbiddenAfter", "requiresBefore"])
            made |= {"type": "sequence", "sequence": {side: [rng.choice(many)], "withinSeconds": rng.choice([1, 3600])}}
        if rng.random() < 0.3:
            made[rng.choice(["when", "unless"])] = {"parameters": {"x": rng.choice([{"max": 1}, {"enum": ["a"]}])}}
        return made

    return [
        {
            "id": f"p{number}",
            "name": f"p{number}",
            "rules": [rule() for _ in range(rng.randint(1, 4))],
            "priority": rng.choice([0, 0, 7]),
            "enabled": rng.random() < 0.9,
            "kind": rng.choice(["grant", "grant", "guardrail"]),
            "agent_message": rng.choice([None, "Ask the desk."]),
        }
        for number in range(rng.randint(1, 4))
    ]


def test_random_calls_are_explained_as_they_are_answered(valkey_store):
    """EXAMPLES=100000 makes that many calls, 40 per agent with policies of its own; limits fill up on the way."""

    async def run():
        client = open_client(valkey_store.url, 2_000)
        try:
            for seed in range(-(-examples(240) // 40)):
                await forty_calls(client, random.Random(seed))
        finally:
            await client.close()

    asyncio.run(run())


async def forty_calls(client, rng):
    """Forty calls of one agent, each explained and then decided."""
    workspace = await Explained(client).enter(at_random(rng))
    now_us = rng.choice(STARTS)
    for _ in range(40):
        now_us += rng.choice([0, 0, 1, 999_999, 1_000_000, 2_000_001, 3_600_000_000])
        values = {"x": rng.choice([0, 1, 1.5, "a", None]), "p": {"x": rng.choice([0, 3])}}
        given_parameters = dict(rng.sample(list(values.items()), rng.randint(0, 2)))
        context = rng.choice([{}, {"session": "s"}, {"session": "t"}])
        await workspace.agree(rng.choice(TOOLS[7:11]), given_parameters, now_us, context)


async def test_an_explanation_touches_nothing(client):
    """No key of the workspace has changed afterwards, whatever the answer; not even the time of the key's last use."""
    rules = [
        {"type": "tool_allowlist", "tools": ["file.*"]},
        {"type": "tool_denylist", "tools": ["file.delete"]},
        {"type": "approval_required", "tools": ["file.send"]},
        {"type": "rate_limit", "tools": ["*"], "rateLimit": {"maxCalls": 2, "windowSeconds": 60}},
        {"type": "budget", "tools": ["file.buy"], "budget": {"parameter": "x", "max": 9, "windowSeconds": 60}},
    ]
    workspace = await Explained(client).enter([{"id": "p", "name": "p", "rules": rules}])
    now_us = STARTS[0]
    assert (await workspace.judge("file.read", {}, now_us))[0][0] == "allowed"
    held = await everything(client, f"remit:{{{workspace.id}}}:*")

    for tool, result in (
        ("file.read", "allowed"),
        ("file.delete", "denied"),
        ("file.send", "escalated"),
        ("file.buy", "allowed"),
        ("mail.send", "denied"),
    ):
        told = await workspace.explain(tool, {"x": 4}, now_us)
        assert told.result == result
        assert await everything(client, f"remit:{{{workspace.id}}}:*") == held


async def test_quotas_and_budgets_show_what_is_left_and_when_it_frees(client):
    """On every store; at a later time what has left the window by then is free again."""
    rules = [
        {"type": "rate_limit", "tools": ["*"], "rateLimit": {"maxCalls": 3, "windowSeconds": 60}},
        {"type": "budget", "tools": ["*"], "budget": {"parameter": "x", "max": 10, "windowSeconds": 30}},
        {"type": "rate_limit", "tools": ["*"], "rateLimit": {"maxCalls": 1, "windowSeconds": 9, "per": ["tool"]}},
    ]
    workspace = await Explained(client).enter([{"id": "p", "name": "p", "rules": rules}])
    start, second = STARTS[0], 1_000_000

    def levels(told):
        return [(each.quota.taken, each.quota.left, each.quota.frees_in_seconds) for each in told.policies[0].rules]

    assert levels(await workspace.explain("a", {"x": 1.5}, start)) == [(0, 3, None), (0, 10, None), (0, 1, None)]
    await workspace.agree("a", {"x": 1.5}, start)
    await workspace.agree("b", {"x": 2.25}, start + 10 * second)
    told = await workspace.agree("a", {"x": 7}, start + 11 * second)
    assert (told.result, told.rule.index) == ("denied", 1)
    assert levels(told) == [(2, 1, 49), (3.75, 6.25, 19), (0, 1, None)]
    assert [each.part for each in told.policies[0].rules] == [Part.PASSED, Part.FAILED, Part.PASSED]
    assert told.retry_after_seconds == 19
    told = await workspace.explain("a", {"x": 7}, start + 30 * second)
    assert (told.result, levels(told)) == ("allowed", [(2, 1, 30), (2.25, 7.75, 10), (0, 1, None)])
    told = await workspace.explain("b", {"x": 1}, start + 11 * second)
    assert told.rule.index == 2


async def test_a_sequence_rule_shows_what_the_session_was_allowed(client):
    """And what it was not; another session has another answer."""
    sequence = {"forbiddenAfter": ["web.*"], "requiresBefore": ["login"], "withinSeconds": 60}
    rules = [
        {"type": "tool_allowlist", "tools": ["*"]},
        {"type": "sequence", "tools": ["mail.send"], "sequence": sequence},
    ]
    workspace = await Explained(client).enter([{"id": "p", "name": "p", "rules": rules}])
    start, second, session = STARTS[0], 1_000_000, {"session": "s"}

    def shown(told):
        rule = told.policies[0].rules[1]
        return rule.part, [(each.tool, each.forbids, each.allowed_seconds_ago) for each in rule.session]

    told = await workspace.agree("mail.send", {}, start, session)
    assert shown(told) == (Part.FAILED, [("web.*", True, None), ("login", False, None)])
    await workspace.agree("login", {}, start, session)
    told = await workspace.agree("mail.send", {}, start + second, session)
    assert (told.result, shown(told)[0]) == ("allowed", Part.PASSED)
    await workspace.agree("web.get", {}, start + 2 * second, session)
    told = await workspace.agree("mail.send", {}, start + 5 * second, session)
    assert shown(told) == (Part.FAILED, [("web.*", True, 3), ("login", False, 5)])
    assert told.reason == told.policies[0].rules[1].reason
    told = await workspace.explain("mail.send", {}, start + 61 * second, session)
    assert shown(told) == (Part.FAILED, [("web.*", True, 59), ("login", False, None)])
    told = await workspace.explain("mail.send", {}, start, {"session": "another"})
    assert told.policies[0].rules[1].part is Part.FAILED


async def test_an_explanation_tells_tiers_and_guardrails_apart(client):
    """What is above the deciding tier, what decides, what is below, what is off, and what restricts."""
    allow = {"type": "tool_allowlist", "tools": ["file.read", "mail.*"]}
    bodies = [
        {"id": "high", "name": "high", "priority": 9, "rules": [{"type": "tool_denylist", "tools": ["rm"]}]},
        {"id": "mid", "name": "mid", "priority": 5, "rules": [allow, {"type": "approval_required", "tools": ["*"]}]},
        {"id": "low", "name": "low", "priority": 1, "rules": [allow]},
        {"id": "off", "name": "off", "priority": 7, "rules": [allow], "enabled": False},
        {"id": "rail", "name": "rail", "kind": "guardrail", "rules": [{"type": "tool_denylist", "tools": ["mail.*"]}]},
    ]
    workspace = await Explained(client).enter(bodies)
    told = await workspace.explain("mail.send", {}, STARTS[0])
    assert (told.result, told.policy_name) == ("denied", "rail")
    assert [(each.name, each.part, [rule.part for rule in each.rules]) for each in told.policies] == [
        ("high", Part.ABSTAINED, [Part.ABSTAINED]),
        ("off", Part.OFF, []),
        ("mid", Part.FAILED, [Part.PASSED, Part.FAILED]),
        ("low", Part.NOT_REACHED, [Part.NOT_REACHED]),
        ("rail", Part.FAILED, [Part.FAILED]),
    ]
    assert [rule.pattern for rule in told.policies[2].rules] == ["mail.*", "*"]
    assert told.policies[0].rules[0].reason == "does not cover the tool"

    told = await workspace.explain("nothing", {}, STARTS[0])
    assert (told.result, told.policy_id) == ("denied", workspace.ids["mid"])


async def test_an_explanation_says_why_a_grant_does_not_apply(client):
    """Whether its condition does not hold or cannot be judged, it abstains; the default deny says what it asks."""
    when = {"parameters": {"amount": {"max": 500}}}
    rules = [{"type": "tool_grant", "tools": ["refund.*"], "when": when}]
    workspace = await Explained(client).enter([{"id": "p", "name": "refunds", "rules": rules}])
    for amount, why in (
        (900, 'its "when" does not hold'),
        ("40", 'Parameter "amount" is not what this rule\'s "when" can judge'),
    ):
        told = await workspace.agree("refund.create", {"amount": amount}, STARTS[0])
        assert told.reason == (
            'No policy grants this call; "refunds" grants "refund.create" if parameter "amount" is at most 500'
        )
        [rule] = told.policies[0].rules
        assert (told.code, rule.part, rule.reason, rule.pattern) == ("default_deny", Part.ABSTAINED, why, "refund.*")
