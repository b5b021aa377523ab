"""Claude Code itself, with the settings of its page, and through its SDK: a command runs only if Remit allows it."""

import json
import os
import uuid

import pytest
from claude_agent_sdk import ClaudeAgentOptions, ResultMessage, query
from pages import blocks
from scripted_model import VERSION, ScriptedModel, environment, run_claude_code
from service import answer

from remit_client import Remit, calls
from remit_client.claude_agent_sdk import remit_hooks

KEY = "svc_" + "0" * 32
COMMAND = "touch ran"
BLOCKS_ON_FAILURE = VERSION >= (2, 1, 295)  # which brought onFailure
RUNS = [{"type": "parameter_constraint", "tools": ["Bash"], "parameters": {"command": {"enum": [COMMAND]}}}]
ASKS = [{"type": "approval_required", "tools": ["Bash"]}, *RUNS]
NEVER = [{"type": "tool_denylist", "tools": ["Bash"]}]
ALLOWS = {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow"}}
# What answers in this way has not decided. `{}` and an empty body mean to Claude Code that a hook has nothing to say.
FAULTS = {
    "down": (),
    "401": (answer(401, {}),),
    "500": (answer(500, raw=b"<html>"),),
    "503": (answer(503, {}),),
    "redirect": (answer(302, None, "Location: http://127.0.0.1:1/"),),
    "a page": (answer(200, raw=b"<html>welcome</html>"),),
    "slow": (None,),
    "closes in the middle": (answer(200, ALLOWS)[:-8].replace(b"Content-Length", b"X-Length"),),
}


@pytest.fixture
def model():
    scripted = ScriptedModel(COMMAND)
    yield scripted
    scripted.close()


@pytest.fixture
def coder(admin):
    """Creates an agent with these rules and returns its id."""

    def make(rules):
        made = admin.send(calls.create_agent("coder"))
        admin.send(calls.create_policy(made.id, "shell", rules))
        return made.id

    return make


def settings_of_the_page(url, **changed):
    """The settings as docs/clients/claude-code.md has them, but for the address."""
    [(_, text)] = [block for block in blocks("claude-code.md") if block[0] == "json"]
    settings = json.loads(text.replace("http://127.0.0.1:8080", url))
    settings["hooks"]["PreToolUse"][0]["hooks"][0] |= changed
    return settings


@pytest.mark.parametrize(("rules", "runs", "says"), [(RUNS, True, ""), (NEVER, False, "denylist"), (ASKS, False, "")])
def test_a_command_runs_only_if_it_is_allowed(rules, runs, says, model, service, asking_key, coder, tmp_path, admin):
    """No person is there to ask, so it runs nothing by itself, and what needs a person does not run."""
    agent = coder(rules)
    keys = {"REMIT_API_KEY": asking_key, "REMIT_AGENT": agent}
    said = run_claude_code(tmp_path, model, settings_of_the_page(service.url), **keys)
    assert (tmp_path / "ran").exists() is runs
    assert says in said
    [entry] = admin.send(calls.list_audit_logs(agent_id=agent))
    assert (entry.tool_name, entry.parameters["command"]) == ("Bash", COMMAND)


def test_an_approved_command_runs_when_it_is_tried_again(model, service, asking_key, coder, tmp_path, admin):
    """In the same session: an approval is for the call that was asked about."""
    agent, session = coder(ASKS), str(uuid.uuid4())
    keys = {"REMIT_API_KEY": asking_key, "REMIT_AGENT": agent}
    settings = settings_of_the_page(service.url)
    run_claude_code(tmp_path, model, settings, "--session-id", session, **keys)
    assert not (tmp_path / "ran").exists()
    [asked] = admin.send(calls.list_approvals("pending", agent))
    admin.approve(asked.id)
    model.has_called = False
    run_claude_code(tmp_path, model, settings, "--resume", session, **keys)
    assert (tmp_path / "ran").exists()


@pytest.mark.parametrize("fault", FAULTS)
def test_without_an_answer_nothing_runs(fault, model, faulty, tmp_path):
    """Although its own permissions would let the command run. Before 2.1.295 they did; the page says so."""
    server = faulty(*FAULTS[fault] or (None,))
    if fault == "down":
        server.close()
    keys = {"REMIT_API_KEY": KEY, "REMIT_AGENT": "coder"}
    settings = settings_of_the_page(server.url, **({"timeout": 1} if fault == "slow" else {}))
    said = run_claude_code(tmp_path, model, settings, "--allowedTools", "Bash", **keys)
    assert (tmp_path / "ran").exists() is not BLOCKS_ON_FAILURE
    assert KEY not in said


@pytest.mark.parametrize(
    ("rules", "own", "given", "runs"),
    [
        (RUNS, ["Bash"], {}, True),
        (RUNS, [], {}, False),
        (RUNS, [], {"allowed": "allow"}, True),
        (NEVER, ["Bash"], {}, False),
        (None, ["Bash"], {}, False),
    ],
)
async def test_a_hook_of_the_sdk_decides(rules, own, given, runs, model, remit, coder, faulty, tmp_path, monkeypatch):
    """own: what the SDK's own permissions allow. given: options of the hook. `rules` None: there is no decision."""
    for name in [name for name in os.environ if name.startswith(("CLAUDE", "ANTHROPIC"))]:
        monkeypatch.delenv(name)  # the SDK hands all of them on
    asked = (remit, coder(rules)) if rules else (Remit(faulty(answer(503, {})).url, KEY), "coder")
    (tmp_path / "home").mkdir()
    options = ClaudeAgentOptions(
        hooks=remit_hooks(*asked, **given),
        cwd=tmp_path,
        env=environment(tmp_path / "home", model),
        allowed_tools=own,
        setting_sources=[],
    )
    ended = [message async for message in query(prompt="go", options=options) if isinstance(message, ResultMessage)]
    assert (tmp_path / "ran").exists() is runs
    assert runs or not own or "was not run" in ended[0].result
