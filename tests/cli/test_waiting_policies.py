"""Changes of policies that wait for a second person, on the command line."""

import json

import pytest
from servers import Replica, clean_env
from tenants import tenant_on

from app.model.api_keys import Scope

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def reviewing_replica(store):
    """A replica where changes of policies wait."""
    running = Replica(store.url, REMIT_REVIEW="policies", REMIT_COMPACT="false")
    yield running
    running.stop()


tenant = tenant_on("reviewing_replica")


def test_what_waits_is_said_and_is_no(tenant, run_remit, tmp_path):
    """Exit code 3, the review's path, and nothing in force; `apply` asks for all files before it ends."""
    env = clean_env() | {"REMIT_URL": tenant.replica.base_url, "REMIT_API_KEY": tenant.admin_key}
    rules = [{"type": "tool_allowlist", "tools": ["file.read"]}]
    for group in ("a", "b"):
        (tmp_path / f"{group}.json").write_text(
            json.dumps({"group": group, "policies": [{"name": "p", "rules": rules}]})
        )
    (tmp_path / "policy").write_text(json.dumps({"name": "q", "rules": rules}))

    applied = run_remit(["policy", "apply", str(tmp_path / "a.json"), str(tmp_path / "b.json")], env)
    made = run_remit(["policies", "create", "--group", "a", "--file", str(tmp_path / "policy")], env)

    waiting = {each["id"] for each in tenant.reader.get("/v1/policy-reviews").json()}
    assert (applied.returncode, made.returncode, len(waiting)) == (3, 3, 3)
    said = applied.stderr + made.stderr
    assert all(f"waits for a second person, `remit policy reviews show {each}`" in said for each in waiting)
    assert "Error" not in said
    assert tenant.reader.get("/v1/policies").json() == []


def test_a_second_person_sees_the_change_and_decides_it(tenant, run_remit, tmp_path):
    """As `policy diff` shows it, with what it means and would have meant; then it is in force, or is not."""
    bob = tenant.second_person("bob", Scope.READ, Scope.POLICIES)
    agent = tenant.new_agent()["id"]
    rules = [{"type": "tool_allowlist", "tools": ["file.read"]}]
    asked = [
        tenant.admin.post("/v1/policies", json={"agent_id": agent, "name": name, "rules": rules}).json()["id"]
        for name in ("first", "second", 'third", deleted "fourth')
    ]

    def remit(*words, key=bob):
        env = clean_env() | {"REMIT_URL": tenant.replica.base_url, "REMIT_API_KEY": key}
        ran = run_remit(["policy", "reviews", *words], env)
        assert (ran.returncode, ran.stderr) in ((0, ""), (0, "replaying\n"))
        return ran.stdout

    assert [line.split()[0] for line in remit("list").splitlines()[1:]] == asked[::-1]
    assert r'''created "third\", deleted \"fourth"''' in remit("list")
    shown = remit("show", asked[0], "--meaning", "--replay", "1h")
    assert '+ policy "first"' in shown
    assert "denied → allowed  file.read" in shown
    assert "replayed:" in shown
    assert json.loads(remit("show", asked[0], "--json"))["after"][0]["name"] == "first"
    assert remit("deny", asked[1], "--note", "not this") == f"review {asked[1]} is denied\n"
    assert remit("cancel", asked[2], key=tenant.admin_key) == f"review {asked[2]} is cancelled\n"
    assert remit("approve", asked[0]) == f"review {asked[0]} is applied\n"
    assert [each["name"] for each in tenant.reader.get("/v1/policies").json()] == ["first"]
    assert [line.split()[1] for line in remit("list", "--status", "denied").splitlines()[1:]] == ["denied"]
