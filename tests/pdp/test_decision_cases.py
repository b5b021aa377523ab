"""Every row and sentence of docs/semantics.md, as data: judged by the decision point and by its mirror."""

import json

import pytest
from case_files import Case, all_cases
from msgspec import UNSET
from pdp_and_mirror import PdpAndMirror, owner_of

from app.errors import Invalid
from app.http.api.policies import CreatePolicy
from app.http.bodies import decode_body

CASES = all_cases()
AGENT_ID = "01980000-0000-7000-8000-000000000000"


def with_calls(cases: list[Case]) -> list[Case]:
    return [case for case in cases if case.refused is None]


def pdp_and_mirror_of(case: Case) -> PdpAndMirror:
    """The case's agent; its policies have their names as ids, and their positions as ages."""
    numbered = [body | {"id": body["name"], "createdAt": age} for age, body in enumerate(case.policies)]
    return PdpAndMirror(numbered, case.agent.get("status", "active"), case.agent.get("groups", ()))


@pytest.mark.parametrize("case", with_calls(CASES), ids=lambda case: case.name)
def test_each_case_is_decided_as_it_says(case):
    """Both evaluators give the expected result, policy, rule and, if the case has them, reason and wait."""
    sides = pdp_and_mirror_of(case)
    for number, call in enumerate(case.calls):
        for edit in call.edits:
            sides.patch(edit.policy, edit.patch)
        if call.resumed:
            sides.resume()
        for full in call.full:
            sides.fill(full.policy, full.rule, call.now_us)
        arguments = (call.tool_name, call.parameters, call.now_us, call.context)

        answer, outcome = sides.judge(*arguments)
        by_mirror = sides.judge_by_mirror(*arguments)

        wanted, where = call.wanted, f"call {number}"
        assert (answer.result, answer.policy) == (wanted.result, wanted.policy), where
        if wanted.rule is None:
            assert outcome.rule is None, where
        else:
            assert (outcome.rule.index, outcome.rule.type) == (wanted.rule.index, wanted.rule.type), where
        if wanted.reason:
            assert outcome.reason == wanted.reason, where
        if wanted.retry_after_seconds is not UNSET:
            assert answer.retry_us == wanted.retry_us, where
        assert by_mirror == answer, where
        shadow = wanted.shadow and (wanted.shadow.result, wanted.shadow.policy, wanted.shadow.rule.index)
        assert sides.divergence == sides.mirror_divergence == shadow, where
        sides.report(call.tool_name, call.reported, call.now_us, call.context)


@pytest.mark.parametrize("case", [case for case in CASES if case.refused], ids=lambda case: case.name)
def test_each_case_is_refused_as_it_says(case):
    """The last policy is a validation error at the expected path; the earlier ones are accepted."""
    *accepted, body = [json.dumps(policy | owner_of(policy, AGENT_ID)).encode() for policy in case.policies]
    for each in accepted:
        decode_body(each, CreatePolicy)

    with pytest.raises(Invalid) as refused:
        decode_body(body, CreatePolicy)

    [detail] = refused.value.details
    assert detail.path == case.refused.path
    assert case.refused.message in detail.message


def test_every_policy_of_a_decided_case_is_accepted_by_the_api():
    """Because a case shows how the service decides."""
    for case in with_calls(CASES):
        for policy in [
            *case.policies,
            *(edit.patch for call in case.calls for edit in call.edits if "rules" in edit.patch),
        ]:
            decode_body(json.dumps({"name": "n"} | policy | owner_of(policy, AGENT_ID)).encode(), CreatePolicy)


def test_cases_have_names_of_their_own():
    """Because docs/semantics.md refers to cases by name."""
    names = [case.name for case in CASES]
    assert sorted(set(names)) == sorted(names)


def test_a_case_either_decides_or_is_refused():
    """A case that did neither would show nothing."""
    assert [case.name for case in CASES if bool(case.calls) == bool(case.refused)] == []
