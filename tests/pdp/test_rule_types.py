"""The types of rules: each does something, and one that does nothing cannot be compiled."""

from typing import ClassVar

import pytest
from msgspec.structs import replace
from pdp_and_mirror import REDACTOR, policy_of

from app.model.decision_codes import DecisionCode
from app.model.rule import Rule
from app.model.rules import TYPES
from app.pdp.rules import TYPE_OF, compile_rules

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
