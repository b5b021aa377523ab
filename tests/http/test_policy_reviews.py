"""A second person before a policy binds, over HTTP: every way to write waits, and binds once somebody else approves."""

import msgspec
import pytest
from servers import Replica
from tenants import FREE, tenant_on

from app.model.api_keys import Scope
from app.model.proposals import ProposalLine
from app.propose.proposed_file import in_shadow

RULES = [{"type": "tool_allowlist", "tools": ["file.read"]}]
GUARD = {"name": "g", "kind": "guardrail", "rules": [{"type": "tool_denylist", "tools": ["rm"]}]}


@pytest.fixture(scope="module")
def reviewing_replica(store):
    """A replica where changes of policies wait; nothing seals what it writes."""
    running = Replica(store.url, REMIT_REVIEW="policies", REMIT_COMPACT="false")
    yield running
    running.stop()


tenant = tenant_on("reviewing_replica")


@pytest.fixture
def plain(tenant, replica):
    """The same workspace on a replica where nothing waits."""
    with replica.client(tenant.admin_key) as client:
        yield client


@pytest.fixture
def bob(tenant, reviewing_replica):
    """A second person, who may write policies and nothing else."""
    with reviewing_replica.client(tenant.second_person("bob", Scope.POLICIES)) as client:
        yield client


@pytest.fixture
def agent(tenant):
    return tenant.new_agent()["id"]


def refusal(answer):
    return answer.status_code, answer.json()["error"]["code"]


WRITES = {
    "create": lambda of, agent, policy: of.post("/v1/policies", json={"agent_id": agent, "name": "n", "rules": RULES}),
    "update": lambda of, agent, policy: of.patch(f"/v1/policies/{policy}", json={"rules": [FREE]}),
    "delete": lambda of, agent, policy: of.delete(f"/v1/policies/{policy}"),
    "roll back": lambda of, agent, policy: of.post(f"/v1/policies/{policy}/rollback", json={"version": 1}),
    "an agent's set": lambda of, agent, policy: of.put(
        f"/v1/agents/{agent}/policies", json={"policies": [{"name": "n", "rules": RULES}]}
    ),
    "a group's set": lambda of, agent, policy: of.put(
        "/v1/groups/crew/policies", json={"policies": [{"name": "n", "rules": RULES}]}
    ),
    "the workspace's set": lambda of, agent, policy: of.put("/v1/workspace/policies?prune=true", json={"policies": []}),
}


@pytest.mark.parametrize("write", WRITES)
def test_every_way_to_write_waits_and_then_binds(tenant, plain, bob, agent, write):
    """202 with the review, and nothing else has changed; then what was shown is what binds."""
    assert plain.put("/v1/workspace/policies", json={"policies": [GUARD]}).status_code == 200
    policy = plain.post("/v1/policies", json={"agent_id": agent, "name": "p", "rules": RULES}).json()["id"]
    assert plain.patch(f"/v1/policies/{policy}", json={"priority": 7}).status_code == 200
    before = tenant.reader.get("/v1/policies").json()

    answer = WRITES[write](tenant.admin, agent, policy)

    assert answer.status_code == 202, answer.text
    review = answer.json()
    assert review["status"] == "pending"
    assert tenant.reader.get("/v1/policies").json() == before
    assert tenant.reader.get("/v1/policy-reviews", params={"status": "pending"}).json() == [
        {name: value for name, value in review.items() if name != "warnings"}
    ]
    shown = tenant.reader.get(f"/v1/policy-reviews/{review['id']}").json()
    assert [each["before"] for each in shown["policies"] if each["before"]] == [
        each for each in before if each["id"] in {change["policyId"] for change in shown["policies"]}
    ]
    assert refusal(tenant.admin.post(f"/v1/policy-reviews/{review['id']}/approve", json={})) == (
        403,
        "OWN_POLICY_REVIEW",
    )
    approved = bob.post(f"/v1/policy-reviews/{review['id']}/approve", json={"note": "fine"})
    assert (approved.status_code, approved.json()["status"]) == (200, "applied")
    assert (approved.json()["decidedBy"]["name"], approved.json()["note"]) == ("bob", "fine")

    owner = {name: shown[name] for name in ("agentId", "group")}
    after = [each for each in tenant.reader.get("/v1/policies").json() if {n: each[n] for n in owner} == owner]
    own = {"id", "agentId", "group", "version", "createdAt", "updatedAt"}
    assert [{n: v for n, v in each.items() if n not in own} for each in after] == [
        {n: v for n, v in each.items() if n not in own} for each in shown["after"]
    ]
    again = bob.post(f"/v1/policy-reviews/{review['id']}/approve", json={})
    assert refusal(again) == (409, "POLICY_REVIEW_DECIDED")


def test_the_trail_says_who_asked_and_who_approved(tenant, bob, agent):
    """The policy's change is of whoever asked, with their reason; the approval is of whoever approved."""
    body = {"agent_id": agent, "name": "n", "rules": RULES}
    review = tenant.admin.post("/v1/policies", json=body, headers={"Change-Reason": "for the audit"}).json()
    assert (review["reason"], review["policies"][0]["kind"]) == ("for the audit", "created")
    bob.post(f"/v1/policy-reviews/{review['id']}/approve", json={"note": "read it"})
    policy, decided, asked = tenant.admin.get("/v1/changes", params={"limit": 3}).json()
    assert (policy["actorName"], policy["reason"], policy["approvedBy"]["name"]) == (
        "first admin key",
        "for the audit",
        "bob",
    )
    assert policy["resourceId"] == review["policies"][0]["policyId"]
    assert (decided["resourceType"], decided["actorName"], decided["after"]) == (
        "policy_review",
        "bob",
        {"status": "applied"},
    )
    assert (asked["resourceId"], asked["after"]["policies"]) == (review["id"], review["policies"])
    assert "approvedBy" not in asked
    assert tenant.admin.get("/v1/audit-logs/verify").json()["intact"] is True


def test_a_stop_never_waits(tenant, agent):
    """A guardrail, a shadow policy, a suspension, a revoked key."""
    assert tenant.admin.post("/v1/policies", json=GUARD).status_code == 201
    shadow = {"agent_id": agent, "name": "s", "rules": RULES, "mode": "shadow"}
    assert tenant.admin.post("/v1/policies", json=shadow).status_code == 201
    assert tenant.admin.patch(f"/v1/agents/{agent}", json={"status": "suspended"}).status_code == 200
    assert tenant.admin.delete(f"/v1/api-keys/{tenant.new_key(['read'])['id']}").status_code == 204


def test_what_is_no_policy_waits_for_nobody(tenant, plain, agent):
    """As the page says: groups, the end of a suspension, and an agent that takes the place of one with a guardrail."""
    everything = {"policies": [{"name": "all", "rules": [FREE]}]}
    assert plain.put("/v1/groups/crew/policies", json=everything).status_code == 200
    assert plain.post("/v1/policies", json={**GUARD, "agent_id": agent}).status_code == 201

    def result(tool, of=agent):
        return tenant.authorize(of, tool)["result"]

    for changes, expected in (
        ({"groups": ["crew"]}, "allowed"),
        ({"status": "suspended"}, "denied"),
        ({"status": "active"}, "allowed"),
        ({"groups": []}, "denied"),
    ):
        assert tenant.admin.patch(f"/v1/agents/{agent}", json=changes).status_code == 200
        assert result("ls") == expected
    assert result("rm") == "denied"
    assert tenant.admin.delete(f"/v1/agents/{agent}").status_code == 204
    assert result("rm", tenant.new_agent(groups=["crew"])["id"]) == "allowed"


def test_a_proposal_in_shadow_never_waits_and_one_that_is_applied_does(tenant, plain):
    """Whatever a log makes of an agent's policies binds nothing before a second person has approved it."""
    agent = tenant.new_agent(alias="proposed")["id"]
    made = plain.post("/v1/policies", json={"agent_id": agent, "name": "everything", "rules": [FREE]})
    assert made.status_code == 201, made.text
    marked = {"orders.read": {"consequence": "none", "foreign": False}}
    assert plain.put("/v1/catalog/tool/orders.read", json={}).status_code in (200, 201)
    assert plain.patch("/v1/catalog", json={"tools": marked}).status_code == 200
    for user in ("ann", "bob", "cleo", "dan"):
        context = {"user": user, "session": f"of {user}"}
        call = {"agent_id": agent, "tool_name": "orders.read", "parameters": {}, "context": context}
        assert plain.post("/v1/authorize", json=call).json()["result"] == "allowed"
    answer = plain.post("/v1/policies/propose", json={"agent_id": agent}, timeout=60).text
    found = msgspec.json.decode(answer.splitlines()[-1], type=ProposalLine).proposal
    path = f"/v1/agents/{agent}/policies"

    shadow = tenant.admin.put(path, json={"policies": in_shadow(found.policies, found.tools)})
    assert shadow.status_code == 200, shadow.text
    before = plain.get(path).json()["policies"]
    assert {each["mode"] for each in before if each["name"] != "everything"} == {"shadow"}

    applied = tenant.admin.put(path, params={"prune": "true"}, json={"policies": found.policies})
    assert (applied.status_code, applied.json()["status"]) == (202, "pending"), applied.text
    assert plain.get(path).json()["policies"] == before


def test_what_cannot_be_written_does_not_wait(tenant, plain, agent):
    """What is invalid, has a warning and must not, is of another version, or has another's key."""
    grant = {"agent_id": agent, "name": "p", "rules": RULES}
    policy = plain.post("/v1/policies", json=grant | {"key": "k"}).json()
    allows_all = {"agent_id": agent, "name": "n", "rules": [FREE]}
    assert tenant.admin.post("/v1/policies?strict=true", json=allows_all).status_code == 400
    assert refusal(tenant.admin.post("/v1/policies", json=grant | {"key": "k"})) == (409, "POLICY_KEY_TAKEN")
    stale = {"If-Match": '"7"'}
    changes = {"priority": 7}
    assert tenant.admin.patch(f"/v1/policies/{policy['id']}", json=changes, headers=stale).status_code == 412
    assert tenant.admin.delete(f"/v1/policies/{policy['id']}", headers=stale).status_code == 412
    assert tenant.reader.get("/v1/policy-reviews").json() == []
    warned = tenant.admin.post("/v1/policies", json=allows_all)
    assert (warned.status_code, len(warned.json()["warnings"]) > 0) == (202, True)


def test_the_whole_set_is_compared_as_it_is_shown(tenant, plain, agent):
    """`after` is what `/v1/policies/compare` and `/v1/replay` take; a new policy comes after older ones."""
    plain.post("/v1/policies", json={"agent_id": agent, "name": "older", "rules": RULES})
    review = tenant.admin.post("/v1/policies", json={"agent_id": agent, "name": "newer", "rules": [FREE]}).json()
    shown = tenant.reader.get(f"/v1/policy-reviews/{review['id']}").json()
    assert [(each["name"], "id" in each) for each in shown["after"]] == [("older", True), ("newer", False)]
    compared = tenant.reader.post("/v1/policies/compare", json={"agent_id": agent, "after": shown["after"]})
    assert compared.status_code == 200, compared.text
    replayed = tenant.reader.post("/v1/replay", json={"agent_id": agent, "policies": shown["after"]})
    assert replayed.status_code == 200, replayed.text


def test_who_may_not_write_policies_decides_none(tenant, reviewing_replica, agent):
    """Whoever reads sees; whoever approves calls is not asked."""
    review = tenant.admin.post("/v1/policies", json={"agent_id": agent, "name": "n", "rules": RULES}).json()
    for scope in ("approve", "view", "audit"):
        with reviewing_replica.client(tenant.new_key([scope])["key"]) as other:
            for verdict in ("approve", "deny", "cancel"):
                assert other.post(f"/v1/policy-reviews/{review['id']}/{verdict}", json={}).status_code == 403
            assert other.get("/v1/policy-reviews").status_code == (200 if scope == "view" else 403)
    for path in ("x", "00000000-0000-7000-8000-000000000000"):
        assert refusal(tenant.reader.get(f"/v1/policy-reviews/{path}")) == (404, "POLICY_REVIEW_NOT_FOUND")


def test_a_denial_and_a_withdrawal_are_in_the_trail(tenant, bob, agent):
    """With what was said; neither writes a policy."""
    asked = [
        tenant.admin.post("/v1/policies", json={"agent_id": agent, "name": name, "rules": RULES}).json()["id"]
        for name in ("a", "b")
    ]
    denied = bob.post(f"/v1/policy-reviews/{asked[0]}/deny", json={"note": "too wide\nsee #7"})
    assert refusal(bob.post(f"/v1/policy-reviews/{asked[1]}/cancel", json={})) == (403, "OWN_POLICY_REVIEW")
    cancelled = tenant.admin.post(f"/v1/policy-reviews/{asked[1]}/cancel", json={})
    assert [each.json()["status"] for each in (denied, cancelled)] == ["denied", "cancelled"]
    changes = tenant.admin.get("/v1/changes", params={"resource_type": "policy_review", "limit": 2}).json()
    assert [(each["actorName"], each["after"], each.get("reason")) for each in changes] == [
        ("first admin key", {"status": "cancelled"}, None),
        ("bob", {"status": "denied"}, "too wide\nsee #7"),
    ]
    assert tenant.reader.get("/v1/policies").json() == []


def test_pages_by_cursor_have_each_review_once(tenant, agent):
    """Filtered by owner and status."""
    made = [
        tenant.admin.post("/v1/policies", json={"agent_id": agent, "name": f"n{n}", "rules": RULES}).json()["id"]
        for n in range(3)
    ]
    found, cursor = [], {}
    while True:
        page = tenant.reader.get("/v1/policy-reviews", params={"agent_id": agent, "limit": 2, **cursor})
        found += [each["id"] for each in page.json()]
        if "X-Next-Cursor" not in page.headers:
            break
        cursor = {"cursor": page.headers["X-Next-Cursor"]}
    assert found == made[::-1]
    assert tenant.reader.get("/v1/policy-reviews", params={"group": "crew"}).json() == []
    assert tenant.reader.get("/v1/policy-reviews", params={"status": "applied,denied"}).json() == []


def test_a_replica_without_the_setting_asks_for_nothing(plain, agent):
    """And shows what others have asked for."""
    assert plain.post("/v1/policies", json={"agent_id": agent, "name": "n", "rules": RULES}).status_code == 201
    assert plain.get("/v1/policy-reviews").json() == []
