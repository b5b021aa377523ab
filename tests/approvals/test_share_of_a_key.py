"""The approvals that a workspace may have open: one key can take half of them."""

import pytest
from approval_steps import ALLOW, ASK, SECRET
from servers import Replica
from tenants import Tenant

from app.store.keyspace import Keyspace

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def tenant(store):
    env = {"REMIT_SECRET": SECRET, "REMIT_APPROVALS_MAX": "6"}
    replica = Replica(store.url, **env)
    made = Tenant(store.url, replica)
    yield made
    made.close()
    replica.stop()


class Asker:
    """A key that asks about agents of its own, a call with another parameter each time."""

    def __init__(self, tenant):
        self.key = tenant.new_key(["read"])
        self.agent = tenant.new_agent()["id"]
        tenant.new_policy(self.agent, ALLOW, ASK)
        self.client, self.asked = tenant.replica.client(self.key["key"]), 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.client.close()

    def ask(self, number=None):
        self.asked += number is None
        body = {"agent_id": self.agent, "tool_name": "refund.create", "parameters": {"n": number or self.asked}}
        answer = self.client.post("/v1/authorize", json=body)
        assert answer.status_code == 200, answer.text
        return answer.json()


def test_one_key_takes_half_of_the_open_approvals_and_another_can_still_ask(tenant):
    """However many agents it asks for; and what has ended counts no more, in whichever way."""
    person_key = tenant.new_key(["approve", "read"])["key"]
    with Asker(tenant) as greedy, Asker(tenant) as other, tenant.replica.client(person_key) as person:
        first, second, third = greedy.ask(), greedy.ask(), greedy.ask()
        assert greedy.ask()["code"] == "approvals_full"
        assert [other.ask()["code"] for _ in range(2)] == ["approval_required"] * 2

        assert person.post(f"/v1/approvals/{first['approval']['id']}/approve", json={}).status_code == 200
        assert greedy.ask()["code"] == "approvals_full"  # it can still be used
        assert greedy.ask(1)["result"] == "allowed"
        assert greedy.ask()["code"] == "approval_required"
        assert person.post(f"/v1/approvals/{second['approval']['id']}/deny", json={}).status_code == 200
        assert greedy.ask()["code"] == "approval_required"
        assert greedy.ask()["code"] == "approvals_full"
        assert greedy.client.post(f"/v1/approvals/{third['approval']['id']}/cancel", json={}).status_code == 200
        assert greedy.ask()["code"] == "approval_required"

        tenant.admin.delete(f"/v1/api-keys/{greedy.key['id']}")
        left = tenant.in_store(
            lambda client: client.call("EXISTS", Keyspace(tenant.id).key_approvals(greedy.key["id"]))
        )
        assert left == 0
