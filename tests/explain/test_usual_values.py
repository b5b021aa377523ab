"""What is unusual about a call, beside earlier calls."""

import json

import msgspec
import pytest
from msgspec import Raw

from app.explain.usual_values import usual_of


def raw(value):
    return Raw(value if type(value) is bytes else json.dumps(value).encode())


def beside(call, *earlier):
    """The rows of the comparison by path, as clients get them."""
    found = json.loads(msgspec.json.encode(usual_of(raw(call), [raw(each) for each in earlier])))
    return {each.pop("path"): each for each in found["values"]}


AMOUNTS = [{"amount": each} for each in (12, 40, 40, 95)]


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (260, "6.5 times the usual 40; the most so far was 95"),
        (4000, "100 times the usual 40; the most so far was 95"),
        (4e12, "more than a million times the usual 40; the most so far was 95"),
        (190, "4.8 times the usual 40; the most so far was 95"),
        (189, None),
        (12, None),
        (0.13, None),
        (0.12, "less than a hundredth of the least so far, 12"),
        (-5, "negative; the least so far was 12"),
    ],
)
def test_a_number_is_compared_with_the_least_the_median_and_the_most(value, words):
    row = beside({"amount": value}, *AMOUNTS)["amount"]
    assert (row["calls"], row["least"], row["median"], row["most"]) == (4, 12, 40, 95)
    assert row.get("unusual") == words


def test_numbers_are_exact():
    """Doubles would show …992, and take the two for one."""
    row = beside({"id": 18014398509481985}, {"id": 9007199254740992.0})["id"]
    assert row["unusual"] == "2.0 times the usual 9007199254740992.0; the most so far was 9007199254740992.0"
    row = beside(b'{"a": 0.20000000000000000003}', b'{"a": 0.10000000000000000001}')["a"]
    assert row["unusual"].endswith("the most so far was 0.10000000000000000001")


@pytest.mark.parametrize("number", [b"1e400", b"1e999999999999999999", b"1e99999999999999999999999999", b"-1e400"])
def test_numbers_beyond_a_double_are_compared_or_left_alone(number):
    """None stops the comparison of the others."""
    for call, earlier in ((number, b"40"), (b"40", number), (number, number)):
        rows = beside(b'{"n": %b, "m": 5}' % call, b'{"n": %b, "m": 2}' % earlier)
        assert rows["m"]["unusual"] == "2.5 times the usual 2; the most so far was 2"
    assert beside(b'{"n": 1e400}', b'{"n": 40}')["n"]["unusual"].startswith("more than a million times")


def test_a_new_text_names_the_usual_one():
    earlier = [{"environment": each} for each in ("staging", "staging", "test")]
    row = beside({"environment": "production"}, *earlier)["environment"]
    assert row["unusual"] == "new; usual: staging"
    assert row["top"] == [{"value": "staging", "count": 2}, {"value": "test", "count": 1}]
    assert "unusual" not in beside({"environment": "test"}, *earlier)["environment"]


def test_a_place_whose_values_all_differ_has_no_usual_value():
    assert "unusual" not in beside({"order": "d"}, {"order": "a"}, {"order": "b"}, {"order": "c"})["order"]


def test_a_value_never_given_before_is_named():
    rows = beside({"to": "ann", "bcc": "eve", "x": {"y": 1}}, {"to": "ann"}, {"to": "ann", "x": 1})
    assert [rows[path].get("unusual") for path in ("to", "bcc", "x.y")] == [None, *["never given before"] * 2]


def test_nothing_is_unusual_about_the_first_call():
    assert beside({"to": "ann"}) == {"to": {"calls": 0}}


def test_elements_of_a_list_are_one_place():
    rows = beside({"to": ["ann", "eve"]}, {"to": ["ann"]}, {"to": ["bob", "ann"]})
    assert "unusual" not in rows["to[0]"]
    assert (rows["to[1]"]["unusual"], rows["to[1]"]["calls"]) == ("new; usual: ann", 2)


@pytest.mark.parametrize("hidden", ["[REDACTED]", "Bearer [REDACTED]", {"beginning": "a", "length": 9, "hmac": "x"}])
def test_what_the_log_hides_is_neither_compared_nor_shown(hidden):
    """Neither as a value of earlier calls, nor what they had where the call itself is hidden."""
    row = beside({"note": "hello"}, {"note": hidden}, {"note": hidden})["note"]
    assert row == {"calls": 2}
    assert beside({"note": hidden}, {"note": "once in clear"}, {"note": "once in clear"})["note"] == {"calls": 2}


def test_unusual_names_are_not_taken_for_paths():
    rows = beside({"a.b": 1, "a": {"b": 2}, "[0]": 3}, {"a": {"b": 2}})
    assert {path: row.get("unusual") for path, row in rows.items()} == {
        '["a.b"]': "never given before",
        "a.b": None,
        '["[0]"]': "never given before",
    }


def test_work_and_answer_are_bounded():
    """By 200 values of the call, and the first 1,000 of each other; long texts are not listed."""
    found = usual_of(raw({"n": list(range(10_000))}), [raw({"n": [0] * 999 + [5] * 2})])
    assert (len(found.values), found.omitted) == (200, 9_800)
    assert bytes(found.values[0].most) == b"5"
    found = usual_of(raw({"n": 1}), [raw({"before": [0] * 1_000, "n": 1})])
    assert found.values[0].calls == 0
    assert beside({"t": "x"}, {"t": "y" * 201})["t"] == {"calls": 1}


def test_a_known_text_is_not_new_where_few_calls_were_asked_about():
    """The three large payments went to one creditor; another one who was paid before is as known."""
    small = [raw({"to": name, "amount": 5}) for name in ("Acme", "Nordwind", "Kessel")]
    large = [raw({"to": "Acme", "amount": 5000})] * 3
    found = [usual_of(raw({"to": name, "amount": 6000}), small, large).values[0] for name in ("Nordwind", "Wolff")]
    assert [each.unusual for each in found] == [msgspec.UNSET, "new; usual: Acme"]
