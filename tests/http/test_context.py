"""`context`: facts that the caller vouches for; bounded, judged, and logged with secrets redacted."""

import csv
import io

import pytest

RULE = {
    "type": "parameter_constraint",
    "tools": ["*"],
    "parameters": {"user_id": {"equals": {"context": "user.id"}}},
    "context": {"environment": {"enum": ["test"]}},
}
CONTEXT = {"user": {"id": "u1", "token": "hunter2"}, "environment": "test"}


@pytest.fixture
def agent(tenant):
    return tenant.admin.post("/v1/agents", json={"name": "a"}).json()


@pytest.fixture
def ask(tenant, agent):
    """Ask about a call of an agent whose calls must be for the user that the context names."""
    body = {"agent_id": agent["id"], "name": "own data", "rules": [RULE]}
    assert tenant.admin.post("/v1/policies", json=body).status_code == 201

    def asking(**fields):
        call = {"agent_id": agent["id"], "tool_name": "read", "parameters": {"user_id": "u1"}} | fields
        return tenant.reader.post("/v1/authorize", json=call)

    return asking


def test_a_rule_reads_what_the_caller_vouches_for(ask):
    """It fails if the value is missing or does not fit."""
    assert ask(context=CONTEXT).json()["allowed"]
    assert ask(context=CONTEXT | {"environment": "live"}).json()["reason"].startswith('Context "environment" is "live"')
    other = ask(context=CONTEXT | {"user": {"id": "u2"}}).json()
    assert other["reason"] == 'Parameter "user_id" is "u1", not equal to context "user.id"'
    assert not ask().json()["allowed"]


def test_the_entry_keeps_the_context_without_its_secrets(ask, tenant, agent):
    """In queries, exports and the stream; without a context, the entry has no such field."""
    ask(context=CONTEXT)
    ask(context={})
    ask()
    kept = {"user": {"id": "u1", "token": "[REDACTED]"}, "environment": "test"}
    kept_json = '{"user":{"id":"u1","token":"[REDACTED]"},"environment":"test"}'
    found = tenant.reader.get("/v1/audit-logs", params={"agent_id": agent["id"]}).json()
    assert [entry.get("context") for entry in found] == [None, None, kept]
    assert ["context" in entry for entry in found] == [False, False, True]
    exported = tenant.admin.get("/v1/audit-logs/export", params={"format": "csv"}).text
    rows = [row for row in csv.DictReader(io.StringIO(exported)) if row["agentId"] == agent["id"]]
    assert [row["context"] for row in rows] == [kept_json, "", ""]
    assert "hunter2" not in exported


@pytest.mark.parametrize(
    ("context", "status", "said"),
    [
        ("text", 400, "must be an object, not"),
        ([], 400, "must be an object, not"),
        (None, 400, "must be an object, not"),
        ({"a": "x" * 16 * 1024}, 413, "at most 16384 are taken"),
        ({"a": {"a": {"a": {"a": {"a": {"a": {"a": {"a": 1}}}}}}}}, 200, None),
        ({"a": {"a": {"a": {"a": {"a": {"a": {"a": {"a": {}}}}}}}}}, 400, "nested more than 8 levels deep"),
        ({"a": [[[[[[[[]]]]]]]]}, 400, "nested more than 8 levels deep"),
    ],
)
def test_a_context_is_a_small_object(ask, context, status, said):
    """16 KiB as JSON, 8 levels with itself."""
    answer = ask(context=context)
    assert answer.status_code == status, answer.text
    assert said is None or said in answer.text


def test_the_same_idempotency_key_with_another_context_is_another_request(ask, tenant, agent):
    """The context is part of the request."""
    body = {"agent_id": agent["id"], "tool_name": "read", "parameters": {"user_id": "u1"}, "context": CONTEXT}
    headers = {"Idempotency-Key": "k"}
    assert tenant.reader.post("/v1/authorize", json=body, headers=headers).status_code == 200
    assert tenant.reader.post("/v1/authorize", json=body, headers=headers).status_code == 200
    changed = body | {"context": CONTEXT | {"environment": "live"}}
    assert tenant.reader.post("/v1/authorize", json=changed, headers=headers).status_code == 409
