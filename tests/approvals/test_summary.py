"""What waits, counted, and how long people take: what a page needs that shows no call."""

from approval_steps import ALLOW, ASK, approve, ask

SECRET = "not for a page that shows no call"


def summary(client, **query):
    answer = client.get("/v1/approvals/summary", params=query)
    assert answer.status_code == 200, answer.text
    assert SECRET not in answer.text
    return answer.json()


def test_what_waits_is_counted_and_named_without_what_it_says(tenant, person):
    """The oldest first; not what was approved, denied or deleted, nor any argument."""
    agent = tenant.new_agent(name="refund bot")["id"]
    tenant.new_policy(agent, ALLOW, ASK)
    assert summary(tenant.reader) == {"waiting": 0, "oldest": [], "decided": 0, "halfWithinSeconds": None}
    asked = [ask(tenant, agent, amount=f"{SECRET} {number}")["approval"]["id"] for number in range(6)]
    approve(person, asked[1])
    assert person.post(f"/v1/approvals/{asked[3]}/deny", json={}).status_code == 200
    told = summary(tenant.reader)
    assert (told["waiting"], told["decided"]) == (4, 2)
    assert 0 <= told["halfWithinSeconds"] < 60
    assert [each["id"] for each in told["oldest"]] == [asked[number] for number in (0, 2, 4)]
    assert told["oldest"][0] == {
        "id": asked[0],
        "agentId": agent,
        "agentName": "refund bot",
        "toolName": "refund.create",
        "createdAt": told["oldest"][0]["createdAt"],
    }
    assert [each["id"] for each in summary(tenant.reader, calls=4)["oldest"]][-1] == asked[5]
    assert summary(person, calls=0) == {**told, "oldest": []}
    other = tenant.new_agent(alias="quiet-bot")["id"]
    assert summary(tenant.reader, agent_id=agent) == told
    assert summary(tenant.reader, agent_id="quiet-bot")["waiting"] == 0
    tenant.new_policy(other, ALLOW, ASK)
    ask(tenant, other)
    assert [summary(tenant.reader, **query)["waiting"] for query in ({}, {"agent_id": other})] == [5, 1]
