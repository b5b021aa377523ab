"""An approval ends with its basis: if its agent is suspended, or a policy or key that asked is gone."""

import msgspec
import pytest
from approval_steps import ALLOW, ASK, approve, ask

from app.approvals.reaper import ApprovalReaper
from app.model.agents import AgentStatus
from app.model.ids import Ids
from tests.support import parts
from tests.support.actors import BY


class Scene:
    """An agent of which two policies ask about refunds, and a key of its own that asks."""

    def __init__(self, tenant, replica):
        self.tenant, self.replica = tenant, replica
        self.agent = tenant.new_agent()["id"]
        tenant.new_policy(self.agent, ALLOW, ASK)
        self.policy = tenant.new_policy(self.agent, ASK, kind="guardrail", name="second")["id"]
        self.key = tenant.new_key(["authorize"], name="runtime")

    def ask(self, client=None, amount=5):
        """The answer to the refund, asked for with the runtime's key or by another client, on the other replica."""
        call = {"agent_id": self.agent, "tool_name": "refund.create", "parameters": {"amount": amount}}
        if client is not None:
            return client.post("/v1/authorize", json=call).json()
        with self.replica.client(self.key["key"]) as runtime:
            return runtime.post("/v1/authorize", json=call).json()


@pytest.fixture
def scene(tenant, replicas):
    return Scene(tenant, replicas[1])


async def suspend_and_reactivate(client, scene):
    agents = parts.agents(client, Ids())
    for status in (AgentStatus.SUSPENDED, AgentStatus.ACTIVE):
        await agents.update(scene.tenant.id, scene.agent, status=status, by=BY)
    await agents.update(scene.tenant.id, scene.agent, name="renamed since", by=BY)


async def delete_policy(client, scene):
    await parts.policies(client, Ids()).delete(scene.tenant.id, scene.policy, by=BY)


async def revoke_key(client, scene):
    await parts.api_keys(client, Ids()).revoke(scene.tenant.id, scene.key["id"], by=BY)


CHANGES = {
    "The agent was suspended or revoked after this was asked": suspend_and_reactivate,
    "A policy that asked was deleted": delete_policy,
    "The key that asked was revoked": revoke_key,
}
each_change = pytest.mark.parametrize(
    ("why", "change"), CHANGES.items(), ids=[each.__name__ for each in CHANGES.values()]
)


@each_change
def test_an_old_approval_is_void_from_the_moment_of_the_change(scene, person, why, change):
    """Nothing has ended the approval yet; the commit refuses it, and a new one is requested."""
    first = scene.ask()["approval"]["id"]
    assert approve(person, first)["status"] == "approved"

    scene.tenant.in_store(lambda client: change(client, scene))

    again = scene.ask(scene.tenant.reader)
    assert again["result"] == "escalated"
    assert again["approval"]["id"] != first
    assert person.get(f"/v1/approvals/{first}").json()["usesLeft"] == 1
    assert approve(person, again["approval"]["id"])["status"] == "approved"
    assert scene.ask(scene.tenant.reader)["result"] == "allowed"


@each_change
def test_a_compactor_ends_approvals_that_lost_their_basis(scene, person, why, change):
    """Pending and unused approvals end, each with an entry; those requested afterwards stay."""
    pending = ask(scene.tenant, scene.agent, 6)["approval"]["id"] if change is not revoke_key else None
    first = scene.ask()["approval"]["id"]
    approve(person, first)
    scene.tenant.in_store(lambda client: change(client, scene))
    later = ask(scene.tenant, scene.agent, 7)["approval"]["id"]

    scene.tenant.in_store(lambda client: end_approvals(client, scene))

    ended = {each["id"]: each["status"] for each in person.get("/v1/approvals").json()}
    assert ended == {later: "pending", first: "cancelled"} | ({pending: "cancelled"} if pending else {})
    entry = scene.tenant.log(agent_id=scene.agent)[0]
    assert (entry["code"], entry["reason"]) == ("approval_cancelled", why)
    entries = len(scene.tenant.log(agent_id=scene.agent))
    scene.tenant.in_store(lambda client: end_approvals(client, scene))
    assert len(scene.tenant.log(agent_id=scene.agent)) == entries


async def end_approvals(client, scene):
    await ApprovalReaper(client, Ids(), 1000).end_approvals([scene.tenant.id])


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("PATCH", "/v1/agents/{agent}", {"status": "suspended"}),
        ("PATCH", "/v1/agents/{agent}", {"status": "revoked"}),
        ("DELETE", "/v1/agents/{agent}", None),
        ("DELETE", "/v1/policies/{policy}", None),
        ("DELETE", "/v1/api-keys/{key}", None),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_change_over_http_ends_them_before_it_is_answered(scene, person, method, path, body):
    """Without waiting for a compactor. A client that waits for the approval is told."""
    first = scene.ask()["approval"]["id"]
    named = path.format(agent=scene.agent, policy=scene.policy, key=scene.key["id"])
    assert scene.tenant.admin.request(method, named, json=body).status_code < 300
    waited = person.get(f"/v1/approvals/{first}?wait=20").json()
    assert waited["status"] == "cancelled"


def test_a_record_of_an_older_release_ends_with_its_agent(scene, person):
    """Such a record does not say when it was requested, nor by which policies except the first.

    Any suspension counts as later.
    """
    first = scene.ask()["approval"]["id"]
    name = f"remit:{{{scene.tenant.id}}}:approval:{first}"

    async def as_written_then(client):
        await written_with_fields_apart(client, name)
        fields = msgspec.json.decode(await client.call("HGET", name, "asked"))
        del fields["policies"]
        await client.call("HDEL", name, "asked", "asked_sequence")
        await client.call("HSET", name, *(word for field in fields.items() for word in field))

    scene.tenant.in_store(as_written_then)
    assert person.get(f"/v1/approvals/{first}").json()["parameters"]
    approve(person, first)
    scene.tenant.in_store(lambda client: suspend_and_reactivate(client, scene))
    assert scene.ask()["approval"]["id"] != first


BEGUN_APART = ("policy_id", "rule", "reason", "decisions", "key_name")


async def written_with_fields_apart(client, name):
    """The record as written by releases that kept only constant fields in `asked`."""
    asked, expires_ms = await client.call("HMGET", name, "asked", "expires_ms")
    fields = msgspec.json.decode(asked)
    apart = {each: fields.pop(each) for each in BEGUN_APART} | {"version": "1", "requests": "1"}
    apart["created_ms"] = str(int(expires_ms) - int(fields.pop("lasts_ms")))
    apart["asked"] = msgspec.json.encode(fields)
    await client.call("HSET", name, *(word for field in apart.items() for word in field))


def test_an_approval_stored_as_separate_fields_is_read_joined_approved_and_used(scene, person):
    """As if this release had written it: the approval and the log look the same."""
    first, second = (scene.ask(amount=amount)["approval"]["id"] for amount in (1, 2))
    name = f"remit:{{{scene.tenant.id}}}:approval:{second}"
    scene.tenant.in_store(lambda client: written_with_fields_apart(client, name))
    shown = [person.get(f"/v1/approvals/{each}").json() for each in (first, second)]
    theirs = {"id", "parameters", "parametersDigest", "decisions", "createdAt", "expiresAt"}
    assert [shown[0][each] for each in shown[0].keys() - theirs] == [
        shown[1][each] for each in shown[0].keys() - theirs
    ]

    for amount in (1, 2):
        assert scene.ask(amount=amount)["result"] == "escalated"
    for each in (first, second):
        approve(person, each)
    assert [scene.ask(amount=amount)["result"] for amount in (1, 2)] == ["allowed", "allowed"]
    ended = [person.get(f"/v1/approvals/{each}").json() for each in (first, second)]
    assert [(each["status"], each["version"], each["requests"], len(each["decisions"])) for each in ended] == [
        ("consumed", 3, 2, 3)
    ] * 2
    entries = scene.tenant.log(agent_id=scene.agent)
    steps = [
        [(each["code"], each["policyId"], each["rule"]) for each in entries if each.get("approvalId") == approval_id]
        for approval_id in (first, second)
    ]
    assert steps[0] == steps[1]
    assert len(steps[0]) == 4


@pytest.mark.parametrize("apart", [False, True], ids=["as written now", "with its fields apart"])
def test_an_undecided_approval_ends_with_the_rule_that_asked(scene, person, apart):
    """The entry names policy and rule, wherever the record keeps them."""
    approval_id = scene.ask()["approval"]["id"]
    name = f"remit:{{{scene.tenant.id}}}:approval:{approval_id}"
    if apart:
        scene.tenant.in_store(lambda client: written_with_fields_apart(client, name))

    async def suspended(client):
        await suspend_and_reactivate(client, scene)
        await end_approvals(client, scene)

    scene.tenant.in_store(suspended)
    shown = person.get(f"/v1/approvals/{approval_id}").json()
    assert (shown["status"], shown["version"]) == ("cancelled", 2)
    ended, asked = (each for each in scene.tenant.log(agent_id=scene.agent) if each.get("approvalId") == approval_id)
    assert (ended["policyId"], ended["rule"]) == (asked["policyId"], asked["rule"])
    assert ended["rule"]["type"] == "approval_required"


def test_an_agents_approvals_end_with_it_and_no_others_do(tenant, person, replicas):
    """More than one read returns; another agent's approval stays."""
    agent, other = Scene(tenant, replicas[0]), Scene(tenant, replicas[0])
    for amount in range(90):
        assert ask(tenant, agent.agent, amount)["result"] == "escalated"
    kept = other.ask()["approval"]["id"]
    for amount in range(90, 120):
        ask(tenant, other.agent, amount)
    tenant.in_store(lambda client: suspend_and_reactivate(client, agent))
    tenant.in_store(lambda client: end_approvals(client, agent))
    open_now = person.get("/v1/approvals?status=pending&limit=1000").json()
    assert {each["agentId"] for each in open_now} == {other.agent}
    assert len(open_now) == 31
    assert kept in {each["id"] for each in open_now}
