"""Plans: what `decide` leaves open for the commit, and how long a plan holds."""

import pytest
from pdp_and_mirror import REDACTOR, Ledger, agent, policy_of, request

from app.model.decision_codes import DecisionCode
from app.model.decisions import Outcome, Result, RuleRef
from app.model.plans import FOREVER_US, Plan, Quota
from app.pdp import compile_agent, decide

SECOND = 1_000_000
MINUTE = 60 * SECOND
NOON = 1_795_176_000 * SECOND


def body(policy_id, *rules, **fields):
    defaults = {"id": policy_id, "name": policy_id, "priority": 0, "enabled": True, "kind": "grant", "createdAt": 0}
    return defaults | fields | {"rules": list(rules)}


def compiled(*bodies, status="active"):
    return compile_agent(agent(status), [policy_of(each) for each in bodies], REDACTOR.is_secret)


def allow(*tools):
    return {"type": "tool_allowlist", "tools": list(tools)}


def limit(max_calls, *tools, **fields):
    rate = {"maxCalls": max_calls, "windowSeconds": 60}
    return {"type": "rate_limit", "tools": list(tools), "rateLimit": rate} | fields


def hours(*numbers, tools=("*",), zone="UTC"):
    return {"type": "time_based", "tools": list(tools), "timeWindow": {"allowedHours": list(numbers), "timezone": zone}}


def test_a_plan_names_each_quota_with_the_outcome_it_has_when_full():
    """It has everything that the commit needs to close the plan and write the entry."""
    plan = decide(compiled(body("p", limit(2, "t"))), request("t"), NOON)

    ref = RuleRef(0, "rate_limit")
    full = Outcome(Result.DENIED, "p", ref, "Rate limit reached: 2 calls in 60 s", DecisionCode.QUOTA_FULL)
    assert plan.outcome == Outcome(Result.ALLOWED, "p", ref, 'Policy "p" allows "t"', DecisionCode.ALLOWED)
    assert plan.quotas == (Quota("p", plan.quotas[0].fingerprint, 2, MINUTE, full),)


def test_a_plan_without_a_time_window_holds_forever():
    """The clock never makes it stale."""
    plan = decide(compiled(body("p", allow("*"), limit(2, "t"), hours(9, tools=["other"]))), request("t"), NOON)
    assert (plan.holds_from_us, plan.holds_until_us) == (0, FOREVER_US)


def test_a_plan_with_a_time_window_holds_for_the_minute_it_was_made_for():
    """Even if another rule decides, because the window was, or could have been, evaluated."""
    agent_ = compiled(body("a", allow("x")), body("b", allow("t"), hours(12)))
    for now_us in (NOON, NOON + 1, NOON + MINUTE - 1):
        plan = decide(agent_, request("t"), now_us)
        assert (plan.holds_from_us, plan.holds_until_us) == (NOON, NOON + MINUTE)


def test_a_window_that_does_not_decide_does_not_bind_the_plan():
    """Such as one in a tier that is not reached, or in a disabled policy."""
    agent_ = compiled(
        body("low", hours(12)), body("high", allow("t"), priority=1), body("off", hours(12), priority=2, enabled=False)
    )
    assert decide(agent_, request("t"), NOON).holds_until_us == FOREVER_US


@pytest.mark.parametrize("status", ["suspended", "revoked"])
def test_an_inactive_agent_has_a_plan_without_quotas(status):
    """No policy is evaluated, and no quota can be taken."""
    plan = decide(compiled(body("p", limit(1, "*"), hours(9)), status=status), request("t"), NOON)
    assert plan == Plan(Outcome(Result.DENIED, None, None, f"Agent is {status}", DecisionCode(f"agent_{status}")))


def test_a_denial_keeps_only_quotas_that_could_be_named_instead():
    """Only older policies' denying quotas; the entry must not depend on others."""
    ask = {"effect": "escalate"}
    agent_ = compiled(
        body("older", allow("*"), limit(1, "t"), limit(2, "t", **ask), createdAt=1),
        body("denies", limit(3, "t"), {"type": "tool_denylist", "tools": ["t"]}, createdAt=2),
        body("younger", limit(4, "t"), createdAt=3),
    )
    plan = decide(agent_, request("t"), NOON)
    assert (plan.outcome.policy_id, [quota.max_calls for quota in plan.quotas]) == ("denies", [1])


def test_an_escalation_keeps_every_denying_quota_and_older_escalating_ones():
    """Denying ones first, because a full one of those decides whatever the others are."""
    ask = {"effect": "escalate"}
    agent_ = compiled(
        body("older", limit(1, "t", **ask), limit(2, "t"), createdAt=1),
        body("asks", limit(3, "t", **ask), {"type": "approval_required", "tools": ["t"]}, limit(4, "t"), createdAt=2),
        body("younger", limit(5, "t", **ask), limit(6, "t"), createdAt=3),
    )
    plan = decide(agent_, request("t"), NOON)
    assert (plan.outcome.policy_id, [quota.max_calls for quota in plan.quotas]) == ("asks", [2, 4, 6, 1])


def test_an_allowance_keeps_every_quota_of_its_tier_once():
    """All of them are taken, so each occurs once."""
    ask = {"effect": "escalate"}
    agent_ = compiled(
        body("a", limit(1, "t", **ask), limit(2, "t"), limit(9, "other"), priority=5, createdAt=1),
        body("b", limit(3, "t"), limit(4, "*", **ask), priority=5, createdAt=2),
        body("below", limit(8, "t"), priority=4),
    )
    assert [quota.max_calls for quota in decide(agent_, request("t"), NOON).quotas] == [2, 3, 1, 4]


def test_no_two_tools_share_a_view():
    """Whichever is asked first, and even for more tools than there are cached views."""
    bodies = [
        body("p", allow("t.*"), {"type": "tool_denylist", "tools": [f"t.{number}" for number in range(0, 600, 2)]})
    ]
    agent_ = compiled(*bodies)
    names = [f"t.{number}" for number in range(600)]

    for _ in range(2):
        results = [decide(agent_, request(name), NOON).outcome.result for name in names]
        assert results == [Result.DENIED, Result.ALLOWED] * 300
    assert len(agent_._views) == 256


def test_tools_that_differ_in_case_have_views_of_their_own():
    """What is cached for one is not used for the other."""
    agent_ = compiled(body("p", allow("file.read")))
    results = [
        decide(agent_, request(name), NOON).outcome.result.value for name in ("FILE.READ", "file.read", "File.read")
    ]
    assert results == ["denied", "allowed", "denied"]


def test_a_parameter_is_judged_at_every_call():
    """Nothing of one call's parameters affects the next."""
    rule = {"type": "parameter_constraint", "tools": ["*"], "parameters": {"x": {"max": 5}}}
    agent_ = compiled(body("p", rule))
    results = [decide(agent_, request("t", {"x": value}), NOON).outcome.result.value for value in (6, 5, 6, 5)]
    assert results == ["denied", "allowed", "denied", "allowed"]


def test_a_plan_committed_outside_its_interval_is_detected():
    """As the commit does, the tests' ledger checks that the store's time is in the interval."""
    plan = decide(compiled(body("p", hours(12))), request("t"), NOON)
    Ledger().close(plan, NOON + MINUTE - 1)
    for outside_us in (NOON - 1, NOON + MINUTE):
        with pytest.raises(AssertionError):
            Ledger().close(plan, outside_us)
