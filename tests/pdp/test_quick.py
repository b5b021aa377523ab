"""Which calls are decided in the event loop and which in a thread, by their worst-case cost."""

import msgspec
import pytest

from app.cancellation import Cancelled, cancelled_when
from app.http.api.authorize import read_call
from app.http.tool_calls import Reading
from app.language.schemas.patterns import MAX_SEARCH_STEPS, compile_regex
from app.model.agents import Agent
from app.model.decision_codes import DecisionCode
from app.model.decisions import AuthorizeRequest, Result
from app.model.policies import Policy
from app.model.rules import PolicyRule
from app.pdp import compile_agent, decide, decide_at_length
from app.redaction.redactor import Redactor

AGENT_ID = "01931f2e-7a51-7cc0-9e55-3f6f6d1a2b01"
AGENT = Agent(id="a", name="a", created_ms=0, updated_ms=0, version="v")


def compiled(*rules):
    """The agent under one policy of these rules."""
    return agent_of([rules])


def agent_of(policies):
    """The agent under several policies, each given as its rules."""
    decoded = [msgspec.convert(rules, tuple[PolicyRule, ...]) for rules in policies]
    held = [
        Policy(id=f"p{number}", agent_id="a", name="p", rules=rules, created_ms=0, updated_ms=0, version=1)
        for number, rules in enumerate(decoded)
    ]
    return compile_agent(AGENT, held, lambda name: name == "secret")


def constraint_of(parameters):
    """A constraint on every tool."""
    return {"type": "parameter_constraint", "tools": ["*"], "parameters": parameters}


def constraint(tool, **patterns):
    named = {name: {"regex": pattern} for name, pattern in patterns.items()}
    return {"type": "parameter_constraint", "tools": [tool], "parameters": named}


def call(tool, **parameters):
    return AuthorizeRequest("a", tool, "authorize", parameters, b"{}", size=len(msgspec.json.encode(parameters)))


@pytest.mark.parametrize(
    ("pattern", "length", "quick"),
    [
        ("^/srv/[a-z/]+$", 60_000, True),
        ("^.{1,255}$", 255, True),
        (".{1000}$", 50, True),
        (".{1000}$", 60_000, False),
        ("a.{300}$", 60_000, False),
        ("(?i)(drop|delete|truncate) +table", 60_000, False),
        ("(?i)(drop|delete|truncate) +table", 2_000, True),
    ],
)
def test_a_long_string_under_a_large_pattern_is_not_quick(pattern, length, quick):
    """Their product counts; either alone is harmless."""
    agent = compiled(constraint("t", text=pattern))
    assert agent.is_quick(call("t", text="a" * length)) is quick
    assert agent.is_quick(call("t", text="a" * length)) is quick  # now that the tool has been seen


def test_patterns_of_one_tool_count_together_and_those_of_others_not():
    """Only patterns that a call can meet add to its cost."""
    parts = {f"p{number}": "^.{1,255}$" for number in range(40)}
    agent = compiled(constraint("many", **parts), constraint("one", text="^.{1,255}$"))
    assert not agent.is_quick(call("many", text="a" * 300))
    assert agent.is_quick(call("one", text="a" * 300))
    assert agent.is_quick(call("none", text="a" * 60_000))


def test_a_redacted_value_counts_at_its_possible_length():
    """Few characters are recorded, but the whole value is searched."""
    agent = compiled(constraint("t", secret="^.{1,255}$"))
    assert not agent.is_quick(call("t", secret="a" * 60_000))
    assert agent.is_quick(call("t", text="a"))


def test_a_string_with_a_cut_api_key_counts_at_its_possible_length():
    """The log keeps an API key in parameters without its secret part, which counts together with every hexadecimal
    digit after it.
    """
    agent = compiled(constraint("t", text=".{1000}$"))
    body = {"agent_id": AGENT_ID, "tool_name": "t", "parameters": {"text": "svc_" + "ab" * 30_000}}
    request = read_call(msgspec.json.encode(body), Reading(Redactor(()), "w"))
    assert len(request.recorded_parameters) < 60
    assert not agent.is_quick(request)


def test_very_many_checks_are_not_quick_even_without_patterns():
    """Each takes a tenth of a microsecond, even without any demand."""
    asking = constraint_of({f"p{number}": {"required": False} for number in range(100)})
    assert compiled(*[asking] * 50).is_quick(call("t"))
    assert not agent_of([[asking] * 50] * 2).is_quick(call("t"))


def test_many_checks_of_names_with_many_dots_are_not_quick():
    """Every way to split a name is searched, and in some objects each way leads further."""

    def asking(parts):
        return constraint_of({f"{'a.' * parts}{number}": {"required": False} for number in range(10)})

    deep = {"a": {"a": {"a": {"a": {}}}}}
    assert compiled(asking(3)).is_quick(call("t", **deep))
    assert not compiled(asking(120)).is_quick(call("t", **deep))


def test_many_failures_that_escalate_are_not_quick():
    """Each needs a sentence, since a later denial may still outrank it; a denial ends at once."""
    escalating = constraint_of({"p": {"enum": ["a"]}}) | {"effect": "escalate"}
    assert not agent_of([[escalating] * 50] * 20).is_quick(call("t", p="é" * 300))
    assert agent_of([[constraint_of({"p": {"enum": ["a"]}})] * 50] * 20).is_quick(call("t", p="é" * 300))


def test_very_many_rules_are_first_searched_in_a_thread():
    """However few tools each rule names."""
    agent = agent_of([[{"type": "tool_denylist", "tools": ["other"]}] * 50] * 200)
    assert not agent.is_quick(call("t"))
    agent.view("t")
    assert agent.is_quick(call("t"))


def test_very_many_tool_patterns_are_first_searched_in_a_thread():
    """Until the tool's view is cached; then they cost nothing."""
    tools = [f"tool.{number}" for number in range(1000)]
    agent = compiled(*[{"type": "tool_denylist", "tools": tools}] * 50, {"type": "tool_allowlist", "tools": ["t"]})
    assert not agent.is_quick(call("t"))
    agent.view("t")
    assert agent.is_quick(call("t"))


def test_an_agent_without_patterns_is_always_quick():
    """The usual case takes one multiplication."""
    agent = compiled({"type": "tool_allowlist", "tools": ["*"]})
    assert agent.is_quick(call("t", secret="a" * 60_000))


def test_a_schema_with_very_many_numbers_is_not_quick():
    """Comparing two of them exactly takes a microsecond."""

    def asking(numbers):
        schema = {"properties": {"p": {"enum": [number + 0.5 for number in range(numbers)]}}}
        return {"type": "parameter_schema", "tools": ["*"], "schema": schema}

    assert compiled(asking(10)).is_quick(call("t", p="x" * 1_000))
    assert not compiled(asking(1_000)).is_quick(call("t", p="x" * 1_000))


LARGEST = ".{1000}$"


@pytest.mark.parametrize("word", ["regex", "notRegex"])
def test_a_string_too_long_for_its_pattern_fails_closed(word):
    """A search cannot be interrupted, so its length is limited beforehand."""
    agent = compiled(constraint_of({"text": {word: LARGEST}}))

    def outcome(length):
        return decide(agent, call("t", text="\n" * length), 0).outcome

    assert (outcome(8 * 1024).result is Result.ALLOWED) is (word == "notRegex")
    assert "the pattern" in outcome(8 * 1024).reason or word == "notRegex"
    assert outcome(9_000).result is Result.DENIED
    assert outcome(9_000).reason.endswith("too long for its pattern, and for what a call's patterns may read in all")


def test_the_patterns_of_a_call_share_its_steps():
    """However the text is spread over parameters, elements and rules; the next call has all of them again."""
    half = MAX_SEARCH_STEPS // compile_regex(LARGEST).program_size // 2
    forbidden = constraint_of({"a": {"notRegex": LARGEST}, "b": {"notRegex": LARGEST}, "c": {"notRegex": LARGEST}})
    agent = compiled(forbidden, constraint_of({"each[*]": {"notRegex": "x"}}))

    def outcome(**parameters):
        return decide_at_length(agent, call("t", **{"a": "", "b": "", "c": "", "each": [], **parameters}), 0).outcome

    for _ in range(2):
        assert outcome(a="\n" * half, b="\n" * half).result is Result.ALLOWED
        third = outcome(a="\n" * half, b="\n" * half, c="\n" * half)
        assert (third.result, third.code) == (Result.DENIED, DecisionCode.PARAMETER_INVALID)
        assert third.reason.startswith('Parameter "c" is ')
        many = [*("\n" * 50 for _ in range(200)), "\n" * 10_000]
        assert outcome(each=many).result is Result.ALLOWED
    elements = compiled(constraint_of({"each[*]": {"notRegex": LARGEST}}))
    spread = decide_at_length(elements, call("t", each=["\n" * 4] * (half // 2 + 100)), 0).outcome
    assert spread.reason.endswith("contains more values than a call's patterns may read in all")


@pytest.mark.parametrize("pattern", ["^https://", "^[A-Z]\\d-?$", "^/v1/[^/]\\."])
def test_a_pattern_for_a_beginning_searches_a_text_of_any_length(pattern):
    """Its search ends with the beginning, so it costs nothing."""
    agent = compiled(constraint_of({"p": {"regex": pattern, "notRegex": "^data:"}}))
    assert compile_regex(pattern).steps_per_byte == 0
    text = "https://" + "a" * (1 << 20)
    expected = Result.ALLOWED if pattern == "^https://" else Result.DENIED
    assert decide_at_length(agent, call("t", p=text), 0).outcome.result is expected


@pytest.mark.parametrize(
    "pattern", ["https://", "^a*b", "^a|b", "^a{9}", "(?i)^a", "^(a)", "^[a-z]+$", "a^b", "^a\\pL"]
)
def test_other_patterns_count_every_byte(pattern):
    """What may read on is counted as if it did."""
    assert compile_regex(pattern).steps_per_byte == compile_regex(pattern).program_size


@pytest.mark.parametrize("word", ["when", "unless"])
def test_a_rule_whose_condition_cannot_be_judged_fails(word):
    """Its string is too long for the pattern: neither yes nor no, so the call is denied."""
    rule = constraint_of({"text": {"minLength": 1}}) | {word: {"parameters": {"text": {"regex": LARGEST}}}}
    outcome = decide(compiled(rule), call("t", text="\n" * 70_000), 0).outcome
    assert outcome.result is Result.DENIED
    assert f'this rule\'s "{word}" can judge' in outcome.reason


@pytest.mark.parametrize(
    "rule",
    [
        constraint("t", **{f"p{number}": LARGEST for number in range(9)}),
        constraint_of({"each[*]": {"regex": "x"}}),
        constraint_of({"t": {"minLength": 1}}) | {"when": {"parameters": {"each[*]": {"enum": ["x"]}}}},
        {"type": "parameter_schema", "tools": ["*"], "schema": {"type": "object"}},
    ],
    ids=["patterns", "elements", "when", "schema"],
)
def test_long_work_checks_whether_it_is_still_wanted(rule):
    """Between two searches, and before it goes through many values."""
    texts = {f"p{number}": "\n" * 100 for number in range(9)}
    agent, request = compiled(rule), call("t", each=["x"] * 1_000, **texts)
    with cancelled_when(lambda: True), pytest.raises(Cancelled):
        decide(agent, request, 0)
    decide(agent, request, 0)
