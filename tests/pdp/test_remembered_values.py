"""`approvedBefore`: both evaluators agree, in histories of calls and approvals."""

from hypothesis import given, settings
from hypothesis import strategies as st
from pdp_and_mirror import PdpAndMirror

SECOND = 1_000_000
START = 1_700_000_000 * SECOND
FREE = {"type": "tool_allowlist", "tools": ["*"]}
VALUES = st.sampled_from(["ann", "bob", "Ann", "", "\u00e9", 1, None, True])
BOX = st.fixed_dictionaries({}, optional={"to": VALUES, "cc": VALUES})
PAID = st.fixed_dictionaries({}, optional={"to": VALUES, "box": BOX, "in": st.lists(BOX, max_size=3)}) | VALUES
PARAMETERS = st.fixed_dictionaries(
    {},
    optional={
        "to": VALUES | st.lists(VALUES, max_size=3),
        "cc": VALUES,
        "To": VALUES,
        "box": st.fixed_dictionaries({}, optional={"to": VALUES}),
        "pay": st.lists(PAID, max_size=3) | VALUES,
    },
)
CONSTRAINTS = st.fixed_dictionaries(
    {"approvedBefore": st.fixed_dictionaries({"withinSeconds": st.sampled_from([1, 5, 60])})},
    optional={"required": st.booleans(), "regex": st.just("^[a-z]"), "enum": st.just(["ann", "bob", "\u00e9"])},
)
OTHERS = st.sampled_from([{"enum": ["ann", "bob"]}, {"type": "string"}, {"fromRequest": "exact"}])
NAMES = st.sampled_from(
    ["to", "to[*]", "cc", "box.to", "pay[*].to", "pay[*].box.to", "pay[*].in[*].to", "pay[*].in[*].cc"]
)
WHEN = st.sampled_from([{}, {"unless": {"parameters": {"cc": {"enum": ["bob"]}}, "ifMissing": "apply"}}])


@st.composite
def rules(draw):
    """One that remembers, and others in any order."""
    tools = draw(st.sampled_from([["send"], ["*"]]))
    remembering = {"type": "parameter_constraint", "tools": tools, "effect": "escalate"}
    remembering |= {"parameters": draw(st.dictionaries(NAMES, CONSTRAINTS, min_size=1, max_size=3))} | draw(WHEN)
    effect = draw(st.sampled_from(["deny", "escalate"]))
    other = {"type": "parameter_constraint", "tools": ["*"], "effect": effect, "parameters": {"cc": draw(OTHERS)}}
    limit = {"type": "rate_limit", "tools": ["*"], "rateLimit": {"maxCalls": 3, "windowSeconds": 10}, "effect": effect}
    return draw(st.permutations([FREE, remembering, *draw(st.lists(st.sampled_from([other, limit]), max_size=2))]))


POLICY = st.fixed_dictionaries(
    {"rules": rules(), "priority": st.integers(0, 1), "kind": st.sampled_from(["grant", "grant", "guardrail"])}
)
STEPS = st.tuples(st.integers(0, 4), st.sampled_from(["send", "post"]), PARAMETERS, st.booleans())


@given(st.lists(POLICY, min_size=1, max_size=3), st.lists(STEPS, max_size=12))
@settings(max_examples=200)
def test_both_evaluators_agree_about_values_approved_before(bodies, steps):
    """At each step: a call; if a person is asked, some of them approve, and the call is made."""
    policies = [{"id": f"p{n}", "name": f"p{n}", "createdAt": n, **body} for n, body in enumerate(bodies)]
    both, now_us = PdpAndMirror(policies), START
    for seconds, tool, parameters, approves in steps:
        now_us += seconds * SECOND
        answer, _ = both.judge(tool, parameters, now_us)
        assert answer == both.judge_by_mirror(tool, parameters, now_us)
        if answer.result == "escalated" and approves:
            both.approve(tool, parameters, now_us)


def test_an_approved_value_passes_until_its_time_is_over():
    """The microsecond at which it does is no longer in it."""
    known = {"to": {"approvedBefore": {"withinSeconds": 60}}}
    rule = {"type": "parameter_constraint", "tools": ["*"], "effect": "escalate", "parameters": known}
    policy = {"id": "p", "name": "p", "createdAt": 0, "rules": [FREE, rule]}
    both = PdpAndMirror([policy])

    def result(at_us, to="ann"):
        answer, outcome = both.judge("send", {"to": to}, at_us)
        assert answer == both.judge_by_mirror("send", {"to": to}, at_us)
        assert to not in outcome.reason
        return answer.result

    assert result(START) == "escalated"
    both.approve("send", {"to": "ann"}, START)
    assert [result(START + 59 * SECOND), result(START + 60 * SECOND)] == ["allowed", "escalated"]
    assert result(START + 1, "bob") == "escalated"


URLS = [
    *("https://a.example/1", "https://A.example:443/2?q", "https://a.example:8443/", "http://a.example/1", "a.example"),
    *(
        "https://b.example/",
        "wss://b\u00fccher.example/",
        "https://[::1]:8080/x",
        "//a.example",
        "https://u@a.example/",
        "",
    ),
]
IN_PART = st.sampled_from([{"of": "host"}, {"in": "session"}, {"of": "host", "in": "session"}, {}])
PAGES = st.fixed_dictionaries({}, optional={"url": st.sampled_from([*URLS, 5]), "to": st.sampled_from(["ann", "bob"])})
VISITS = st.lists(
    st.tuples(st.integers(0, 40), PAGES, st.sampled_from([{"session": "s"}, {"session": "t"}, None]), st.booleans()),
    max_size=10,
)


@given(IN_PART, IN_PART, st.booleans(), VISITS)
@settings(max_examples=200)
def test_both_evaluators_agree_about_hosts_and_sessions(of_url, of_to, with_to, steps):
    """Each with and without, for one parameter or for two together."""
    known = {"url": {"approvedBefore": {"withinSeconds": 60} | of_url}}
    to = {"approvedBefore": {"withinSeconds": 30} | {name: each for name, each in of_to.items() if name == "in"}}
    known |= {"to": to} if with_to else {}
    rule = {"type": "parameter_constraint", "tools": ["*"], "effect": "escalate", "parameters": known}
    both, now_us = PdpAndMirror([{"id": "p", "name": "p", "createdAt": 0, "rules": [FREE, rule]}]), START
    for seconds, parameters, context, approves in steps:
        now_us += seconds * SECOND
        answer, _ = both.judge("get", parameters, now_us, context)
        assert answer == both.judge_by_mirror("get", parameters, now_us, context)
        if answer.result == "escalated" and approves:
            both.approve("get", parameters, now_us, context)
