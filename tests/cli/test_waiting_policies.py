"""Changes of policies that wait for a second person, on the command line."""

import json

import pytest
from servers import Replica, clean_env
from tenants import tenant_on

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
    assert all(f"waits for a second person, as /v1/policy-reviews/{each}" in said for each in waiting)
    assert "Error" not in said
    assert tenant.reader.get("/v1/policies").json() == []
