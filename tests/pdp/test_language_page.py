"""docs/language.md: an example for every type of rule and every field, and its calls are answered as it says."""

import json
import re
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from app.model.agents import Agent
from app.model.decisions import AuthorizeRequest
from app.model.policies import Policy, PolicyKind
from app.model.rules import TYPES, PolicyRule
from app.pdp import compile_agent, decide

PAGE = (Path(__file__).parents[2] / "docs/language.md").read_text()
EXAMPLES = re.findall(r"```json\n(.+?)\n```\n\n```text\n(.+?)\n```", PAGE, re.DOTALL)
RULES = [json.loads(rule) for rule, _ in EXAMPLES]
CALLS = [(rule, line) for rule, (_, lines) in zip(RULES, EXAMPLES, strict=True) for line in lines.splitlines()]
NOW_US = int(datetime(2026, 11, 25, 14, tzinfo=UTC).timestamp()) * 1_000_000
AGENT = Agent(id="a", name="a", created_ms=0, updated_ms=0, version="v")
_value = json.JSONDecoder().raw_decode


def policy(name, kind, rule):
    rules = (msgspec.convert(rule, PolicyRule),)
    return Policy(id=name, name=name, kind=kind, rules=rules, created_ms=0, updated_ms=0, version=1, agent_id="a")


def answer(rule, line):
    """The result of the call on this line."""
    _, tool, rest = [*line.split(None, 2), ""][:3]
    objects = [{}, {}]
    for place in range(2):
        if rest:
            objects[place], end = _value(rest)
            rest = rest[end:].strip()
    parameters, context = objects
    grant = policy("all", PolicyKind.GRANT, {"type": "tool_allowlist", "tools": ["*"]})
    agent = compile_agent(AGENT, [grant, policy("rule", PolicyKind.GUARDRAIL, rule)], lambda _: False)
    call = AuthorizeRequest(
        "a", tool, "authorize", parameters, b"", context=context, session=context.get("session", "")
    )
    return decide(agent, call, NOW_US).outcome.result.value


@pytest.mark.parametrize(("rule", "line"), CALLS, ids=[f"{rule['type']}-{line[:40]}" for rule, line in CALLS])
def test_an_example_is_answered_as_the_page_says(rule, line):
    """In a guardrail, beside a grant of every tool."""
    assert answer(rule, line) == line.split()[0]


def test_every_type_of_rule_and_every_field_has_an_example():
    """A field that exists and is nowhere on the page is not found by those who read examples first."""
    assert {rule["type"] for rule in RULES} == {each.tag() for each in TYPES}
    _, schemas = msgspec.json.schema_components([PolicyRule], ref_template="{name}")
    fields = {name for schema in schemas.values() for name in schema.get("properties", ())}
    assert fields - names_in(RULES) == set()


def names_in(value):
    """Every name in the examples, at any depth."""
    if isinstance(value, list):
        return set().union(*map(names_in, value))
    return set(value).union(*map(names_in, value.values())) if isinstance(value, dict) else set()
