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
OF_ALL = {"tools", "when", "unless", "effect", "approval"}
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
    policies = [
        policy("all", PolicyKind.GRANT, {"type": "tool_grant", "tools": ["*"]}),
        policy("rule", PolicyKind.GUARDRAIL, rule),
    ]
    if rule["type"] == "tool_grant":
        policies = [policy("rule", PolicyKind.GRANT, rule)]
    agent = compile_agent(AGENT, policies, lambda _: False)
    call = AuthorizeRequest(
        "a", tool, "authorize", parameters, b"", context=context, session=context.get("session", "")
    )
    return decide(agent, call, NOW_US).outcome.result.value


@pytest.mark.parametrize(("rule", "line"), CALLS, ids=[f"{rule['type']}-{line[:40]}" for rule, line in CALLS])
def test_an_example_is_answered_as_the_page_says(rule, line):
    """In a guardrail, beside a grant of every tool; a grant, alone."""
    assert answer(rule, line) == line.split()[0]


def test_every_type_of_rule_and_every_field_has_an_example():
    """A field that exists and is nowhere on the page is not found by those who read examples first.

    What all rules have, such as `when`, has one example in all; `per` of a budget is no example of that of a limit.
    """
    assert {rule["type"] for rule in RULES} == {each.tag() for each in TYPES}
    _, schemas = msgspec.json.schema_components([PolicyRule], ref_template="{name}")
    fields = {
        (name if field not in OF_ALL else "", field)
        for name, schema in schemas.items()
        for field in schema.get("properties", ())
        if field != "type"
    }
    assert fields - {pair for rule in RULES for pair in fields_in(rule, msgspec.convert(rule, PolicyRule))} == set()


def fields_in(written, read):
    """Each field that a struct was given, at any depth, with the name of the struct; none for what all rules have."""
    if isinstance(read, msgspec.Struct):
        for field in msgspec.structs.fields(read):
            if field.encode_name in written:
                yield ("" if field.encode_name in OF_ALL else type(read).__name__), field.encode_name
                yield from fields_in(written[field.encode_name], getattr(read, field.name))
    elif isinstance(read, list | tuple):
        for one, other in zip(written, read, strict=True):
            yield from fields_in(one, other)
    elif isinstance(read, dict):
        for name, value in read.items():
            yield from fields_in(written[name], value)
