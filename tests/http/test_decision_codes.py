"""docs/decision-codes.md, row by row: the policies that lead to each decision, and its code."""

import re
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest
from servers import Replica
from tenants import Tenant

from app.model.decision_codes import DecisionCode, NextAction, next_action
from app.model.decisions import Result
from app.model.marks import TOO_MANY_SESSIONS
from app.model.rules import PolicyRule, recorded_code, usual_code

PAGE = (Path(__file__).parents[2] / "docs/decision-codes.md").read_text()
ROWS = re.findall(r"^\| `(\w+)` \| (\w+) \| (.+?) \| `(\w+)` \| (.+?) \|$", PAGE, re.MULTILINE)
ALLOW = {"type": "tool_allowlist", "tools": ["t"]}
ASK = {"type": "approval_required", "tools": ["t"]}
DENY = {"type": "tool_denylist", "tools": ["t"]}
CALL = {"tool_name": "t", "parameters": {"amount": 3}}


def limit(**fields):
    return {"type": "rate_limit", "tools": ["t"], "rateLimit": {"maxCalls": 1, "windowSeconds": 600}, **fields}


def budget(most):
    return {"type": "budget", "tools": ["t"], "budget": {"parameter": "amount", "max": most, "windowSeconds": 600}}


def constraint(**fields):
    return {"type": "parameter_constraint", "tools": ["t"], "parameters": {"amount": {"max": 1}}, **fields}


NOT_TODAY = (datetime.now(UTC).isoweekday() + 3) % 7
HOURS = {"type": "time_based", "tools": ["t"], "timeWindow": {"allowedHours": [0], "allowedDays": [NOT_TODAY]}}
AFTER = {"type": "sequence", "tools": ["t"], "sequence": {"forbiddenAfter": ["mail.read"]}}
SCHEMA = {"type": "parameter_schema", "tools": ["t"], "schema": {"required": ["to"]}}
MADE = {
    "The call may be made.": [[ALLOW]],
    "A person must be asked, whichever rule wants it.": [[ASK], [constraint(effect="escalate")]],
    "No policy matches the call.": [[]],
    "The tool is on a denylist.": [[DENY]],
    "The tool is not on the allowlist.": [[{"type": "tool_allowlist", "tools": ["other"]}]],
    "A value of the parameters": [
        [constraint()],
        [{"type": "budget", "tools": ["t"], "budget": {"parameter": "to", "max": 1, "windowSeconds": 60}}],
        [{**DENY, "when": {"parameters": {"other": {"min": 1}}}}],
    ],
    "The parameters do not fit the schema.": [[SCHEMA]],
    "A rate limit has no room.": [[limit()]],
    "The amount does not fit into what is left.": [[budget(5)]],
    "The amount fits into no budget": [[budget(2)]],
    "A rate limit has no room, and with room": [[limit(), DENY]],
    "The time window is closed.": [[HOURS]],
}
"""By how a row begins: the rules of a policy that make it, of which every call but the first is of that row."""


@pytest.mark.parametrize(
    "row", [row for row in ROWS if any(row[2].startswith(begins) for begins in MADE)], ids=" ".join
)
def test_a_decision_is_as_its_row_says(tenant, row):
    """The answer, and the entry from which its code follows."""
    code, result, when, action, retry = row
    begins = max((each for each in MADE if when.startswith(each)), key=len)
    for rules in MADE[begins]:
        agent = tenant.new_agent()["id"]
        if rules and rules[-1] is DENY and rules[0] is not DENY:  # a lower place in one tier, so that both are asked
            tenant.new_policy(agent, ALLOW, rules[0])
            tenant.authorize(agent, tool="t", parameters=CALL["parameters"])
            tenant.new_policy(agent, DENY)
        elif rules:
            tenant.new_policy(agent, *rules)
        for _ in range(2):
            answer = tenant.authorize(agent, "t", parameters=CALL["parameters"])
        assert (answer["code"], answer["result"], answer["nextAction"]) == (code, result, action)
        assert (answer["retryAfterSeconds"] is not None) == (retry == "set")
        assert tenant.reader.get(f"/v1/audit-logs/{answer['id']}").json()["code"] == code
        assert tenant.log(agent_id=agent, limit=1)[0]["code"] == code


def test_a_full_limit_that_asks_says_how_long_it_is_full(tenant):
    """It is escalated: a person can be asked, or the agent can wait."""
    agent = tenant.new_agent()["id"]
    tenant.new_policy(agent, limit(effect="escalate"))
    answers = [tenant.authorize(agent, "t") for _ in range(2)]
    assert [each["code"] for each in answers] == ["allowed", "approval_required"]
    assert answers[1]["nextAction"] == "request_approval"
    assert answers[1]["retryAfterSeconds"] > 0


@pytest.mark.parametrize("status", ["suspended", "revoked"])
def test_an_agent_that_is_not_active_says_so(tenant, status):
    agent = tenant.new_agent()["id"]
    tenant.admin.patch(f"/v1/agents/{agent}", json={"status": status})
    answer = tenant.authorize(agent)
    assert (answer["code"], answer["nextAction"]) == (f"agent_{status}", "none")
    assert (f"agent_{status}", "denied") in {row[:2] for row in ROWS}


@pytest.mark.slow
def test_with_too_many_open_approvals_a_call_can_be_tried_later(store):
    """Nobody can be asked now, so the next action is to retry."""
    replica = Replica(store.url, REMIT_SECRET="0123456789abcdef" * 2, REMIT_APPROVALS_PER_AGENT_MAX="1")
    made = Tenant(store.url, replica)
    agent = made.new_agent()["id"]
    made.new_policy(agent, ASK)
    answers = [made.authorize(agent, "t", parameters={"n": number}) for number in range(2)]
    assert [each["code"] for each in answers] == ["approval_required", "approvals_full"]
    assert (answers[1]["result"], answers[1]["nextAction"]) == ("denied", "retry")
    assert made.log(agent_id=agent, limit=1)[0]["code"] == "approvals_full"
    made.close()
    replica.stop()


def test_every_code_has_its_row_and_every_action_is_one():
    """A code missing from the page, or a row without a code, fails here."""
    others = {"rule_failed"}
    assert {row[0] for row in ROWS} | others == set(DecisionCode)
    assert all(f"`{name}`" in PAGE for name in others)
    assert {row[3] for row in ROWS} == set(NextAction)


def test_every_type_of_rule_has_its_code():
    """Otherwise a new type would only get the general code for failed rules."""
    for kind in msgspec.inspect.type_info(PolicyRule).types:
        code = usual_code(Result.DENIED, kind.cls.__struct_config__.tag)
        assert code is not DecisionCode.RULE_FAILED, kind.cls
    assert usual_code(Result.DENIED, "of another release") is DecisionCode.RULE_FAILED
    assert recorded_code(Result.DENIED, None, "of_another_release") is DecisionCode.RULE_FAILED
    assert next_action(DecisionCode.RULE_FAILED, waiting_helps=False) is NextAction.NONE


def test_a_policys_message_reaches_the_agent_unless_the_call_is_allowed(tenant):
    """In addition to the reason; the log has only the reason, and an allowed call gets no message."""
    agent = tenant.new_agent()["id"]
    said = "Refunds above 1 go to a colleague.\nSay so."
    policy = tenant.new_policy(agent, constraint(), agentMessage=said)
    assert policy["agentMessage"] == said
    denied = tenant.authorize(agent, "t", parameters={"amount": 3})
    allowed = tenant.authorize(agent, "t", parameters={"amount": 1})
    assert (denied["agentMessage"], "agentMessage" in allowed) == (said, False)
    assert "colleague" not in denied["reason"]
    assert "colleague" not in str(tenant.log(agent_id=agent))
    hook = {"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": "t", "tool_input": {"amount": 3}}
    answer = tenant.reader.post("/v1/hooks/claude-code", json=hook, headers={"X-Remit-Agent": agent}).json()
    assert answer["hookSpecificOutput"]["permissionDecisionReason"] == said

    changed = tenant.admin.patch(f"/v1/policies/{policy['id']}", json={"agent_message": None}).json()
    assert changed["agentMessage"] is None
    assert "agentMessage" not in tenant.authorize(agent, "t", parameters={"amount": 3})
    set_ = [{"name": "p", "rules": [constraint()], "agentMessage": "Again."}]
    tenant.admin.put(f"/v1/agents/{agent}/policies", params={"prune": "true"}, json={"policies": set_})
    headers = {"Idempotency-Key": "once"}
    body = {"agent_id": agent, "tool_name": "t", "parameters": {"amount": 3}}
    answers = [tenant.reader.post("/v1/authorize", json=body, headers=headers).json() for _ in range(2)]
    assert answers[0] == answers[1]
    assert answers[0]["agentMessage"] == "Again."


@pytest.mark.parametrize("message", ["", "x" * 501, "\u202e", f"svc_{'0' * 32}"])
def test_a_message_with_hidden_characters_is_refused(tenant, message):
    agent = tenant.new_agent()["id"]
    body = {"agent_id": agent, "name": "p", "rules": [DENY], "agentMessage": message}
    answer = tenant.admin.post("/v1/policies", json=body)
    assert (answer.status_code, answer.json()["error"]["details"][0]["path"]) == (400, "$.agent_message")


def test_a_call_forbidden_after_another_one_says_so(tenant):
    """Within the session; other sessions are not affected."""
    agent = tenant.new_agent()["id"]
    tenant.new_policy(agent, {"type": "tool_allowlist", "tools": ["t", "mail.read"]}, AFTER)
    context = {"session": "s"}
    assert tenant.authorize(agent, "mail.read", context=context)["code"] == "allowed"
    answer = tenant.authorize(agent, "t", context=context)
    assert (answer["code"], answer["nextAction"]) == ("sequence_forbidden", "retry")
    assert answer["retryAfterSeconds"] > 0
    assert tenant.authorize(agent, "t", context={"session": "other"})["code"] == "allowed"
    assert TOO_MANY_SESSIONS.code is DecisionCode.SEQUENCE_FORBIDDEN
    assert next_action(TOO_MANY_SESSIONS.code, waiting_helps=True) is NextAction.RETRY
