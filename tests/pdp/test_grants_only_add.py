"""A `tool_grant`, added anywhere, makes no answer stricter; an allowlist does.

EXAMPLES=20000 pytest tests/pdp/test_grants_only_add.py looks for longer.
"""

from hypothesis import HealthCheck, find, given, settings
from hypothesis import strategies as st
from mirror.naive import STRICTNESS
from pdp_and_mirror import PdpAndMirror, request
from profiles import examples
from test_differential import CONDITIONS, POLICIES, STARTS, TOOLS, asked_of, calls, circumstances, contexts, tools

from app.pdp import decide

PROFILE = settings(
    max_examples=examples(300, least=100), suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
FULL = st.frozensets(st.tuples(st.sampled_from(["p0", "p1", "p2", "p3"]), st.integers(0, 4)), max_size=4)


@st.composite
def additions(draw, kind="tool_grant"):
    """Policies, and the same with one rule more: as a policy of its own, or in a policy that is no guardrail."""
    before = draw(POLICIES)
    rule = {"type": kind, "tools": draw(tools)}
    if draw(st.booleans()):
        rule[draw(CONDITIONS)] = asked_of(rule, draw(circumstances))
    grants = [place for place, body in enumerate(before) if body["kind"] == "grant"]
    place = draw(st.sampled_from([None, *grants]))
    if place is None:
        frame = {"id": "added", "name": "added", "kind": "grant", "priority": draw(st.sampled_from([0, 3, 7, 9]))}
        return before, [*before, frame | {"enabled": True, "createdAt": 3, "rules": [rule]}]
    at = draw(st.integers(0, len(before[place]["rules"])))
    rules = [*before[place]["rules"]]
    return before, [*before[:place], before[place] | {"rules": [*rules[:at], rule, *rules[at:]]}, *before[place + 1 :]]


def answers(bodies, call, now_us, full):
    """The result if the store stops the call at the rules of `full`: policy, and place among those that were there."""
    plan = decide(PdpAndMirror(bodies).compiled, call, now_us, "key")
    stopping = (each.when_full for each in plan.quotas if place_of(bodies, each) in full)
    return next((each.result for each in stopping), plan.outcome.result)


def place_of(bodies, quota):
    """The policy of what only the store can answer, and the rule's place without the lists before it."""
    [body] = [each for each in bodies if each["id"] == quota.policy_id]
    before = body["rules"][: quota.when_full.rule.index if quota.when_full.rule else 0]
    return quota.policy_id, sum(rule["type"] not in ("tool_grant", "tool_allowlist") for rule in before)


def is_stricter(bodies_before, bodies_after, tool, given_parameters, context, now_us, full):
    """Whether the call is answered more strictly after the addition."""
    call = request(tool, given_parameters, context=context)
    before, after = (answers(bodies, call, now_us, full) for bodies in (bodies_before, bodies_after))
    return STRICTNESS[after.value] > STRICTNESS[before.value]


@PROFILE
@given(additions(), st.sampled_from(TOOLS), calls, contexts, st.sampled_from(STARTS), FULL)
def test_a_grant_added_is_never_stricter(added, tool, given_parameters, context, now_us, full):
    """For the same counts, whatever `when` and `unless` it has, in a tier of its own or in that of others."""
    assert not is_stricter(*added, tool, given_parameters, context, now_us, full)


def test_an_allowlist_added_can_be_stricter():
    """So the comparison above can tell."""
    found = find(
        additions("tool_allowlist"),
        lambda added: is_stricter(*added, "db.query", {}, None, 0, frozenset()),
        settings=settings(PROFILE, max_examples=2000, database=None),
    )
    assert any(rule["type"] == "tool_allowlist" for body in found[1] for rule in body["rules"])
