"""Pages of the audit log: chained by cursor, they have every entry once, whatever is written in between."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest


def pages(client, **filters):
    """Every page from the newest to the last, chained by X-Next-Cursor."""
    cursor = {}
    while True:
        answer = client.get("/v1/audit-logs", params={**filters, **cursor})
        assert answer.status_code == 200, answer.text
        yield answer.json()
        if "X-Next-Cursor" not in answer.headers:
            return
        cursor = {"cursor": answer.headers["X-Next-Cursor"]}


@pytest.fixture
def agent(tenant):
    agent = tenant.new_agent()["id"]
    tenant.new_policy(agent, {"type": "tool_denylist", "tools": ["bad"]}, {"type": "tool_allowlist", "tools": ["*"]})
    return agent


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 10, 11])
def test_chained_pages_hold_every_entry_once(tenant, agent, limit):
    """In the order of one large page; the last page has no cursor."""
    for n in range(10):
        tenant.authorize(agent, f"tool.{n}")
    chained = list(pages(tenant.reader, agent_id=agent, limit=limit))
    assert [entry for page in chained for entry in page] == tenant.log(agent_id=agent)
    assert all(len(page) == limit for page in chained[:-1])
    assert chained[-1]


def test_entries_that_are_added_between_pages_change_none_of_them(tenant, agent):
    """New entries are newer than every cursor; with offsets, old entries would move onto the next page."""
    before = [tenant.authorize(agent)["id"] for _ in range(12)]
    seen = []
    for page in pages(tenant.reader, agent_id=agent, limit=5):
        seen += [entry["id"] for entry in page]
        tenant.authorize(agent)
    assert seen == before[::-1]


@pytest.mark.slow
def test_paging_while_others_write_neither_repeats_nor_skips(tenant, agent, other_replica):
    """With four writers on two replicas, and readers on both, with and without a filter."""
    answered, done = [tenant.authorize(agent, "bad")["id"] for _ in range(40)], threading.Event()

    def write(client):
        while not done.is_set():
            for tool in ("bad", "good"):
                body = {"agent_id": agent, "tool_name": tool}
                assert client.post("/v1/authorize", json=body).status_code == 200

    def read(client, **filters):
        return [entry for page in pages(client, agent_id=agent, limit=9, **filters) for entry in page]

    with other_replica.client(tenant.read_key) as there, ThreadPoolExecutor(6) as pool:
        writers = [pool.submit(write, client) for client in (tenant.reader, there) for _ in range(2)]
        readers = [pool.submit(read, tenant.reader), pool.submit(read, there, tool_name="bad", result="denied")]
        for _ in range(3):
            everything, filtered = (reader.result() for reader in readers)
            for entries in (everything, filtered):
                ids = [entry["id"] for entry in entries]
                assert len(ids) == len(set(ids))
                assert set(answered) <= set(ids)
                instants = [entry["timestamp"] for entry in entries]
                assert instants == sorted(instants, reverse=True)
            assert {(entry["toolName"], entry["result"]) for entry in filtered} == {("bad", "denied")}
            answered += [tenant.authorize(agent, "bad")["id"]]
            readers = [pool.submit(read, there), pool.submit(read, tenant.reader, tool_name="bad", result="denied")]
        done.set()
        for writer in writers:
            writer.result()


def test_an_answered_decision_is_found_by_every_later_query(tenant, agent, other_replica):
    """Sent to any replica, as the newest entry."""
    with other_replica.client(tenant.read_key) as there:
        for n in range(20):
            asked, read = (tenant.reader, there) if n % 2 else (there, tenant.reader)
            body = {"agent_id": agent, "tool_name": f"tool.{n}"}
            decision = asked.post("/v1/authorize", json=body).json()
            newest = read.get("/v1/audit-logs", params={"agent_id": agent, "limit": 1}).json()
            assert [entry["id"] for entry in newest] == [decision["id"]]


def test_a_cursor_takes_its_filters_with_it_only_if_they_are_sent(tenant, agent):
    """A cursor is a place in the log, so a different filter may be used with it."""
    for tool in ("bad", "good") * 4:
        tenant.authorize(agent, tool)
    first = tenant.reader.get("/v1/audit-logs", params={"agent_id": agent, "limit": 4})
    cursor = first.headers["X-Next-Cursor"]
    rest = tenant.log(agent_id=agent, cursor=cursor, result="denied")
    assert [entry["toolName"] for entry in rest] == ["bad", "bad"]


def test_offset_and_cursor_combine(tenant, agent):
    """The offset counts from the cursor."""
    ids = [tenant.authorize(agent)["id"] for _ in range(6)][::-1]
    first = tenant.reader.get("/v1/audit-logs", params={"agent_id": agent, "limit": 2})
    rest = tenant.log(agent_id=agent, cursor=first.headers["X-Next-Cursor"], offset=1)
    assert [entry["id"] for entry in rest] == ids[3:]


def test_a_cursor_below_everything_gives_the_empty_last_page(tenant, agent):
    """It is not an error: there is nothing older."""
    tenant.authorize(agent)
    answer = tenant.reader.get("/v1/audit-logs", params={"cursor": 1})
    assert (answer.json(), "X-Next-Cursor" in answer.headers) == ([], False)


@pytest.mark.parametrize("path", ["/v1/agents", "/v1/policies", "/v1/api-keys"])
def test_limit_and_offset_cut_every_list_in_its_order(tenant, agent, path):
    """If they are left out, the list is complete."""
    for _ in range(3):
        tenant.new_policy(tenant.new_agent()["id"])
        tenant.new_key(["read"])
    whole = tenant.admin.get(path).json()
    cut = [tenant.admin.get(path, params={"limit": 2, "offset": n}).json() for n in range(0, len(whole), 2)]
    assert [each for page in cut for each in page] == whole
    assert tenant.admin.get(path, params={"offset": len(whole)}).json() == []
    assert tenant.admin.get(path, params={"offset": 10**12, "limit": 1000}).json() == []
