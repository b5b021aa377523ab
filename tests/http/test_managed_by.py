"""`managedBy`: policies that files manage say so, and whoever changes them elsewhere is warned."""

import json

import pytest
from command_line import run_remit
from servers import clean_env
from tenants import tenant_on

tenant = tenant_on()
FREE = {"type": "tool_allowlist", "tools": ["a.*"]}
REPO = "https://git.example.com/acme/policies"


@pytest.fixture
def agent(tenant):
    return tenant.new_agent(alias="bot")["id"]


def put(tenant, policies, **query):
    answer = tenant.admin.put("/v1/agents/bot/policies", json={"policies": policies}, params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


def codes(answer):
    return [each["code"] for each in answer.get("warnings", []) if each["code"] == "managed_elsewhere"]


def entry(name, **fields):
    return {"name": name, "rules": [FREE], **fields}


def test_writes_from_elsewhere_keep_the_mark_and_are_warned(tenant, agent):
    """Updates, a shadow policy's enforcement, rollbacks, sets with and without prune, and deletions; not the source."""
    made = put(tenant, [entry("p"), entry("q", mode="shadow")], managed_by=REPO)
    assert codes(made) == []
    assert [each["managedBy"] for each in tenant.admin.get("/v1/policies").json()] == [REPO, REPO]
    by_name = {each["name"]: f"/v1/policies/{each['id']}" for each in made["policies"]}
    for path, change in ((by_name["p"], {"priority": 3}), (by_name["q"], {"mode": "enforce"})):
        changed = tenant.admin.patch(path, json=change).json()
        assert (codes(changed), changed["managedBy"]) == (["managed_elsewhere"], REPO)
        assert REPO in changed["warnings"][0]["message"]
    back = tenant.admin.post(f"{by_name['p']}/rollback", json={"version": 1}).json()
    assert (codes(back), back["managedBy"], back["priority"]) == (["managed_elsewhere"], REPO, 0)
    assert codes(tenant.admin.patch(by_name["p"], json={}).json()) == []

    shown = tenant.admin.get("/v1/agents/bot/policies").json()["policies"]
    sent_back = [each | {"priority": 5} for each in shown]
    for query, warned in (({}, 2), ({"managed_by": "another"}, 2), ({"managed_by": "another"}, 0)):
        again = put(tenant, [each | {"priority": 5 + warned} for each in sent_back], **query)
        assert len(codes(again)) == warned
    assert {each["managedBy"] for each in again["policies"]} == {"another"}
    assert len(codes(put(tenant, [], prune="true", managed_by="another"))) == 0

    put(tenant, [entry("p"), entry("q")], managed_by=REPO)
    assert len(codes(put(tenant, [entry("p")], prune="true"))) == 1
    [kept] = tenant.admin.get("/v1/policies").json()
    deleted = tenant.admin.delete(f"/v1/policies/{kept['id']}")
    assert (deleted.status_code, deleted.headers["X-Managed-By"]) == (204, REPO)
    free = tenant.new_policy(agent, FREE)
    assert "X-Managed-By" not in tenant.admin.delete(f"/v1/policies/{free['id']}").headers


def test_the_mark_is_set_and_cleared_like_any_field_and_is_in_the_trail(tenant, agent):
    """Who writes it says where the policy is managed, and is not warned; null ends that."""
    made = tenant.new_policy(agent, FREE, managedBy=REPO)
    path = f"/v1/policies/{made['id']}"
    taken = tenant.admin.patch(path, json={"managedBy": "mine", "priority": 1}).json()
    assert (codes(taken), taken["managedBy"]) == ([], "mine")
    assert codes(tenant.admin.patch(path, json={"managedBy": None}).json()) == []
    assert codes(tenant.admin.patch(path, json={"priority": 2}).json()) == []
    changes = tenant.admin.get("/v1/changes", params={"resource_id": made["id"]}).json()
    marks = [each["after"]["managedBy"] for each in changes if "managedBy" in each["after"]]
    assert marks == [None, "mine", REPO]
    for wrong in ("", " x", "x\n", "é", "x" * 256, "\u202e", 7):
        answer = tenant.admin.patch(path, json={"managedBy": wrong})
        assert (answer.status_code, answer.json()["error"]["details"][0]["path"]) == (400, "$.managed_by"), wrong
    for wrong in ("", "é", "x\n", "x" * 256):
        body, params = {"policies": []}, {"managed_by": wrong}
        assert tenant.admin.put("/v1/agents/bot/policies", json=body, params=params).status_code == 400


def test_strict_writes_leave_alone_what_files_manage(tenant, agent):
    """A warning is an error there, before anything is written; a draft that is only linted is no write."""
    [policy] = put(tenant, [entry("p")], managed_by=REPO)["policies"]
    refused = tenant.admin.patch(f"/v1/policies/{policy['id']}", json={"priority": 1}, params={"strict": "true"})
    assert "managed_elsewhere" in refused.json()["error"]["details"][0]["message"]
    body = {"policies": [entry("p", priority=1)]}
    assert tenant.admin.put("/v1/agents/bot/policies", json=body, params={"strict": "true"}).status_code == 400
    assert tenant.admin.get(f"/v1/policies/{policy['id']}").json() == policy
    lint = tenant.admin.post("/v1/policies/lint", json=body | {"agent_id": "bot"}).json()
    assert codes(lint) == []


@pytest.mark.slow
def test_apply_marks_what_it_applies_and_commands_warn(tenant, agent, tmp_path):
    """Without --managed-by, marks stay as they are; an export has none, so it can be applied anywhere."""
    env = clean_env() | {"REMIT_URL": tenant.replica.base_url, "REMIT_API_KEY": tenant.admin_key}
    file = tmp_path / "bot.yaml"
    file.write_text(json.dumps({"agent": "bot", "policies": [entry("p")]}))

    def remit(*words, code=0):
        ran = run_remit(list(words), env)
        assert ran.returncode == code, ran
        return ran.stdout + ran.stderr

    assert "1 created" in remit("policy", "apply", str(file), "--managed-by", REPO)
    assert "Nothing changes" in remit("policy", "diff", str(file), "--managed-by", REPO)
    assert "Nothing changes" in remit("policy", "diff", str(file))
    assert f'"{REPO}" → "b"' in remit("policy", "diff", str(file), "--managed-by", "b")
    assert REPO in remit("policies", "list")
    assert REPO in remit("policies", "show", "p")
    assert "managed_elsewhere" in remit("policies", "update", "p", "--priority", "4")
    assert "managed_elsewhere" in remit("policies", "rollback", "p", "1")
    assert "managedBy" not in remit("policy", "export", "--agent", "bot")
    file.write_text(json.dumps({"agent": "bot", "policies": [entry("p", priority=9)]}))
    assert "managed_elsewhere" not in remit("policy", "apply", str(file), "--managed-by", REPO)
    file.write_text(json.dumps({"agent": "bot", "policies": [entry("p", priority=8)]}))
    assert "managed_elsewhere" in remit("policy", "apply", str(file))
    assert f'managed by "{REPO}"' in remit("policies", "delete", "p")
    assert "1 created" in remit("policy", "apply", str(file), "--managed-by", REPO)
    remit("policies", "update", "p", "--managed-by", "")
    assert REPO not in remit("policies", "list")
