"""Claims about all calls: a claim that holds is attacked with random calls; one that does not is broken by a real call.

EXAMPLES=100000 pytest tests/policy_tools/test_claims.py attacks for longer.
"""

import json
import random
from pathlib import Path

import msgspec
import pytest
from pdp_and_mirror import policy_of
from profiles import examples
from test_complete_meaning import AGENT, result, some_call

from app.model.claims import Claim
from app.model.decisions import AuthorizeRequest
from app.model.plans import Quota
from app.pdp import compile_agent, decide
from app.policy_tools.compare.bounds import bounds_of
from app.policy_tools.compare.claims import judge_claim
from app.policy_tools.compare.combinations import Effort
from app.policy_tools.files.test_file import read_test_file
from app.policy_tools.files.test_run import run_tests

EXAMPLES = Path(__file__).parents[2] / "examples"
RULES = [
    {"type": "tool_grant", "tools": ["read"]},
    {"type": "parameter_constraint", "tools": ["pay"], "parameters": {"x": {"max": 2}, "l[*]": {"regex": "^a"}}},
    {
        "type": "approval_required",
        "tools": ["pay"],
        "unless": {"context": {"c": {"enum": ["a"]}}, "ifMissing": "apply"},
    },
    {"type": "rate_limit", "tools": ["pay"], "rateLimit": {"maxCalls": 1, "windowSeconds": 60}},
    {"type": "sequence", "tools": ["pay"], "sequence": {"requiresBefore": ["read"]}, "effect": "escalate"},
]


def policies_of(rules):
    frame = {"priority": 0, "enabled": True, "kind": "grant", "mode": "enforce", "createdAt": 0}
    return [policy_of({**frame, "id": "p", "name": "p", "rules": rules})]


def claimed(rules, tool, results, **values):
    claim = {"name": "n", "call": {"tool": tool, **values}, "result": results}
    return judge_claim(policies_of(rules), msgspec.convert(claim, Claim))


HOLD = {
    "a bound": ("pay", ["allowed", "escalated"], {"parameters": {"x": {"above": 2}}}),
    "another type": ("pay", ["allowed", "escalated"], {"parameters": {"x": {"type": ["string", "null"]}}}),
    "who does not say a": ("pay", ["allowed"], {"context": {"c": {"notEnum": ["a"]}}}),
    "nobody without a value": ("pay", ["allowed", "escalated"], {"parameters": {"x": {"absent": True}}}),
    "no other tool": ("write*", ["allowed", "escalated"], {}),
}


@pytest.mark.parametrize("name", HOLD)
def test_a_claim_that_holds_is_broken_by_no_random_call(name):
    """Of any shape, at any time, with limits free and full, with and without a session and its past."""
    tool, results, values = HOLD[name]
    found = claimed(RULES, tool, results, **values)
    assert (found.holds, found.broken_by, found.because, found.in_words) == (True, None, [], "holds")
    claim = [{"type": "parameter_constraint" if values else "tool_grant", "tools": [tool], **values}]
    agent, about = (compile_agent(AGENT, policies_of(rules), lambda _: False) for rules in (RULES, claim))
    draw = random.Random(name)
    meant = 0
    for _ in range(ATTACKS):
        parameters, context, at_us = some_call(draw)
        request = AuthorizeRequest("agent", tool.replace("*", "x"), "authorize", parameters, b"", context=context)
        if decide(about, request, at_us).outcome.result == "allowed":
            meant += 1
            plan = decide(agent, request, at_us, "key")
            full = {(each.fingerprint, each.bucket) for each in plan.quotas if isinstance(each, Quota)}
            for is_full in (set(), full):
                for was_called in (True, False):
                    assert result(plan, is_full, was_called) not in results, (parameters, context)
    assert meant


ATTACKS = examples(3000)


def test_a_claim_that_does_not_hold_is_broken_by_a_call():
    """The smallest that was found, with what has to be full for it."""
    found = claimed(RULES, "pay", "allowed")
    assert (found.holds, found.broken_by.tool, found.broken_by.parameters) == (False, "pay", {"x": 2, "l": ["a"]})
    assert found.broken_by.context["c"] == "a"
    spent = claimed(RULES[:1] + RULES[3:4], "pay", "denied")
    assert spent.broken_by.limits == ["Rate limit reached: 1 call in 60 s"]


def test_a_claim_that_is_no_proof_says_so_and_fails_only_where_that_is_asked_for():
    """What a path means is tried: nothing is claimed to hold."""
    path = [{"type": "parameter_constraint", "tools": ["t"], "parameters": {"f": {"path": {"under": ["/a"]}}}}]
    found = claimed(path, "t", "allowed", parameters={"f": {"path": {"under": ["/b"]}}})
    assert (found.holds, found.broken_by) == (None, None)
    assert found.in_words.endswith('calls, not a proof: "f" is compared by meaning')


def test_claims_stand_beside_tests_in_a_file(tmp_path):
    """With their lines; a broken one is a problem, one that is not proved is none."""
    (tmp_path / "bot.yaml").write_text(json.dumps({"agent": "bot", "policies": [{"name": "p", "rules": RULES}]}))
    claims = [
        {"name": "holds", "call": {"tool": "delete"}, "result": "allowed"},
        {"name": "broken", "call": {"tool": "read"}, "result": ["allowed"]},
    ]
    path = tmp_path / "bot.test.json"
    path.write_text(json.dumps({"never": claims}, indent=1))
    holds, broken = run_tests(read_test_file(path))
    assert (holds.passed, holds.claim, holds.is_proved) == (True, "holds", True)
    assert (broken.passed, broken.line) == (False, 10)
    assert broken.problem == 'broken by read {}: allowed: Policy "p" allows "read"'


def test_bounds_say_what_calls_can_get_and_which_rules_are_idle():
    """Never and any only where that is proved."""
    idle = {"type": "parameter_constraint", "tools": ["pay"], "parameters": {"x": {"max": 3}}}
    before = {"f": {"approvedBefore": {"withinSeconds": 9}}}
    odd = {"type": "parameter_constraint", "tools": ["odd"], "parameters": before, "effect": "escalate"}
    found = bounds_of(policies_of([*RULES, idle, odd]), lambda _: False)
    assert {each.tool: each.calls for each in found.tools} == {
        "read": "any", "pay": "bounded", "odd": "bounded", "any_other_tool": "never",
    }  # fmt: skip
    assert [(each.rule_index, each.rule_type) for each in found.idle_rules] == [(5, "parameter_constraint")]
    assert {each.tool for each in found.because} == {"odd"}
    [pay] = [each for each in found.tools if each.tool == "pay"]
    assert [each.result for each in pay.examples] == ["allowed", "escalated", "denied"]
    assert 'parameter "x" is at most 2' in pay.bounds[0].text
    given_up = bounds_of(policies_of(RULES), lambda _: False, Effort(states=0))
    assert {each.tool: each.calls for each in given_up.tools}["pay"] == "undecided"
    assert not given_up.complete
