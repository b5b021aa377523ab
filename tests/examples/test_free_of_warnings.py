"""Our own policies have no warnings: those of the examples and of the README."""

import json
import re
from pathlib import Path

import msgspec
import pytest

from app.model.policies import Policy, PolicyKind
from app.model.rules import PolicyRule
from app.policy_tools.lint import lint_policies

ROOT = Path(__file__).parents[2]
FILES = sorted(path for path in (ROOT / "examples").glob("*/*.json") if path.parent.name != "data")
BODY = re.compile(r"^\{\n  \"name\".*?^\}$|\{\"name\"[^\n]*\"rules\"[^\n]*\]\}", re.MULTILINE | re.DOTALL)


def policy_of(body, number):
    """The policy that a body makes."""
    return Policy(
        id=str(number),
        agent_id="a",
        name=body["name"],
        kind=PolicyKind(body.get("kind", "grant")),
        rules=tuple(msgspec.convert(rule, PolicyRule) for rule in body["rules"]),
        priority=body.get("priority", 0),
        enabled=body.get("enabled", True),
        created_ms=number,
        updated_ms=number,
        version=1,
    )


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_an_example_is_free_of_warnings(path):
    """All of its policies together."""
    policies = [policy_of(body, number) for number, body in enumerate(json.loads(path.read_text())["policies"])]
    assert [each for warnings in lint_policies(policies) for each in warnings] == []


def test_the_policies_of_the_readme_are_free_of_warnings():
    """Each by itself, as a reader copies it."""
    found = []
    for text in BODY.findall((ROOT / "README.md").read_text()):
        body = json.loads(text)
        found.append(body["name"])
        assert lint_policies([policy_of(body, 0)]) == [[]], body["name"]
    assert "small refunds" in found
