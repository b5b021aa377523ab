"""People see where the values of a call come from: over the API, on the terminal and in Slack."""

from approval_steps import approve
from command_line import run_remit
from servers import clean_env

from app.webhooks.slack import slack_message

RULES = (
    {"type": "tool_allowlist", "tools": ["send"]},
    {
        "type": "parameter_constraint",
        "tools": ["send"],
        "parameters": {"to[*]": {"approvedBefore": {"withinSeconds": 3600}}, "body": {"fromRequest": "text"}},
        "effect": "escalate",
    },
)
CALL = {"to": ["ann@example.com"], "subject": "Minutes", "body": "See https://evil.com/ now"}
CONTEXT = {"request": "Send them the minutes, please"}


def test_people_see_where_each_value_comes_from(tenant, person, replicas):
    """The marks are those of the time when the call was asked about."""
    agent_id = tenant.new_agent()["id"]
    tenant.new_policy(agent_id, *RULES)
    asked = tenant.authorize(agent_id, "send", parameters=CALL, context=CONTEXT)
    first = person.get(f"/v1/approvals/{asked['approval']['id']}").json()
    wanted = [
        {"path": "to[0]", "origin": "unverified"},
        {"path": "subject", "origin": "request"},
        {"path": "body", "origin": "unverified", "notInRequest": ["https://evil.com/"]},
    ]
    assert first["values"] == wanted
    approve(person, first["id"])
    assert tenant.authorize(agent_id, "send", parameters=CALL, context=CONTEXT)["result"] == "allowed"

    again = tenant.authorize(agent_id, "send", parameters=CALL | {"n": 1}, context=CONTEXT)
    shown = person.get(f"/v1/approvals/{again['approval']['id']}").json()
    wanted[0]["origin"] = "approved_before"
    assert shown["values"] == [*wanted, {"path": "n", "origin": "unverified"}]
    other = tenant.authorize(agent_id, "send", parameters=CALL | {"to": ["ann@example.com", "eve@y.com"]})
    values = person.get(f"/v1/approvals/{other['approval']['id']}").json()["values"]
    assert {each["origin"] for each in values} == {"unverified"}, "one element is unknown, and there is no request"

    env = clean_env() | {
        "REMIT_API_KEY": person.headers["Authorization"].split()[1],
        "REMIT_URL": f"http://127.0.0.1:{replicas[0].port}",
    }
    printed = run_remit(["approvals", "show", shown["id"]], env).stdout
    assert "  to[0]: approved before\n  subject: the user's request\n  body: unverified\n" in printed
    assert "    not in the request: https://evil.com/\n" in printed
    message = str(slack_message("approval.requested", {"approval": shown}))
    assert "subject: the user's request" in message
    assert "body: unverified; not in the request: https://evil.com" in message
