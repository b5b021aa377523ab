"""Webhook events, over HTTP, to a receiver that verifies every signature with the library."""

import json
import uuid

import pytest
from approval_steps import ALLOW, ASK, SECRET, answering, approve, ask
from audit_entries import grow_trees
from commit_scene import everything
from receivers import subscribe
from servers import Replica
from standardwebhooks import Webhook as Verifying
from standardwebhooks import WebhookVerificationError

from app.approvals.reaper import ApprovalReaper
from app.audit.log import AuditLog
from app.audit.seal.retention import Retention
from app.audit.seal.sealer import Sealer
from app.model.api_keys import Scope
from app.model.ids import Ids
from app.redis_client.scripts import ADVANCE_OUTBOX
from app.store.keyspace import Keyspace
from app.webhooks.attempts import PARK_AFTER_MS
from app.webhooks.records import sending_keys
from app.webhooks.slack import slack_message
from app.webhooks.webhooks import Webhooks

DENY = {"type": "tool_denylist", "tools": ["rm"]}


@pytest.fixture
def agent_id(tenant):
    """An agent whose refunds need a person's approval."""
    agent = tenant.new_agent()
    tenant.new_policy(agent["id"], ALLOW, ASK, DENY)
    return agent["id"]


@pytest.fixture
def person(tenant):
    with answering(tenant) as client:
        yield client


def state(tenant, webhook):
    return tenant.admin.get(f"/v1/webhooks/{webhook['id']}").json()


def test_each_kind_of_event_arrives_once_and_signed(tenant, agent_id, person, receiver, sending):
    """With the call as logged, and the approval's current state."""
    webhook = subscribe(tenant, receiver.url)
    asked = ask(tenant, agent_id)
    ask(tenant, agent_id)  # attaches: no other question
    approve(person, asked["approval"]["id"], note="fine")
    ask(tenant, agent_id)  # used: no event
    denied = tenant.authorize(agent_id, "rm")
    expiring = ask(tenant, agent_id, 7)["approval"]["id"]
    sending.in_store(lambda client: let_expire(client, tenant.id, expiring))
    tenant.new_policy(agent_id, DENY, name="one more")
    tenant.admin.patch(f"/v1/agents/{agent_id}", json={"status": "suspended"})
    tenant.admin.patch(f"/v1/agents/{agent_id}", json={"status": "active"})
    sending.in_store(lambda client: client.call("XDEL", Keyspace(tenant.id).audit_stream, "2-0"))
    assert tenant.admin.get("/v1/audit-logs/verify").json()["intact"] is False
    sending.in_store(lambda client: client.call("HSET", Keyspace(tenant.id).webhook_outbox(webhook["id"]), "log", 2))

    sending.round()
    sending.round()

    came = receiver.events(webhook["secret"])
    assert len({each for each, _ in came}) == len(came)
    told = [event["type"] for _, event in came]
    log = ["approval.decided", "decision.denied", "approval.requested", "approval.expired"]
    assert told == ["audit.verification_failed", "policy.changed", "agent.suspended", *log]
    data = {event["type"]: event["data"] for _, event in came}
    assert {each["workspaceId"] for each in data.values()} == {tenant.id}
    assert data["decision.denied"]["entry"]["id"] == denied["id"]
    assert data["approval.requested"]["entry"]["parameters"] == {"amount": 7}
    assert data["approval.requested"]["approval"]["id"] == expiring
    assert data["approval.decided"]["approval"]["approvals"][0]["note"] == "fine"
    assert data["agent.suspended"]["change"]["after"]["status"] == "suspended"
    assert data["policy.changed"]["change"]["after"]["name"] == "one more"
    assert data["audit.verification_failed"]["finding"]["fault"] == "removed"
    assert (state(tenant, webhook)["delivered"], state(tenant, webhook)["waiting"]) == (7, 0)


ENTRY = {"actorId": "console", "actorName": "console", "kind": "created", "resourceId": "x", "before": ""}
FOREIGN = {
    "other fields": {"foo": "bar"},
    "no text": {b"\xff": b"\xff"},
    "another thing": ENTRY | {"resourceType": "quota", "after": "{}"},
    "a review of nothing": ENTRY | {"resourceType": "policy_review", "after": ""},
    "a review without policies": ENTRY | {"resourceType": "policy_review", "after": "{}"},
    "a review of something else": ENTRY | {"resourceType": "policy_review", "after": '{"policies": [7]}'},
    "an agent of nothing": ENTRY | {"resourceType": "agent", "kind": "updated", "after": ""},
    "an agent of no status": ENTRY | {"resourceType": "agent", "kind": "updated", "after": '{"status": 7}'},
}


@pytest.mark.parametrize("form", ["standard", "slack", "teams"])
def test_an_entry_of_the_trail_that_no_change_wrote_holds_no_event_up(tenant, agent_id, receiver, sending, form):
    """Neither those of later changes nor those of the log."""
    events = ["policy.changed", "policy_review.requested", "agent.suspended", "decision.denied"]
    webhook = subscribe(tenant, receiver.url, events=events, format=form)
    for foreign in FOREIGN.values():
        fields = [part for pair in foreign.items() for part in pair]
        sending.in_store(lambda client, fields=fields: client.call("XADD", Keyspace(tenant.id).changes, "*", *fields))
    tenant.new_policy(agent_id, DENY, name="one more")
    tenant.authorize(agent_id, "rm")
    sending.round()
    kept = tenant.admin.get(f"/v1/webhooks/{webhook['id']}/deliveries").json()
    assert [(each["type"], each["delivered"]) for each in kept] == [("decision.denied", True), ("policy.changed", True)]


def test_a_breaker_that_suspends_an_agent_is_told_with_its_cause(tenant, receiver, sending):
    """Once, after the denial that filled it."""
    webhook = subscribe(tenant, receiver.url, events=["agent.suspended", "decision.denied"])
    agent_id = tenant.new_agent()["id"]
    terms = {"maxDenials": 2, "windowSeconds": 60, "action": "suspend"}
    breaker = {"type": "denial_breaker", "tools": ["*"], "denialBreaker": terms}
    policy = tenant.new_policy(agent_id, breaker, kind="guardrail")
    _, filling = tenant.authorize(agent_id, "rm"), tenant.authorize(agent_id, "rm")
    sending.round()
    told = {event["type"]: event["data"] for _, event in receiver.events(webhook["secret"])}
    change = told["agent.suspended"]["change"]
    assert (change["actorId"], change["reason"]) == ("breaker", "Denial breaker: 2 denials in 60 s")
    assert change["tripped"] == {"policyId": policy["id"], "decisionId": filling["id"]}
    assert told["agent.suspended"]["agentName"] == "an agent"
    assert told["decision.denied"]["entry"]["suspendedBy"] == policy["id"]


def test_a_breaker_that_denies_is_told_with_the_denial_that_filled_it(tenant, receiver, sending):
    """And with the calls that it denies, but not with the denials before."""
    webhook = subscribe(
        tenant, receiver.url, events=["decision.denied"], only={"ruleTypes": ["denial_breaker"], "sample": 1}
    )
    agent_id = tenant.new_agent()["id"]
    terms = {"maxDenials": 2, "windowSeconds": 60, "action": "deny", "per": ["context.session"]}
    policy = tenant.new_policy(
        agent_id, {"type": "denial_breaker", "tools": ["*"], "denialBreaker": terms}, kind="guardrail"
    )
    tenant.new_policy(agent_id, {"type": "tool_allowlist", "tools": ["read"]})
    asked = [tenant.authorize(agent_id, tool, context={"session": "s"}) for tool in ("rm", "rm", "read")]
    assert asked[-1]["code"] == "too_many_denials"
    sending.round()
    told = [event["data"]["entry"] for _, event in receiver.events(webhook["secret"])]
    assert [(each["id"], each.get("trippedBy")) for each in told] == [
        (asked[1]["id"], policy["id"]),
        (asked[2]["id"], None),
    ]


async def let_expire(client, workspace_id, approval_id):
    keyspace = Keyspace(workspace_id)
    await client.call("HSET", keyspace.approval(approval_id), "expires_ms", 1)
    await client.call("ZADD", keyspace.approvals_open, 1, approval_id)
    await ApprovalReaper(client, Ids(), 1000).end_approvals([workspace_id])


def test_an_approval_event_contains_the_call(tenant, agent_id, receiver, sending):
    """`approval.requested` comes from the entry that requested it."""
    webhook = subscribe(tenant, receiver.url, events=["approval.requested"])
    asked = ask(tenant, agent_id)
    sending.round()
    [(_, event)] = receiver.events(webhook["secret"])
    assert event["data"]["entry"]["id"] == asked["id"]
    assert event["timestamp"] == event["data"]["entry"]["timestamp"]
    shown = tenant.reader.get(f"/v1/approvals/{asked['approval']['id']}").json()
    assert event["data"]["approval"] == shown
    assert event["data"]["agentName"] == "an agent"


def test_a_webhook_gets_only_the_events_it_chose_and_only_new_ones(tenant, agent_id, receiver, sending):
    """It does not get its own creation, either."""
    tenant.authorize(agent_id, "rm")
    webhook = subscribe(tenant, receiver.url, events=["decision.denied"])
    tenant.new_policy(agent_id, DENY)
    tenant.authorize(agent_id, "file.read")
    tenant.authorize(agent_id, "rm")
    sending.round()
    assert [event["data"]["entry"]["toolName"] for _, event in receiver.events(webhook["secret"])] == [
        "file.read",
        "rm",
    ]


def test_denials_can_be_narrowed_by_rule_and_by_share(tenant, receiver, sending):
    """The share depends on the entry's id, so every sender chooses the same."""
    agent_id = tenant.new_agent()["id"]
    tenant.new_policy(agent_id, DENY)
    subscribe(tenant, receiver.url, events=["decision.denied"], only={"ruleTypes": ["tool_denylist"], "sample": 0.5})
    for _ in range(40):
        tenant.authorize(agent_id, "rm")
    for _ in range(3):
        tenant.authorize(agent_id, "file.read")
    sending.round()
    tools = [json.loads(body)["data"]["entry"]["toolName"] for _, body in receiver.got]
    assert set(tools) == {"rm"}
    assert 5 <= len(tools) <= 35


def test_events_about_calls_are_narrowed_by_agent_group_tool_policy_and_code(tenant, person, receiver, sending):
    """Each alone, and two together; a policy counts if any of its rules asked."""
    one = tenant.new_agent(alias="one", groups=["production"])["id"]
    other = tenant.new_agent()["id"]
    policies = [tenant.new_policy(each, ALLOW, ASK, DENY)["id"] for each in (one, other)]
    fields = {
        "agent": {"agents": ["one"]},
        "group": {"groups": ["production", "none"]},
        "tool": {"tools": ["refund.*"]},
        "policy": {"policies": [policies[1]]},
        "asks-too": {"policies": [tenant.new_policy(one, ASK, name="asks, too", kind="guardrail")["id"]]},
        "code": {"codes": ["approval_denied", "not_allowlisted"]},
        "both": {"agents": [other], "tools": ["rm"]},
    }
    events = ["approval.requested", "approval.decided", "decision.denied"]
    for name, only in fields.items():
        made = subscribe(tenant, f"{receiver.url}/{name}", events=events, only=only)
        assert made["only"] == ({"agents": [one]} if name == "agent" else only)
    for each in (one, other):
        approval_id = ask(tenant, each)["approval"]["id"]
        assert person.post(f"/v1/approvals/{approval_id}/deny", json={}).status_code == 200
        tenant.authorize(each, "rm")

    sending.round()

    told = {name: set() for name in fields}
    for headers, body in receiver.got:
        event = json.loads(body)
        told[headers[":path"].rsplit("/", 1)[1]].add((event["type"], event["data"]["entry"]["agentId"]))
    asked, decided, denied = ({(event, one), (event, other)} for event in events)
    assert told == {
        "agent": {each for each in asked | decided | denied if each[1] == one},
        "group": {each for each in asked | decided | denied if each[1] == one},
        "tool": asked | decided,
        "policy": {each for each in asked | decided | denied if each[1] == other},
        "asks-too": {each for each in asked | decided if each[1] == one},
        "code": decided | denied,
        "both": {("decision.denied", other)},
    }


def test_a_change_of_policies_that_waits_is_told(tenant, store, receiver, sending):
    """To whom its agent, its group or its policies concern; and once it is made, as a policy's change."""
    reviewing = Replica(store.url, REMIT_SECRET=SECRET, REMIT_COMPACT="false", REMIT_REVIEW="policies")
    one, other = (tenant.new_agent(groups=[each], name=f"of {each}")["id"] for each in ("a", "b"))
    policy_id = tenant.new_policy(one, ALLOW)["id"]
    guard = {"name": "g", "kind": "guardrail", "rules": [DENY]}
    guard_id = tenant.admin.post("/v1/policies", json=guard).json()["id"]
    narrowed = {
        "all": None,
        "agent": {"agents": [one]},
        "group": {"groups": ["a"]},
        "policy": {"policies": [policy_id]},
        "tool": {"tools": ["rm"]},
    }
    for name, only in narrowed.items():
        events = ["policy_review.requested", "policy.changed"]
        subscribe(tenant, f"{receiver.url}/{name}", events=events, **({"only": only} if only else {}))
    try:
        with (
            reviewing.client(tenant.admin_key) as writer,
            reviewing.client(tenant.second_person("bob", Scope.POLICIES)) as bob,
        ):
            body = {"name": "n", "rules": [ALLOW]}
            asked = {
                "changes one": writer.patch(f"/v1/policies/{policy_id}", json={"priority": 7}),
                "of the other": writer.post("/v1/policies", json=body | {"agent_id": other}),
                "of a": writer.post("/v1/policies", json=body | {"group": "a"}),
                "of all": writer.delete(f"/v1/policies/{guard_id}"),
            }
            assert {each.status_code for each in asked.values()} == {202}, [each.text for each in asked.values()]
            reviews = {answer.json()["id"]: name for name, answer in asked.items()}
            sending.round()
            told = {}
            for headers, sent in receiver.got:
                event = json.loads(sent)
                assert event["type"] == "policy_review.requested"
                change = event["data"]["change"]
                assert event["data"].get("agentName") == {one: "of a", other: "of b"}.get(change["after"]["agentId"])
                told.setdefault(headers[":path"].rsplit("/", 1)[1], set()).add(reviews[change["resourceId"]])
            assert told == {
                "all": {*asked},
                "agent": {"changes one", "of a", "of all"},
                "group": {"changes one", "of a", "of all"},
                "policy": {"changes one"},
                "tool": {*asked},
            }
            receiver.got.clear()
            review_id = asked["of the other"].json()["id"]
            answer = bob.post(f"/v1/policy-reviews/{review_id}/approve", json={})
            assert answer.status_code == 200, answer.text
            sending.round()
            types = [json.loads(sent)["type"] for headers, sent in receiver.got if headers[":path"].endswith("/all")]
            assert types == ["policy.changed"]
    finally:
        reviewing.stop()


def test_changes_are_narrowed_by_policy_and_by_agent(tenant, receiver, sending):
    """A policy's changes by policy, a suspension by agent and group; what narrows other things lets them pass."""
    one, other = (tenant.new_agent(groups=[each])["id"] for each in ("a", "b"))
    policies = [tenant.new_policy(each)["id"] for each in (one, other)]
    for name, only in {
        "policy": {"policies": policies[:1]},
        "agent": {"agents": [one]},
        "group": {"groups": ["b"]},
        "tool": {"tools": ["rm"]},
    }.items():
        subscribe(tenant, f"{receiver.url}/{name}", events=["policy.changed", "agent.suspended"], only=only)
    for agent_id, policy_id in zip((one, other), policies, strict=True):
        assert tenant.admin.patch(f"/v1/policies/{policy_id}", json={"priority": 7}).status_code == 200
        assert tenant.admin.patch(f"/v1/agents/{agent_id}", json={"status": "suspended"}).status_code == 200

    sending.round()

    told = {}
    for headers, body in receiver.got:
        told.setdefault(headers[":path"].rsplit("/", 1)[1], set()).add(json.loads(body)["data"]["change"]["resourceId"])
    assert told == {
        "policy": {policies[0], one, other},
        "agent": {*policies, one},
        "group": {*policies, other},
        "tool": {*policies, one, other},
    }


def test_a_failed_event_is_retried_and_blocks_no_other(tenant, receiver, sending):
    """The same id and the same body; the next event does not wait for it."""
    webhook = subscribe(tenant, receiver.url, events=["policy.changed"])
    agent = tenant.new_agent()["id"]
    for name in ("first", "second"):
        tenant.new_policy(agent, DENY, name=name)
    receiver.answers = [503]

    sending.round()
    sending.round()

    assert (state(tenant, webhook)["waiting"], state(tenant, webhook)["delivered"]) == (1, 1)
    assert state(tenant, webhook)["lastError"] == "the receiver answered 503"
    [waiting] = tenant.admin.get(f"/v1/webhooks/{webhook['id']}/events").json()
    assert (waiting["status"], waiting["attempts"], waiting["type"]) == ("waiting", 1, "policy.changed")
    for other in (f"{waiting['id']} tries", waiting["id"][:-1]):
        answer = tenant.admin.post(f"/v1/webhooks/{webhook['id']}/retry", json={"event": other})
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "WEBHOOK_EVENT_NOT_FOUND")
    again = tenant.admin.post(f"/v1/webhooks/{webhook['id']}/retry", json={"event": waiting["id"]})
    assert again.json() == {"events": 1}
    sending.round()
    (failed, first), (_, second), (repeated, third) = receiver.got
    assert failed["webhook-id"] == repeated["webhook-id"] == waiting["id"]
    assert (first == third, first == second) == (True, False)
    assert state(tenant, webhook)["waiting"] == 0


def test_after_a_day_it_is_parked_listed_and_tried_again_by_hand(tenant, receiver, sending):
    """The test makes the day pass."""
    webhook = subscribe(tenant, receiver.url, events=["policy.changed"])
    tenant.new_policy(tenant.new_agent()["id"], DENY)
    receiver.answers = [500, 500]
    sending.round()
    [waiting] = tenant.admin.get(f"/v1/webhooks/{webhook['id']}/events").json()
    sending.in_store(lambda client: let_a_day_pass(client, tenant.id, webhook["id"], waiting["id"]))

    sending.round()

    [parked] = tenant.admin.get(f"/v1/webhooks/{webhook['id']}/events").json()
    assert (parked["status"], parked["attempts"], parked["nextAttemptAt"]) == ("parked", 2, None)
    sending.round()
    assert len(receiver.got) == 2
    assert tenant.admin.post(f"/v1/webhooks/{webhook['id']}/retry", json={}).json() == {"events": 1}
    sending.round()
    assert [each for each, _ in receiver.events(webhook["secret"])] == [waiting["id"]] * 3
    assert tenant.admin.get(f"/v1/webhooks/{webhook['id']}/events").json() == []
    unknown = tenant.admin.post(f"/v1/webhooks/{webhook['id']}/retry", json={"event": waiting["id"]})
    assert (unknown.status_code, unknown.json()["error"]["code"]) == (404, "WEBHOOK_EVENT_NOT_FOUND")


async def let_a_day_pass(client, workspace_id, webhook_id, event_id):
    keyspace = Keyspace(workspace_id)
    attempts, since_ms, error = (
        await client.call("HGET", keyspace.webhook_unsent(webhook_id), f"{event_id} tries")
    ).split(" ", 2)
    tries = f"{attempts} {int(since_ms) - PARK_AFTER_MS} {error}"
    await client.call("HSET", keyspace.webhook_unsent(webhook_id), f"{event_id} tries", tries)
    await client.call("ZADD", keyspace.webhook_waiting(webhook_id), 1, event_id)


def test_a_receiver_that_hangs_blocks_no_other_webhook(tenant, receiver, sending):
    """Each webhook is served separately."""
    hanging = subscribe(tenant, receiver.url, events=["policy.changed"])
    receiver.answers = [None]
    tenant.new_policy(tenant.new_agent()["id"], DENY)
    sending.round(attempt_s=0.5)
    assert state(tenant, hanging)["waiting"] == 1
    assert "no answer" in state(tenant, hanging)["lastError"]


def test_the_secret_is_shown_once_and_kept_nowhere(tenant, receiver, sending):
    """It is derived from REMIT_SECRET, so it is in no list, trail or store. The trail does not show the URL's path."""
    webhook = subscribe(tenant, f"{receiver.url}/T0/B0/a-secret-of-its-own")
    trail = tenant.admin.get("/v1/changes", params={"resource_type": "webhook"}).text
    assert "secret" not in state(tenant, webhook)
    held = str(sending.in_store(lambda client: everything(client, f"remit:{{{tenant.id}}}:*")))
    for text in (trail, tenant.admin.get("/v1/webhooks").text, held):
        assert webhook["secret"] not in text
    assert "a-secret-of-its-own" not in trail
    assert "127.0.0.1" in trail


def test_a_replaced_secret_signs_for_the_overlap_and_no_longer(tenant, receiver, sending):
    """During the overlap, either secret verifies; without an overlap, the old one stops at once."""
    webhook = subscribe(tenant, receiver.url, events=["policy.changed"])
    path = f"/v1/webhooks/{webhook['id']}/rotate-secret"
    second = tenant.admin.post(path, json={"overlapSeconds": 60}).json()["secret"]
    agent = tenant.new_agent()["id"]
    tenant.new_policy(agent, DENY)
    sending.round()
    assert receiver.events(webhook["secret"]) == receiver.events(second)

    third = tenant.admin.post(path, json={"overlapSeconds": 0}).json()
    assert [each["number"] for each in third["secrets"]] == [3]
    tenant.new_policy(agent, DENY)
    sending.round()
    headers, body = receiver.got[-1]
    Verifying(third["secret"]).verify(body, headers)
    for old in (webhook["secret"], second):
        with pytest.raises(WebhookVerificationError):
            Verifying(old).verify(body, headers)


def test_a_secret_given_by_the_caller_signs(tenant, receiver, sending):
    """An invalid one is refused."""
    given = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    subscribe(tenant, receiver.url, events=["policy.changed"], secret=given)
    tenant.new_policy(tenant.new_agent()["id"], DENY)
    sending.round()
    assert len(receiver.events(given)) == 1
    for wrong in ("short", "whsec_", "whsec_AAAA", given + "!"):
        body = {"url": receiver.url, "events": ["policy.changed"], "secret": wrong}
        assert tenant.admin.post("/v1/webhooks", json=body).status_code == 400


def test_a_disabled_webhook_misses_events(tenant, receiver, sending):
    """Once enabled again, it gets events from then on."""
    webhook = subscribe(tenant, receiver.url, events=["policy.changed"])
    path, agent = f"/v1/webhooks/{webhook['id']}", tenant.new_agent()["id"]
    assert tenant.admin.patch(path, json={"enabled": False}).json()["enabled"] is False
    tenant.new_policy(agent, DENY, name="missed")
    sending.round()
    tenant.admin.patch(path, json={"enabled": True})
    tenant.new_policy(agent, DENY, name="told")
    sending.round()
    assert [event["data"]["change"]["after"]["name"] for _, event in receiver.events(webhook["secret"])] == ["told"]


def test_a_deleted_webhook_leaves_nothing(tenant, receiver, sending):
    """Neither waiting events nor cursors."""
    webhook = subscribe(tenant, receiver.url, events=["policy.changed"])
    tenant.new_policy(tenant.new_agent()["id"], DENY)
    receiver.answers = [500]
    sending.round()
    assert tenant.admin.delete(f"/v1/webhooks/{webhook['id']}").status_code == 204
    assert tenant.admin.get(f"/v1/webhooks/{webhook['id']}").status_code == 404
    held = sending.in_store(lambda client: everything(client, f"remit:{{{tenant.id}}}:webhook*"))
    assert list(held) == [Keyspace(tenant.id).webhook_lease(webhook["id"])]


def test_a_test_is_sent_at_once_and_says_what_became_of_it(tenant, receiver):
    """Signed like any other event."""
    webhook = subscribe(tenant, receiver.url)
    path = f"/v1/webhooks/{webhook['id']}/test"
    attempt = tenant.admin.post(path, json={}).json()
    assert (attempt["delivered"], attempt["status"]) == (True, 204)
    [(_, event)] = receiver.events(webhook["secret"])
    assert event["type"] == "webhook.test"
    receiver.answers = [404]
    failed = tenant.admin.post(path, json={}).json()
    assert (failed["delivered"], failed["error"]) == (False, "the receiver answered 404")


def test_the_limit_holds_and_an_address_that_is_not_public_is_refused(tenant):
    """The 400 says what would be right."""
    inside = tenant.admin.post("/v1/webhooks", json={"url": "https://10.0.0.1/", "events": ["policy.changed"]})
    assert (inside.status_code, inside.json()["error"]["details"][0]["path"]) == (400, "$.url")
    made = [
        tenant.admin.post("/v1/webhooks", json={"url": "https://example.com", "events": ["policy.changed"]})
        for _ in range(21)
    ]
    assert [each.status_code for each in made] == [201] * 20 + [409]
    assert made[-1].json()["error"]["code"] == "LIMIT_REACHED"


def test_an_overtaken_sender_writes_nothing(tenant, receiver, sending):
    """I16: two senders of one event deliver it twice, and the cursor moves once."""
    webhook = subscribe(tenant, receiver.url)
    keyspace = Keyspace(tenant.id)
    keys = sending_keys(keyspace, webhook["id"])

    async def advance(client):
        before = await everything(client, f"remit:{{{tenant.id}}}:webhook*")
        args = ["log", "77", "78", "msg_x", "waits", 1, b"{}", "1 1 no", "no", "", 10, b"{}", 50]
        reply = await client.run(ADVANCE_OUTBOX, keys, args)
        return reply, before == await everything(client, f"remit:{{{tenant.id}}}:webhook*")

    assert sending.in_store(advance) == (["stale"], True)


def test_of_two_senders_one_sends(tenant, receiver, sending):
    """The other one has the lease."""
    webhook = subscribe(tenant, receiver.url, events=["policy.changed"])
    tenant.new_policy(tenant.new_agent()["id"], DENY)
    lease = Keyspace(tenant.id).webhook_lease(webhook["id"])
    sending.in_store(lambda client: client.call("SET", lease, "another", "PX", 60_000))
    sending.round()
    assert receiver.got == []
    sending.in_store(lambda client: client.call("DEL", lease))
    sending.round()
    assert len(receiver.got) == 1


def test_retention_waits_for_webhooks_and_reports_what_it_drops(tenant, agent_id, receiver, sending):
    """I16: nothing is lost unseen."""
    webhook = subscribe(tenant, receiver.url, events=["decision.denied"])
    for _ in range(12):
        tenant.authorize(agent_id, "rm")

    async def drop(client, hold_ms):
        sealer = Sealer(client, 4, 100)
        while await sealer.seal_next(tenant.id) is not None:
            pass
        webhooks = Webhooks(client, Ids(), None, 20)
        retention = Retention(client, webhooks.read_up_to, hold_ms, unarchived=True)
        dropped = []
        await grow_trees(client, tenant.id)
        while (number := await retention.drop_next(tenant.id, 1 << 50)) is not None:
            dropped.append(number)
        return dropped

    assert sending.in_store(lambda client: drop(client, 1 << 51)) == []
    assert sending.in_store(lambda client: drop(client, 0)) == [1, 2]
    sending.round()
    came = [event for _, event in receiver.events(webhook["secret"])]
    assert [each["type"] for each in came] == ["events.lost"] + ["decision.denied"] * 4
    assert (came[0]["data"]["firstSequence"], came[0]["data"]["lastSequence"]) == (1, 8)


def test_an_unknown_webhook_is_404(tenant):
    """So is anything that is not an id."""
    for name in (str(uuid.uuid4()), "nonsense"):
        answer = tenant.admin.get(f"/v1/webhooks/{name}")
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "WEBHOOK_NOT_FOUND")


def test_the_calls_of_a_plan_are_one_event(tenant, agent_id, receiver, sending):
    """With all of them in their order; another agent's question in between, and a call by itself, have their own."""
    webhook = subscribe(tenant, receiver.url, events=["approval.requested"])
    calls = [{"agent_id": agent_id, "tool_name": "refund.create", "parameters": {"amount": n}} for n in (1, 2, 3)]
    plan = tenant.reader.post("/v1/authorize/batch", json={"calls": calls}).json()["results"]
    asked = [each["decision"]["approval"]["id"] for each in plan]
    single = ask(tenant, agent_id, 9)["approval"]["id"]
    sending.round()
    together, alone = [event["data"] for _, event in receiver.events(webhook["secret"])]
    assert [each["id"] for each in together["plan"]] == asked
    assert [each["parameters"] for each in together["plan"]] == [{"amount": n} for n in (1, 2, 3)]
    assert (together["approval"]["id"], together["entry"]["id"]) == (asked[0], plan[0]["decision"]["id"])
    assert (alone["approval"]["id"], "plan" in alone) == (single, False)
    message = slack_message("approval.requested", together)
    assert message["blocks"][0]["text"]["text"] == "A plan of 3 calls waits for a person"
    shown = json.dumps(message)
    places = [shown.index(f"amount = {n}") for n in (1, 2, 3)]
    assert places == sorted(places)
    assert f"remit approvals list --plan-id {together['plan'][0]['plan']['id']}" in shown


def test_a_plan_event_that_has_grown_is_not_a_repetition(tenant, agent_id, receiver, sending, monkeypatch):
    """I16: a sender dies after the delivery of two calls; the log then has three, of which the last must be told."""
    webhook = subscribe(tenant, receiver.url, events=["approval.requested"])
    outbox = Keyspace(tenant.id).webhook_outbox(webhook["id"])
    cursor = sending.in_store(lambda client: client.call("HGET", outbox, "log"))
    calls = [{"agent_id": agent_id, "tool_name": "refund.create", "parameters": {"amount": n}} for n in (1, 2, 3)]
    plan = tenant.reader.post("/v1/authorize/batch", json={"calls": calls}).json()["results"]
    whole = AuditLog.newest

    async def all_but_one(log, workspace_id):
        return await whole(log, workspace_id) - 1

    with monkeypatch.context() as patched:
        patched.setattr(AuditLog, "newest", all_but_one)
        sending.round()
    sending.in_store(lambda client: client.call("HSET", outbox, "log", cursor))
    sending.round()
    told = {event_id: event["data"]["plan"] for event_id, event in reversed(receiver.events(webhook["secret"]))}
    known = {each["id"] for approvals in told.values() for each in approvals}  # of two of one id, the first is read
    assert known == {each["decision"]["approval"]["id"] for each in plan}
