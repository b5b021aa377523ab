"""What `fromRequest` leaves to no case: how long a request may be, and what an approval and a replay know of it."""

import msgspec
import pytest

from app.language.spellings import spellings_of
from app.language.whole_words import MAX_PLACES, MAX_PLACES_IN_ALL
from app.model.constraints import Constraint
from app.model.escalations import names_in_context
from app.model.rule import Read
from app.model.rules import PolicyRule
from app.pdp.constraints import compile_constraint
from app.pdp.costs import ANY_SIZE, cost_of, quick_size

RULE = {"type": "parameter_constraint", "tools": ["t"], "parameters": {"to": {"fromRequest": "exact"}}}


def check(value, request, how="exact"):
    """The reason why a value fails; None if it passes."""
    test = compile_constraint("to", msgspec.convert({"fromRequest": how}, Constraint), secret=False)
    return test({"to": value}, {"request": request}, spellings_of({"to": value}))


@pytest.mark.parametrize("letter", ["x", "é", "€", "\U0001d535"])
def test_a_request_has_up_to_32_kib(letter):
    """In UTF-8, as it is sent."""
    asked = "bob " + letter * ((32 * 1024 - 4) // len(letter.encode()))
    assert check("bob", asked) is None
    assert check("bob", asked + "!!!!") == (
        'Parameter "to" is "bob", to be found in the user\'s request, which is longer than 32768 bytes'
    )


@pytest.mark.parametrize("how", ["exact", "text"])
@pytest.mark.parametrize("value", ["eve@y.com", "my password", "", "x" * 200, "a\u200bb", "e\u0301", "bob", 5, None])
def test_no_reason_quotes_the_request(how, value):
    """Whatever the value and the request."""
    for request in ("SECRET PLAN", "SECRET\u200b PLAN", "SECRET bobs " * 65, ["SECRET"], "SECRET" * 9_999):
        assert "SECRET" not in (check(value, request, how) or "")


def test_the_values_of_a_list_share_the_places_that_are_looked_at():
    """9,000 values, each found at its last place, would take a third of a second."""
    test = compile_constraint("to[*]", msgspec.convert({"fromRequest": "text"}, Constraint), secret=False)
    asked = {"request": "bobs " * (MAX_PLACES - 1) + "bob"}
    within = MAX_PLACES_IN_ALL // MAX_PLACES
    spelled = spellings_of({"to": []})
    assert test({"to": ["bob"] * within}, asked, spelled) is None
    assert f"at more than {MAX_PLACES_IN_ALL} places" in test({"to": ["bob"] * (within + 1)}, asked, spelled)


def test_the_rule_reads_the_request():
    """So an approval is bound to it, and a replay does not guess where the log hides it."""
    rule = msgspec.convert(RULE, PolicyRule)
    assert Read("context", "request") in list(rule.reads())
    assert list(names_in_context(msgspec.to_builtins(rule))) == ["request"]


def test_short_calls_with_a_request_are_decided_in_the_event_loop():
    """A list of many values is not, because each may be looked for in 64 places."""
    one, each = (
        quick_size([cost_of([("parameters", name, msgspec.convert({"fromRequest": "text"}, Constraint))])])
        for name in ("to", "to[*]")
    )
    assert 32 * 1024 < one < ANY_SIZE
    assert 512 < each < 2048
