"""What an approval is bound to: exactly the call itself."""

import json
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.model.bound_call import bound_form, exact_context

SCALARS = st.none() | st.booleans() | st.integers() | st.text() | st.decimals(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20)


def written(value):
    """JSON in which a decimal always has a point or an exponent."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(name)}:{written(each)}" for name, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(written, value)) + "]"
    if value is None or isinstance(value, bool | int | str):
        return json.dumps(value, ensure_ascii=False)
    sign, digits, exponent = value.as_tuple()
    return f"{'-' * sign}{int(''.join(map(str, digits)))}.0e{exponent}"


def form(parameters, agent="a", tool="t", bound=(), asker="k", action="authorize", descriptive=()):
    """The form of a call with these parameters, given as JSON text."""
    body = f'{{"parameters":{parameters}}}'.encode()
    return bound_form(asker, agent, tool, action, body, dict(bound), descriptive)


def is_number(value):
    return isinstance(value, int | Decimal) and not isinstance(value, bool)


def same(one, other):
    """Equal in value and in the type that JSON has, which knows no integers."""
    if is_number(one) and is_number(other):
        return one == other
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[name], other[name]) for name in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    return one == other


@given(VALUES, VALUES)
def test_two_values_have_one_form_exactly_if_they_are_the_same(one, other):
    """The form is injective: no two different calls share an approval."""
    assert (form(written({"x": one})) == form(written({"x": other}))) == same(one, other)


@given(VALUES)
def test_the_order_of_keys_does_not_matter(value):
    """A runtime that orders them differently makes the same request."""

    def turned(value):
        if isinstance(value, dict):
            return {name: turned(value[name]) for name in reversed(value)}
        return [turned(each) for each in value] if isinstance(value, list) else value

    assert form(written({"x": value, "y": 1})) == form(written(turned({"x": value, "y": 1})))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ('{"x": 1}', '{"x": 1.0000000000000000000000000001}'),
        ('{"x": 1}', '{"x": "1"}'),
        ('{"x": 1}', '{"x": true}'),
        ('{"x": 9007199254740992}', '{"x": 9007199254740993}'),
        ('{"x": 123456789012345678901234567890}', '{"x": 123456789012345678901234567891}'),
        ('{"x": 0.1}', '{"x": 0.10000000000000000555}'),
        ('{"x": 1234567890123456789012345678901234.5}', '{"x": 1234567890123456789012345678901234.6}'),
        ('{"x": 1e-99999999999999999999}', '{"x": 1e-99999999999999999998}'),
        ('{"x": 0e99999999999999999999}', '{"x": "0e99999999999999999999"}'),
        ('{"x": "\u00e9"}', '{"x": "e\u0301"}'),
        ('{"x": "a"}', '{"x": "a "}'),
        ('{"x": "a"}', '{"x": "\u0430"}'),
        ('{"x": []}', '{"x": {}}'),
        ('{"x": null}', "{}"),
        ('{"x": [1, 2]}', '{"x": [2, 1]}'),
        ('{"x": ["a", "b"]}', '{"x": ["a,b"]}'),
        ('{"ab": "c"}', '{"a": "bc"}'),
        ('{"x": {"y": 1}}', '{"x": 1, "y": 1}'),
    ],
)
def test_a_similar_call_is_another_call(one, other):
    """Some program has confused each of these pairs."""
    assert form(one) != form(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ('{"x": 1}', '{"x": 1.0}'),
        ('{"x": 1.0}', '{"x": 1.00}'),
        ('{"x": 100}', '{"x": 1e2}'),
        ('{"x": -0}', '{"x": 0.0}'),
        ('{"x": 1e2}', '{"x": 100.0}'),
        ('{"x": [{"y": 9007199254740993}]}', '{"x": [{"y": 9007199254740993.0}]}'),
        ('{"x": "\\u0061"}', '{"x": "a"}'),
    ],
)
def test_another_spelling_of_a_value_is_the_same_call(one, other):
    """JSON has several spellings of numbers and strings."""
    assert form(one) == form(other)


def test_an_approval_binds_who_asks_agent_tool_action_and_context():
    """An approval of one call is not valid for another."""
    forms = [
        form("{}"),
        form("{}", agent="b"),
        form("{}", tool="u"),
        form("{}", asker="l"),
        form("{}", action="drop"),
        form("{}", bound={"user": "ann"}),
        form("{}", bound={"user": "bob"}),
        form("{}", bound={"session": "ann"}),
        form("{}", bound={"user": None}),
    ]
    assert len(set(forms)) == len(forms)


def test_numbers_of_the_context_are_exact():
    """They are compared as written, not as floats."""
    assert str(exact_context(b'{"context": {"limit": 0.10000000000000000555}}')["limit"]) == "0.10000000000000000555"


NAMES = st.sampled_from(["note", "memo", "Note", "note ", "x", ""])
TEXTS = st.text(max_size=5) | st.sampled_from(["a" * 1024, "a" * 1025, "é" * 512, "é" * 513])
CALLS = st.dictionaries(NAMES, TEXTS | VALUES, max_size=4)


def shown(call, descriptive):
    """The call as people approve it: a text that only describes it is there, and nobody cares what it says."""
    return {
        name: "…" if name in descriptive and isinstance(value, str) and len(value.encode()) <= 1024 else value
        for name, value in call.items()
    }


EDITS = st.lists(st.tuples(NAMES, TEXTS | VALUES | st.just(...)), max_size=2)


@given(CALLS, EDITS, st.sets(st.sampled_from(["note", "memo"])))
def test_a_near_call_is_the_same_exactly_if_only_texts_that_describe_it_differ(call, edits, descriptive):
    """Whatever is edited, added or taken away, and however its name is spelled."""
    near = call | {name: value for name, value in edits if value is not ...}
    for name, value in edits:
        if value is ...:
            near.pop(name, None)
    forms = {form(written(each), descriptive=descriptive) for each in (call, near)}
    one, other = (shown(each, descriptive) for each in (call, near))
    assert (len(forms) == 1) == same(one, other)


def test_the_form_says_which_texts_are_left_out():
    """A call that has none has the form that it has without such a rule, so replicas agree while rules change."""
    both = '{"note": "a", "memo": "a"}'
    assert form(both) == form(both, descriptive={"x"}) != form(both, descriptive={"note"})
    assert form(both, descriptive={"note"}) != form(both, descriptive={"memo"})
    assert form('{"note": "…"}') != form('{"note": "…"}', descriptive={"note"})
