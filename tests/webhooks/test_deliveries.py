"""GET /v1/webhooks/{id}/deliveries: the latest attempts, without what was sent."""

import json

from commit_scene import everything
from receivers import subscribe

from app.store.keyspace import Keyspace
from app.webhooks.attempts import DELIVERIES_KEPT

SECRET = "the customer's name"
DENY = {"type": "tool_denylist", "tools": ["rm"]}


def deliveries(tenant, webhook):
    answer = tenant.admin.get(f"/v1/webhooks/{webhook['id']}/deliveries")
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_attempts_are_listed_newest_first_delivered_or_not(tenant, receiver, sending):
    """The failed one, those after it, and the one that delivered it; a test event is none of them."""
    webhook = subscribe(tenant, receiver.url, events=["decision.denied"])
    agent = tenant.new_agent()["id"]
    assert deliveries(tenant, webhook) == []
    tenant.admin.post(f"/v1/webhooks/{webhook['id']}/test", json={})
    receiver.got.clear()
    receiver.answers = [503]
    for _ in range(2):
        tenant.authorize(agent, "rm", parameters={"name": SECRET})
    sending.round()
    tenant.admin.post(f"/v1/webhooks/{webhook['id']}/retry", json={"event": receiver.got[0][0]["webhook-id"]})
    sending.round()
    sending.round()
    found = deliveries(tenant, webhook)
    ids = [headers["webhook-id"] for headers, _ in receiver.got]
    assert sorted(each["eventId"] for each in found) == sorted(ids)
    assert [each["eventId"] for each in found] == ids[::-1]
    assert {each["type"] for each in found} == {"decision.denied"}
    assert [each["delivered"] for each in found].count(False) == 1
    failed = found[-1]
    assert (failed["status"], failed["attempt"], failed["error"]) == (503, 1, "the receiver answered 503")
    assert {(each["status"], each["error"]) for each in found[:-1]} == {(204, "")}
    assert {each["attempt"] for each in found} == {1}, "a retry by hand begins anew"
    assert SECRET not in json.dumps(found)
    assert webhook["secret"] not in json.dumps(found)


def test_a_bounded_number_is_kept_until_the_webhook_is_deleted(tenant, receiver, sending):
    """Fifty; afterwards nothing of the webhook is in the store, and its id is unknown."""
    webhook = subscribe(tenant, receiver.url, events=["decision.denied"])
    agent = tenant.new_agent()["id"]
    for _ in range(DELIVERIES_KEPT + 5):
        tenant.authorize(agent, "rm")
    sending.round()
    ids = [headers["webhook-id"] for headers, _ in receiver.got]
    assert len(ids) == DELIVERIES_KEPT + 5
    assert [each["eventId"] for each in deliveries(tenant, webhook)] == ids[: -DELIVERIES_KEPT - 1 : -1]
    kept = Keyspace(tenant.id).webhook_deliveries(webhook["id"])
    assert sending.in_store(lambda client: client.call("LLEN", kept)) == DELIVERIES_KEPT
    assert tenant.admin.delete(f"/v1/webhooks/{webhook['id']}").status_code == 204
    left = sending.in_store(lambda client: everything(client, f"remit:{{{tenant.id}}}:webhook:{webhook['id']}*"))
    assert left.keys() <= {Keyspace(tenant.id).webhook_lease(webhook["id"])}
    gone = tenant.admin.get(f"/v1/webhooks/{webhook['id']}/deliveries")
    assert (gone.status_code, gone.json()["error"]["code"]) == (404, "WEBHOOK_NOT_FOUND")
