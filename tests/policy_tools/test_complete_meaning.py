"""A comparison that says it is complete misses no kind of flip, however calls are made; and it says when it is not.

EXAMPLES=3000 pytest tests/policy_tools/test_complete_meaning.py looks for longer.
"""

import copy
import random
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pdp_and_mirror import policy_of
from profiles import examples

from app.model.agents import Agent
from app.model.comparisons import Doubt
from app.model.constraints import Constraint
from app.model.decisions import AuthorizeRequest
from app.model.plans import Quota
from app.model.rules import TYPES
from app.model.sequences import covers
from app.model.time_windows import TimeWindow
from app.model.times import MINUTE_US
from app.pdp import compile_agent, decide
from app.policy_tools.compare import known
from app.policy_tools.compare.combinations import Effort
from app.policy_tools.compare.meaning import compare_meaning

SCALARS = [0, 1, 2, 2.5, -1, 1e20, "", "a", "b", "ab", "ba", "aab", "1", True, None]
CONSTRAINTS = st.sampled_from(
    [
        *({"max": 1}, {"min": 2}, {"above": 1, "max": 3}, {"below": 1}, {"enum": ["a", 1]}, {"notEnum": ["a"]}),
        *({"regex": "^a"}, {"regex": "^[ab]{2}$"}, {"regex": "^[0-9.]+$"}, {"notRegex": "a"}, {"notRegex": "^1$"}),
        *({"minLength": 2}, {"maxLength": 1, "regex": "b"}, {"type": "string"}, {"type": ["integer", "null"]}),
        *({"minItems": 2}, {"maxItems": 1}, {"absent": True}, {"required": False, "max": 1}, {"required": False}),
        *({"equals": {"parameter": "y"}}, {"atMost": {"parameter": "y"}}, {"path": {"under": ["/a"]}}),
        *({"host": {"in": ["a.example"]}}, {"enum": ["a", "b"], "notRegex": "b"}, {"required": True}),
    ]
)
NAMES = st.sampled_from(["x", "x", "y", "o.a", "o.b", "l", "l[*]", "l[*].k", "l[*].m", "X"])
NAMED = st.dictionaries(NAMES, CONSTRAINTS, min_size=1, max_size=2)
WINDOWS = st.sampled_from(
    [
        {"windows": [{"from": "21:50", "to": "02:00", "days": [3]}], "except": ["2026-11-28/2026-12-01"]},
        {"allowedHours": [9, 10]},
        {"allowedDays": [1, 2]},
        {"allowedHours": [9], "timezone": "Asia/Tokyo"},
    ]
)
PER = st.sampled_from([None, ["parameters.x"], ["context.c"], ["tool"]])


@st.composite
def rules(draw):
    kind = draw(
        st.sampled_from(
            [
                *("tool_grant", "tool_allowlist", "tool_denylist", "approval_required", "time_based", "rate_limit"),
                *("sequence", "budget", "parameter_schema", *["parameter_constraint"] * 6),
            ]
        )
    )
    made = {"type": kind, "tools": draw(st.sampled_from([["t"], ["*"], ["t", "u"], ["u*"]]))}
    effect = {"effect": draw(st.sampled_from(["deny", "escalate"]))}
    per = draw(PER)
    many = {} if per is None else {"per": per}
    if kind == "parameter_constraint":
        made |= {draw(st.sampled_from(["parameters", "parameters", "context"])): draw(NAMED)} | effect
    elif kind == "time_based":
        made |= {"timeWindow": draw(WINDOWS)} | effect
    elif kind == "rate_limit":
        made |= {"rateLimit": {"maxCalls": draw(st.integers(1, 2)), "windowSeconds": 60} | many} | effect
    elif kind == "budget":
        made |= {"budget": {"parameter": "y", "max": draw(st.integers(1, 2)), "windowSeconds": 60} | many} | effect
    elif kind == "sequence":
        made |= {"sequence": {draw(st.sampled_from(["requiresBefore", "forbiddenAfter"])): ["v"]}} | effect
    elif kind == "parameter_schema":
        made |= {"schema": {"properties": {"x": {"type": "string", "maxLength": draw(st.integers(1, 2))}}}} | effect
    if draw(st.booleans()):
        missing = draw(st.sampled_from([None, "skip", "apply"])) if kind != "tool_grant" else None
        asked = {draw(st.sampled_from(["parameters", "context"])): draw(NAMED)}
        made[draw(st.sampled_from(["when", "unless"]))] = asked | ({} if missing is None else {"ifMissing": missing})
    return made


@st.composite
def changes(draw):
    """One to three policies, and one rule of them that differs, is new, or is gone."""
    frames = st.fixed_dictionaries(
        {
            "priority": st.sampled_from([0, 0, 5]),
            "kind": st.just("grant"),
            "rules": st.lists(rules(), min_size=1, max_size=3),
        }
    )
    before = [{"name": f"p{n}"} | draw(frames) for n in range(draw(st.integers(1, 2)))]
    after = copy.deepcopy(before)
    held = after[draw(st.integers(0, len(after) - 1))]["rules"]
    held[draw(st.integers(0, len(held) - 1)) :] = draw(st.lists(rules(), min_size=1, max_size=2))
    return before, after


def policies_of(bodies):
    frame = {"priority": 0, "enabled": True, "kind": "grant", "mode": "enforce"}
    return [policy_of(frame | body | {"id": body["name"], "createdAt": n}) for n, body in enumerate(bodies)]


def some_call(draw):
    """Parameters and context, with whatever a caller can think of."""

    def value(depth=0):
        kind = draw.random()
        if kind < 0.75 or depth > 1:
            return draw.choice(SCALARS)
        if kind < 0.9:
            return [value(depth + 1) for _ in range(draw.randint(0, 3))]
        return {draw.choice(["a", "b", "k", "A"]): value(depth + 1) for _ in range(draw.randint(0, 2))}

    def elements():
        kinds = [value, lambda: {name: value(2) for name in draw.sample(["k", "m", "K"], draw.randint(0, 2))}]
        make = draw.choice(kinds)
        return [make() for _ in range(draw.randint(0, 3))]

    def holder():
        made = {name: value() for name in draw.sample(["x", "y", "l", "o", "X", "o.a", "c"], draw.randint(0, 4))}
        if draw.random() < 0.6:
            made["l"] = elements()
        if draw.random() < 0.5:
            made["o"] = {name: value(2) for name in draw.sample(["a", "b", "A"], draw.randint(0, 2))}
        return made

    context = holder() | ({"session": draw.choice(["s", "s", "", 1])} if draw.random() < 0.8 else {})
    return holder(), context, 1_795_608_000_000_000 + draw.randint(0, 7 * 24 * 60) * MINUTE_US


def results(sides, tool, call):
    """Both results, for each set of limits that are full and each past of the session."""
    parameters, context, at_us = call
    request = AuthorizeRequest("agent", tool, "authorize", parameters, b"", context=context)
    plans = [decide(side, request, at_us, "key") for side in sides]
    counters = {(each.fingerprint, each.bucket) for plan in plans for each in plan.quotas if isinstance(each, Quota)}
    for size in range(len(counters) + 1):
        for full in combinations(counters, size):
            for was_called in (True, False):
                yield [result(plan, set(full), was_called) for plan in plans]


def result(plan, full, was_called):
    for each in plan.quotas:
        if isinstance(each, Quota):
            is_full = (each.fingerprint, each.bucket) in full or (each.amount or 0) > each.max_calls
        else:
            is_full = was_called is each.forbids
        if is_full:
            return each.when_full.result
    return plan.outcome.result


AGENT = Agent(id="agent", name="a", created_ms=0, updated_ms=0, version="v")


@pytest.mark.slow
@settings(max_examples=examples(300))
@given(changes(), st.integers(0, 1 << 32))
def test_a_complete_comparison_misses_no_kind_of_flip_of_any_call(changed, seed):
    """Calls of all shapes, at any time, with any limits full, with and without a session and its past."""
    draw = random.Random(seed)
    before, after = map(policies_of, changed)
    meaning = compare_meaning(before, after)
    sides = [compile_agent(AGENT, side, lambda _: False) for side in (before, after)]
    patterns = [rule.tools for side in (before, after) for policy in side for rule in policy.rules]

    def kind_of(tool):
        return tuple(covers(some, tool) for some in patterns)

    kinds = {(kind_of(each.tool), each.was, each.becomes) for each in (*meaning.flips, *meaning.limits)}
    for tool in ("t", "u", "ux"):
        if kind_of(tool) in [kind_of(each.tool) for each in meaning.because]:
            continue
        for _ in range(200):
            call = some_call(draw)
            for one, other in results(sides, tool, call):
                assert one is other or (kind_of(tool), one, other) in kinds, (tool, call, one, other)


def changed_constraint(before, after, **rule):
    made = [
        {"type": "parameter_constraint", "tools": ["t"], "parameters": {"x": each}} | rule for each in (before, after)
    ]
    return compare_meaning(*(policies_of([{"name": "p", "rules": [each]}]) for each in made))


UNREAD = {
    "path": ({"path": {"under": ["/a"]}}, {"path": {"under": ["/a/b"]}}),
    "the request": ({"fromRequest": "exact"}, {"fromRequest": "text"}),
    "a word boundary": ({"regex": r"\ba"}, {"regex": r"\ba\b"}),
    "a long text": ({"maxLength": 60_000}, {"maxLength": 60_001}),
    "a pattern and a bound of numbers": ({"regex": "^1", "max": 150}, {"regex": "^1", "max": 160}),
}


@pytest.mark.parametrize("name", UNREAD)
def test_what_has_no_classes_is_compared_by_meaning_and_no_proof(name):
    """It says so, with the name of the value."""
    assert changed_constraint(*UNREAD[name]).because == [Doubt("t", '"x" is compared by meaning')]


def test_what_is_the_same_on_both_sides_needs_no_proof():
    """A path that is compared by meaning holds or does not: both were tried beside the bound that changes."""
    path = {"path": {"under": ["/a"]}}
    sides = [
        policies_of([{"name": "p", "rules": [{"type": "parameter_constraint", "tools": ["t"], "parameters": each}]}])
        for each in ({"x": path, "y": {"max": 1}}, {"x": path, "y": {"max": 2}})
    ]
    assert compare_meaning(*sides).complete


@pytest.mark.parametrize("where", ["a constraint", "a rule", "a type of rule", "a window"])
def test_what_is_new_to_the_language_is_never_complete(where, monkeypatch):
    """Nobody has to remember to say that a comparison does not know it."""
    fields = dict(known._FIELDS)
    kind, name = {
        "a constraint": (Constraint, "max"),
        "a rule": (TYPES[4], "effect"),
        "a type of rule": (TYPES[4], None),
        "a window": (TimeWindow, "allowed_hours"),
    }[where]
    fields = {each: names - {name} for each, names in fields.items() if name is not None or each is not kind}
    window = {"type": "time_based", "tools": ["t"], "timeWindow": {"allowedHours": [1]}}
    rules = [
        {"type": "parameter_constraint", "tools": ["t"], "parameters": {"x": {"max": 1}}, "effect": "deny"},
        window,
    ]
    sides = [policies_of([{"name": "p", "rules": some}]) for some in (rules, [*rules[:1], window, *rules[1:]])]
    assert compare_meaning(*sides).complete
    monkeypatch.setattr(known, "_FIELDS", fields)
    monkeypatch.setattr(known, "BY_CLASS", known.BY_CLASS - {name})
    assert "t" in {each.tool for each in compare_meaning(*sides).because}


def test_a_value_that_people_approved_before_is_never_complete():
    """`approvedBefore` looks into the past of a value, of which no call says anything."""
    approved = [{"approvedBefore": {"withinSeconds": 60 * minutes}} for minutes in (1, 2)]
    assert not changed_constraint(*approved, effect="escalate").complete


def test_a_comparison_that_takes_too_much_ends_and_says_so():
    """By states, or by the time of the processor."""
    many = [
        {"type": "parameter_constraint", "tools": ["t"], "parameters": {f"p{n}": {"max": n}}, "effect": "escalate"}
        for n in range(30)
    ]
    sides = [
        policies_of([{"name": f"p{n}", "rules": [rule]} for n, rule in enumerate(some)]) for some in (many, many[1:])
    ]
    assert compare_meaning(*sides, Effort(states=50)).because == [
        Doubt("t", "there are more combinations than are compared")
    ]
    clock = iter(range(1000))
    late = Effort(seconds=3, clock=lambda: next(clock))
    assert compare_meaning(*sides, late).because == [Doubt("t", "comparing took longer than it may")]


def test_two_spellings_of_one_name_are_no_proof():
    """Some readers take one for the other."""
    beside = {"parameters": {"X": {"max": 1}}}
    assert changed_constraint({"max": 1}, {"max": 2}, unless=beside).because == [
        Doubt("t", '"x" and "X" are two spellings of a name')
    ]


def test_what_a_complete_comparison_has_seen_need_not_be_understood():
    """Two values that equal each other or not, in all four ways: whatever `equals` means, nothing else can be."""
    meaning = changed_constraint({"equals": {"parameter": "y"}}, {"equals": {"parameter": "z"}})
    assert meaning.complete
    assert {(each.was, each.becomes) for each in meaning.flips} == {
        ("denied", "allowed"),
        ("allowed", "denied"),
    }
