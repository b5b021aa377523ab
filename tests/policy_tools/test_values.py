"""Files of values: one set of policy files equals a set written by hand for each environment."""

import json

import msgspec
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from profiles import examples

from app.policy_tools.files.documents import Document
from app.policy_tools.files.file_warnings import lint_files
from app.policy_tools.files.policy_file import FileError, read_policy_file, read_values, require_used
from app.policy_tools.files.test_file import read_test_file
from app.policy_tools.files.test_run import run_tests
from app.policy_tools.files.values import filled, values_of

REFUNDS = """\
agent: refund-bot
policies:
  - name: refunds
    mode: {$value: mode}
    enabled: {$value: enabled}
    rules:
      - type: tool_grant
        tools: {$value: tools}
      - type: parameter_constraint
        tools: [refund.create]
        parameters:
          amount: {min: 0, max: {$value: max_refund}}
          currency: {enum: [EUR, {$value: second}]}
"""
ENVIRONMENTS = {
    "prod": {"mode": "enforce", "enabled": True, "tools": ["refund.create"], "max_refund": 500, "second": "CHF"},
    "dev": {"mode": "shadow", "enabled": False, "tools": ["refund.*", "*"], "max_refund": 5, "second": None},
}


def read(folder, text=REFUNDS, values=None):
    """The policy file with this text, with these values, as `remit policy` reads both."""
    (folder / "refunds.yaml").write_text(text)
    if values is None:
        return read_policy_file(folder / "refunds.yaml")
    (folder / "values").mkdir(exist_ok=True)
    (folder / "values/prod.yaml").write_text(values if isinstance(values, str) else yaml.safe_dump(values))
    known = read_values(folder / "values/prod.yaml")
    file = read_policy_file(folder / "refunds.yaml", known)
    require_used(known, [file])
    return file


def by_hand(values):
    """The file as somebody would have written it for this environment."""
    text = REFUNDS
    for name, value in values.items():
        text = text.replace(f"{{$value: {name}}}", json.dumps(value))
    assert "$value" not in text
    return text


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_an_environment_equals_a_set_written_by_hand(tmp_path, name):
    """In every field; scalars of any type and lists of them can differ."""
    values = ENVIRONMENTS[name]
    assert read(tmp_path, values=values).file == read(tmp_path, by_hand(values)).file


REFUSED = {
    "a value without a file of values": (
        None,
        REFUNDS,
        "refunds.yaml:4: {$value: mode} needs a file of values; name it with --values",
    ),
    "a value that is missing": (
        {name: value for name, value in ENVIRONMENTS["prod"].items() if name != "max_refund"},
        REFUNDS,
        'refunds.yaml:12: "max_refund" is not in ',
    ),
    "a value that nothing refers to": (
        yaml.safe_dump(ENVIRONMENTS["prod"]) + "max_refnd: 50\n",
        REFUNDS,
        'prod.yaml:7: none of the policy files refers to "max_refnd"; take it out',
    ),
    "a value of the wrong type": (
        ENVIRONMENTS["prod"] | {"max_refund": "many"},
        REFUNDS,
        'refunds.yaml:12: $.policies[0].rules[1].parameters.amount.max: must be a number, not "many" (the value is ',
    ),
    "a member of the wrong type": (
        ENVIRONMENTS["prod"] | {"tools": ["refund.*", 5]},
        REFUNDS,
        "refunds.yaml:8: $.policies[0].rules[0].tools[1]: must be",
    ),
    "a value that is an object": (
        ENVIRONMENTS["prod"] | {"max_refund": {"max": 5}},
        REFUNDS,
        '"max_refund" must be a scalar or a list of scalars',
    ),
    "a value in a list in a list": (ENVIRONMENTS["prod"] | {"tools": [["a"]]}, REFUNDS, '"tools" must be a scalar or'),
    "values that are no object": ("[1]", REFUNDS, "prod.yaml:1: must be an object of values by name"),
    "a reference with another field": (
        ENVIRONMENTS["prod"],
        REFUNDS.replace("{$value: max_refund}", "{$value: max_refund, if: prod}"),
        "refunds.yaml:12: a reference to a value is {$value: NAME} and has nothing else",
    ),
    "a reference to no name": (
        ENVIRONMENTS["prod"],
        REFUNDS.replace("{$value: max_refund}", "{$value: [max_refund]}"),
        "has nothing else",
    ),
    **{
        f"a reference for {what}": (ENVIRONMENTS["prod"], REFUNDS.replace(was, now), "may stand for a scalar or a list")
        for what, was, now in (
            ("the name of a policy", "name: refunds", "name: {$value: second}"),
            ("the type of a rule", "type: tool_grant", "type: {$value: second}"),
            ("the owner", "agent: refund-bot", "agent: {$value: second}"),
            ("a rule", "type: tool_grant\n        tools: {$value: tools}", "$value: tools"),
        )
    },
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_filled_in_is_refused_with_its_place(tmp_path, name):
    """File, line, and what would be right."""
    values, text, message = REFUSED[name]
    with pytest.raises(FileError) as refused:
        read(tmp_path, text, values)
    assert message in str(refused.value)


def test_a_reference_inside_a_string_is_a_string(tmp_path):
    """Nothing is put together from parts, so that a reader sees each name and pattern whole."""
    text = REFUNDS.replace("tools: [refund.create]", 'tools: ["refund.{$value: second}"]')
    assert read(tmp_path, text, ENVIRONMENTS["prod"]).file.policies[0].rules[1].tools == ["refund.{$value: second}"]


def test_lint_and_tests_see_the_values_of_the_environment(tmp_path):
    """A grant of every tool is warned about where it is one; a call is judged by the limit of its environment."""
    (tmp_path / "refunds.test.yaml").write_text("""\
tests:
  - {name: "500", call: {tool: refund.create, parameters: {amount: 500, currency: EUR}}, want: allowed}
""")
    tests = read_test_file(tmp_path / "refunds.test.yaml")
    for most, passed in ((500, True), (5, False)):
        file = read(tmp_path, values=ENVIRONMENTS["prod"] | {"max_refund": most, "second": "CHF"})
        [outcome] = run_tests(tests, read_values(tmp_path / "values/prod.yaml"))
        assert outcome.passed is passed
        assert lint_files([file]) == []
    everything = REFUNDS.partition("      - type: parameter_constraint")[0]
    values = {"mode": "enforce", "enabled": True, "tools": ["*"]}
    [warning] = lint_files([read(tmp_path, everything, values)])
    assert (warning.code, warning.line) == ("allows_everything", 8)
    with pytest.raises(FileError, match="needs a file of values"):
        list(run_tests(tests))


names = st.sampled_from(["a", "b", "c"])
scalars = st.none() | st.booleans() | st.integers() | st.text(max_size=3)
references = names.map(lambda name: {"$value": name})
trees = st.recursive(
    scalars | references, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3)
)


@settings(max_examples=examples(300))
@given(trees, st.fixed_dictionaries({name: scalars | st.lists(scalars, max_size=2) for name in "abc"}))
def test_filling_in_equals_replacing_each_reference(tree, values):
    """By a reading of the JSON as text; nothing else of the document changes."""
    held = {"policies": [{"rules": [{"parameters": {"x": tree}}]}]}
    done = filled(Document(held, {}), values_of("values.yaml", Document(values, {})))
    text = msgspec.json.encode(held).decode()
    for name, value in values.items():
        text = text.replace(f'{{"$value":"{name}"}}', msgspec.json.encode(value).decode())
    assert done.document.value == msgspec.json.decode(text)
