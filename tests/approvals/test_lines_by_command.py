"""People see what a shell line runs, command by command: over the API, on the terminal and in Slack."""

from command_line import run_remit
from servers import clean_env

from app.webhooks.slack import slack_message

RULES = (
    {"type": "tool_allowlist", "tools": ["Bash"]},
    {
        "type": "parameter_constraint",
        "tools": ["Bash"],
        "effect": "escalate",
        "parameters": {
            "command": {
                "command": {
                    "root": {"context": "project"},
                    "allow": [{"run": ["ls", "cat"], "flags": "usual", "paths": "inside"}],
                }
            }
        },
    },
)
CONTEXT = {"cwd": "/w/shop", "project": "/w/shop"}


def test_people_see_each_command_and_why_it_does_not_pass(tenant, person, replicas):
    """Secrets are redacted as in the parameters; the approval binds the line and where it runs."""
    agent_id = tenant.new_agent()["id"]
    tenant.new_policy(agent_id, *RULES)
    assert (
        tenant.authorize(agent_id, "Bash", parameters={"command": "ls | cat"}, context=CONTEXT)["result"] == "allowed"
    )
    line = {"command": "ls -la && cat .env; deploy --token=hunter2hunter2"}
    asked = tenant.authorize(agent_id, "Bash", parameters=line, context=CONTEXT)
    assert '"cat .env" in the line is not allowed' in asked["reason"]
    shown = person.get(f"/v1/approvals/{asked['approval']['id']}").json()
    assert shown["boundContext"] == ["cwd", "project"]
    first, second, third = shown["commands"]
    assert first == {"text": "ls -la", "passed": True, "why": None}
    assert second == {
        "text": "cat .env",
        "passed": False,
        "why": '".env" has the name of a secret or a hidden name',
    }
    assert (third["passed"], third["why"]) == (False, "no entry names it")
    assert "hunter2" not in str(shown)

    unread = tenant.authorize(agent_id, "Bash", parameters={"command": "ls $HOME"}, context=CONTEXT)
    [whole] = person.get(f"/v1/approvals/{unread['approval']['id']}").json()["commands"]
    assert whole["text"] == "ls $HOME"
    assert whole["why"].startswith("it contains `$`")

    env = clean_env() | {
        "REMIT_API_KEY": person.headers["Authorization"].split()[1],
        "REMIT_URL": f"http://127.0.0.1:{replicas[0].port}",
    }
    printed = run_remit(["approvals", "show", shown["id"]], env).stdout
    assert "what the line runs:\n  ls -la: may run\n  cat .env: " in printed
    message = str(slack_message("approval.requested", {"approval": shown}))
    assert "ls -la: may run" in message


def test_other_calls_have_no_commands(tenant, person):
    """Neither have those whose escalation concerns no line."""
    agent_id = tenant.new_agent()["id"]
    tenant.new_policy(agent_id, {"type": "approval_required", "tools": ["pay"]})
    asked = tenant.authorize(agent_id, "pay", parameters={"command": "ls"})
    assert person.get(f"/v1/approvals/{asked['approval']['id']}").json()["commands"] == []
