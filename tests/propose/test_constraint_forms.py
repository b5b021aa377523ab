"""What a value may be without asking: the tightest form that leaves out fewer than need users."""

import pytest
from observed_calls import observed

from app.propose.constraint_forms import form_of
from app.propose.parameter_values import SeenTool, is_sayable


def form(values, need=3, said=None, hidden=frozenset()):
    """The form of these values, one user each."""
    calls = [
        observed("t", {"a": value}, f"u{number}", number=number, hidden=hidden) for number, value in enumerate(values)
    ]
    found = form_of(SeenTool(calls).places["a",], need, said or {})
    return found if found is None else found.constraint


@pytest.mark.parametrize(
    ("values", "constraint"),
    [
        (["no"] * 5, {"enum": ["no"]}),
        (["no"] * 5 + ["yes"] * 5, {"enum": ["no", "yes"]}),
        ([True] * 15, {"enum": [True]}),
        ([True, False] * 2, {"absent": True}),
        ([True, False] * 3, {"enum": [False, True]}),
        ([False] * 4 + [True], {"enum": [False]}),
        (["no"] * 10 + ["yes"] * 10 + ["evil"] * 2, {"enum": ["no", "yes"]}),
        ([None] * 10 + ["a"] * 10, {"enum": [None, "a"]}),
        (["ABC123", "DEF456", "GHI789", "JKL012"], {"regex": "^[A-Z0-9]{6}$"}),
        (["JFK", "SEA", "ORD"], {"regex": "^[A-Z]{3}$"}),
        (["mia_li_3668", "raj_sanchez_7340", "ann_lee_1111"], {"regex": "^[a-z]{3}_[a-z]{1,4}_[0-9]{4}$"}),
        (["gift_card_1111111", "gift_card_2222222", "gift_card_3333333"], {"regex": "^gift_card_[0-9]{7}$"}),
        (["a note", "two words", "some more text"], {"type": "string", "maxLength": 20}),
        (["Ana", "Bob", "Eve"], {"regex": "^[A-Za-z]{3}$"}),
        ([1, 2, 3], {"min": 0, "max": 1}),
        ([1, 2, 3, 4, 5], {"min": 0, "max": 3}),
        ([100, 608, 608, 608], {"min": 0, "max": 1000}),
        ([0.5, 0.25, 0.3], {"min": 0, "max": 0.5}),
        ([-5, -5, -5, 3, 3], {"min": -5, "max": -5}),
        ([[1], [1, 2], [1, 2], [1, 2]], {"maxItems": 2, "minItems": 1}),
        ([[], [], [], [1], [1], [1]], {"maxItems": 1}),
        (["a", 1, None], {"absent": True}),
        (["Zq", "9!", "-"], {"absent": True}),
    ],
)
def test_the_tightest_form_that_enough_users_showed(values, constraint):
    assert form(values) == constraint


@pytest.mark.parametrize(
    "value", ["attacker@evil.example", "ABC123; rm", "x" * 200, "\u0410\u0412\u0421123", "", 7, None, ["ABC123"]]
)
@pytest.mark.parametrize("users", [1, 2])
def test_what_fewer_users_did_widens_nothing(value, users):
    honest = ["ABC123", "DEF456", "GHI789", "JKL012", "MNO345"] * 4
    assert form([*honest, *[value] * users]) == form(honest) == {"regex": "^[A-Z0-9]{6}$"}


def test_the_catalogues_list_comes_first():
    assert form(["a", "b", "a"], said={"enum": ["a", "b", "c"]}) == {"enum": ["a", "b", "c"]}
    assert form(["z", "y", "w"], said={"enum": ["a", "b"]}) == {"regex": "^[a-z]{1}$"}
    assert form([700] * 3, said={"maximum": 800}) == {"min": 0, "max": 800}


def test_a_name_is_never_merely_some_text():
    """Without white space there is a pattern or nothing."""
    assert form(["x" * 600, "a.b.c.d.e.f.g.h.i", "..", "/"]) == {"absent": True}


def test_a_value_that_the_log_hides_has_no_form():
    assert form(["[REDACTED]"] * 3, hidden=frozenset({"a"})) is None


@pytest.mark.parametrize("key", ["a.b", "a[*]", "*", "", "a\u200bb", "[x]"])
def test_a_name_that_no_rule_can_mean_alone_is_not_sayable(key):
    assert not is_sayable((key,))
