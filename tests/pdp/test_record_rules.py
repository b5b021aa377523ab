"""Rules about records: both evaluators agree, in histories of calls and reports."""

from hypothesis import given, settings
from hypothesis import strategies as st
from pdp_and_mirror import PdpAndMirror
from profiles import examples

SECOND = 1_000_000
START = 1_700_000_000 * SECOND
FREE = {"type": "tool_allowlist", "tools": ["*"]}
SCALARS = st.sampled_from(["a", "b c", "", "5", 1, 1.0, 5, 2.5, -1, True, False, None])
TOOLS = st.sampled_from(["get", "list", "update"])
BOUNDS = st.sampled_from(
    [
        *({"enum": ["a", 1, None]}, {"notEnum": ["a", 5]}, {"min": 1}, {"max": 2.5}),
        *({"min": 1, "max": 5, "notEnum": [5]}, {"enum": [True]}, {"enum": ["b c", ""]}, {"notEnum": [False]}),
    ]
)
RECORDS = st.builds(
    lambda of, tools, fields, within: {"of": of, "from": tools, "fields": fields} | within,
    st.sampled_from(["r:{parameters.id}", "r:{parameters.box.id}", "{context.user}", "r:1", "{parameters.ids[*]}:x"]),
    st.sampled_from([["get"], ["get", "list"]]),
    st.dictionaries(st.sampled_from(["x", "y z"]), BOUNDS, min_size=1, max_size=2),
    st.sampled_from([{}, {"withinSeconds": 1}, {"withinSeconds": 5}]),
)
EXTRA = st.sampled_from(
    [{}, {}, {"parameters": {"n": {"max": 1, "required": False}}}, {"when": {"parameters": {"n": {"min": 1}}}}]
)
RULES = st.builds(
    lambda record, extra, effect: (
        {"type": "parameter_constraint", "tools": ["update"], "record": record} | extra | effect
    ),
    RECORDS,
    EXTRA,
    st.sampled_from([{}, {"effect": "escalate"}]),
)
CALLS = st.fixed_dictionaries(
    {},
    optional={
        "id": st.sampled_from([1, "1", 2, 1.0, "", None, True, ["1"]]),
        "box": st.sampled_from([{"id": 1}, {"ID": 1}, {}, 5]),
        "ids": st.sampled_from([[1], [1, 2], []]),
        "n": st.sampled_from([0, 2]),
    },
)
CONTEXTS = st.sampled_from([{"session": "s", "user": "1"}, {"session": "s"}, {"session": "t", "user": 1}, {}, None])
REPORTS = st.dictionaries(
    st.sampled_from(["r:1", "r:2", "1", "1:x"]),
    st.dictionaries(st.sampled_from(["x", "y z", "z"]), SCALARS),
    max_size=2,
)
STEPS = st.tuples(st.sampled_from([0, 0, 1, 2, 5]), TOOLS, CALLS, CONTEXTS, REPORTS)


@settings(max_examples=examples(300))
@given(st.lists(RULES, min_size=1, max_size=3), st.sampled_from(["enforce", "shadow"]), st.lists(STEPS, max_size=12))
def test_both_evaluators_agree_about_records(rules, mode, steps):
    """At each step a call, after which its runtime may report records."""
    policies = [
        {"id": "p0", "name": "p0", "createdAt": 0, "rules": [FREE]},
        {"id": "p1", "name": "p1", "createdAt": 1, "rules": rules, "kind": "guardrail", "mode": mode, "priority": 0},
    ]
    both, now_us = PdpAndMirror(policies), START
    for seconds, tool, parameters, context, reported in steps:
        now_us += seconds * SECOND
        answer, _ = both.judge(tool, parameters, now_us, context)
        assert answer == both.judge_by_mirror(tool, parameters, now_us, context)
        assert both.divergence == both.mirror_divergence
        if (context or {}).get("session"):
            both.report(tool, reported, now_us, context)
