"""`remit agents`, `remit policies` and `remit authorize` as a person runs them."""

import json
import re

import pytest
from servers import clean_env

from app.model.policies import MAX_PRIORITY

pytestmark = pytest.mark.slow

UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}"
REFUNDS = {
    "name": "small refunds",
    "rules": [
        {"type": "tool_allowlist", "tools": ["refund.create"]},
        {"type": "parameter_constraint", "tools": ["refund.create"], "parameters": {"amount": {"min": 0, "max": 500}}},
    ],
}


@pytest.fixture
def remit(tenant, replica, run_remit):
    """Runs the command line in the workspace of a tenant."""

    def run(*words, stdin=None, **env):
        env = clean_env() | {"REMIT_REDIS_URL": replica.env["REMIT_REDIS_URL"], "REMIT_URL": replica.base_url} | env
        of_workspace = [] if words[0] in {"authorize", "decisions"} else ["-w", tenant.id]
        return run_remit([*words, *of_workspace], env, stdin=stdin)

    return run


def done(ran):
    """The output of a successful command."""
    assert (ran.returncode, ran.stderr) == (0, "")
    return ran.stdout


def test_an_agent_that_a_breaker_suspended_says_so(remit, tenant):
    """Until it is active again; as JSON it says the same."""
    agent_id = tenant.new_agent(name="storm")["id"]
    terms = {"maxDenials": 1, "windowSeconds": 60, "action": "suspend"}
    breaker = {"type": "denial_breaker", "tools": ["*"], "denialBreaker": terms}
    policy = tenant.new_policy(agent_id, breaker, kind="guardrail")
    denied = tenant.authorize(agent_id, "rm")
    shown = done(remit("agents", "show", "storm"))
    assert f"suspended by the denial breaker of policy {policy['id']} (decision {denied['id']})" in shown
    told = json.loads(done(remit("agents", "show", "storm", "--json")))
    assert told["tripped"] == {"policyId": policy["id"], "decisionId": denied["id"]}
    done(remit("agents", "activate", "storm"))
    assert "tripped" not in json.loads(done(remit("agents", "show", "storm", "--json")))


def test_an_agent_lives_from_its_creation_to_its_end(remit, tenant):
    """Called by name; what the command line shows as JSON is what the API shows."""
    assert "`remit agents create NAME` creates one" in remit("agents", "list").stderr
    agent_id = done(remit("agents", "create", "refund-bot", "--description", "Pays back.", "--quiet")).strip()
    assert re.fullmatch(UUID, agent_id)
    shown = json.loads(done(remit("agents", "show", "refund-bot", "--json")))
    assert shown == tenant.admin.get(f"/v1/agents/{agent_id}").json()
    assert "policies     none: every call is denied" in done(remit("agents", "show", "refund-bot"))

    assert done(remit("agents", "suspend", "refund-bot")) == f"agent {agent_id} is suspended\n"
    assert done(remit("agents", "activate", "refund-bot")) == f"agent {agent_id} is active\n"
    update = ("agents", "update", agent_id, "--name", "payer", "--description", "")
    assert done(remit(*update)) == f"agent {agent_id} is at version 4\n"
    renamed = json.loads(done(remit("agents", "list", "--json")))
    assert [(each["name"], each["description"]) for each in renamed] == [("payer", None)]
    heads, row = done(remit("agents", "list")).splitlines()
    assert [heads.index(head) for head in ("ID", "STATUS", "NAME")] == [
        row.index(cell) for cell in (agent_id, "active", "payer")
    ]

    assert remit("agents", "delete", "payer").returncode == 1, "nobody said yes"
    assert done(remit("agents", "delete", "payer", "--yes")) == f"deleted {agent_id} with 0 policies\n"
    gone = remit("agents", "show", "payer")
    message = 'No agent is called "payer"; `remit agents list` shows all of them'
    assert (gone.returncode, gone.stderr) == (1, f"Error: {message}\n")


def test_a_revoked_agent_is_revoked_for_good(remit):
    """The command line warns beforehand, and the service refuses afterwards."""
    done(remit("agents", "create", "gone"))
    assert "revoked" in done(remit("agents", "revoke", "gone", "--yes"))
    ran = remit("agents", "activate", "gone")
    assert (ran.returncode, ran.stderr) == (1, "Error: A revoked agent stays revoked; create another agent\n")


def test_a_name_that_two_agents_have_is_answered_with_their_ids(remit):
    """Neither is chosen by guessing."""
    twins = [done(remit("agents", "create", "twin", "-q")).strip() for _ in "12"]
    ran = remit("agents", "suspend", "twin")
    assert ran.returncode == 1
    assert ran.stderr.startswith('Error: 2 agents are called "twin"; say which by its id: ')
    assert all(twin in ran.stderr for twin in twins)


def test_a_policy_comes_from_a_file_or_from_standard_input(remit, tenant, tmp_path):
    """The file holds what the API takes, and what the command line shows is what the API shows."""
    agent_id = done(remit("agents", "create", "refund-bot", "-q")).strip()
    file = tmp_path / "refunds.json"
    file.write_text(json.dumps(REFUNDS))
    policy_id = done(remit("policies", "create", "refund-bot", "-f", str(file), "-q")).strip()
    shown = json.loads(done(remit("policies", "show", "small refunds", "--json")))
    assert shown == tenant.admin.get(f"/v1/policies/{policy_id}").json()
    assert (shown["agentId"], shown["rules"]) == (agent_id, REFUNDS["rules"])
    assert "policies  small refunds" in done(remit("agents", "show", "refund-bot"))
    assert "kind" not in done(remit("policies", "show", "small refunds"))

    change = json.dumps(
        {"rules": REFUNDS["rules"][:1], "kind": "guardrail", "agentMessage": "Ask Ann.", "keepsRequests": True}
    )
    done(remit("policies", "update", policy_id, "--file", "-", "--priority", "7", "--disable", stdin=change))
    fields = dict(
        re.split(" {2,}", line, maxsplit=1) for line in done(remit("policies", "show", policy_id)).splitlines()
    )
    assert (fields["kind"], fields["agent message"], fields["keeps requests"]) == ("guardrail", "Ask Ann.", "True")
    changed = json.loads(done(remit("policies", "list", "--agent", "refund-bot", "--json")))
    assert [(each["priority"], each["enabled"], len(each["rules"])) for each in changed] == [(7, False, 1)]
    row = done(remit("policies", "list")).splitlines()[1]
    assert re.fullmatch(rf"{policy_id}  7 +off +1 rule +refund-bot +- +- +small refunds", row)
    assert "small refunds (disabled)" in done(remit("agents", "show", "refund-bot"))
    assert done(remit("policies", "delete", "small refunds")) == f"deleted {policy_id}\n"
    assert "creates one" in remit("policies", "list").stderr


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("{", "-: is not JSON"),
        ("[]", "-: $: must be "),
        ('{"name": "n"}', "-: $.rules: is missing"),
        (
            '{"name": "n", "rules": [{"type": "tool_allowlist", "tols": ["*"]}]}',
            "-: $.rules[0].tols: is not a field here",
        ),
        ('{"name": "n", "rules": [{"type": "tool_allowlist", "tools": []}]}', "-: $.rules[0].tools: must be"),
    ],
)
def test_a_wrong_policy_is_refused_with_the_place(remit, text, sentence):
    """As the API does, with the file's name."""
    done(remit("agents", "create", "somebody"))
    ran = remit("policies", "create", "somebody", "-f", "-", stdin=text)
    assert ran.returncode == 1
    assert sentence in ran.stderr.replace("<stdin>", "-")


def test_a_wrong_change_of_a_policy_is_refused_as_the_api_refuses_it(remit, tenant):
    """An API key in a rule, an invisible name, a priority above the highest: nothing is written."""
    done(remit("agents", "create", "careful"))
    made = done(remit("policies", "create", "careful", "-f", "-", "-q", stdin=json.dumps(REFUNDS))).strip()
    key = "svc_" + "5eed" * 8
    for change, options, place in (
        ({"rules": [{**REFUNDS["rules"][1], "parameters": {"id": {"enum": [key]}}}]}, (), "$.rules[0].parameters.id"),
        ({"name": "a\u202eb"}, (), "$.name"),
        ({}, ("--priority", str(MAX_PRIORITY + 1)), "--priority"),
    ):
        ran = remit("policies", "update", made, "--file", "-", *options, stdin=json.dumps(change))
        assert ran.returncode in {1, 2}
        assert place in ran.stderr
        assert key not in ran.stderr
    assert tenant.admin.get(f"/v1/policies/{made}").json()["version"] == 1
    done(remit("policies", "update", made, "--priority", str(MAX_PRIORITY)))


def test_authorize_asks_the_service_with_a_key(remit, tenant):
    """The answer is in the log; values are read as JSON where possible."""
    agent = tenant.new_agent()
    tenant.new_policy(agent["id"], *REFUNDS["rules"])
    ask = ("authorize", agent["id"], "refund.create")
    key = {"REMIT_API_KEY": tenant.read_key}
    assert done(remit(*ask, "amount=120", "note=a refund", **key)).startswith("allowed    ")
    denied = remit(*ask, "amount=-900", "--exit-code", **key)
    assert (denied.returncode, denied.stderr) == (3, "")
    assert denied.stdout == 'denied     Parameter "amount" is -900, below the minimum 0\n'
    told = json.loads(done(remit(*ask, "amount=120", "--json", **key)))
    newest = tenant.log(agent_id=agent["id"])
    assert newest[0]["id"] == told["id"]
    assert [entry["parameters"] for entry in newest] == [
        {"amount": 120},
        {"amount": -900},
        {"amount": 120, "note": "a refund"},
    ]


def test_an_outcome_is_reported_with_the_key_that_asked(remit, tenant):
    """Another key, or none, is told so."""
    agent = tenant.new_agent()
    once = {"maxCalls": 1, "windowSeconds": 60, "refundable": True}
    tenant.new_policy(agent["id"], {"type": "rate_limit", "tools": ["*"], "rateLimit": once})
    first, second = tenant.authorize(agent["id"])["id"], tenant.authorize(agent["id"])["id"]
    report, key = ("decisions", "outcome", first, "not_executed"), {"REMIT_API_KEY": tenant.read_key}
    told = json.loads(done(remit(*report, "--json", **key)))
    assert (told["decisionId"], told["status"], told["refunded"]) == (first, "not_executed", 1)
    assert done(remit(*report, **key)) == f"decision {first} is not_executed; limits given back: 1\n"
    refused = remit("decisions", "outcome", second, "executed", **key)
    assert (refused.returncode, refused.stderr) == (1, "Error: The call was denied, so it has no outcome\n")
    assert "asked for no decision" in remit(*report, REMIT_API_KEY=tenant.admin_key).stderr
    assert "REMIT_API_KEY is not set" in remit(*report, REMIT_API_KEY="").stderr


def test_authorize_says_why_there_is_no_answer(remit, tenant):
    """It prints the service's message, or the address that does not answer."""
    ask = ("authorize", tenant.new_agent()["id"], "file.read")
    ran = remit(*ask, REMIT_API_KEY="svc_" + "0" * 32)
    assert (ran.returncode, ran.stderr) == (
        1,
        "Error: The API key is unknown or has been revoked; run: export REMIT_API_KEY=$(remit keys create --raw)\n",
    )
    ran = remit(*ask, REMIT_API_KEY=tenant.read_key, REMIT_URL="http://127.0.0.1:1")
    assert ran.returncode == 1
    assert ran.stderr.startswith("Error: No service answers at http://127.0.0.1:1 (")
    assert "`remit serve` starts one" in ran.stderr


def test_a_former_version_is_found_and_made_current_again(remit, tenant):
    """With who changed what and why, as a table and as JSON."""
    done(remit("agents", "create", "payer"))
    policy_id = done(remit("policies", "create", "payer", "-f", "-", "-q", stdin=json.dumps(REFUNDS))).strip()
    done(remit("policies", "update", policy_id, "--priority", "3", "--disable", "--reason", "while we look"))

    heads, newest, oldest = done(remit("policies", "versions", "small refunds")).splitlines()
    assert re.fullmatch(r"2 +\S+Z +console +priority, enabled +while we look", newest)
    assert re.fullmatch(r"1 +\S+Z +console +created", oldest)
    assert [heads.index(head) for head in ("BY", "WHAT", "WHY")] == [
        newest.index(cell) for cell in ("console", "priority", "while")
    ]
    shown = json.loads(done(remit("policies", "versions", policy_id, "--json")))
    assert shown == tenant.admin.get(f"/v1/policies/{policy_id}/versions").json()

    told = done(remit("policies", "rollback", policy_id, "1", "--reason", "false alarm"))
    assert told == f"policy {policy_id} is at version 3, as it was at 1\n"
    assert (tenant.admin.get(f"/v1/policies/{policy_id}").json())["enabled"] is True
    gone = remit("policies", "rollback", policy_id, "9")
    assert (gone.returncode, gone.stderr) == (1, "Error: The policy is at version 3; there was no version 9 yet\n")
    trail = tenant.admin.get("/v1/changes", params={"resource_id": policy_id}).json()
    assert [each.get("reason") for each in trail] == ["false alarm", "while we look", None]


def test_a_past_decision_is_explained(remit, tenant):
    """As the API does; values missing from the log are named, and so are entries that are not decisions."""
    agent = tenant.new_agent(alias="payer")
    secret = {"type": "parameter_constraint", "tools": ["pay"], "parameters": {"password": {"minLength": 8}}}
    tenant.new_policy(agent["id"], secret, *REFUNDS["rules"], name="pays")
    decided = tenant.authorize("payer", "pay", parameters={"password": "long enough"})["id"]

    told = json.loads(done(remit("audit", "explain", decided, "--json")))
    assert told == tenant.reader.get(f"/v1/audit-logs/{decided}/explanation").json()
    lines = done(remit("audit", "explain", decided)).splitlines()
    assert lines[0].endswith("  agent payer  not_allowlisted")
    assert lines[1].startswith("denied  ")
    assert lines[-1] == "The log does not hold parameters.password"
    assert remit("audit", "explain", "nonsense").returncode == 2
    ran = remit("audit", "explain", agent["id"])
    assert (ran.returncode, ran.stderr) == (1, "Error: No audit entry has this id\n")


def test_the_trail_of_changes_is_printed(remit, tenant):
    """As JSON like the API's, filtered by who, what and when, and page by page."""
    agent_id = done(remit("agents", "create", "payer", "-q", "--reason", "for refunds")).strip()
    done(remit("agents", "update", "payer", "--group", "crew", "--group", "crew"))
    done(remit("agents", "update", "payer", "--no-groups"))
    told = json.loads(done(remit("changes", "--json", "--type", "agent", "--id", agent_id)))
    assert told == tenant.admin.get("/v1/changes", params={"resource_id": agent_id}).json()
    assert [each["after"].get("groups") for each in told] == [[], ["crew"], []]
    heads, row = done(remit("changes", "--actor", "console", "--to", "now", "--id", agent_id)).splitlines()[::3]
    assert re.fullmatch(rf"\S+Z  console  agent created  {agent_id}  - +for refunds", row)
    assert heads.index("WHY") == row.index("for refunds")
    page = remit("changes", "--limit", "1", "--id", agent_id, "--json")
    before = re.search("--before (\\S+) ", page.stderr)[1]
    assert json.loads(done(remit("changes", "--before", before, "--id", agent_id, "--json"))) == told[1:]
    for command in (["changes"], ["agents", "history", agent_id]):
        ran = remit(*command, "--before", "soon")
        assert (ran.returncode, "'--before': must be the position" in ran.stderr) == (2, True)
    assert "`remit keys list`" in remit("changes", "--actor", "nobody").stderr


def test_every_command_that_changes_something_takes_json(remit, tenant):
    """Agents, policies and keys; groups too."""
    shown = json.loads(done(remit("agents", "create", "payer", "--group", "crew", "--group", "night", "--json")))
    assert shown["groups"] == ["crew", "night"]
    assert "groups    crew, night" in done(remit("agents", "show", "payer"))
    for word, status in (("suspend", "suspended"), ("activate", "active")):
        assert json.loads(done(remit("agents", word, "payer", "--json")))["status"] == status
    policy = tenant.new_policy(shown["id"])["id"]
    assert (
        json.loads(
            done(
                remit("policies", "list", "--group", "crew", "--json"),
            )
        )
        == []
    )
    assert json.loads(done(remit("policies", "delete", policy, "--json"))) == {"deleted": policy}
    key = tenant.new_key(["read"], name="reads")["id"]
    assert json.loads(done(remit("keys", "revoke", "reads", "--json"))) == {"deleted": key}
    assert json.loads(done(remit("agents", "delete", "payer", "--yes", "--json"))) == {
        "deleted": shown["id"],
        "policies": 0,
    }
