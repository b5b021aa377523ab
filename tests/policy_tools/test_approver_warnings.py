"""Warnings about rules that name people whom nothing lets approve."""

import msgspec
import pytest

from app.model.approvals import ApprovalTerms
from app.model.rules import ApprovalRequired
from app.policy_tools.lint.policies import approver_warnings
from app.policy_tools.lint.together import Comparisons

PLACE = "$.rules[0]"


def warned(approving, **terms):
    rule = ApprovalRequired(tools=["x"], approval=msgspec.convert(terms, ApprovalTerms))
    return [
        (each.code, each.path, each.message) for each in approver_warnings(PLACE, rule, approving, Comparisons(10**6))
    ]


def test_a_group_without_the_scope_is_named_and_a_near_one_is_proposed():
    """Other groups of the rule are not."""
    groups = {"approvers": {"groups": ["finance", "fnance", "staff"]}}
    [(code, path, message), (_, other, no_idea)] = warned(frozenset({"finance"}), **groups)
    assert (code, path) == ("group_cannot_approve", f"{PLACE}.approval.approvers.groups[1]")
    assert message.endswith('did you mean "finance"?')
    assert (other, "did you mean" in no_idea) == (f"{PLACE}.approval.approvers.groups[2]", False)


@pytest.mark.parametrize(
    ("terms", "field"), [({"fresh": 300}, "fresh"), ({"fresh": 300, "approvers": {"groups": ["a"]}}, "approvers")]
)
def test_without_people_who_sign_in_nobody_can_decide(terms, field):
    """API keys are in no group and never fresh."""
    [(code, path, _)] = warned(frozenset(), **terms)
    assert (code, path) == ("nobody_can_approve", f"{PLACE}.approval.{field}")


def test_nothing_is_said_where_nothing_is_known_or_asked():
    """Files alone do not say which groups there are, and keys decide what names nobody."""
    assert warned(None, fresh=300, approvers={"groups": ["a"]}) == []
    assert warned(frozenset(), approvals=2) == []
    assert warned(frozenset({"a"}), fresh=300, approvers={"groups": ["a"]}) == []


@pytest.mark.parametrize(
    ("terms", "words"),
    [
        ({}, "a person"),
        ({"approvals": 2}, "2 people"),
        ({"approvers": {"groups": ["finance", "ops"]}}, "a person in finance or ops"),
        ({"approvals": 2, "fresh": 300}, "2 people who have signed in within 300 seconds"),
        ({"approvers": {"groups": ["ops"]}, "fresh": 60}, "a person in ops who has signed in within 60 seconds"),
    ],
)
def test_who_must_approve_is_said_in_words(terms, words):
    """As explanations have it."""
    assert msgspec.convert(terms, ApprovalTerms).in_words() == words
