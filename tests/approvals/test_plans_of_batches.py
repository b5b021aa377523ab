"""People see the calls of a batch as one plan and decide them at once, each bound and used by itself."""

import concurrent.futures
from collections import Counter

import pytest
from approval_steps import ALLOW, ASK, answering


def send(tenant, agent_id, *amounts, client=None, **context):
    """The decisions on a batch of a free call and of refunds of these amounts."""
    call = {"agent_id": agent_id, "tool_name": "refund.create", "context": context}
    refunds = [call | {"parameters": {"amount": each}} for each in amounts]
    calls = [{"agent_id": agent_id, "tool_name": "refund.list"}, *refunds]
    answer = (client or tenant.reader).post("/v1/authorize/batch", json={"calls": calls})
    assert answer.status_code == 200, answer.text
    return [each["decision"] for each in answer.json()["results"]]


def waiting(person, plan_id):
    """The plan's open approvals, in the order of its calls."""
    found = person.get("/v1/approvals", params={"plan_id": plan_id, "status": "pending"}).json()
    return sorted(found, key=lambda each: each["plan"]["index"])


def plan_of(person, decision):
    return person.get(f"/v1/approvals/{decision['approval']['id']}").json()["plan"]


def decide(person, verdict, approvals, struck_out=()):
    seen = [[{"id": each["id"], "version": each["version"]} for each in some] for some in (approvals, struck_out)]
    body = {"decision": verdict, "approvals": seen[0], "struckOut": seen[1]}
    return person.post("/v1/approvals/decide", json=body)


def test_a_plan_is_decided_at_once_except_for_what_is_struck_out(tenant, agent_id, person):
    """In the order of its calls, with their exact arguments; a call that came alone is in no plan."""
    decisions = send(tenant, agent_id, 1, 2, 3)
    assert [each["result"] for each in decisions] == ["allowed", *["escalated"] * 3]
    plan = plan_of(person, decisions[1])
    assert (plan["index"], plan["calls"]) == (1, 4)
    tenant.authorize(agent_id, "refund.create", parameters={"amount": 9})
    found = waiting(person, plan["id"])
    assert [each["parameters"] for each in found] == [{"amount": each} for each in (1, 2, 3)]
    answer = decide(person, "approve", [found[0], found[2]], [found[1]])
    statuses = {each["id"]: each["approval"]["status"] for each in answer.json()}
    assert [statuses[each["id"]] for each in found] == ["approved", "denied", "approved"]
    assert [each["result"] for each in send(tenant, agent_id, 1, 2, 3)] == [
        "allowed",
        "allowed",
        "escalated",
        "allowed",
    ]
    assert [each["result"] for each in send(tenant, agent_id, 1, 3)] == ["allowed", "escalated", "escalated"]
    alone = tenant.authorize(agent_id, "refund.create", parameters={"amount": 9})
    assert "plan" not in person.get(f"/v1/approvals/{alone['approval']['id']}").json()


def test_an_approved_plan_is_for_its_calls_alone(tenant, agent_id, person, replicas):
    """Not for the same calls of another agent, key or session; in any order, and of two equal calls for one."""
    other = tenant.new_agent()["id"]
    tenant.new_policy(other, ALLOW, ASK)
    found = waiting(person, plan_of(person, send(tenant, agent_id, 1, 2, 2)[1])["id"])
    assert len(found) == 2
    decide(person, "approve", found)
    with replicas[1].client(tenant.new_key(["read"])["key"]) as client:
        for agent, asking, more in (
            (other, tenant.reader, {}),
            (agent_id, client, {}),
            (agent_id, tenant.reader, {"session": "another"}),
        ):
            decisions = send(tenant, agent, 1, 2, client=asking, **more)
            assert [each["result"] for each in decisions] == ["allowed", "escalated", "escalated"]
    assert [each["result"] for each in send(tenant, agent_id, 2, 1, 2)[1:]] == ["allowed", "allowed", "escalated"]


def test_a_plan_may_be_long(tenant, agent_id, person):
    """Also if each of its calls takes a thread, here because of numbers that JSON readers might round."""
    account = "1234567890123456789"
    decisions = send(tenant, agent_id, *(f"{account}{number}" for number in range(60)))
    assert [each["result"] for each in decisions] == ["allowed", *["escalated"] * 60]
    assert len(waiting(person, plan_of(person, decisions[1])["id"])) == 60


def test_a_plan_needs_as_many_people_as_each_of_its_calls(tenant, person):
    """Four eyes for the calls that ask for them, whoever approves the plan."""
    agent = tenant.new_agent()["id"]
    small = {"unless": {"parameters": {"amount": {"max": 1}}, "ifMissing": "apply"}}
    tenant.new_policy(agent, ALLOW, ASK, ASK | small | {"approval": {"approvals": 2}})
    plan = plan_of(person, send(tenant, agent, 1, 2)[1])
    decide(person, "approve", waiting(person, plan["id"]))
    assert [each["result"] for each in send(tenant, agent, 1, 2)] == ["allowed", "allowed", "escalated"]
    with answering(tenant) as second:
        decide(second, "approve", waiting(second, plan["id"]))
    assert send(tenant, agent, 2)[1]["result"] == "allowed"


def test_each_call_of_a_plan_ends_by_itself(tenant, agent_id, person):
    """Of three calls, one is approved and its time is over, one is cancelled, and the third is used once."""
    found = waiting(person, plan_of(person, send(tenant, agent_id, 1, 2, 3)[1])["id"])
    assert tenant.reader.post(f"/v1/approvals/{found[1]['id']}/cancel", json={}).status_code == 200
    decide(person, "approve", [found[0], found[2]])

    async def end(client):
        [name] = await client.call("KEYS", f"*{tenant.id}*:approval:{found[0]['id']}")
        assert await client.call("HSET", name, "usable_until_ms", 1) == 0

    tenant.in_store(end)
    assert [each["result"] for each in send(tenant, agent_id, 1, 2, 3)[1:]] == ["escalated", "escalated", "allowed"]
    assert [each["result"] for each in send(tenant, agent_id, 1, 2, 3)[1:]] == ["escalated"] * 3


def test_a_plan_is_refused_as_a_body_is(tenant, agent_id, person):
    """Each approval once, and nothing struck out of a denial."""
    found = waiting(person, plan_of(person, send(tenant, agent_id, 1, 2)[1])["id"])
    for verdict, approvals, struck_out in (("approve", found, found[:1]), ("deny", found[:1], found[1:])):
        assert decide(person, verdict, approvals, struck_out).status_code == 400
    assert len(waiting(person, found[0]["plan"]["id"])) == 2


def test_racing_deciders_of_a_plan_decide_each_call_once(tenant, agent_id, person, replicas):
    """One approves all, the other strikes a call out, on two replicas: one of them decides each call, and knows it."""
    key = tenant.new_key(["approve", "read"], name="ben")["key"]
    with replicas[1].client(key) as other, concurrent.futures.ThreadPoolExecutor(2) as pool:
        for amounts in ((1, 2), (3, 4), (5, 6)):
            found = waiting(person, plan_of(person, send(tenant, agent_id, *amounts)[1])["id"])
            whole = pool.submit(decide, person, "approve", found)
            struck = pool.submit(decide, other, "approve", found[:1], found[1:])
            told = [{each["id"]: each for each in asked.result().json()} for asked in (whole, struck)]
            for each in found:
                [won] = [answer[each["id"]]["approval"] for answer in told if "approval" in answer[each["id"]]]
                [lost] = [answer[each["id"]]["error"] for answer in told if "error" in answer[each["id"]]]
                assert lost["code"] in ("APPROVAL_CHANGED", "APPROVAL_DECIDED")
                now = person.get(f"/v1/approvals/{each['id']}").json()
                assert (now["status"], len(now["approvals"])) == (won["status"], 1)


def test_racing_uses_of_an_approved_plan_allow_each_call_once(tenant, agent_id, person, replicas):
    """Sent as batches and alone, on two replicas."""
    plan = plan_of(person, send(tenant, agent_id, 1, 2)[1])
    decide(person, "approve", waiting(person, plan["id"]))
    clients = [each.client(tenant.read_key) for each in replicas]
    calls = [{"agent_id": agent_id, "tool_name": "refund.create", "parameters": {"amount": each}} for each in (1, 2)]

    def race(number):
        if number % 3:
            answer = clients[number % 2].post("/v1/authorize/batch", json={"calls": calls}).json()
            return [each["decision"]["result"] for each in answer["results"]]
        return [clients[number % 2].post("/v1/authorize", json=each).json()["result"] for each in calls]

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        results = list(pool.map(race, range(24)))
    for client in clients:
        client.close()
    assert [sum(each[place] == "allowed" for each in results) for place in (0, 1)] == [1, 1]


def edit(tenant, agent_id):
    """Change the terms of the rule that asks: what was approved under others does not count."""
    [policy] = tenant.admin.get("/v1/policies", params={"agent_id": agent_id}).json()
    seconds = policy["rules"][1].get("approval", {"validSeconds": 900})["validSeconds"] - 1
    rules = [ALLOW, ASK | {"approval": {"validSeconds": seconds}}]
    tenant.admin.patch(f"/v1/policies/{policy['id']}", json={"rules": rules}).raise_for_status()


def suspend_for_a_while(tenant, agent_id):
    for status in ("suspended", "active"):
        tenant.admin.patch(f"/v1/agents/{agent_id}", json={"status": status}).raise_for_status()


@pytest.mark.parametrize("end", [edit, suspend_for_a_while])
def test_no_call_of_a_plan_passes_once_its_ground_has_changed(tenant, agent_id, person, replicas, end):
    """The plan is sent over two replicas and decided while its policy or its agent changes.

    Of its calls, some were approved before, and some are while it changes; before that, each passes at most once.
    """
    amounts = range(1, 7)
    clients = [each.client(tenant.read_key) for each in replicas]
    found = waiting(person, plan_of(person, send(tenant, agent_id, *amounts)[1])["id"])
    decide(person, "approve", found[:3])
    with concurrent.futures.ThreadPoolExecutor(9) as pool:
        some = [pool.submit(send, tenant, agent_id, *amounts, client=clients[n % 2]) for n in range(4)]
        late = pool.submit(decide, person, "approve", found[3:5], found[5:])
        end(tenant, agent_id)
        after = [pool.submit(send, tenant, agent_id, *amounts, client=clients[n % 2]) for n in range(4)]
    assert late.result().status_code == 200
    for each in after:
        assert [decision["result"] for decision in each.result()] == ["allowed", *["escalated"] * 6]
    answers = [zip(amounts, each.result()[1:], strict=True) for each in some]
    passed = Counter(amount for each in answers for amount, decision in each if decision["result"] == "allowed")
    assert passed[6] == 0
    assert max(passed.values(), default=0) <= 1
    for client in clients:
        client.close()
