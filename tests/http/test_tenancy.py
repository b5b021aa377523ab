"""A workspace sees nothing of another: wherever an id can stand, one of another workspace is an unknown one.

The rows are compared with the table of operations, so that a new route, or a new place for an id, fails without one.
"""

import re
import uuid

import pytest
from monitor import watched
from servers import Replica, Store
from tenants import FREE, Tenant

from app.http.api.policy_sets import PutPolicies
from app.http.routes import ENDPOINTS
from app.policy_tools.struct_schemas.queries import parameters_of

AGENT, POLICY, KEY, WORKSPACE, ENTRY = "agent", "policy", "key", "workspace", "entry"
APPROVAL, WEBHOOK, SESSION, REVIEW = "approval", "webhook", "session", "review"
FILTERS = {"query agent_id": AGENT, "query key_id": KEY, "query policy_id": POLICY, "query id": ENTRY}
OUR_ASKING_AGENT = "asking"
CHECKPOINT = "{} 1 1 " + "0" * 64 + " 2026-11-20T12:00:00.000Z"

ROWS = {
    ("POST", "/v1/authorize"): {
        "body agent_id": AGENT,
        "body agentId": AGENT,
        "body approval_id": APPROVAL,
        "body approvalId": APPROVAL,
    },
    ("POST", "/v1/hooks/claude-code"): {},
    ("POST", "/access/v1/evaluation"): {},
    ("POST", "/access/v1/evaluations"): {},
    ("POST", "/access/v1/ext-authz/{path}"): {},
    ("POST", "/access/v1/requests"): {},
    ("GET", "/access/v1/requests/{task_id}"): {"path task_id": APPROVAL},
    ("POST", "/access/v1/requests/{task_id}/cancel"): {"path task_id": APPROVAL},
    ("POST", "/access/v1/search/subject"): {},
    ("POST", "/access/v1/search/resource"): {},
    ("POST", "/access/v1/search/action"): {},
    ("POST", "/v1/authorize/batch"): {},
    ("POST", "/v1/explain"): {"body agent_id": AGENT},
    ("POST", "/v1/agents"): {},
    ("GET", "/v1/agents"): {},
    ("GET", "/v1/agents/{agent_id}"): {"path agent_id": AGENT},
    ("PATCH", "/v1/agents/{agent_id}"): {"path agent_id": AGENT},
    ("DELETE", "/v1/agents/{agent_id}"): {"path agent_id": AGENT},
    ("GET", "/v1/agents/{agent_id}/tools"): {"path agent_id": AGENT},
    ("POST", "/v1/agents/{agent_id}/tools"): {"path agent_id": AGENT},
    ("GET", "/v1/agents/{agent_id}/quotas"): {"path agent_id": AGENT},
    ("GET", "/v1/agents/{agent_id}/remembered"): {"path agent_id": AGENT},
    ("DELETE", "/v1/agents/{agent_id}/remembered"): {"path agent_id": AGENT},
    ("POST", "/v1/sessions/{session_id}/request"): {},
    ("GET", "/v1/sessions/{session_id}/request"): {},
    ("POST", "/v1/policies"): {"body agent_id": AGENT},
    ("POST", "/v1/policies/lint"): {"body agent_id": AGENT},
    ("POST", "/v1/policies/test"): {"body agent_id": AGENT},
    ("POST", "/v1/policies/compare"): {"body agent_id": AGENT},
    ("POST", "/v1/policies/propose"): {"body agent_id": AGENT},
    ("GET", "/v1/agents/{agent_id}/bounds"): {"path agent_id": AGENT},
    ("GET", "/v1/agents/{agent_id}/history"): {"path agent_id": AGENT},
    ("GET", "/v1/policies"): {"query agent_id": AGENT},
    ("GET", "/v1/policies/{policy_id}"): {"path policy_id": POLICY, "query agent_id": AGENT},
    ("PATCH", "/v1/policies/{policy_id}"): {"path policy_id": POLICY, "query agent_id": AGENT},
    ("DELETE", "/v1/policies/{policy_id}"): {"path policy_id": POLICY, "query agent_id": AGENT},
    ("GET", "/v1/policy-reviews"): {"query agent_id": AGENT},
    ("GET", "/v1/policy-reviews/{review_id}"): {"path review_id": REVIEW},
    ("POST", "/v1/policy-reviews/{review_id}/approve"): {"path review_id": REVIEW},
    ("POST", "/v1/policy-reviews/{review_id}/deny"): {"path review_id": REVIEW},
    ("POST", "/v1/policy-reviews/{review_id}/cancel"): {"path review_id": REVIEW},
    ("GET", "/v1/agents/{agent_id}/policies"): {"path agent_id": AGENT},
    ("PUT", "/v1/agents/{agent_id}/policies"): {"path agent_id": AGENT},
    ("GET", "/v1/groups/{group}/policies"): {},
    ("PUT", "/v1/groups/{group}/policies"): {},
    ("GET", "/v1/workspace/policies"): {},
    ("PUT", "/v1/workspace/policies"): {},
    ("GET", "/v1/policies/{policy_id}/versions"): {"path policy_id": POLICY, "query agent_id": AGENT},
    ("GET", "/v1/policies/{policy_id}/divergence"): {"path policy_id": POLICY, "query agent_id": AGENT},
    ("POST", "/v1/policies/{policy_id}/rollback"): {"path policy_id": POLICY, "query agent_id": AGENT},
    ("PUT", "/v1/catalog"): {},
    ("PATCH", "/v1/catalog"): {},
    ("GET", "/v1/catalog"): {},
    ("GET", "/v1/catalog/tool/{tool}"): {},
    ("PUT", "/v1/catalog/tool/{tool}"): {},
    ("DELETE", "/v1/catalog/tool/{tool}"): {},
    ("GET", "/v1/catalog/{resource_type}/{resource_name}"): {},
    ("PUT", "/v1/catalog/{resource_type}/{resource_name}"): {},
    ("DELETE", "/v1/catalog/{resource_type}/{resource_name}"): {},
    ("GET", "/v1/audit-logs"): FILTERS,
    ("GET", "/v1/audit-logs/{entry_id}"): {"path entry_id": ENTRY},
    ("GET", "/v1/audit-logs/{entry_id}/explanation"): {"path entry_id": ENTRY},
    ("GET", "/v1/audit-logs/counts"): FILTERS,
    ("GET", "/v1/audit-logs/export"): FILTERS,
    ("GET", "/v1/audit-logs/stream"): FILTERS,
    ("POST", "/v1/replay"): {"body agent_id": AGENT},
    ("GET", "/v1/audit-logs/status"): {},
    ("GET", "/v1/audit-logs/archive"): {},
    ("GET", "/v1/audit-logs/checkpoint"): {},
    ("GET", "/v1/audit-logs/{entry_id}/proof"): {"path entry_id": ENTRY},
    ("GET", "/v1/changes/checkpoint"): {},
    ("POST", "/v1/audit-logs/accept-fork"): {},
    ("GET", "/v1/audit-logs/verify"): {"query checkpoint": WORKSPACE},
    ("POST", "/v1/decisions/{decision_id}/outcome"): {"path decision_id": ENTRY},
    ("GET", "/v1/approvals"): {"query agent_id": AGENT, "query plan_id": AGENT},
    ("GET", "/v1/approvals/stream"): {},
    ("GET", "/v1/approvals/summary"): {"query agent_id": AGENT},
    ("GET", "/v1/approvals/{approval_id}"): {"path approval_id": APPROVAL},
    ("POST", "/v1/approvals/decide"): {},
    ("GET", "/v1/approvals/{approval_id}/usual"): {"path approval_id": APPROVAL},
    ("POST", "/v1/approvals/{approval_id}/approve"): {"path approval_id": APPROVAL},
    ("POST", "/v1/approvals/{approval_id}/deny"): {"path approval_id": APPROVAL},
    ("POST", "/v1/approvals/{approval_id}/cancel"): {"path approval_id": APPROVAL},
    ("POST", "/v1/webhooks"): {},
    ("GET", "/v1/webhooks"): {},
    ("GET", "/v1/webhooks/{webhook_id}"): {"path webhook_id": WEBHOOK},
    ("PATCH", "/v1/webhooks/{webhook_id}"): {"path webhook_id": WEBHOOK},
    ("DELETE", "/v1/webhooks/{webhook_id}"): {"path webhook_id": WEBHOOK},
    ("POST", "/v1/webhooks/{webhook_id}/rotate-secret"): {"path webhook_id": WEBHOOK},
    ("POST", "/v1/webhooks/{webhook_id}/test"): {"path webhook_id": WEBHOOK},
    ("GET", "/v1/webhooks/{webhook_id}/deliveries"): {"path webhook_id": WEBHOOK},
    ("GET", "/v1/webhooks/{webhook_id}/events"): {"path webhook_id": WEBHOOK},
    ("POST", "/v1/webhooks/{webhook_id}/retry"): {"path webhook_id": WEBHOOK},
    ("GET", "/v1/changes"): {"query actor_id": KEY, "query resource_id": POLICY},
    ("POST", "/v1/api-keys"): {},
    ("GET", "/v1/api-keys"): {},
    ("DELETE", "/v1/api-keys/{key_id}"): {"path key_id": KEY},
    ("POST", "/v1/api-keys/{key_id}/rotate"): {"path key_id": KEY},
    ("GET", "/v1/session"): {},
    ("DELETE", "/v1/session"): {},
    ("GET", "/v1/sessions"): {},
    ("DELETE", "/v1/sessions/{session_id}"): {"path session_id": SESSION},
    ("GET", "/v1/issuers"): {},
    ("GET", "/v1/issuers/{issuer_name}"): {},
    ("PUT", "/v1/issuers/{issuer_name}"): {},
    ("DELETE", "/v1/issuers/{issuer_name}"): {},
}
"""For every operation that needs a key: each place where an id can stand, and whose id it is."""

BODIES = {
    ("POST", "/v1/decisions/{decision_id}/outcome"): {"status": "executed"},
    ("POST", "/v1/approvals/{approval_id}/approve"): {},
    ("POST", "/v1/approvals/{approval_id}/deny"): {},
    ("POST", "/v1/approvals/{approval_id}/cancel"): {},
    ("POST", "/v1/policy-reviews/{review_id}/approve"): {},
    ("POST", "/v1/policy-reviews/{review_id}/deny"): {},
    ("POST", "/v1/policy-reviews/{review_id}/cancel"): {},
    ("POST", "/v1/api-keys/{key_id}/rotate"): {},
    ("PATCH", "/v1/webhooks/{webhook_id}"): {"enabled": False},
    ("POST", "/v1/webhooks/{webhook_id}/rotate-secret"): {},
    ("POST", "/v1/webhooks/{webhook_id}/test"): {},
    ("POST", "/v1/webhooks/{webhook_id}/retry"): {},
    ("POST", "/v1/authorize"): {"tool_name": "file.read"},
    ("POST", "/v1/explain"): {"tool_name": "file.read"},
    ("POST", "/v1/replay"): {},
    ("PATCH", "/v1/agents/{agent_id}"): {"name": "taken over"},
    ("POST", "/v1/agents/{agent_id}/tools"): {"names": ["file.read"]},
    ("POST", "/v1/policies"): {"name": "smuggled", "rules": [FREE]},
    ("POST", "/v1/policies/lint"): {"policies": [{"name": "smuggled", "rules": [FREE]}]},
    ("POST", "/v1/policies/test"): {"tests": [{"name": "t", "call": {"tool": "file.read"}, "want": "allowed"}]},
    ("POST", "/v1/policies/propose"): {},
    ("POST", "/v1/policies/compare"): {"after": [{"name": "smuggled", "rules": [FREE]}]},
    ("PATCH", "/v1/policies/{policy_id}"): {"enabled": False},
    ("PUT", "/v1/agents/{agent_id}/policies"): {"policies": [{"name": "smuggled", "rules": [FREE]}]},
    ("POST", "/v1/policies/{policy_id}/rollback"): {"version": 1},
}
ENDLESS = {("GET", "/v1/audit-logs/stream"), ("GET", "/v1/approvals/stream")}
TRIES = 3
NAMES = {"path", "group", "tool", "resource_type", "resource_name", "issuer_name"}
PROBES = [(*route, place, whose) for route, places in ROWS.items() for place, whose in places.items()]


def places(operation):
    """Where the table of operations says that an id can stand."""
    # Groups, tools and sessions of calls are names, and each workspace has its own of every name.
    path = operation.path.removeprefix("/v1/sessions/{session_id}/request")
    found = {f"path {name}" for name in re.findall(r"{(\w+)}", path) if name not in NAMES}
    found |= {
        f"query {each.name}"
        for each in parameters_of(operation.query)
        if re.search(r"_id$|^id$|^checkpoint$", each.name)
    }
    fields = getattr(operation.body, "__struct_fields__", ())
    # A coding agent's own, and whom the path names already.
    ours = [name for name in fields if name != "session_id" and operation.body is not PutPolicies]
    return found | {f"body {name}" for name in ours if re.search(r"_id$|Id$", name)}


def test_every_operation_and_every_place_of_an_id_has_its_row():
    """A new route without a row fails."""
    table = {(each.method, each.path): places(each) for each in ENDPOINTS if each.scopes}
    assert {route: set(row) for route, row in ROWS.items()} == table


@pytest.fixture(scope="module")
def quiet(valkey_store, tmp_path_factory):
    """A store on which nothing happens but what these tests ask for, and a replica on it without a compactor."""
    store = Store(valkey_store.binary, tmp_path_factory.mktemp("quiet"))
    public = "https://pdp.example.com"
    replica = Replica(store.url, REMIT_COMPACT="false", REMIT_SECRET="0123456789abcdef" * 2, REMIT_PUBLIC_URL=public)
    yield store, replica
    replica.stop()
    store.stop()


@pytest.fixture(scope="module")
def ours(quiet):
    """The workspace whose admin asks."""
    store, replica = quiet
    made = Tenant(store.url, replica)
    made.new_policy(made.new_agent(alias=OUR_ASKING_AGENT)["id"], {"type": "approval_required", "tools": ["*"]})
    yield made
    made.close()


class Theirs:
    """Another workspace that holds one of everything, and a call of its agent in its log."""

    def __init__(self, tenant, reviewing):
        self.tenant = tenant
        self.agent = tenant.new_agent()["id"]
        self.policy = tenant.new_policy(self.agent)["id"]
        self.key = tenant.new_key(["read"])["id"]
        self.workspace = tenant.id
        self.entry = tenant.authorize(self.agent)["id"]
        asking = tenant.new_agent()["id"]
        tenant.new_policy(asking, {"type": "approval_required", "tools": ["*"]})
        self.approval = tenant.authorize(asking)["approval"]["id"]
        told = {"url": "https://hooks.example.com/", "events": ["policy.changed"]}
        self.webhook = tenant.admin.post("/v1/webhooks", json=told).json()["id"]
        signing_in = {"key": tenant.read_key, "transport": "bearer"}
        asked = {"agent_id": self.agent, "name": "waits", "rules": [FREE]}
        with reviewing.client(tenant.admin_key) as client:
            self.review = client.post("/v1/policies", json=asked).json()["id"]
        self.session = tenant.admin.post("/v1/session", json=signing_in, headers={"Authorization": ""}).json()["id"]

    def state(self):
        """Everything that its admin can see, except what looking changes."""
        paths = (
            f"agents/{self.agent}",
            f"policies/{self.policy}",
            "agents",
            "policies",
            f"policy-reviews/{self.review}",
            "changes",
            "audit-logs",
            "approvals",
            "webhooks",
            "sessions",
        )
        keys = [each | {"lastUsedAt": None} for each in self.tenant.admin.get("/v1/api-keys").json()]
        return [self.tenant.admin.get(f"/v1/{path}").content for path in paths], keys


@pytest.fixture(scope="module")
def theirs(quiet):
    """The workspace that the callers do not belong to."""
    store, replica = quiet
    made = Tenant(store.url, replica)
    reviewing = Replica(store.url, REMIT_COMPACT="false", REMIT_REVIEW="policies")
    holding = Theirs(made, reviewing)
    reviewing.stop()
    yield holding
    made.close()


def send(client, method, path, place, value):
    """The status, headers and body of the operation with `value` in one place, every other id being unknown."""
    kind, _, name = place.partition(" ")
    body = BODIES.get((method, path))
    query = {}
    if kind == "query":
        query[name] = CHECKPOINT.format(value) if name == "checkpoint" else value
    if kind == "body":
        body = {**body, name: value}
    if name in {"approval_id", "approvalId"} and kind == "body":
        body["agent_id"] = OUR_ASKING_AGENT
    path_ids = dict.fromkeys(re.findall(r"{(\w+)}", path), value)
    with client.stream(method, path.format(**path_ids), params=query, json=body) as answer:
        content = b"" if (method, path) in ENDLESS else answer.read()
    headers = {name: value for name, value in answer.headers.items() if name not in {"date", "x-request-id"}}
    return answer.status_code, headers, content


@pytest.mark.slow
@pytest.mark.parametrize(("method", "path", "place", "whose"), PROBES)
def test_another_workspaces_id_is_answered_like_an_unknown_one_byte_for_byte(ours, theirs, method, path, place, whose):
    """With the same status, headers and body, so its existence is not revealed; and nothing of theirs has changed."""
    held = theirs.state()

    unknown = send(ours.admin, method, path, place, str(uuid.uuid4()))
    foreign = send(ours.admin, method, path, place, getattr(theirs, whose))

    assert foreign == unknown
    assert (foreign[0] == (409 if "body approval" in place else 404)) == (not place.startswith("query") or "{" in path)
    assert theirs.state() == held


@pytest.mark.slow
@pytest.mark.parametrize(("method", "path", "place", "whose"), [each for each in PROBES if each[:2] not in ENDLESS])
def test_another_workspaces_id_costs_the_store_what_an_unknown_one_costs(
    quiet, ours, theirs, method, path, place, whose
):
    """With the same commands in the same order, so response times reveal nothing either.

    A call that waits for a core may go to the other lane, which asks about its key again; what the id costs, it costs
    every time.
    """
    send(ours.admin, method, path, place, str(uuid.uuid4()))

    for _ in range(TRIES):
        sent = []
        for value in (str(uuid.uuid4()), getattr(theirs, whose)):
            with watched(quiet[0].port) as commands:
                send(ours.admin, method, path, place, value)
            sent.append(commands)
        unknown, foreign = ([(words[0], len(words)) for words in commands] for commands in sent)
        if unknown == foreign:
            break
    assert unknown == foreign, "\n".join(" ".join(words[:3]) for commands in sent for words in [[], *commands])
    assert unknown


@pytest.mark.slow
def test_no_list_holds_anything_of_another_workspace(ours, theirs):
    """For every operation that returns a list, without a filter."""
    names = (theirs.agent, theirs.policy, theirs.key, theirs.workspace, theirs.webhook, theirs.session)
    names += (theirs.review,)
    lists = [each.path for each in ENDPOINTS if each.method == "GET" and str(each.answer).startswith("list[")]
    lists = [path for path in lists if "{" not in path]  # those below an id have a row above
    assert len(lists) >= 5
    for path in [*lists, "/v1/audit-logs/export"]:
        answer = ours.admin.get(path)
        assert answer.status_code == 200
        assert not [name for name in names if name in answer.text]
