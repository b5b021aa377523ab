"""`remit policy export`, `diff` and `apply` as a person and a pipeline run them."""

import json

import httpx
import pytest
from servers import clean_env

pytestmark = pytest.mark.slow

REFUNDS = """\
agent: {agent}
policies:
  - name: small refunds
    priority: 100
    rules:
      - type: tool_allowlist
        tools: [refund.create]
      - type: parameter_constraint
        tools: [refund.create]
        parameters: {{amount: {{min: 0, max: {most}}}}}
  - name: reads
    rules:
      - {{type: tool_allowlist, tools: ["refund.get*"]}}
"""
GUARD = """\
workspace: true
policies:
  - {name: no deletions, kind: guardrail, rules: [{type: tool_denylist, tools: [rm]}]}
"""
CREW = {"group": "crew", "policies": [{"name": "g", "rules": [{"type": "tool_allowlist", "tools": ["read"]}]}]}


@pytest.fixture(params=["store", "service"])
def remit(request, tenant, replica, tmp_path, run_remit):
    """Runs the command line on the workspace of a tenant: on the store itself, or on the service over HTTP."""
    key = tenant.new_key(["policies", "audit"])["key"]
    where = {"REMIT_URL": replica.base_url, "REMIT_API_KEY": key} if request.param == "service" else {}

    def run(*words, **env):
        env = clean_env() | {"REMIT_REDIS_URL": replica.env["REMIT_REDIS_URL"]} | where | env
        return run_remit(["policy", *words, *([] if where else ["-w", tenant.id])], env, cwd=tmp_path)

    run.is_remote = request.param == "service"
    return run


def done(ran, code=0):
    """The output of a successful command."""
    assert (ran.returncode, ran.stderr) == (code, "")
    return ran.stdout


@pytest.fixture
def folder(tmp_path, tenant):
    """A file for each kind of owner; the agent exists."""
    tenant.new_agent(name="refund-bot", groups=["crew"])
    made = tmp_path / "policies"
    (made / "agents").mkdir(parents=True)
    (made / "agents/refund-bot.yaml").write_text(REFUNDS.format(agent="refund-bot", most=500))
    (made / "guard.yml").write_text(GUARD)
    (made / "crew.json").write_text(json.dumps(CREW))
    (made / "refunds.test.yaml").write_text("not: a policy file\n")
    return made


def test_files_become_current_and_are_shown_before(remit, folder, tenant):
    """A dry run changes nothing, a second run finds nothing to do, and changes are shown value by value."""
    shown = done(remit("apply", "--dry-run", "policies"))
    assert shown.splitlines()[:4] == [
        "agent refund-bot (policies/agents/refund-bot.yaml)",
        '  + policy "small refunds"',
        '      kind                            "grant"',
        "      priority                        100",
    ]
    assert shown.splitlines()[-1] == "4 created"
    assert tenant.admin.get("/v1/policies").json() == []
    assert done(remit("diff", "--exit-code", "policies"), 3) == shown

    assert done(remit("apply", "policies")) == shown
    assert done(remit("diff", "--exit-code", "policies")) == "Nothing changes.\n"
    names = {each["name"] for each in tenant.admin.get("/v1/policies").json()}
    assert names == {"small refunds", "reads", "no deletions", "g"}

    (folder / "agents/refund-bot.yaml").write_text(REFUNDS.format(agent="refund-bot", most=900))
    assert done(remit("diff", "policies")).splitlines() == [
        "agent refund-bot (policies/agents/refund-bot.yaml)",
        '  ~ policy "small refunds"',
        "      rules[1].parameters.amount.max  500 → 900",
        "1 updated",
    ]
    markdown = done(remit("apply", "--format", "markdown", "--reason", "größer", "policies"))
    assert '````diff\n! policy "small refunds"\n    rules[1].parameters.amount.max  500 → 900\n````' in markdown
    assert done(remit("diff", "policies")) == "Nothing changes.\n"
    change = tenant.admin.get("/v1/changes").json()[0]
    assert (change["actorName"], change["reason"]) == ("a key" if remit.is_remote else "console", "größer")


def test_a_dry_run_replays_the_log_by_what_would_be_current(remit, folder, tenant):
    """Changed files only, together with all unchanged policies; as text, JSON and Markdown, with an exit code for
    flips.
    """
    done(remit("apply", "policies"))
    [agent] = tenant.admin.get("/v1/agents").json()
    for amount in (400, 800):
        tenant.authorize(agent["id"], "refund.create", parameters={"amount": amount})
    (folder / "agents/refund-bot.yaml").write_text(REFUNDS.format(agent="refund-bot", most=900))
    replay = ("apply", "--dry-run", "--replay", "24h", "policies")

    def heard(ran, code=0):
        assert (ran.returncode, ran.stderr) == (code, "replaying\n")
        return ran.stdout

    lines = heard(remit(*replay)).splitlines()
    replayed = lines.index("agent refund-bot, replayed:")
    assert lines[replayed - 2] == "1 updated"
    assert lines[replayed + 1].startswith("  2 calls judged from ")
    assert lines[replayed + 1].endswith(": 1 call flips")
    assert lines[replayed + 3 : replayed + 5] == ["  denied → allowed: 1 call", "           1  refund.create"]
    assert "replayed:" not in "".join(lines[replayed + 1 :])

    told = {each["owner"]: each for each in json.loads(heard(remit(*replay, "--format", "json")))}
    assert told["agent refund-bot"]["replay"]["flipped"] == 1
    assert told["workspace"]["replay"] is None
    markdown = heard(remit(*replay, "--format", "markdown", "--exit-code"), 3)
    assert "### Replay\n\n<code>agent refund&#45;bot</code>:\n**2 calls judged" in markdown
    assert heard(remit("diff", "--replay", "24h", "policies")).splitlines()[replayed + 2 :] == lines[replayed + 2 :]

    bounded = {"type": "parameter_constraint", "tools": ["*"], "parameters": {"amount": {"max": 500}}}
    tenant.new_policy(agent["id"], bounded, kind="guardrail", name="it stays unless it is pruned")
    assert heard(remit(*replay, "--exit-code")).splitlines()[-1].endswith(": nothing flips")
    heard(remit(*replay, "--prune", "--exit-code"), 3)
    done(remit("apply", "--dry-run", "--exit-code", "policies"), 3)
    assert remit("apply", "--replay", "24h", "policies").returncode == 2
    assert tenant.admin.get(f"/v1/agents/{agent['id']}/policies").json()["policies"][0]["version"] == 1


def test_policies_missing_from_the_file_stay_unless_pruned(remit, folder, tenant):
    """The output names them."""
    done(remit("apply", "policies"))
    (folder / "agents/refund-bot.yaml").write_text(
        REFUNDS.format(agent="refund-bot", most=500).split("  - name: reads")[0]
    )

    assert done(remit("apply", "policies")).splitlines() == [
        "agent refund-bot (policies/agents/refund-bot.yaml)",
        '    policy "reads" is not in the file and stays',
        "Nothing changes.",
    ]
    [difference, *_] = json.loads(done(remit("apply", "--prune", "--format", "json", "policies")))
    assert [(each["kind"], each["name"]) for each in difference["policies"]] == [("deleted", "reads")]
    assert len(tenant.admin.get("/v1/policies").json()) == 3


def test_an_export_is_what_was_applied(remit, folder, tenant, tmp_path):
    """One file for each owner, under the name that people gave it; applied again, nothing changes."""
    done(remit("apply", "policies"))

    written = done(remit("export", "out")).splitlines()

    assert sorted(written) == ["out/agents/refund-bot.yaml", "out/groups/crew.yaml", "out/workspace.yaml"]
    text = (tmp_path / "out/agents/refund-bot.yaml").read_text()
    assert text.startswith(
        "agent:\n  name: refund-bot\n  groups: [crew]\npolicies:\n  - name: small refunds\n    priority: 100\n"
    )
    assert done(remit("diff", "out")) == "Nothing changes.\n"
    assert done(remit("export", "--agent", "refund-bot")) == text
    group = json.loads(done(remit("export", "--group", "crew", "--json")))
    assert group == json.loads((folder / "crew.json").read_text())
    done(remit("export", "--json", "out"))
    for path in (tmp_path / "out").rglob("*.yaml"):
        path.unlink()
    assert done(remit("diff", "out")) == "Nothing changes.\n"


def test_the_answer_of_get_is_a_policy_file(remit, folder, tenant, tmp_path):
    """Of an agent, a group and the workspace."""
    done(remit("apply", "policies"))
    [agent] = tenant.admin.get("/v1/agents").json()
    for owner in (f"agents/{agent['id']}", "groups/crew", "workspace"):
        (tmp_path / "got.json").write_bytes(tenant.admin.get(f"/v1/{owner}/policies").content)
        assert done(remit("diff", "got.json")) == "Nothing changes.\n"


def test_agents_that_do_not_exist_are_made_if_that_is_wanted(remit, folder, tenant):
    """With the groups that the file names. Otherwise the error says how to create them, and no file is applied."""
    (folder / "agents/new.yaml").write_text(
        REFUNDS.format(agent="{name: Brand new, alias: brand-new, groups: [crew], description: Two words}", most=1)
    )
    shown = remit("diff", "policies")
    assert shown.returncode == 0
    needed = "there is no such agent yet, so `apply` needs --create-agents"
    assert shown.stderr == f"policies/agents/new.yaml: agent brand-new: {needed}\n"
    refused = remit("apply", "policies")
    assert refused.returncode == 1
    assert refused.stderr.startswith('Error: policies/agents/new.yaml: No agent is called "brand-new"')
    assert '`remit agents create "brand-new"` creates it' in refused.stderr
    assert tenant.admin.get("/v1/policies").json() == []

    done(remit("apply", "--create-agents", "policies"))
    made = next(each for each in tenant.admin.get("/v1/agents").json() if each["alias"] == "brand-new")
    assert (made["name"], made["groups"], made["description"]) == ("Brand new", ["crew"], "Two words")
    assert done(remit("diff", "--exit-code", "policies")) == "Nothing changes.\n"
    assert len(tenant.admin.get(f"/v1/agents/{made['id']}/policies").json()["policies"]) == 2


def test_an_agent_that_a_word_names_has_it_as_alias_if_it_is_made(remit, folder, tenant):
    """So programs call it by the word in its file. A word that cannot be an alias, and a description, are the name."""
    named = {"plain.yaml": "desk-bot", "spaced.yaml": "Desk bot", "described.yaml": "{name: night-bot}"}
    for file, agent in named.items():
        (folder / file).write_text(REFUNDS.format(agent=agent, most=1))
    done(remit("apply", "--create-agents", "policies"))
    aliases = {each["name"]: each["alias"] for each in tenant.admin.get("/v1/agents").json()}
    assert aliases == {"refund-bot": None, "desk-bot": "desk-bot", "Desk bot": None, "night-bot": None}
    assert tenant.authorize("desk-bot", "refund.create", parameters={"amount": 1})["allowed"] is True
    assert done(remit("diff", "--exit-code", "policies")) == "Nothing changes.\n"

    done(remit("export", "out"))
    exported = {path.name: path.read_text() for path in (folder.parent / "out/agents").iterdir()}
    begins = {name: text.partition("policies:")[0] for name, text in exported.items()}
    assert begins["desk-bot.yaml"] == "agent: desk-bot\n"
    assert begins["night-bot.yaml"] == "agent:\n  name: night-bot\n"


WRONG = {
    "no owner": ("policies: []\n", ":1: $.policies: are one owner's; say whose with one of"),
    "two owners": ("agent: a\ngroup: b\npolicies: []\n", ":3: $.policies: are one owner's"),
    "workspace false": ("workspace: false\npolicies: []\n", ":2: $.policies: are one owner's"),
    "unknown field": (
        "agent: a\npolicies:\n  - name: p\n    rule: []\n",
        ":4: $.policies[0].rule: is not a field here",
    ),
    "rule": (
        "agent: a\npolicies:\n- name: p\n  rules:\n  - type: tool_allowlist\n    tools:\n    - ok\n    - a*b\n",
        ':8: $.policies[0].rules[0].tools[1]: "a*b": `*` stands alone or last',
    ),
    "number": (
        "agent: a\npolicies:\n  - {name: p, priority: high, rules: [{type: tool_denylist, tools: [x]}]}\n",
        ':3: $.policies[0].priority: must be a whole number from 0 to 1000, not "high"',
    ),
    "grant for all": (
        "workspace: true\npolicies:\n  - {name: p, rules: [{type: tool_denylist, tools: [x]}]}\n",
        ":3: $.policies[0].kind: a policy for the whole workspace is a guardrail",
    ),
    "no yaml": ("agent: [\n", ":2: is neither YAML nor JSON"),
    "a list": ("- a\n", ":1: $: must be an object with `policies`, not a list of 1 item"),
}


@pytest.mark.parametrize(("text", "message"), WRONG.values(), ids=WRONG)
def test_a_wrong_file_is_refused_with_its_line(text, message, tmp_path, run_remit):
    """Before any store is asked: there is none here."""
    (tmp_path / "p.yaml").write_text(text)
    env = clean_env() | {"REMIT_REDIS_URL": "redis://127.0.0.1:1"}
    ran = run_remit(["policy", "apply", "p.yaml"], env, cwd=tmp_path)
    assert ran.returncode == 1
    assert ran.stderr.startswith(f"Error: p.yaml{message}")


def test_two_files_of_one_owner_and_folders_without_files_are_refused(remit, folder, tmp_path):
    """Each would delete the other's policies."""
    (folder / "again.yaml").write_text(REFUNDS.format(agent="refund-bot", most=1))
    assert (
        "agent refund-bot is already defined in policies/again.yaml; merge the two files"
        in remit("diff", "policies").stderr
    )
    (tmp_path / "empty").mkdir()
    assert "there are no policy files (.yaml, .yml, .json) in empty" in remit("diff", "empty").stderr
    assert "gone.yaml: No such file or directory" in remit("diff", "gone.yaml").stderr


def test_without_a_key_the_service_is_not_asked(remit, folder):
    """The message says what makes one."""
    if remit.is_remote:
        ran = remit("diff", "policies", REMIT_API_KEY="")
        assert ran.returncode == 2
        assert "`remit keys create --name deploy --scope policies`" in ran.stderr


def test_a_service_that_refuses_is_heard(remit, folder):
    """Whether the key lacks the scope or there is no service."""
    if remit.is_remote:
        assert "The API key is unknown" in remit("diff", "policies", REMIT_API_KEY="svc_" + "0" * 32).stderr
        assert "No service answers" in remit("diff", "policies", REMIT_URL="http://127.0.0.1:1").stderr


def test_the_schema_is_that_of_the_service(replica, run_remit):
    """Printed without a store, served without a key."""
    ran = run_remit(["policy", "schema"], clean_env() | {"REMIT_REDIS_URL": "redis://127.0.0.1:1"})
    served = httpx.get(f"{replica.base_url}/v1/policies/schema.json")
    assert (served.status_code, served.headers["Content-Type"]) == (200, "application/schema+json")
    assert json.loads(done(ran)) == served.json()


def test_a_diff_says_what_a_change_means(remit, folder):
    """With groups and the workspace, all files as if applied at once; exits with 3 if something is loosened."""
    done(remit("apply", "policies"))
    assert "in meaning" not in done(remit("diff", "policies", "--meaning", "--fail-on", "loosened"))
    text = (folder / "agents/refund-bot.yaml").read_text()
    (folder / "agents/refund-bot.yaml").write_text(text.replace("max: 500", "max: 900"))
    shown = done(remit("diff", "policies", "--meaning", "--fail-on", "loosened"), 3).splitlines()
    assert shown[shown.index("agent refund-bot, in meaning:") + 1] == '  denied → allowed  refund.create {"amount":501}'
    assert shown[-1] == "  Nothing else changes: 5 kinds of tools, 7 classes of calls. Complete."
    [by_agent] = [each for each in json.loads(done(remit("diff", "policies", "--meaning", "--format", "json")))
                  if each["owner"] == "agent refund-bot"]  # fmt: skip
    [flip] = by_agent["meaning"]["flips"]
    assert (flip["from"], flip["to"], flip["parameters"]) == ("denied", "allowed", {"amount": 501})
    assert by_agent["meaning"]["complete"] is True
    (folder / "guard.yml").write_text(GUARD.replace("[rm]", '[rm, "refund.*"]'))
    shown = done(remit("diff", "policies", "--meaning", "--format", "markdown"))
    assert "denied → allowed" not in shown
    assert "allowed → denied  refund." in shown
    done(remit("diff", "policies", "--meaning", "--fail-on", "loosened"))
    assert "--fail-on needs --meaning" in remit("diff", "policies", "--fail-on", "loosened").stderr


def test_bounds_are_those_in_force_or_those_of_files(remit, folder):
    """Of an agent with the groups that it is in, of a file with those that it names; several arguments are files."""
    done(remit("apply", "policies"))
    in_force, in_files = done(remit("bounds", "refund-bot")), done(remit("bounds", "policies"))
    for shown in (in_force, in_files):
        assert shown.splitlines()[:2] == ["agent refund-bot", "  bounded    refund.create"]
    assert ("group" in in_force, "read" in in_force, "  never      read" in in_files) == (False, True, False)
    [found] = json.loads(done(remit("bounds", "policies", "--json")))
    assert (found["owner"], found["complete"]) == ("agent refund-bot", True)
    assert "no such file; several arguments are files" in remit("bounds", "nobody", "refund-bot").stderr


def test_a_claim_that_is_tried_and_not_proved_fails_only_if_that_is_asked_for(run_remit, tmp_path):
    """With the reason beside its name; one that is broken always fails, with the call."""
    bound = {"type": "parameter_constraint", "tools": ["t"], "parameters": {"f": {"path": {"under": ["/a"]}}}}
    (tmp_path / "bot.yaml").write_text(json.dumps({"agent": "bot", "policies": [{"name": "p", "rules": [bound]}]}))

    def tested(*options, **call):
        claim = {"name": "nothing elsewhere", "call": {"tool": "t", "parameters": call}, "result": "allowed"}
        (tmp_path / "bot.test.yaml").write_text(json.dumps({"never": [claim]}))
        ran = run_remit(["policy", "test", str(tmp_path), *options], clean_env())
        return ran.returncode, ran.stdout.splitlines()[1]

    tried = {"f": {"path": {"under": ["/b"]}}}
    assert tested(**tried)[0] == 0
    code, line = tested("--strict", **tried)
    assert code == 3
    assert line.startswith("  tried  nothing elsewhere: tried ")
    assert line.endswith(' calls, not a proof: "f" is compared by meaning')
    assert tested("--strict", f={"type": "number"}) == (0, "  ok     nothing elsewhere: holds")
    assert tested(f={"minLength": 1}) == (3, "  failed nothing elsewhere (line 1)")


def test_files_are_compared_with_what_was_stored_at_a_time(remit, folder, tenant):
    """By the versions that are kept; a policy that did not exist yet is new, one that was deleted since is there."""
    done(remit("apply", "policies"))
    [stored] = [each for each in tenant.admin.get("/v1/policies").json() if each["name"] == "small refunds"]
    text = (folder / "agents/refund-bot.yaml").read_text()
    (folder / "agents/refund-bot.yaml").write_text(text.replace("max: 500", "max: 900"))
    done(remit("apply", "policies"))
    ran = remit("diff", "policies/agents", "--against", f"@{stored['updatedAt']}", "--meaning", "--fail-on", "loosened")
    assert (ran.returncode, ran.stderr) == (3, "")
    assert "rules[1].parameters.amount.max  500 → 900" in ran.stdout
    assert 'denied → allowed  refund.create {"amount":501}' in ran.stdout
    week = remit("diff", "policies/agents", "--against", "@-7d")
    assert '+ policy "small refunds"' in week.stdout
    assert "Nothing changes" in remit("diff", "policies/agents", "--against", "@-0s").stdout
    assert "@soon" in remit("diff", "policies", "--against", "@soon").stderr
    assert tenant.admin.patch(f"/v1/policies/{stored['id']}", json={"priority": 7}).status_code == 200
    assert tenant.admin.delete(f"/v1/policies/{stored['id']}").status_code == 204
    assert '+ policy "small refunds"' in remit("diff", "policies/agents", "--against", "@-0s").stdout
    then = ("diff", "policies/agents", "--against", f"@{stored['updatedAt']}", "--meaning")
    assert remit(*then).stdout == ran.stdout
    other = {"agent_id": stored["agentId"], "name": "gone", "rules": stored["rules"]}
    gone = tenant.admin.post("/v1/policies", json=other).json()["id"]
    assert tenant.admin.delete(f"/v1/policies/{gone}").status_code == 204
    assert remit(*then, "--prune").stdout == ran.stdout
    if remit.is_remote:
        asked = remit(*then, REMIT_API_KEY=tenant.new_key(["policies"])["key"])
        assert asked.stderr.startswith("Policies that were deleted since then are not compared: a key needs the scope")
        assert '+ policy "small refunds"' in asked.stdout


def test_files_are_compared_with_files(remit, folder, tenant):
    """Without a store; an owner that has a file on one side only has no policies on the other."""
    other = folder.parent / "other"
    other.mkdir()
    text = (folder / "agents/refund-bot.yaml").read_text()
    (other / "refund-bot.yaml").write_text(text.replace("max: 500", "max: 100"))
    (other / "guard.yml").write_text(GUARD)
    shown = done(remit("diff", "policies", "--against", "other", "--meaning"))
    assert "rules[1].parameters.amount.max  100 → 500" in shown
    assert 'denied → allowed  refund.create {"amount":101}' in shown
    assert "group crew (policies/crew.json)" in shown
    assert "workspace" not in shown
    back = done(remit("diff", "other", "--against", "policies", "--exit-code"), 3)
    assert '  - policy "g"' in back
    assert done(remit("diff", "policies", "--against", "policies", "--exit-code")) == "Nothing changes.\n"
    assert tenant.admin.get("/v1/policies").json() == []
