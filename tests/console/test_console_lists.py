"""Lists that the console has, too, are those of the service."""

import re

import pytest

from app.http.console.files import STATIC
from app.model.approvals import ApprovalStatus
from app.model.decisions import Result
from app.model.rules import TYPES
from app.model.webhooks import WebhookEvent
from app.policy_tools.files.schema import schema

RULE_TYPES = [kind.tag() for kind in TYPES]


@pytest.mark.parametrize(
    ("file", "name", "known"),
    [
        ("parts/more_filters.js", "RULES", RULE_TYPES),
        ("parts/traffic.js", "RESULTS", [*Result]),
        ("screens/approvals.js", "STATUSES", [*ApprovalStatus]),
        ("screens/webhooks.js", "EVENTS", [*WebhookEvent]),
    ],
)
def test_what_can_be_chosen_is_what_there_is(file, name, known):
    """Whoever adds one finds here that the console offers it, too."""
    found = re.search(rf"^const {name} = \[([^\]]*)\];$", (STATIC / file).read_text(), re.MULTILINE)
    assert sorted(re.findall(r'"([^"]+)"', found[1])) == sorted(known)


def test_every_type_of_rule_has_words_in_lists():
    """Otherwise a list shows its bare name."""
    words = (STATIC / "parts/rule_words.js").read_text()
    assert [each for each in RULE_TYPES if f"{each}: () =>" not in words] == []
    assert [each for each in RULE_TYPES if f'  {each}: "' not in words] == []


def test_every_test_of_a_value_has_words_in_lists():
    """Otherwise a sentence leaves out what a rule asks."""
    words = (STATIC / "parts/rule_words.js").read_text()
    asked = [each for each in schema()["$defs"]["Constraint"]["properties"] if each != "required"]
    assert [each for each in asked if f"  {each}: (" not in words] == []
