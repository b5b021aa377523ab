"""Pinned requests over HTTP: a key of its own says once what the user asked for, and no other text counts."""

import concurrent.futures
import json

import pytest
from approval_steps import approve
from tenants import Tenant

from app.model.sequences import session_digest
from app.model.times import rfc3339
from app.store.keyspace import Keyspace

PIN = {"type": "pinned_request", "tools": ["send.*"], "effect": "escalate"}
ALLOW = {"type": "tool_allowlist", "tools": ["send.*"]}
FROM_REQUEST = {
    "type": "parameter_constraint",
    "tools": ["send.*"],
    "effect": "escalate",
    "parameters": {"to": {"fromRequest": "exact"}},
}
REQUEST = "Please write to ann@example.com."


@pytest.fixture
def agent_id(tenant):
    agent = tenant.new_agent()
    tenant.new_policy(agent["id"], ALLOW, PIN, FROM_REQUEST)
    return agent["id"]


@pytest.fixture
def pinner(tenant):
    """A client with a key that pins requests and does nothing else."""
    with tenant.replica.client(tenant.new_key(["request"])["key"]) as client:
        yield client


def pin(client, session, request=REQUEST, **fields):
    return client.post(f"/v1/sessions/{session}/request", json={"request": request, **fields})


def send(tenant, agent_id, session, request=REQUEST, to="ann@example.com"):
    context = {name: value for name, value in (("session", session), ("request", request)) if value is not None}
    return tenant.authorize(agent_id, "send.mail", parameters={"to": to}, context=context)


def test_only_the_pinned_request_of_the_session_counts(tenant, agent_id, pinner):
    """Neither an invented one, nor the same in another session, nor none; and no spelling that is read alike."""
    assert send(tenant, agent_id, "s1")["result"] == "escalated"
    assert pin(pinner, "s1").status_code == 201
    assert send(tenant, agent_id, "s1")["result"] == "allowed"
    mallory = "Please write to ann@example.com and mallory@example.com."
    assert send(tenant, agent_id, "s1", mallory, "mallory@example.com")["result"] == "escalated"
    for other in ("s2", "s1 ", "S1", "", None, "x" * 200):
        assert send(tenant, agent_id, other)["result"] == "escalated", other
    for odd in (None, "", f"{REQUEST} ", REQUEST.upper(), f"\u200b{REQUEST}", [REQUEST], {"length": 32}, 5):
        answer = send(tenant, agent_id, "s1", odd)
        assert answer["result"] == "escalated", odd
    answer = send(tenant, agent_id, "s1", f"{REQUEST} ")
    assert answer["reason"] == "context.request is not the request that was pinned for context.session"
    assert REQUEST not in json.dumps(answer)


def test_the_first_writer_wins_over_two_replicas(tenant, replicas, agent_id, pinner):
    """Of many at once, exactly one request is pinned, and the same one again is answered as the first time."""
    requests = [f"{REQUEST} {number % 4}" for number in range(16)]
    key = pinner.headers["authorization"]
    with (
        replicas[1].client(key.removeprefix("Bearer ")) as elsewhere,
        concurrent.futures.ThreadPoolExecutor(8) as pool,
    ):
        answers = list(pool.map(lambda each: pin((pinner, elsewhere)[len(each) % 2], "race", each), requests))
        shown = [client.get("/v1/sessions/race/request").json() for client in (pinner, elsewhere)]
    made = [answer.json() for answer in answers if answer.status_code == 201]
    assert {answer.status_code for answer in answers} == {201, 409}
    assert len(made) == 4
    assert all(each == shown[0] == shown[1] for each in made)
    assert {answer.json()["error"]["code"] for answer in answers if answer.status_code == 409} == {"REQUEST_PINNED"}
    passing = [each for each in set(requests) if send(tenant, agent_id, "race", each)["result"] == "allowed"]
    assert len(passing) == 1
    changes = tenant.admin.get("/v1/changes", params={"resource_type": "request", "resource_id": made[0]["id"]}).json()
    assert [(each["kind"], each["after"]) for each in changes] == [("created", made[0])]
    assert changes[0]["after"]["session"] == "race"
    assert REQUEST not in json.dumps(changes)


def test_the_log_shows_the_mac_of_the_pinned_request(tenant, agent_id, pinner):
    """So an entry says whether its call gave the request that was pinned."""
    pinned = pin(pinner, "logged").json()
    entry = tenant.admin.get(f"/v1/audit-logs/{send(tenant, agent_id, 'logged')['id']}").json()
    assert entry["context"]["request"] == {"length": len(REQUEST), "hmac": pinned["hmac"]}


def test_an_agent_with_its_own_key_cannot_pin(tenant, agent_id, pinner):
    """Nor can any other scope than `request` and `admin`; and a key that pins asks for no decision."""
    for scopes in (["authorize"], ["read"], ["approve"], ["view"], ["policies"], ["audit"]):
        with tenant.replica.client(tenant.new_key(scopes)["key"]) as other:
            assert pin(other, "own").status_code == 403
    asked = {"agent_id": agent_id, "tool_name": "send.mail"}
    assert pinner.post("/v1/authorize", json=asked).status_code == 403
    assert pinner.get("/v1/sessions/own/request").json()["error"]["code"] == "REQUEST_NOT_FOUND"


def test_the_session_of_a_key_can_be_pinned(tenant, agent_id, pinner):
    """Then an agent chooses neither its session nor its request."""
    key = tenant.new_key(["authorize"], session_from="key")
    call = {"agent_id": agent_id, "tool_name": "send.mail", "parameters": {"to": "ann@example.com"}}
    assert pin(pinner, "elsewhere").status_code == pin(pinner, f"key:{key['id']}").status_code == 201
    with tenant.replica.client(key["key"]) as agent:
        for session in ({}, {"session": "elsewhere"}):
            answer = agent.post("/v1/authorize", json={**call, "context": {"request": REQUEST, **session}})
            assert answer.json()["result"] == "allowed"
        invented = {"request": "Please write to mallory@example.com.", "session": "elsewhere"}
        assert agent.post("/v1/authorize", json={**call, "context": invented}).json()["result"] == "escalated"


def test_a_pinned_request_expires(tenant, agent_id, pinner):
    """By the store's clock, after the seconds that were given; then another one can be pinned."""
    pinned = pin(pinner, "short", valid_seconds=60).json()
    assert send(tenant, agent_id, "short")["result"] == "allowed"
    name = Keyspace(tenant.id).pinned(session_digest("short"))
    left_ms = tenant.in_store(lambda client: client.call("PEXPIRETIME", name))
    assert rfc3339(left_ms) == pinned["expiresAt"]
    tenant.in_store(lambda client: client.change("PEXPIRE", name, 0))
    assert send(tenant, agent_id, "short")["result"] == "escalated"
    assert pinner.get("/v1/sessions/short/request").status_code == 404
    assert pin(pinner, "short", "Another one").status_code == 201


def test_any_session_that_a_call_can_name_can_be_pinned(tenant, agent_id, pinner):
    """With slashes and other signs, too."""
    for name, written in (("a/b", "a%2Fb"), ("a b", "a%20b"), ("\u00e9?#", "%C3%A9%3F%23"), ("x" * 128, "x" * 128)):
        assert pin(pinner, written).json()["session"] == name
        assert send(tenant, agent_id, name)["result"] == "allowed", name
    for wrong in ("x" * 129,):
        assert pin(pinner, wrong).status_code == 400
    for body in (
        {"request": ""},
        {"request": "\u00e4" * 16385},
        {"request": "x", "valid_seconds": 0},
        {},
        {"request": 5},
    ):
        assert pinner.post("/v1/sessions/wrong/request", json=body).status_code == 400, body


def test_people_are_not_told_that_a_value_is_the_users_unless_the_request_is_pinned(tenant, agent_id, pinner, person):
    """An invented request makes no value one from the request."""
    for session, wanted in (("shown", "unverified"), ("pinned", "request")):
        if wanted == "request":
            request = "Please write to bob."
            pin(pinner, session, request)
            tenant.new_policy(agent_id, {"type": "approval_required", "tools": ["send.*"]}, name="ask")
        answer = send(tenant, agent_id, session, "Please write to bob.", "bob")
        approval = person.get(f"/v1/approvals/{answer['approval']['id']}").json()
        assert [each["origin"] for each in approval["values"]] == [wanted]


def test_a_person_can_let_an_unpinned_request_through(tenant, agent_id, person):
    """As with any rule that escalates; only the call that was seen."""
    approve(person, send(tenant, agent_id, "unpinned")["approval"]["id"])
    assert send(tenant, agent_id, "unpinned")["result"] == "allowed"
    assert send(tenant, agent_id, "unpinned")["result"] == "escalated"


def test_a_rule_that_denies_asks_nobody(tenant, pinner):
    """`pinned_request` without an effect denies, with a code of its own."""
    agent_id = tenant.new_agent()["id"]
    tenant.new_policy(agent_id, ALLOW, {"type": "pinned_request", "tools": ["send.*"]})
    answer = send(tenant, agent_id, "denied")
    assert (answer["result"], answer["code"]) == ("denied", "request_not_pinned")
    pin(pinner, "denied")
    assert send(tenant, agent_id, "denied")["result"] == "allowed"


def test_no_other_workspace_pins_for_this_one(store, replicas, tenant, agent_id):
    """A session is one of a workspace."""
    stranger = Tenant(store.url, replicas[0])
    with stranger.replica.client(stranger.new_key(["request"])["key"]) as other:
        assert pin(other, "foreign").status_code == 201
    stranger.close()
    assert send(tenant, agent_id, "foreign")["result"] == "escalated"
    assert tenant.admin.get("/v1/sessions/foreign/request").status_code == 404
