"""POST /v1/policies/test: the tests of policy files, run against what is in force or against drafts."""

import json

import pytest
from command_line import run_remit
from servers import clean_env
from tenants import tenant_on

tenant = tenant_on()
FREE = {"type": "tool_allowlist", "tools": ["*"]}


def limit(most):
    return {"type": "rate_limit", "tools": ["refund"], "rateLimit": {"maxCalls": most, "windowSeconds": 3600}}


def refund(want, times=2, **more):
    call = {"tool": "refund", "parameters": {"amount": 5}}
    return {"name": f"refund {want}", "before": [{**call, "times": times}], "call": {**call, **more}, "want": want}


@pytest.fixture
def policy(tenant):
    tenant.new_agent(alias="bot", groups=["crew"])
    body = {"agent_id": "bot", "name": "refunds", "rules": [FREE, limit(2)]}
    return tenant.admin.post("/v1/policies", json=body).json()


def run(tenant, *tests, **more):
    answer = tenant.reader.post("/v1/policies/test", json={"agent_id": "bot", "tests": list(tests), **more})
    assert answer.status_code == 200, answer.text
    return answer.json()


def refused(tenant, **body):
    answer = tenant.reader.post("/v1/policies/test", json={"agent_id": "bot", "tests": [refund("denied")], **body})
    assert answer.status_code == 400, answer.text
    return answer.json()["error"]["details"][0]["path"]


def test_tests_are_judged_by_what_is_in_force_and_count_nothing(tenant, policy):
    """The deciding rule is named; the agent's own limits stay as they are, and nothing is in the log."""
    found = run(tenant, refund("denied"), refund("allowed"), refund("allowed", at="61m"))
    assert (found["passed"], found["failed"]) == (2, 1)
    assert [each["passed"] for each in found["tests"]] == [True, False, True]
    reason = "Rate limit reached: 2 calls in 3600 s"
    assert found["tests"][0]["got"] == {
        "result": "denied", "policy": "refunds", "ruleIndex": 1, "ruleType": "rate_limit", "reason": reason,
        "at": "2026-11-20T12:00:00.000Z", "untimed": [],
    }  # fmt: skip
    assert "wanted allowed, but it is denied" in found["tests"][1]["problem"]
    assert tenant.log() == []
    assert tenant.authorize("bot", "refund")["allowed"]
    body = {"group": "crew", "kind": "guardrail", "name": "none", "rules": [{"type": "tool_denylist", "tools": ["*"]}]}
    assert tenant.admin.post("/v1/policies", json=body).status_code == 201
    assert run(tenant, refund("denied", times=1))["tests"][0]["got"]["policy"] == "none"


def test_drafts_replace_or_join_what_is_in_force(tenant, policy):
    """As with explain."""
    draft = {"id": policy["id"], "name": "refunds", "rules": [FREE, limit(3)]}
    assert run(tenant, refund("allowed"), policies=[draft])["failed"] == 0
    guard = {"name": "stop", "kind": "guardrail", "rules": [{"type": "tool_denylist", "tools": ["refund"]}]}
    assert run(tenant, refund("denied", times=1), policies=[guard])["tests"][0]["got"]["policy"] == "stop"
    assert refused(tenant, policies=[draft | {"id": "01931f2e-7a51-7cc0-9e55-3f6f6d1a2b01"}]) == "$.policies[0].id"
    assert tenant.admin.get(f"/v1/policies/{policy['id']}").json()["version"] == 1


def test_a_draft_reads_what_the_tests_calls_reported(tenant, policy):
    """What is reported in a test is stored nowhere, and its calls need no scope for it."""
    record = {"of": "order:{parameters.order}", "from": ["read"], "fields": {"status": {"enum": ["delivered"]}}}
    rule = {"type": "parameter_constraint", "tools": ["refund"], "record": record}
    guard = {"name": "delivered", "kind": "guardrail", "rules": [rule]}
    context = {"session": "s"}
    call = {"tool": "refund", "parameters": {"order": 7}, "context": context}
    read = {"tool": "read", "context": context, "records": {"order:7": {"status": "delivered"}}}
    tests = [
        {"name": "read", "before": [read], "call": call, "want": "allowed"},
        {"name": "unread", "call": call, "want": {"result": "denied", "policy": "delivered"}},
    ]
    assert run(tenant, *tests, policies=[guard])["failed"] == 0
    unnamed = [{**tests[0], "before": [read | {"context": {}}]}]
    assert refused(tenant, tests=unnamed) == "$.tests[0].before[0].records"


def test_tests_that_are_none_are_refused(tenant, policy):
    """Too many calls, times that no clock shows, fields that no test has; an agent that is not there is 404."""
    assert refused(tenant, tests=[]) == "$.tests"
    assert refused(tenant, tests=[refund("denied", times=5_000)] * 2 + [refund("denied")]) == "$.tests"
    assert refused(tenant, tests=[refund("denied", times=10_001)]) == "$.tests[0].before[0].times"
    assert refused(tenant, tests=[refund("denied", at="999999999d")]) == "$.tests[0].call"
    assert refused(tenant, tests=[refund("denied", at="0001-01-01T00:00:00Z")]) == "$.tests[0].call.at"
    assert refused(tenant, tests=[refund("denied", at="soon")]) == "$.tests[0].call.at"
    assert refused(tenant, tests=[refund("maybe")]) == "$.tests[0].want"
    assert refused(tenant, start="noon") == "$.start"
    assert refused(tenant, start="9999-12-31T23:59:59Z") == "$.tests[0].call"
    unknown = tenant.reader.post("/v1/policies/test", json={"agent_id": "nobody", "tests": [refund("denied")]})
    assert (unknown.status_code, unknown.json()["error"]["code"]) == (404, "AGENT_NOT_FOUND")


def test_a_deleted_agent_and_a_suspended_one(tenant, policy):
    """Tests judge policies, whatever the agent's status; without the agent there are none."""
    tenant.admin.patch("/v1/agents/bot", json={"status": "suspended"})
    assert run(tenant, refund("denied"))["failed"] == 0
    tenant.admin.delete("/v1/agents/bot")
    gone = tenant.reader.post("/v1/policies/test", json={"agent_id": "bot", "tests": [refund("denied")]})
    assert gone.status_code == 404


@pytest.mark.slow
def test_the_command_tests_what_is_in_force_at_a_service(tenant, policy, tmp_path):
    """The same file passes against its own policies and fails against those in force."""
    (tmp_path / "bot.yaml").write_text(
        json.dumps({"agent": "bot", "policies": [{"name": "p", "rules": [FREE, limit(9)]}]})
    )
    (tmp_path / "bot.test.yaml").write_text(json.dumps({"tests": [refund("allowed")]}))
    env = clean_env() | {"REMIT_API_KEY": tenant.read_key}
    local = run_remit(["policy", "test", str(tmp_path)], env)
    assert (local.returncode, local.stdout.splitlines()[-1]) == (0, "1 passed, 0 failed")
    served = run_remit(["policy", "test", str(tmp_path), "--url", tenant.replica.base_url], env)
    assert (served.returncode, served.stdout.splitlines()[-1]) == (3, "0 passed, 1 failed"), served
    assert 'by policy "refunds", rule 1 (rate_limit)' in served.stdout


def test_claims_are_judged_about_all_calls(tenant, policy):
    """By what is in force, or by drafts; a broken one names the call. Tests may be left out, but not both."""
    claim = {"name": "no", "call": {"tool": "refund"}, "result": "allowed"}
    body = {"agent_id": "bot", "never": [claim, claim | {"call": {"tool": "delete", "context": {"x": {"min": 1}}}}]}
    found = tenant.reader.post("/v1/policies/test", json=body).json()
    assert (found["passed"], found["failed"], found["tests"]) == (0, 0, [])
    assert [each["holds"] for each in found["never"]] == [False, False]
    assert found["never"][0]["broken_by"]["tool"] == "refund"
    none = {"name": "none", "kind": "guardrail", "rules": [{"type": "tool_denylist", "tools": ["*"]}]}
    held = tenant.reader.post("/v1/policies/test", json=body | {"policies": [none]}).json()["never"]
    assert [(each["holds"], each["because"]) for each in held] == [(True, []), (True, [])]
    neither = tenant.reader.post("/v1/policies/test", json={"agent_id": "bot"})
    assert neither.json()["error"]["details"][0]["path"] == "$.tests"
