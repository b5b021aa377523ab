"""The types of rules: each does something, and one that does nothing cannot be compiled."""

from typing import ClassVar

import pytest
from case_files import all_cases
from msgspec.structs import replace
from pdp_and_mirror import REDACTOR, policy_of

from app.model.decision_codes import DecisionCode
from app.model.rule import Rule
from app.model.rules import TYPES
from app.pdp.rules import TYPE_OF, compile_rules
from tests.http import test_whole_language
from tests.pdp import test_differential
from tests.policy_tools import test_schema

BODY = {"id": "p", "name": "p", "createdAt": 0, "rules": [{"type": "tool_denylist", "tools": ["t"]}], "priority": 0}


class Forgotten(Rule, frozen=True, tag="forgotten"):
    """A type that is in no registry."""

    code: ClassVar[DecisionCode] = DecisionCode.RULE_FAILED


def test_a_type_that_is_not_registered_is_refused():
    """It would never deny otherwise."""
    policy = replace(policy_of({**BODY, "enabled": True}), rules=(Forgotten(tools=["t"]),))
    with pytest.raises(KeyError):
        compile_rules(policy, REDACTOR.is_secret)


def test_every_type_is_registered():
    """Those of the union, and no others."""
    assert TYPE_OF.keys() == set(TYPES)


TAGS = {kind.__struct_config__.tag for kind in TYPES}
DECIDED = [case for case in all_cases() if case.refused is None]


@pytest.mark.parametrize("drawn", [test_differential, test_whole_language, test_schema], ids=lambda each: each.__name__)
def test_every_type_is_drawn_by_each_random_test(drawn):
    """By the comparison with the mirror, by that of everything that judges, and by the policy files'."""
    assert drawn.DRAWN == TAGS


@pytest.mark.parametrize("tag", sorted(TAGS))
def test_every_type_has_two_decision_cases(tag):
    """That name it as the rule that decided."""
    deciding = [{call.wanted.rule.type for call in case.calls if call.wanted.rule is not None} for case in DECIDED]
    assert sum(tag in types for types in deciding) >= 2
