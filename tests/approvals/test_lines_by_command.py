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


def test_a_line_is_compared_with_earlier_ones_by_programs_and_flags(tenant, person):
    """Also if the rule that reads it is another policy's than the one that asks."""
    agent_id = tenant.new_agent()["id"]
    tenant.new_policy(agent_id, *RULES)
    for folder in ("src", "docs", "tests"):
        made = tenant.authorize(agent_id, "Bash", parameters={"command": f"ls -la {folder}"}, context=CONTEXT)
        assert made["result"] == "allowed"

    def compared(line):
        asked = tenant.authorize(agent_id, "Bash", parameters={"command": line}, context=CONTEXT)
        [row] = person.get(f"/v1/approvals/{asked['approval']['id']}/usual").json()["values"]
        return row.get("difference"), row.get("unusual")

    assert compared("ls -la ../other") == (None, None)
    assert compared("ls -la && curl x") == ("new", "runs curl, which no earlier call did; usual: ls")
    assert compared("ls -la --zero") == ("new", "ls with --zero, which 3 earlier calls did not have")
    tenant.new_policy(agent_id, {"type": "approval_required", "tools": ["Bash"]}, kind="guardrail")
    assert compared("ls -la src; rm x") == ("new", "runs rm, which no earlier call did; usual: ls")
