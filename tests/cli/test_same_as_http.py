"""What a command changes, it changes as the request does: with the same effects, and within the same limits."""

import json

import pytest
from approval_steps import ALLOW, ASK, SECRET
from servers import Replica, clean_env
from tenants import tenant_on

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def asking_replica(store):
    """A replica that can bind approvals to calls; no compactor ends them."""
    running = Replica(store.url, REMIT_SECRET=SECRET, REMIT_COMPACT="false")
    yield running
    running.stop()


tenant = tenant_on("asking_replica")


@pytest.fixture
def remit(tenant, run_remit):
    """Runs `remit` in the workspace of a tenant."""

    def run(*words):
        env = clean_env() | {"REMIT_REDIS_URL": tenant.store_url, "REMIT_SECRET": SECRET}
        return run_remit([*words, "-w", tenant.id], env)

    return run


@pytest.mark.parametrize(
    "words",
    [
        "agents suspend AGENT",
        "agents update AGENT --status suspended",
        "agents revoke AGENT --yes",
        "agents delete AGENT --yes",
        "policies delete POLICY",
        "policies apply FILE --prune",
        "keys revoke KEY",
    ],
)
def test_a_command_ends_the_approvals_whose_basis_it_removes(words, tenant, remit, tmp_path):
    """Before it is done; a compactor would do so later."""
    agent_id = tenant.new_agent()["id"]
    tenant.new_policy(agent_id, ALLOW)
    policy = tenant.new_policy(agent_id, ASK)
    key = tenant.new_key(["read"])
    call = {"agent_id": agent_id, "tool_name": "refund.create", "parameters": {"amount": 5}}
    with tenant.replica.client(key["key"]) as asking:
        asked = asking.post("/v1/authorize", json=call).json()["approval"]["id"]
    file = tmp_path / "none.json"
    file.write_text(json.dumps({"agent": agent_id, "policies": []}))
    called = {"AGENT": agent_id, "POLICY": policy["id"], "KEY": key["id"], "FILE": str(file)}

    done = remit(*(called.get(word, word) for word in words.split()))

    assert (done.returncode, done.stderr) == (0, "")
    assert tenant.admin.get(f"/v1/approvals/{asked}").json()["status"] == "cancelled"


def test_a_rollback_warns_of_what_is_hardly_meant(tenant, remit):
    """On standard error, and in JSON as the request does."""
    agent_id = tenant.new_agent()["id"]
    limited = {"type": "rate_limit", "tools": ["*"], "rateLimit": {"maxCalls": 1, "windowSeconds": 60}}
    policy = tenant.new_policy(agent_id, limited)
    tenant.admin.patch(f"/v1/policies/{policy['id']}", json={"rules": [ALLOW]})
    back = tenant.admin.post(f"/v1/policies/{policy['id']}/rollback", json={"version": 1}).json()

    done = remit("policies", "rollback", policy["id"], "1")
    told = json.loads(remit("policies", "rollback", policy["id"], "1", "--json").stdout)

    assert [f"Warning: {each['path']}: {each['code']}: {each['message']}" for each in back["warnings"]] == (
        done.stderr.splitlines()
    )
    assert told["warnings"] == back["warnings"]


GROUPS = [word for number in range(17) for word in ("--group", f"g{number}")]
RULE_TYPES = [word for number in range(21) for word in ("--denied-by", f"t{number}")]
EVENT = ["https://example.com/", "--event", "decision.denied"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["agents", "create", "a", *GROUPS], "groups"),
        (["agents", "update", "AGENT", *GROUPS], "groups"),
        (["webhooks", "create", *EVENT, *RULE_TYPES], "ruleTypes"),
        (["webhooks", "create", *EVENT, "--denied-by", "t" * 65], "ruleTypes"),
        (["webhooks", "rotate", "WEBHOOK", "--overlap", "31d"], "2592000"),
    ],
)
def test_a_command_refuses_what_the_request_refuses(words, said, tenant, remit):
    """One sentence, and nothing is changed."""
    tenant.admin.post("/v1/webhooks", json={"url": EVENT[0], "events": ["decision.denied"]})
    [webhook] = tenant.admin.get("/v1/webhooks").json()
    called = {"AGENT": tenant.new_agent()["id"], "WEBHOOK": webhook["id"]}

    done = remit(*(called.get(word, word) for word in words))

    assert done.returncode == 2, done.stderr
    assert said in done.stderr
    assert tenant.admin.get("/v1/webhooks").json() == [webhook]
