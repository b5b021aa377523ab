"""The faults of a file: as many as can be told from one reading, each with its place."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.policy_tools.files.faults import faults
from app.policy_tools.files.policy_file import FileError, PolicySetFile, read_policy_file, read_policy_files
from app.policy_tools.files.test_file import read_test_file

FAULTY = """\
agent: bot
colour: red
policies:
- name: p
  priority: high
  rules:
  - {type: tool_allowlist, tools: [ok, a*b]}
  - {type: tool_grant, tools: [ok]}
  - {type: tool_grants, tools: [ok]}
- {name: q, rules: []}
- name: r
  kind: guardrail
  rules:
  - {type: tool_grant, tools: [ok]}
  - {type: tool_denylist, tools: [ok]}
  - {type: tool_grant, tools: [ok]}
- 5
"""
DENIES = {"type": "tool_denylist", "tools": ["rm"]}


def refused(read, path):
    """Where the file is refused: the lines and places, in the order of the message."""
    with pytest.raises(FileError) as error:
        read(path)
    return [tuple(line.removeprefix(f"{path}:").split(": ")[:2]) for line in str(error.value).splitlines()]


def test_each_faulty_policy_and_rule_is_named_in_the_order_of_the_file(tmp_path):
    """A policy's own fault hides none of its rules, and a rule that fits no policy of its kind none of the next."""
    path = tmp_path / "bot.yaml"
    path.write_text(FAULTY)
    assert refused(read_policy_file, path) == [
        ("2", "$.colour"),
        ("5", "$.policies[0].priority"),
        ("7", "$.policies[0].rules[0].tools[1]"),
        ("9", "$.policies[0].rules[2].type"),
        ("10", "$.policies[1].rules"),
        ("14", "$.policies[2].rules[0].type"),
        ("16", "$.policies[2].rules[2].type"),
        ("17", "$.policies[3]"),
    ]


def test_a_policy_that_its_owner_cannot_have_hides_no_other():
    """Here: a workspace has guardrails only."""
    policies = [{"name": name, "rules": [DENIES], **more} for name, more in (("a", {}), ("b", {"kind": "guardrail"}))]
    found = faults({"workspace": True, "policies": [*policies, policies[0]]}, PolicySetFile)
    assert [each.path for each in found] == ["$.policies[0].kind", "$.policies[2].kind"]


def test_what_no_part_has_alone_is_found_when_the_parts_are_right():
    """A fault of the whole is told only as far as it does not follow from those of the parts."""
    twice = [{"name": name, "key": "k", "rules": [DENIES]} for name in "ab"]
    [found] = faults({"agent": "a", "policies": twice}, PolicySetFile)
    assert found.path == "$.policies[1].key"
    [found] = faults({"agent": "a", "policies": [*twice, {"name": "c", "rules": []}]}, PolicySetFile)
    assert found.path == "$.policies[2].rules"


def test_each_faulty_test_and_earlier_call_is_named(tmp_path):
    """Also those of one test."""
    path = tmp_path / "bot.test.yaml"
    early = [{"tool": "a", "times": 0}, {"tool": "a"}, {"tool": "a", "every": "soon"}]
    tests = [{"name": "n", "call": {"tool": "a"}, "want": want, "before": early[1:2]} for want in ("no", "denied")]
    path.write_text(json.dumps({"tests": [tests[0], {**tests[1], "before": early}, tests[1]]}))
    places = ["$.tests[0].want", "$.tests[1].before[0].times", "$.tests[1].before[2].every"]
    assert [place for _, place in refused(read_test_file, path)] == places


def test_no_file_hides_the_faults_of_the_next(tmp_path):
    """Whatever it is that makes a file unusable."""
    texts = {"a.yaml": "agent: [\n", "b.yaml": "policies: []\n", "c.yaml": "agent: a\npolicies: []\n"}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    with pytest.raises(FileError) as error:
        read_policy_files(tmp_path / name for name in [*texts, "d.yaml"])
    lines = str(error.value).removeprefix(str(tmp_path)).split(f"\n{tmp_path}")
    assert [line.partition(":")[0] for line in lines] == ["/a.yaml", "/b.yaml", "/d.yaml"]


@given(st.lists(st.lists(st.sampled_from([None, {"tools": ["a*b"]}, {"type": "no"}]), min_size=1, max_size=4)))
def test_exactly_the_rules_that_are_faulty_are_named(policies):
    """Any policies, with any of their rules at fault."""
    written = [{"name": "p", "rules": [DENIES | (fault or {}) for fault in rules]} for rules in policies]
    wanted = [
        f"$.policies[{at}].rules[{place}]"
        for at, rules in enumerate(policies)
        for place, fault in enumerate(rules)
        if fault is not None
    ]
    found = faults({"agent": "a", "policies": written}, PolicySetFile)
    assert ["]".join(each.path.split("]")[:2]) + "]" for each in found] == wanted
