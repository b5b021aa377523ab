"""Another guardrail never makes an answer more permissive: that is why one need not wait for a second person.

EXAMPLES=20000 pytest tests/pdp/test_more_guardrails.py looks for longer.
"""

from copy import deepcopy

from hypothesis import given
from hypothesis import strategies as st
from pdp_and_mirror import PdpAndMirror, policy_of, request

from app.model.policy_reviews import waits
from app.model.policy_sets import PolicyChange
from app.pdp.escalations import escalations
from tests.pdp.test_differential import FRAMES, POLICIES, PROFILE, RULES, STARTS, steps

PERMISSIVE = ["denied", "escalated", "allowed"]
MODES = st.sampled_from(["enforce", "enforce", "shadow"])


@st.composite
def guardrails(draw):
    """A guardrail that is enforced, and what it was before: nothing, in shadow mode, or disabled."""
    _, priority, _, created = draw(FRAMES)
    body = {"id": "guard", "name": "guard", "rules": draw(RULES["guardrail"]), "priority": priority}
    body |= {"enabled": True, "createdAt": created, "kind": "guardrail"}
    return draw(st.sampled_from([None, body | {"mode": "shadow"}, body | {"enabled": False}])), body


def judged_beside(sides, guarded, now_us, *call):
    """The result with the guardrail, in the state that the calls have left without it."""
    own = {key: times for key, times in guarded.ledger.denied.items() if key[0] == "guard"}
    own_calls = {key: times for key, times in guarded.ledger.admitted.items() if key[0] == "guard"}
    held = deepcopy(sides.ledger)
    guarded.ledger, guarded.status = held, sides.status
    held.denied |= own
    held.admitted |= own_calls
    guarded._compile()
    tool, parameters, context = call
    answer, _ = guarded.judge(tool, parameters, now_us, context)
    return answer.result


@PROFILE
@given(POLICIES, guardrails(), st.lists(MODES, min_size=4, max_size=4), steps, st.sampled_from(STARTS))
def test_a_guardrail_that_is_added_or_begins_to_decide_permits_nothing_more(bodies, guard, modes, calls, now_us):
    """Whatever the policies beside it, the call and what came before; and no rule that asked people asks no longer."""
    before, after = guard
    change = PolicyChange(None if before is None else policy_of(before), policy_of(after))
    assert not waits([change])
    beside = [body | {"mode": mode} for body, mode in zip(bodies, modes, strict=False)]
    sides = PdpAndMirror([*beside, *([] if before is None else [before])])
    guarded = PdpAndMirror([*beside, after])
    for tool, parameters, later_us, _, _, context in calls:
        now_us += later_us
        with_it = judged_beside(sides, guarded, now_us, tool, parameters, context)
        asked = request(tool, parameters, context=context)
        without_it = sides.judge(tool, parameters, now_us, context)[0].result

        assert PERMISSIVE.index(with_it) <= PERMISSIVE.index(without_it)
        if without_it == with_it == "escalated":
            asking = [
                {each.fingerprint for each, _ in escalations(one.compiled, asked, now_us)} for one in (sides, guarded)
            ]
            assert asking[0] <= asking[1]
