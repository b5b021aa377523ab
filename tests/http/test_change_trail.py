"""GET /v1/changes: who changed what, over HTTP."""

import json
import re
import uuid

import pytest

from app.http.api.catalog import MarkTools, PutCatalog
from app.http.routes import ENDPOINTS
from app.model.api_keys import Scope
from app.model.checkpoints import SignedTree
from app.store.keyspace import Keyspace

UNKNOWN = "00000000-0000-7000-8000-000000000000"
ISSUER = {
    "issuer": "https://issuer.example.com",
    "audience": "another",
    "algorithms": ["RS256"],
    "jwks": {"keys": [{"kty": "RSA"}]},
    "rules": [{"match": {"sub": "a"}, "scopes": ["view"]}],
}
RULES = [{"type": "tool_allowlist", "tools": ["file.read"]}]


@pytest.fixture
def client(tenant):
    """The admin of this module's own workspace, so its policies affect no other test."""
    return tenant.admin


@pytest.fixture
def make(client):
    """Creates the resource that an operation changes; returns the id for its path."""

    def agent():
        return client.post("/v1/agents", json={"name": "changed"}).json()["id"]

    def policy():
        body = {"agent_id": agent(), "name": "p", "rules": RULES}
        return client.post("/v1/policies", json=body).json()["id"]

    def key():
        return client.post("/v1/api-keys", json={"name": "k", "scopes": ["read"]}).json()["id"]

    def webhook():
        body = {"url": "https://hooks.example.com/", "events": ["policy.changed"]}
        made = client.post("/v1/webhooks", json=body)
        assert made.status_code == 201, made.text
        return made.json()["id"]

    def tool():
        name = f"tool {uuid.uuid4().hex}"
        assert client.put(f"/v1/catalog/tool/{name}", json={}).status_code == 200
        return name

    def record():
        name = uuid.uuid4().hex
        assert client.put(f"/v1/catalog/record/{name}", json={}).status_code == 200
        return name

    def session():
        body = {"key": client.headers["authorization"].removeprefix("Bearer "), "transport": "bearer"}
        return client.post("/v1/session", json=body, headers={"Authorization": ""}).json()["id"]

    made = {"agent_id": agent, "policy_id": policy, "key_id": key, "webhook_id": webhook, "tool": tool}
    made |= {"session_id": session, "resource_type": lambda: "record", "resource_name": record}

    def issuer():
        name = uuid.uuid4().hex
        assert client.put(f"/v1/issuers/{name}", json=ISSUER | {"audience": name}).status_code == 200
        return name

    made |= {"issuer_name": issuer}
    return made | {"group": lambda: uuid.uuid4().hex}


@pytest.fixture
def admin(client):
    """An admin key of its own name, as its creation answered."""
    return client.post("/v1/api-keys", json={"name": "somebody in particular", "scopes": ["admin"]}).json()


CHANGES = {
    ("POST", "/v1/agents"): {"name": "new"},
    ("PATCH", "/v1/agents/{agent_id}"): {"name": "other"},
    ("DELETE", "/v1/agents/{agent_id}"): None,
    ("DELETE", "/v1/agents/{agent_id}/remembered"): None,
    ("POST", "/v1/policies"): {"name": "new", "rules": RULES, "agent_id": ...},
    ("PATCH", "/v1/policies/{policy_id}"): {"name": "other"},
    ("DELETE", "/v1/policies/{policy_id}"): None,
    ("POST", "/v1/policies/{policy_id}/rollback"): {"version": 1},
    ("PUT", "/v1/agents/{agent_id}/policies"): {"policies": [{"name": "new", "rules": RULES}]},
    ("PUT", "/v1/groups/{group}/policies"): {"policies": [{"name": "new", "rules": RULES}]},
    ("PUT", "/v1/workspace/policies"): {"policies": [{"name": "new", "rules": RULES, "kind": "guardrail"}]},
    ("POST", "/v1/audit-logs/accept-fork"): {},
    ("PUT", "/v1/catalog"): {"tools": [{"name": f"listed {uuid.uuid4().hex}"}]},
    ("PATCH", "/v1/catalog"): {"tools": {}},
    ("PUT", "/v1/catalog/tool/{tool}"): {"title": "new"},
    ("DELETE", "/v1/catalog/tool/{tool}"): None,
    ("PUT", "/v1/catalog/{resource_type}/{resource_name}"): {"title": "new"},
    ("DELETE", "/v1/catalog/{resource_type}/{resource_name}"): None,
    ("POST", "/v1/api-keys"): {"name": "new", "scopes": ["read"]},
    ("DELETE", "/v1/api-keys/{key_id}"): None,
    ("DELETE", "/v1/sessions/{session_id}"): None,
    ("PUT", "/v1/issuers/{issuer_name}"): ISSUER,
    ("DELETE", "/v1/issuers/{issuer_name}"): None,
    ("POST", "/v1/webhooks"): {"url": "https://hooks.example.com/", "events": ["policy.changed"]},
    ("PATCH", "/v1/webhooks/{webhook_id}"): {"enabled": False},
    ("DELETE", "/v1/webhooks/{webhook_id}"): None,
}
"""What each operation that changes something is sent; `...` stands for the id of an agent."""

# What people say of approvals is in the log, not in the trail.
CHANGING = [
    each
    for each in ENDPOINTS
    if Scope.ADMIN in each.scopes and each.method != "GET" and not each.path.startswith("/v1/approvals")
    # Without the setting none waits; tests/http/test_policy_reviews.py reads what they record.
    if not each.path.startswith("/v1/policy-reviews")
    # They send, and change nothing; another secret and another key have tests of their own.
    # Pinning needs a secret, which this replica has not; tests/approvals/test_pinned_requests.py reads its change.
    if not each.path.endswith(("/test", "/retry", "/rotate-secret", "/rotate", "/request"))
]


@pytest.mark.parametrize("operation", CHANGING, ids=lambda each: f"{each.method} {each.path}")
def test_every_operation_that_changes_something_is_recorded_with_its_key(tenant, client, admin, make, operation):
    """I13, and why: a route that forgot the caller would record the command line; a new route without a row fails."""
    body = CHANGES[operation.method, operation.path]
    path = operation.path.format_map({name: make[name]() for name in re.findall(r"{(\w+)}", operation.path)})
    if body and "agent_id" in body:
        body = body | {"agent_id": make["agent_id"]()}
    if operation.body is MarkTools:
        body = {"tools": {make["tool"](): {"consequence": "none"}}}

    if operation.path.endswith("/accept-fork"):
        tenant.fork(SignedTree.CHANGES, "at 2 leaves")

    with tenant.replica.client(admin["key"]) as other:
        answer = other.request(operation.method, path, json=body, headers={"Change-Reason": "as agreed"})
    assert answer.status_code == operation.status, answer.text

    changes = client.get("/v1/changes", params={"actor_id": admin["id"]}).json()
    said = [(each["actorId"], each["actorName"], each.get("reason")) for each in changes]
    assert said == [(admin["id"], "somebody in particular", "as agreed")]
    kind = {"POST": "created", "PATCH": "updated", "DELETE": "deleted"}.get(operation.method)
    if operation.tag == "Catalogue":
        kind = {"PUT": "created" if operation.body is PutCatalog else "updated"}.get(operation.method, kind)
        resource_id = client.get("/v1/changes", params={"resource_type": "catalog"}).json()[0]["resourceId"]
    elif operation.tag == "Issuers":
        kind = {"PUT": "updated"}.get(operation.method, kind)
        resource_id = client.get("/v1/changes", params={"resource_type": "issuer"}).json()[0]["resourceId"]
    elif operation.path.endswith("/accept-fork"):
        kind, resource_id = "updated", tenant.id
    elif operation.method == "PUT":
        kind, resource_id = "created", answer.json()["created"][0]
    else:
        resource_id = answer.json()["id"] if operation.method == "POST" else path.rpartition("/")[2]
    if operation.path.endswith("/rollback"):
        kind = "updated"
    if operation.path.endswith("/remembered"):
        kind, resource_id = "updated", path.split("/")[3]
    assert (changes[0]["kind"], changes[0]["resourceId"]) == (kind, resource_id)


def test_another_secret_of_a_webhook_is_a_change_without_the_secret(client, make):
    """The trail says that the secret was replaced, and when."""
    webhook_id = make["webhook_id"]()
    headers = {"Change-Reason": "it was in a chat"}
    secret = client.post(f"/v1/webhooks/{webhook_id}/rotate-secret", json={}, headers=headers).json()["secret"]
    rotated = client.get("/v1/changes", params={"resource_id": webhook_id})
    assert rotated.json()[0]["reason"] == "it was in a chat"
    assert rotated.json()[0]["after"] == {"secretNumber": 2, "version": 2}
    assert secret not in rotated.text


def test_a_rotation_is_two_changes(client, make):
    """The new key and the end of the old one, with the reason for both; the new raw key is in the answer only."""
    key_id = make["key_id"]()
    headers = {"Change-Reason": "may have leaked"}
    answer = client.post(f"/v1/api-keys/{key_id}/rotate", json={"overlap_seconds": 60}, headers=headers)
    made = answer.json()
    assert (answer.status_code, answer.headers["cache-control"]) == (201, "no-store")
    assert (made["replaces"], made["name"], made["scopes"], made["expiresAt"]) == (key_id, "k", ["read"], None)
    ended, created = client.get("/v1/changes", params={"limit": 2}).json()
    assert (ended["resourceId"], ended["after"]) == (key_id, {"expiresAt": made["replacedUntil"]})
    assert (created["resourceId"], created["kind"]) == (made["id"], "created")
    assert {ended["reason"], created["reason"]} == {"may have leaked"}
    for wrong in ({"overlapSeconds": -1}, {"overlapSeconds": 86_400 * 31}, {"expiresAt": "soon"}, {"name": "x"}):
        assert client.post(f"/v1/api-keys/{made['id']}/rotate", json=wrong).status_code == 400


def test_a_fork_is_accepted_with_what_it_was(tenant, client):
    """Until then the log's status says so; afterwards the trail says who, why, since when and what; once only."""
    forks = [tenant.fork(tree, f"at {size} leaves") for tree, size in ((SignedTree.LOG, 9), (SignedTree.CHANGES, 2))]
    assert client.get("/v1/audit-logs/status").json()["forks"] == forks
    headers = {"Change-Reason": "a failover"}
    answers = [client.post("/v1/audit-logs/accept-fork", json={}, headers=headers) for _ in range(2)]
    assert [(each.status_code, each.json()) for each in answers] == [(200, forks), (200, [])]
    assert client.get("/v1/audit-logs/status").json()["forks"] == []

    accepted = client.get("/v1/changes", params={"resource_type": "checkpoint", "limit": 2}).json()[::-1]
    for each, fork in zip(accepted, forks, strict=True):
        tree = fork.pop("tree")
        assert (each["before"], each["after"]) == ({tree: fork}, {tree: "accepted"})
        assert (each["resourceId"], each["reason"], each["kind"]) == (tenant.id, "a failover", "updated")
    assert client.get("/v1/audit-logs/verify").json()["intact"] is True


def test_a_note_of_a_fork_that_nobody_can_read_is_damage(tenant, client):
    """It is not taken for a signed log, and nothing is accepted unseen."""
    key = Keyspace(tenant.id).audit_checkpoint
    tenant.in_store(lambda store: store.call("HSET", key, "fork", "foo"))
    accept = client.post("/v1/audit-logs/accept-fork", json={})
    for answer in (client.get("/v1/audit-logs/status"), accept):
        assert (answer.status_code, answer.json()["error"]["code"]) == (500, "AUDIT_LOG_DAMAGED")
    assert tenant.in_store(lambda store: store.call("HGET", key, "fork")) == "foo"
    tenant.in_store(lambda store: store.call("HDEL", key, "fork"))


def test_a_change_reads_as_the_document_shows_it(client, make):
    """Times as everywhere, and before and after as objects with the API's fields."""
    policy_id = make["policy_id"]()
    before = client.get(f"/v1/policies/{policy_id}").json()
    client.patch(f"/v1/policies/{policy_id}", json={"enabled": False})

    updated, created = client.get("/v1/changes", params={"resource_id": policy_id}).json()
    assert created["before"] is None
    assert created["after"] == {name: before[name] for name in created["after"]}
    assert (updated["before"], updated["after"]) == (
        {"enabled": True, "version": 1},
        {"enabled": False, "version": 2},
    )
    assert updated["resourceType"] == "policy"
    assert created["timestamp"] <= updated["timestamp"]


def test_pages_by_cursor_are_the_trail_of_the_key(client, make):
    """Each page but the last has the cursor's header."""
    agent_id = make["agent_id"]()
    for number in range(5):
        client.patch(f"/v1/agents/{agent_id}", json={"name": str(number)})
    whole = client.get("/v1/changes", params={"resourceId": agent_id}).json()
    assert [each["kind"] for each in whole] == ["updated"] * 5 + ["created"]

    pages, parameters = [], {"resource_id": agent_id, "limit": 2}
    while True:
        page = client.get("/v1/changes", params=parameters)
        pages += page.json()
        if "X-Next-Cursor" not in page.headers:
            break
        parameters["cursor"] = page.headers["X-Next-Cursor"]
    assert pages == whole


def test_changes_to_several_types_are_one_list(client, make):
    """In their order, without those to other types, however many there are of them."""
    agent_id = make["agent_id"]()
    keys = {make["key_id"]() for _ in range(3)}
    policy_id = make["policy_id"]()
    found = client.get("/v1/changes", params={"resource_type": "policy,agent", "limit": 3}).json()
    assert {each["resourceType"] for each in found} == {"agent", "policy"}
    assert found[0]["resourceId"] == policy_id
    assert agent_id in [each["resourceId"] for each in found]
    alone = client.get("/v1/changes", params={"resource_type": "api_key", "limit": 3}).json()
    assert {each["resourceId"] for each in alone} == keys


def test_no_raw_key_and_no_digest_is_in_the_trail(client, admin):
    """I10: neither of the created key nor of the one that created it."""
    trail = json.dumps(client.get("/v1/changes", params={"limit": 1000}).json())
    assert admin["key"][:12] in trail
    assert admin["key"] not in trail
    assert "digest" not in trail


def test_a_read_key_does_not_see_who_changed_what(replica, client):
    """The trail names keys and rules; it is for admins."""
    key = client.post("/v1/api-keys", json={"name": "reader", "scopes": ["read"]}).json()["key"]
    with replica.client(key) as reader:
        assert reader.get("/v1/changes").status_code == 403


@pytest.mark.parametrize(
    ("parameters", "place"),
    [
        ({"actor_id": "nobody"}, "actor_id"),
        ({"actor_id": "CONSOLE"}, "actor_id"),
        ({"resource_type": "agent,quota"}, "resource_type"),
        ({"resource_id": "7"}, "resource_id"),
        ({"cursor": "7"}, "cursor"),
        ({"cursor": "-"}, "cursor"),
        ({"cursor": "1-99999999999999999999"}, "cursor"),
        ({"cursor": "1-0 + -"}, "cursor"),
        ({"from": "yesterday"}, "from"),
        ({"limit": 0}, "limit"),
        ({"offset": 1}, "offset"),
    ],
)
def test_a_wrong_filter_is_400_and_named(client, parameters, place):
    """An empty answer would look valid."""
    answer = client.get("/v1/changes", params=parameters)
    assert answer.status_code == 400
    assert [detail["path"] for detail in answer.json()["error"]["details"]] == [place]


WHOLE = {
    "actorId": "console", "actorName": "console", "kind": "updated", "resourceType": "agent", "resourceId": UNKNOWN,
    "before": "", "after": "{}",
}  # fmt: skip
FOREIGN = {
    "other fields": {"foo": "bar"},
    "no text": {b"\xff": b"\xff"},
    "some fields": {"kind": "updated", "before": "", "after": ""},
    "no JSON": WHOLE | {"after": "{"},
    "JSON within JSON": WHOLE | {"before": '{"a": 1}]['},
    "a list": WHOLE | {"after": "[1]"},
    "no text in a change": WHOLE | {"reason": b"\xff"},
    "another kind": WHOLE | {"kind": "renamed"},
    "another thing": WHOLE | {"resourceType": "quota"},
    "another way": WHOLE | {"via": "fax"},
    "no number": WHOLE | {"sequence": "seven"},
    "nobody who approved": WHOLE | {"approvedBy": "{}"},
    "half a trip": WHOLE | {"decisionId": UNKNOWN},
}


@pytest.mark.parametrize("foreign", FOREIGN)
def test_an_entry_that_no_change_wrote_hides_no_change(tenant, client, foreign):
    """Somebody's XADD: the trail is listed without it, versions and past decisions are explained, approvals end."""
    agent = tenant.new_agent()
    policy = tenant.new_policy(agent["id"])
    decision = tenant.authorize(agent["id"])
    trail = client.get("/v1/changes?limit=999").json()
    fields = [part for pair in FOREIGN[foreign].items() for part in pair]
    tenant.in_store(lambda store: store.call("XADD", Keyspace(tenant.id).changes, "*", *fields))
    assert client.get("/v1/changes?limit=999").json() == trail
    assert client.get("/v1/changes", params={"resource_id": policy["id"]}).json() == trail[:1]
    assert client.patch(f"/v1/policies/{policy['id']}", json={"name": "later"}).status_code == 200
    changed = client.get("/v1/changes?limit=999").json()
    assert (changed[0]["after"]["name"], changed[1:]) == ("later", trail)
    assert len(client.get(f"/v1/policies/{policy['id']}/versions").json()) == 2
    assert client.get(f"/v1/audit-logs/{decision['id']}/explanation").status_code == 200
    assert client.get("/v1/audit-logs/verify").json()["intact"] is True


def test_an_entry_of_the_far_future_hides_no_change(tenant, client):
    """The ids of later changes follow it; their times say the year 9999, and the cursor still finds its way."""
    tenant.in_store(lambda store: store.call("XADD", Keyspace(tenant.id).changes, f"{2**64 - 1}-7", "foo", "bar"))
    agents = [tenant.new_agent(name=f"agent {number}")["id"] for number in range(3)]
    assert [each["resourceId"] for each in client.get("/v1/changes?limit=3").json()] == agents[::-1]
    first = client.get("/v1/changes?limit=2")
    assert first.json()[0]["timestamp"] == "9999-12-31T23:59:59.999Z"
    second = client.get("/v1/changes", params={"cursor": first.headers["X-Next-Cursor"]})
    assert second.json()[0]["resourceId"] == agents[0]


def test_a_thing_that_nobody_has_changed_has_no_changes(client):
    """An unknown id is not an error: the thing may have been deleted before the trail existed."""
    assert client.get("/v1/changes", params={"resource_id": UNKNOWN}).json() == []
    assert client.get("/v1/changes", params={"to": "1970-01-02T00:00:00Z"}).json() == []
