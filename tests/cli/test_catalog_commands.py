"""`remit catalog`: takes a server's tool list, and prints what the API answers."""

import json

import pytest
from servers import clean_env

pytestmark = pytest.mark.slow

LIST = {"result": {"tools": [{"name": "payment.refund", "description": "Pays back.\nAll of it."}, {"name": "a/b"}]}}


@pytest.fixture
def remit(tenant, run_remit):
    """Runs `remit` in the tenant's workspace."""

    def run(*words, stdin=None):
        env = clean_env() | {"REMIT_REDIS_URL": tenant.store_url}
        return run_remit([*words, "-w", tenant.id], env, stdin=stdin)

    return run


def test_tools_come_and_go(remit, tenant, tmp_path):
    """From standard input and from a file; what --json prints is what the API answers."""
    done = remit("catalog", "import", "-", "--reason", "first", stdin=json.dumps(LIST))
    assert done.stdout == "added    a/b\nadded    payment.refund\nThe catalogue has 2 tools\n", done.stderr
    assert json.loads(remit("catalog", "list", "--json").stdout) == tenant.reader.get("/v1/catalog").json()
    assert "payment.refund  catalogue  -            -        Pays back. All of it." in remit("catalog", "list").stdout
    shown = json.loads(remit("catalog", "show", "a/b", "--json").stdout)
    assert shown == tenant.reader.get("/v1/catalog/tool/a%2Fb").json()
    assert "Pays back." in remit("catalog", "show", "payment.refund").stdout
    file = tmp_path / "tools.json"
    file.write_text('{"tools": [{"name": "c"}]}')
    pruned = json.loads(remit("catalog", "import", str(file), "--prune", "--json").stdout)
    assert (pruned["added"], pruned["removed"]) == (["c"], ["a/b", "payment.refund"])
    assert remit("catalog", "delete", "c").stdout == "deleted c\n"
    assert remit("catalog", "list").stderr.startswith("No tools are known; `remit catalog import FILE`")
    [_, _, first] = tenant.admin.get("/v1/changes", params={"resource_type": "catalog"}).json()
    assert (first["actorId"], first["reason"]) == ("console", "first")


def test_a_person_marks_tools(remit, tenant):
    """What is not said stays, the catalogue is listed with it, and an import says what is void."""
    remit("catalog", "import", "-", stdin=json.dumps(LIST))
    done = remit("catalog", "mark", "payment.refund", "a/b", "--consequence", "irreversible", "--not-foreign")
    assert done.stdout == "marked   payment.refund\nmarked   a/b\n", done.stderr
    assert remit("catalog", "mark", "a/b", "--consequence", "none").stdout == "marked   a/b\n"
    assert remit("catalog", "mark", "a/b", "--not-foreign", "--reason", "again").stdout == "was so   a/b\n"
    assert "a/b             catalogue  none          no       -" in remit("catalog", "list").stdout
    shown = remit("catalog", "show", "payment.refund").stdout.splitlines()
    assert "consequence  irreversible: cannot be undone" in shown
    assert "foreign      no" in shown
    nothing = remit("catalog", "mark", "a/b")
    assert (nothing.returncode, "--consequence, --foreign or --not-foreign" in nothing.stderr) == (2, True)
    unknown = remit("catalog", "mark", "a/b", "none.such", "--foreign")
    assert (unknown.returncode, unknown.stderr) == (
        1,
        'Error: The catalogue has no tool "none.such": import it before you mark it\n',
    )
    changed = remit("catalog", "import", "-", stdin='{"tools": [{"name": "a/b", "description": "Another."}]}')
    assert changed.stdout == "changed  a/b\nunmarked a/b\nThe catalogue has 2 tools\n"
    assert tenant.reader.get("/v1/catalog/tool/a%2Fb").json()["foreign"] is None


def test_what_an_agent_may_call_is_what_the_api_says(remit, tenant):
    """One tool per line; with --json as in the API, except for the time."""
    agent = tenant.new_agent(name="desk")["id"]
    tenant.new_policy(agent, {"type": "tool_allowlist", "tools": ["payment.*"]})
    remit("catalog", "import", "-", stdin=json.dumps(LIST))
    told = json.loads(remit("agents", "tools", "desk", "--json").stdout)
    wanted = tenant.reader.get(f"/v1/agents/{agent}/tools").json()
    assert told | {"at": None} == wanted | {"at": None}
    lines = remit("agents", "tools", "desk").stdout.splitlines()
    assert [line.split()[:4] for line in lines] == [
        ["TOOL", "CALLS", "ARE", "CONSEQUENCE"],
        ["a/b", "denied", "-", "a"],
        ["payment.refund", "allowed", "-", "-"],
    ]
    remit("catalog", "mark", "a/b", "--consequence", "irreversible")
    one = remit("agents", "tools", "desk", "--tool", "a/b").stdout
    assert "consequence  irreversible: cannot be undone" in one
    assert "reason       a policy: the tool is not on the policy's allowlist" in one


def test_an_invalid_request_is_answered_with_a_sentence(remit):
    """With the file and the place in it; exit code 1."""
    broken = remit("catalog", "import", "-", stdin='{"tools": [{"title": "nameless"}]}')
    assert broken.returncode == 1
    assert broken.stderr.startswith("Error: <stdin>: $.tools[0].name")
    unknown = remit("catalog", "show", "nothing")
    assert (unknown.returncode, unknown.stderr) == (1, "Error: No tool of this name is in the catalogue\n")
