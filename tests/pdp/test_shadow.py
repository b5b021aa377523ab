"""Shadow policies against the mirror: no answer changes, and what they would have changed is reported exactly.

EXAMPLES=20000 pytest tests/pdp/test_shadow.py looks for longer.
"""

from hypothesis import given
from hypothesis import strategies as st
from pdp_and_mirror import DEFAULTS, REDACTOR, PdpAndMirror, agent, policy_of, request
from test_differential import POLICIES, PROFILE, STARTS, TOOLS, contexts, edit_one, fill, parameters, steps

from app.model.decisions import Result, RuleRef, ShadowOutcome
from app.model.marks import longest_shared, shared_marks
from app.model.plans import SessionRoom
from app.pdp import compile_agent, decide

MODES = st.lists(st.sampled_from(["enforce", "shadow", "shadow"]), min_size=4, max_size=4)


def in_modes(bodies, modes):
    """A policy in a random mode; one with a breaker is always enforced."""
    return [
        body | {"mode": "enforce" if any("denialBreaker" in rule for rule in body["rules"]) else mode}
        for body, mode in zip(bodies, modes, strict=False)
    ]


@PROFILE
@given(POLICIES, MODES, steps, st.sampled_from(STARTS))
def test_answers_are_the_same_as_without_the_shadow_policies(bodies, modes, calls, start):
    """In result, policy, rule and wait, whether the shadow policies have tiers, guardrails or limits."""
    bodies = in_modes(bodies, modes)
    with_shadow, without = PdpAndMirror(bodies), PdpAndMirror([body for body in bodies if body["mode"] == "enforce"])
    now_us = start
    for tool, given_parameters, later_us, _, filled, context in calls:
        now_us += later_us
        fill(without, filled, now_us)
        for place in without.ledger.admitted:
            with_shadow.ledger.admitted[place] = list(without.ledger.admitted[place])

        answer, outcome = with_shadow.judge(tool, given_parameters, now_us, context)

        assert (answer, outcome) == without.judge(tool, given_parameters, now_us, context)


@PROFILE
@given(POLICIES, MODES, steps, st.sampled_from(STARTS))
def test_divergences_agree_with_the_mirror(bodies, modes, calls, start):
    """At every call of a history, with edits and with policies that enter and leave shadow mode."""
    sides = PdpAndMirror(in_modes(bodies, modes))
    now_us = start
    for number, (tool, given_parameters, later_us, edit, filled, context) in enumerate(calls):
        now_us += later_us
        if edit is not None:
            changed = edit_one(sides, bodies, *edit)["id"]
            [edited] = in_modes([sides.bodies[changed]], [modes[number % len(modes)]])
            sides.patch(changed, {"mode": edited["mode"]})
        fill(sides, filled, now_us)

        answer, _ = sides.judge(tool, given_parameters, now_us, context)

        assert answer == sides.judge_by_mirror(tool, given_parameters, now_us, context)
        assert sides.divergence == sides.mirror_divergence


@PROFILE
@given(POLICIES, st.sampled_from(TOOLS), parameters, st.sampled_from(STARTS), contexts)
def test_a_plan_without_shadow_policies_carries_nothing(bodies, tool, given_parameters, start, context):
    """Nor do the plans of agents whose shadow policies are disabled or irrelevant to the call."""
    shadow_of_another_tool = bodies[0] | {"id": "p9", "mode": "shadow", "rules": [DENIES_ANOTHER]}
    off = bodies[0] | {"id": "p8", "mode": "shadow", "enabled": False}
    for more in ([], [off], [shadow_of_another_tool]):
        sides = PdpAndMirror([*bodies, *more])
        sides.judge(tool, given_parameters, start, context)
        assert sides.ledger.together is None


DENIES_ANOTHER = {"type": "tool_denylist", "tools": ["another.tool"]}


def test_a_call_remembered_only_by_a_shadow_policy_needs_room_for_it():
    """No shadow rule covers the tool; enforced, the sequence would deny it once no more sessions can be remembered."""
    grant = {"id": "p0", "name": "p0", "createdAt": 1, "rules": [{"type": "tool_allowlist", "tools": ["*"]}]}
    sequence = {"type": "sequence", "tools": ["pay"], "sequence": {"forbiddenAfter": ["read"]}}
    tried = {"id": "p1", "name": "p1", "createdAt": 2, "kind": "guardrail", "mode": "shadow", "rules": [sequence]}
    held = [policy_of(DEFAULTS | body) for body in (grant, tried)]
    compiled = compile_agent(agent(), held, REDACTOR.is_secret, longest_shared(shared_marks(held[1])))

    plan = decide(compiled, request("read", context={"session": "s"}), 0)

    assert plan.outcome.result is Result.ALLOWED
    assert plan.shadow is not None
    assert plan.shadow.quotas == (SessionRoom(plan.marks[0].name, plan.session),)
    assert plan.shadow.outcomes[1] == ShadowOutcome("p1", Result.DENIED, RuleRef(0, "sequence"))
    for other in (request("write", context={"session": "s"}), request("read")):
        assert decide(compiled, other, 0).shadow is None
