"""Keys that are a session: their calls are in one session, whatever the requests say."""

import pytest

AFTER_MAIL = {"type": "sequence", "tools": ["pay"], "sequence": {"forbiddenAfter": ["mail"]}}
FREE = {"type": "tool_allowlist", "tools": ["*"]}


@pytest.fixture(scope="module")
def agent_id(tenant):
    agent_id = tenant.new_agent()["id"]
    tenant.new_policy(agent_id, FREE)
    tenant.new_policy(agent_id, AFTER_MAIL, kind="guardrail")
    return agent_id


@pytest.fixture
def ask(tenant, agent_id):
    """Asks with a new key of its own; each call gives its result."""
    made = tenant.new_key(["authorize"], sessionFrom="key")
    assert made["sessionFrom"] == "key"

    def ask(tool, **fields):
        body = {"agent_id": agent_id, "tool_name": tool, **fields}
        with tenant.replica.client(made["key"]) as client:
            return client.post("/v1/authorize", json=body).json()["result"]

    ask.key_id = made["id"]
    return ask


def test_a_key_that_is_a_session_cannot_begin_another(ask):
    """Nor can it keep calls from being remembered."""
    assert ask("pay") == "allowed"
    assert ask("mail", context={"session": "elsewhere"}) == "allowed"
    for context in ({"session": "new"}, {"session": 7}, {}, {"user": "u"}):
        assert ask("pay", context=context) == "denied"


def test_two_keys_are_two_sessions(ask, tenant, agent_id):
    """No other key can be in this one's session: its name is reserved."""
    assert tenant.authorize(agent_id, "mail", context={"session": ask.key_id})["result"] == "allowed"
    call = {"agent_id": agent_id, "tool_name": "mail", "context": {"session": f"key:{ask.key_id}"}}
    refused = tenant.reader.post("/v1/authorize", json=call)
    assert (refused.status_code, refused.json()["error"]["details"][0]["path"]) == (400, "$.context.session")
    assert ask("pay") == "allowed"
    assert ask("mail") == "allowed"
    assert tenant.authorize(agent_id, "pay", context={"session": "s"})["result"] == "allowed"
    assert ask("pay") == "denied"


@pytest.mark.parametrize("path", ["/v1/explain", "/v1/hooks/claude-code"])
def test_no_other_way_leads_into_a_key_session(ask, tenant, agent_id, path):
    """Every way to name a session is refused alike."""
    session = f"key:{ask.key_id}"
    bodies = {
        "/v1/explain": {"agent_id": agent_id, "tool_name": "mail", "context": {"session": session}},
        "/v1/hooks/claude-code": {
            "hook_event_name": "PreToolUse", "tool_name": "mail", "tool_input": {}, "session_id": session, "cwd": "/",
        },
    }  # fmt: skip
    answer = tenant.reader.post(path, json=bodies[path], headers={"X-Remit-Agent": agent_id})
    assert "must not begin with `key:`" in answer.text
    assert ask("pay") == "allowed"


def test_policies_and_log_see_the_key_as_the_session(ask, tenant, agent_id):
    """Whatever the call says; the rest of its context stays, with secrets redacted."""
    only = {"type": "parameter_constraint", "tools": ["read"], "context": {"session": {"enum": [f"key:{ask.key_id}"]}}}
    tenant.new_policy(agent_id, only, kind="guardrail")
    assert ask("read", context={"session": "x", "user": "u", "password": "p"}) == "allowed"
    assert tenant.authorize(agent_id, "read", context={"session": "x"})["result"] == "denied"
    [entry] = tenant.log(toolName="read", result="allowed")
    assert entry["context"] == {"session": f"key:{ask.key_id}", "user": "u", "password": "[REDACTED]"}


@pytest.mark.parametrize("scopes", [["read"], ["admin"], ["authorize", "read"], ["audit"]], ids=str)
def test_a_key_session_requires_the_scope_authorize_alone(tenant, scopes):
    """Keys with other scopes may ask in any session."""
    body = {"name": "k", "scopes": scopes, "sessionFrom": "key"}
    refused = tenant.admin.post("/v1/api-keys", json=body)
    assert refused.status_code == 400
    assert refused.json()["error"]["details"][0]["path"] == "$.sessionFrom"


def test_lists_and_the_trail_show_key_sessions(tenant):
    """Wherever keys are shown."""
    made = tenant.new_key(["authorize"], session_from="key")
    shown = next(each for each in tenant.admin.get("/v1/api-keys").json() if each["id"] == made["id"])
    assert shown["sessionFrom"] == "key"
    [change] = tenant.admin.get("/v1/changes", params={"resourceId": made["id"]}).json()
    assert change["after"]["sessionFrom"] == "key"
