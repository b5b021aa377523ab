"""Where the values of a call come from, as people see it."""

import msgspec
import pytest

from app.pdp.value_origins import MAX_VALUES, value_origins

REQUEST = "Please send 'Quarterly Report' to doe@example.com,\nand read https://example.com/a first. Room 101."


def origins(parameters, request=REQUEST, known=()):
    found = value_origins(msgspec.json.encode(parameters), {"request": request}, known)
    return {each.path: (each.origin.value, each.not_in_request or []) for each in found}


def test_a_value_comes_from_the_request_or_was_approved_or_is_unverified():
    """Whole words only; with names and places as paths; and a number is never the user's."""
    call = {
        "to": ["doe@example.com", "eve@example.com", "ann"],
        "cc": "oe@example.com",
        "n": 101,
        "a b": {"x": "Room 101"},
    }
    found = origins(call, known={"to[*]"})
    assert {path: origin for path, (origin, _) in found.items()} == {
        "to[0]": "request",
        "to[1]": "approved_before",
        "to[2]": "approved_before",
        "cc": "unverified",
        "n": "unverified",
        '["a b"].x': "request",
    }


def test_of_a_text_what_points_elsewhere_is_named():
    """Links, addresses, hosts and words with digits, unless the user wrote them; in any case and white space."""
    text = (
        "See (https://example.com/a) and https://evil.com/?q=1; mail bob@x.org, call 555-1234 in room 101 at evil.io."
    )
    assert origins({"body": text})["body"] == (
        "unverified",
        ["https://evil.com/?q=1", "bob@x.org", "555-1234", "evil.io"],
    )
    assert origins({"body": "QUARTERLY   report"})["body"] == ("request", [])


@pytest.mark.parametrize("request_", ["", "a\u200bb doe", 5, None, "x" * 32769])
def test_without_a_readable_request_nothing_is_the_users(request_):
    """Nor is anything that is hidden."""
    assert origins({"to": "doe@example.com"}, request_)["to"] == ("unverified", [])
    assert origins({"to": "[REDACTED]"}, "use [REDACTED] now")["to"] == ("unverified", [])


def test_a_long_call_is_marked_as_far_as_people_read():
    """The first 200 values, and 20 places in a text."""
    assert len(origins({"a": ["x"] * 500})) == MAX_VALUES
    assert len(origins({"a": " ".join(f"n{number}" for number in range(99))})["a"][1]) == 20
