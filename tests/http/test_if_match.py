"""ETag and If-Match on agents and policies: two admins never overwrite each other's changes unnoticed."""

from concurrent.futures import ThreadPoolExecutor

import pytest

UNKNOWN = "00000000-0000-7000-8000-000000000000"
RULES = [{"type": "tool_allowlist", "tools": ["file.read"]}]


@pytest.fixture
def client(tenant):
    """The admin of this module's own workspace, so its policies affect no other test."""
    return tenant.admin


@pytest.fixture
def agent(client):
    """A new agent, as its creation answered."""
    return client.post("/v1/agents", json={"name": "versioned"})


@pytest.fixture(params=["agent", "policy"])
def made(request, client, agent):
    """The path of a new agent or policy, and the answer to its creation."""
    if request.param == "agent":
        return f"/v1/agents/{agent.json()['id']}", agent
    answer = client.post("/v1/policies", json={"agent_id": agent.json()["id"], "name": "p", "rules": RULES})
    return f"/v1/policies/{answer.json()['id']}", answer


@pytest.mark.parametrize("method", ["PATCH", "DELETE"])
@pytest.mark.parametrize("stale", ['"1"', '"3"', 'W/"2"', '"theirs"', '"1", "3"'])
def test_a_version_that_is_not_the_current_one_is_412_and_changes_nothing(client, made, method, stale):
    """Weak and foreign tags match nothing."""
    path, _ = made
    current = client.patch(path, json={"name": "two"}).json()
    body = {"json": {"name": "three"}} if method == "PATCH" else {}

    answer = client.request(method, path, headers={"If-Match": stale}, **body)

    assert answer.status_code == 412
    assert answer.json()["error"]["code"] == "VERSION_CONFLICT"
    assert client.get(path).json() == current


@pytest.mark.parametrize("fresh", ['"2"', '"1","2"', "*", ',"x" , "2",'])
def test_the_current_version_among_those_named_lets_the_change_through(client, made, fresh):
    """Several tags, empty list elements and `*` work as RFC 9110 says."""
    path, _ = made
    client.patch(path, json={"name": "two"})
    assert client.patch(path, json={"name": "three"}, headers={"If-Match": fresh}).status_code == 200


def test_tags_in_two_headers_count_together(client, made):
    """A list may be split over headers."""
    path, _ = made
    headers = [("If-Match", '"7"'), ("If-Match", '"1"')]
    assert client.request("DELETE", path, headers=headers).status_code == 204


@pytest.mark.parametrize("malformed", ["", "1", '"1', '"1" "2"', "W/1", '"1", *'])
def test_an_invalid_entity_tag_is_400(client, made, malformed):
    """A missing quote must not be read as a tag that matches nothing."""
    path, _ = made
    answer = client.patch(path, json={"name": "b"}, headers={"If-Match": malformed})
    assert answer.status_code == 400
    assert [detail["path"] for detail in answer.json()["error"]["details"]] == ["If-Match"]


@pytest.mark.parametrize("path", [f"/v1/agents/{UNKNOWN}", f"/v1/policies/{UNKNOWN}"])
def test_an_unknown_id_is_404_whatever_if_match_says(client, path):
    """The same answer as without the header."""
    plain = client.patch(path, json={"name": "b"})
    assert client.patch(path, json={"name": "b"}, headers={"If-Match": '"1"'}).content == plain.content
    assert plain.status_code == 404


def test_of_many_admins_with_the_same_version_one_gets_through(replica, other_replica, tenant, made):
    """Concurrently on two replicas: one gets 200, the others 412, and the winner's name is stored."""
    path, _ = made

    def rename(number):
        with (replica, other_replica)[number % 2].client(tenant.admin_key) as admin:
            return admin.patch(path, json={"name": f"admin {number}"}, headers={"If-Match": '"1"'})

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(rename, range(16)))

    assert sorted(answer.status_code for answer in answers) == [200] + [412] * 15
    winner = next(answer for answer in answers if answer.status_code == 200)
    assert tenant.admin.get(path).json() == winner.json()
