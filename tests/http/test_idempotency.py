"""Idempotency-Key on POST /v1/authorize."""

import pytest

from app.http.api.authorize import read_call
from app.http.tool_calls import Reading
from app.redaction.redactor import Redactor
from app.redaction.signer import Signer

QUESTION = b'{"agent_id":"018bcfe5-6800-7000-8000-00000000000a","tool_name":"pay","parameters":{"pin":"%b"}}'


@pytest.fixture
def ask(tenant, other_replica):
    """Send the same request to either replica with this key; one call an hour is allowed."""
    client = tenant.admin
    with other_replica.client(tenant.admin_key) as other:
        agent_id = client.post("/v1/agents", json={"name": "retrying"}).json()["id"]
        rules = [{"type": "rate_limit", "tools": ["*"], "rateLimit": {"maxCalls": 1, "windowSeconds": 3600}}]
        client.post("/v1/policies", json={"agent_id": agent_id, "name": "one", "rules": rules}).raise_for_status()

        def send(key, parameters=None, *, to_other=False):
            body = {"agent_id": agent_id, "tool_name": "mail.send", "parameters": parameters or {}}
            return (other if to_other else client).post("/v1/authorize", json=body, headers={"Idempotency-Key": key})

        send.agent_id, send.client = agent_id, client
        yield send


def test_a_retry_on_another_replica_gets_the_first_answer(ask):
    """The same entry, the same answer byte for byte, and a header that says so."""
    first = ask("order-1")
    again = ask("order-1", to_other=True)

    assert first.json()["allowed"] is True
    assert again.content == first.content
    assert "idempotency-replayed" not in first.headers
    assert again.headers["idempotency-replayed"] == "true"
    entries = ask.client.get("/v1/audit-logs", params={"agent_id": ask.agent_id}).json()
    assert [entry["id"] for entry in entries] == [first.json()["id"]]


def test_the_order_of_names_does_not_make_another_request(ask):
    """A client that encodes its JSON again makes the same request."""
    first = ask("order-2", {"a": 1, "b": {"c": 2, "d": 3}})
    again = ask("order-2", {"b": {"d": 3, "c": 2}, "a": 1})

    assert again.content == first.content


def test_another_body_with_the_same_key_is_409(ask):
    """The caller has mixed up its keys; nothing is decided."""
    ask("order-3", {"amount": 1})
    answer = ask("order-3", {"amount": 2})

    assert answer.status_code == 409
    assert answer.json()["error"]["code"] == "IDEMPOTENCY_CONFLICT"


def asked(pin, *secrets):
    """The record stored for this request."""
    return read_call(
        QUESTION % pin, Reading(Redactor(["pin"]), "w", Signer(secrets), idempotency_key=b"key")
    ).idempotency


def test_a_pin_cannot_be_found_by_trying_them_all():
    """C2: the store has MACs of requests, but not the secret."""
    kept = asked(b"4711", b"n" * 32)
    tried = {asked(b"%04d" % pin).body_digest for pin in (*range(10), 4711)}
    assert kept.body_digest not in tried
    assert kept.body_digest != asked(b"4711", b"o" * 32).body_digest
    assert kept.body_digest != asked(b"4712", b"n" * 32).body_digest


def test_during_a_rotation_a_request_has_a_digest_under_each_secret():
    """A retry is recognised by the digest with which its first answer was stored."""
    both = asked(b"1", b"n" * 32, b"o" * 32)
    assert both.body_digest == asked(b"1", b"n" * 32).body_digest
    assert both.former_digests == (asked(b"1", b"o" * 32).body_digest,)


@pytest.mark.parametrize(
    "key", ["", "x" * 256, "tab\there", "caf\u00e9"], ids=["empty", "long", "control", "not ascii"]
)
def test_a_key_that_is_not_visible_ascii_is_400(ask, key):
    """It must have 1 to 255 such characters, which a person can compare."""
    answer = ask(key.encode())

    assert answer.status_code == 400
    assert "Idempotency-Key" in answer.json()["error"]["message"]


def test_two_keys_in_one_request_are_400(ask):
    """Two programs might disagree on which one counts."""
    headers = [("Idempotency-Key", "a"), ("Idempotency-Key", "b")]
    answer = ask.client.post("/v1/authorize", json={"agent_id": ask.agent_id, "tool_name": "x"}, headers=headers)

    assert answer.status_code == 400


@pytest.mark.parametrize("change", ["suspend", "edit", "delete"])
def test_no_repeated_answer_allows_a_call_after_its_basis_has_changed(ask, change):
    """I8: on either replica. The same request with a new key is decided by the current policies."""
    assert ask(f"before {change}").json()["allowed"] is True
    if change == "suspend":
        assert ask.client.patch(f"/v1/agents/{ask.agent_id}", json={"status": "suspended"}).status_code == 200
    elif change == "edit":
        body = {"agent_id": ask.agent_id, "name": "n", "rules": [{"type": "tool_denylist", "tools": ["*"]}]}
        assert ask.client.post("/v1/policies", json=body).status_code == 201
    else:
        assert ask.client.delete(f"/v1/agents/{ask.agent_id}").status_code == 204

    wanted = (404, "AGENT_NOT_FOUND") if change == "delete" else (409, "IDEMPOTENCY_STALE")
    for to_other in (False, True):
        answer = ask(f"before {change}", to_other=to_other)
        assert (answer.status_code, answer.json()["error"]["code"]) == wanted
    if change != "delete":
        assert ask(f"after {change}").json()["allowed"] is False


@pytest.mark.parametrize("status", ["executed", "failed", "not_executed"])
def test_a_call_whose_outcome_was_reported_is_not_allowed_by_its_key_again(tenant, other_replica, status):
    """It was one call, and has ended; one that was not executed counts no more, too. On every replica."""
    agent_id = tenant.new_agent()["id"]
    limit = {"maxCalls": 1, "windowSeconds": 3600, "refundable": True}
    tenant.new_policy(agent_id, {"type": "rate_limit", "tools": ["*"], "rateLimit": limit})
    call = {"json": {"agent_id": agent_id, "tool_name": "pay"}, "headers": {"Idempotency-Key": f"reported {status}"}}
    first = tenant.reader.post("/v1/authorize", **call).json()
    report = tenant.reader.post(f"/v1/decisions/{first['id']}/outcome", json={"status": status})
    assert (first["result"], report.status_code) == ("allowed", 200)
    with other_replica.client(tenant.read_key) as other:
        for client in (tenant.reader, other):
            again = client.post("/v1/authorize", **call)
            assert (again.status_code, again.json()["error"]["code"]) == (409, "IDEMPOTENCY_STALE")
