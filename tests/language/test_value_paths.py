"""Names of values: what they can mean, what blocks them, and what is not a name."""

import pytest

from app.language.ambiguous import Ambiguous
from app.language.value_paths import MAX_PARTS, ValuePath, require_path

CALL = {
    "amount": 1,
    "payment": {"amount": 2, "to": {"iban": "x"}},
    "payment.amount": 3,
    "recipients": ["a", "b"],
    "payments": [{"amount": 4}, {"amount": 5, "fees": [1, 2]}, {}, None],
    "grid": [[1, 2], [], [3]],
    "empty": [],
    "nothing": None,
    "flat": {"a.b": [{"c.d": 7, "c": {"d": 8}}]},
}


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("amount", [1]),
        ("amounts", []),
        ("payment.amount", [3, 2]),
        ("payment.to.iban", ["x"]),
        ("payment.to", [{"iban": "x"}]),
        ("recipients", [["a", "b"]]),
        ("recipients[*]", ["a", "b"]),
        ("payments[*].amount", [4, 5]),
        ("payments[*].fees[*]", [1, 2]),
        ("payments[*]", [{"amount": 4}, {"amount": 5, "fees": [1, 2]}, {}, None]),
        ("grid[*]", [[1, 2], [], [3]]),
        ("grid[*][*]", [1, 2, 3]),
        ("empty[*]", []),
        ("nothing[*]", []),
        ("nothing.x", []),
        ("absent[*].x", []),
        ("flat.a.b[*].c.d", [7, 8]),
    ],
)
def test_a_name_means_every_value_it_can(name, values):
    """Through every way of splitting it, and in every element."""
    assert ValuePath(name).find(CALL)[0] == values


@pytest.mark.parametrize(
    ("name", "call", "missing"),
    [
        ("x", {}, True),
        ("x", {"x": None}, False),
        ("x.y", {"x": {}}, True),
        ("x.y", {"x": None}, True),
        ("x.y", {"x": {}, "x.y": 1}, False),
        ("x[*]", {}, True),
        ("x[*]", {"x": None}, True),
        ("x[*]", {"x": []}, False),
        ("x[*]", {"x": [None]}, False),
        ("x[*].y", {"x": []}, False),
        ("x[*].y", {"x": [{"y": 1}]}, False),
        ("x[*].y", {"x": [{"y": 1}, {}]}, True),
        ("x[*].y", {"x": [{"y": 1}, None]}, True),
        ("x[*].y[*]", {"x": [{"y": []}]}, False),
        ("x[*].y[*]", {"x": [{"y": [1]}, {"y": None}]}, True),
        ("x[*][*]", {"x": [[1], None]}, True),
    ],
)
def test_a_value_is_missing_as_a_whole_or_in_an_element(name, call, missing):
    """An element that lacks what the others have is not passed over; an array without elements lacks nothing."""
    assert ValuePath(name).find(call)[1] is missing


@pytest.mark.parametrize(
    ("name", "call", "said"),
    [
        ("pay.amount", {"pay": [{"amount": 999}]}, 'holds an array at "pay" where an object must be'),
        ("pay.amount", {"pay.amount": 5, "pay": [{"amount": 999}]}, 'an array at "pay"'),
        ("pay.amount", {"pay.amount": 5, "pay": '{"amount": 999}'}, 'a text at "pay"'),
        ("pay.amount", {"pay": 5}, 'a number at "pay"'),
        ("a.b.c", {"a.b.c": 1, "a": {"b": [{"c": 9}]}}, 'an array at "b"'),
        ("to[*]", {"to": "a@evil.com"}, "a text where an array must be"),
        ("to[*]", {"to": {"0": "a@evil.com"}}, "an object where an array must be"),
        ("to[*]", {"to": True}, "true or false where an array"),
        ("pays[*].amount", {"pays": {"amount": 9}}, "an object where an array must be"),
        ("pays[*].amount", {"pays": [[{"amount": 9}]]}, "an array where an object must be"),
        ("pays[*].amount", {"pays": [{"amount": 1}, "9"]}, "a text where an object must be"),
        ("grid[*][*]", {"grid": [1]}, "a number where an array must be"),
    ],
)
def test_a_value_that_blocks_a_path_cannot_be_judged(name, call, said):
    """A tool may look inside it where a rule cannot; a decoy next to it changes nothing."""
    with pytest.raises(Ambiguous, match=said):
        ValuePath(name).find(call)


@pytest.mark.parametrize(
    "name", ["a", "a.b", ".", "x.", "a b", "a[*]", "a[*][*]", "a.b[*].c.d[*].e", "ä[*]", "a/b~1", "$.a", "a{}"]
)
def test_a_name_is_accepted(name):
    """Any key, dots, and `[*]` behind one."""
    require_path(name)


@pytest.mark.parametrize(
    "name", ["a[]", "a[0]", "a[*", "a*]", "a*", "*", "[*]", "[*].a", "a[*]b", "a[*].", "a[**]", "a[ * ]", "*.a"]
)
def test_other_brackets_and_stars_are_refused(name):
    """Each is a way in which someone might mistype `[*]`."""
    with pytest.raises(ValueError, match=r"stand only in `\[\*\]`, for each element of an array: `recipients\[\*\]`"):
        require_path(name)


def test_the_parts_of_a_name_are_bounded():
    """Otherwise an object could be built in which every way of splitting the name leads on."""
    require_path("a." * (MAX_PARTS - 1) + "a")
    with pytest.raises(ValueError, match="has 11 parts between dots; at most 10"):
        require_path("a." * MAX_PARTS + "a")


def test_a_name_from_before_there_were_paths_is_a_key():
    """It keeps its meaning."""
    assert ValuePath("a[0]").find({"a[0]": 1, "a": [2]}) == ([1], False)
    assert ValuePath("a*.b").find({"a*": {"b": 1}}) == ([1], False)


def test_the_name_of_a_plain_key_is_known_as_one():
    """It is then a single look-up."""
    assert ValuePath("a").is_plain
    assert ValuePath("a[0]").is_plain
    assert not ValuePath("a.b").is_plain
    assert not ValuePath("a[*]").is_plain
