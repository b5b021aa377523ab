"""Every command works over HTTP with a key as it does on the store; the trail says which of them has done it."""

import json

import click
import pytest
from servers import clean_env

from app.cli.main import main
from app.model.checkpoints import SignedTree

HERE = {"serve", "compact", "doctor", "workspaces create", "workspaces list", "workspaces move", "audit archive"}
"""What needs this machine's store: doctor checks it, a key has one workspace, and an archive is a folder beside it."""
FILES = {"policies schema", "audit key new", "audit key show", "audit witness"}


def commands(group=main, words=()):
    """Every command that does something, by its words."""
    for name in group.list_commands(click.Context(group)):
        command = group.get_command(click.Context(group), name)
        if isinstance(command, click.Group):
            yield from commands(command, (*words, name))
        else:
            yield " ".join((*words, name)), command


def test_every_command_goes_over_http_unless_it_is_about_this_machine():
    """With --url, which REMIT_URL sets, too."""
    without = {words for words, command in commands() if not {each.name for each in command.params} & {"url"}}
    assert without == HERE | FILES


@pytest.fixture(params=["service", "store"])
def remit(request, tenant, replica, run_remit, tmp_path):
    """Runs a command, over HTTP with a key of the tenant or on the store in its workspace."""
    file = tmp_path / "policy.json"
    file.write_text(json.dumps({"name": "reads", "rules": [{"type": "tool_allowlist", "tools": ["file.*"]}]}))
    catalogue = tmp_path / "tools.json"
    catalogue.write_text(json.dumps({"tools": [{"name": "file.read"}]}))

    def run(words):
        env = clean_env()
        given = [{"FILE": str(file), "TOOLS": str(catalogue)}.get(word, word) for word in words.split()]
        if request.param == "service":
            env |= {"REMIT_URL": replica.base_url, "REMIT_API_KEY": tenant.admin_key}
        else:
            env |= {"REMIT_REDIS_URL": replica.env["REMIT_REDIS_URL"]}
            given += ["-w", tenant.id]
        ran = run_remit(given, env)
        assert (ran.returncode, ran.stderr) == (0, ""), (words, ran)
        return ran.stdout

    run.actor = "console" if request.param == "store" else None
    return run


@pytest.mark.slow
def test_what_a_key_does_over_http_the_console_does_on_the_store(remit, tenant):
    """The same commands print the same, and each change names its author and its reason."""
    remit("agents create bot --alias reader --reason first")
    policy = json.loads(remit("policies create reader --file FILE --json --reason second"))["id"]
    assert json.loads(remit("policies show reads --json")) == tenant.admin.get(f"/v1/policies/{policy}").json()
    remit("policies update reads --priority 3 --reason third")
    remit("policies rollback reads 1 --reason fourth")
    remit("catalog import TOOLS --reason fifth")
    assert "file.read  allowed" in remit("agents tools bot")
    tenant.authorize("reader", "file.read")
    assert "agent reader" in remit("audit query --agent bot")
    assert len(remit("audit tail --json").splitlines()) == 1
    assert '"end":' in remit("audit export --agent bot").splitlines()[-1]
    assert json.loads(remit("audit status --json"))["lastSequence"] == 1
    assert remit("audit counts --by tool").split() == ["1", "file.read", "1", "in", "all"]
    assert json.loads(remit("audit verify --json"))["intact"] is True
    made = json.loads(remit("keys create --name temporary --scope authorize --agent bot --json --reason sixth"))
    successor = json.loads(remit("keys rotate temporary --overlap 1h --json --reason seventh"))
    assert (successor["replaces"], successor["name"]) == (made["id"], "temporary")
    remit(f"keys revoke {made['id']} --reason eighth")
    hook = json.loads(remit("webhooks create https://example.com/ --event decision.denied --json --reason ninth"))["id"]
    remit(f"webhooks update {hook} --off --reason tenth")
    remit(f"webhooks rotate {hook} --reason eleventh")
    remit(f"webhooks delete {hook} --reason twelfth")
    tenant.fork(SignedTree.CHANGES, "at 2 leaves")
    assert "at 2 leaves" in remit("audit accept-fork --yes --reason fork")
    remit("policies delete reads --reason thirteenth")
    remit("agents delete bot --yes --reason fourteenth")

    trail = [each for each in json.loads(remit("changes --json"))[::-1] if "reason" in each]
    said = ("first second third fourth fifth sixth seventh seventh eighth ninth tenth eleventh twelfth fork "
            "thirteenth fourteenth")  # fmt: skip
    assert [each["reason"] for each in trail] == said.split()
    assert {each["actorName"] for each in trail} == {remit.actor or "first admin key"}


@pytest.mark.slow
def test_the_key_determines_the_workspace(run_remit, tenant, replica):
    """An explicit --workspace means the store; with --url it is a misuse. Without a key, nothing is asked."""
    env = clean_env() | {"REMIT_REDIS_URL": replica.env["REMIT_REDIS_URL"]}
    both = run_remit(["agents", "list", "--url", replica.base_url, "-w", tenant.id], env)
    assert (both.returncode, "the key determines the workspace" in both.stderr) == (2, True)
    assert "REMIT_API_KEY is not set" in run_remit(["agents", "list", "--url", replica.base_url], env).stderr
    elsewhere = run_remit(["agents", "list", "-w", tenant.id], env | {"REMIT_URL": "http://127.0.0.1:1"})
    assert elsewhere.returncode == 0


LEAST = {
    "agents forget bot --reason r": ("policies", "remembers nothing"),
    "issuers put cluster ISSUER": ("admin", "issuer cluster has 1 rule"),
    "issuers show cluster": ("admin", "sub = a: view"),
    "issuers delete cluster --reason r": ("admin", "issuer cluster is deleted"),
    "audit accept-fork --yes --reason r": ("admin", "log: not signed since 2026-11-20T12:00:00.000Z: at 9 leaves"),
    "sessions list": ("admin", "a key"),
    "sessions end SESSION --reason r": ("admin", "ended"),
}
"""A command, the one scope that its key needs, and what it prints."""


def test_a_command_needs_one_scope_and_another_is_refused(tenant, run_remit, tmp_path):
    """Over HTTP, in the order above; what is asked for is in the trail or the record afterwards."""
    tenant.new_agent(alias="bot")
    keys = {scope: tenant.new_key([scope])["key"] for scope in ("admin", "policies", "view")}
    session = tenant.admin.post("/v1/session", json={"key": keys["view"], "transport": "bearer"}).json()["id"]
    file = tmp_path / "issuer.json"
    rules = [{"match": {"sub": "a"}, "scopes": ["view"]}]
    file.write_text(json.dumps({"issuer": f"https://{tenant.id}.example.com", "audience": "remit", "rules": rules,
                                "algorithms": ["ES256"], "jwksUri": "https://keys.example.com/"}))  # fmt: skip
    names = {"ISSUER": str(file), "SESSION": session}
    tenant.fork(SignedTree.LOG, "at 9 leaves")

    for words, (scope, said) in LEAST.items():
        given = [names.get(word, word) for word in words.split()]
        for key in ("view", scope):
            env = clean_env() | {"REMIT_URL": tenant.replica.base_url, "REMIT_API_KEY": keys[key]}
            ran = run_remit(given, env)
            wanted = (1, "requires the scope", ran.stderr) if key != scope else (0, said, ran.stdout)
            assert (ran.returncode, wanted[1] in wanted[2]) == (wanted[0], True), (words, ran)
    reasons = [each.get("reason") for each in tenant.admin.get("/v1/changes").json()]
    assert reasons.count("r") == 4
