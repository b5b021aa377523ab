"""Pages of approvals: newest first, each once, wherever the matching ones are among the others."""

import pytest
from approval_steps import ALLOW, ASK, ask

LIMIT, MANY = 3, 12
DECIDED = {
    "none": set(),
    "the newest": set(range(MANY - 6, MANY)),
    "the oldest": set(range(6)),
    "every other": set(range(0, MANY, 2)),
    "all but the oldest": set(range(1, MANY)),
    "all": set(range(MANY)),
}


def pages(client, **wanted):
    """The ids of each page, chained by cursor."""
    found, cursor = [], {}
    while True:
        answer = client.get("/v1/approvals", params={"limit": LIMIT, **wanted, **cursor})
        found.append([each["id"] for each in answer.json()])
        if "X-Next-Cursor" not in answer.headers:
            return found
        cursor = {"cursor": answer.headers["X-Next-Cursor"]}


@pytest.mark.parametrize("decided", DECIDED.values(), ids=DECIDED)
def test_pages_hold_each_approval_once(tenant, person, decided):
    """Of all agents, and of one."""
    agent, other = (tenant.new_agent()["id"] for _ in range(2))
    tenant.new_policy(agent, ALLOW, ASK)
    tenant.new_policy(other, ALLOW, ASK)
    ids = {}
    for number in range(MANY):
        asking = other if number % 4 == 3 else agent
        ids[number] = ask(tenant, asking, number)["approval"]["id"]
        if number in decided:
            person.post(f"/v1/approvals/{ids[number]}/deny", json={})
    newest_first = list(reversed(range(MANY)))
    pending, denied = set(newest_first) - decided, decided
    for wanted, status, matching in (
        ({}, "pending", pending),
        ({}, "denied", denied),
        ({"agent_id": agent}, "pending", {each for each in pending if each % 4 != 3}),
        ({"agent_id": agent}, "denied", {each for each in denied if each % 4 != 3}),
    ):
        numbers = [each for each in newest_first if each in matching]
        found = pages(person, status=status, **wanted)
        assert [each for page in found for each in page] == [ids[each] for each in numbers]
        assert all(len(page) == LIMIT for page in found[:-1])
