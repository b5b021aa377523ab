"""Whole sets of policies over HTTP: read, sent back, refused."""

import asyncio
import json
import threading

import httpx
import pytest

from app.http import body_decoding
from app.http.bodies import MAX_SET_BYTES, MAX_SET_NESTED, decode_body
from app.main import create_app
from app.settings import Settings

LIST = {"type": "tool_allowlist", "tools": ["file.read"]}
GUARD = {"name": "g", "kind": "guardrail", "rules": [{"type": "tool_denylist", "tools": ["rm"]}]}


@pytest.fixture
def agent(tenant):
    return tenant.new_agent(groups=["crew"])["id"]


@pytest.fixture(params=["agents/{}", "groups/crew", "workspace"])
def path(request, agent, tenant):
    """The path of an agent's, a group's or the workspace's policies, which are deleted after the test."""
    yield f"/v1/{request.param.format(agent)}/policies"
    for owner in ("groups/crew", "workspace"):
        assert tenant.admin.put(f"/v1/{owner}/policies?prune=true", json={"policies": []}).is_success


def refusal(answer):
    error = answer.json()["error"]
    return answer.status_code, error["code"], error["message"]


def test_the_answer_of_get_can_be_sent_back(tenant, path):
    """With its version, ids and times; nothing changes, not even the version."""
    made = tenant.admin.put(path, json={"policies": [GUARD, GUARD | {"name": "h", "priority": 7}]})
    assert (made.status_code, len(made.json()["created"])) == (200, 2)
    shown = tenant.reader.get(path)
    assert [each["name"] for each in shown.json()["policies"]] == ["h", "g"]
    assert shown.headers["ETag"] == made.headers["ETag"] == f'"{shown.json()["version"]}"'

    again = tenant.admin.put(path, content=shown.content, headers={"If-Match": shown.headers["ETag"]})
    assert again.status_code == 200
    assert {name: again.json()[name] for name in shown.json()} == shown.json()
    assert [again.json()[name] for name in ("created", "updated", "deleted")] == [[], [], []]


def test_header_and_body_must_both_name_the_version_of_now(tenant, path):
    """Checking only one could undo someone's change."""
    version = tenant.admin.put(path, json={"policies": [GUARD]}).json()["version"]
    body = {"policies": [GUARD], "version": version}
    for tags, status in (('"other"', 412), (f'"other", "{version}"', 200), ("*", 200), (f'W/"{version}"', 412)):
        assert tenant.admin.put(path, json=body, headers={"If-Match": tags}).status_code == status
    assert tenant.admin.put(path, json=body | {"version": "x"}).status_code == 412
    assert tenant.admin.put(path, json=body, headers={"If-Match": "x"}).status_code == 400


WRONG = {
    "policies missing": ({}, "$.policies", "is missing"),
    "unknown field": ({"policies": [], "prune": True}, "$.prune", "is not a field here"),
    "unknown field of a policy": ({"policies": [GUARD | {"x": 1}]}, "$.policies[0].x", "is not a field here"),
    "rule": (
        {"policies": [GUARD, GUARD | {"rules": [{"type": "tool_denylist", "tools": ["a*b"]}]}]},
        "$.policies[1].rules[0].tools[0]",
        "stands alone or last",
    ),
    "hidden in a name": ({"policies": [GUARD | {"name": "a\u202eb"}]}, "$.policies[0].name", "U+202E"),
    "another agent": (
        {"policies": [], "agent_id": "0" * 8 + "-0000-7000-8000-" + "0" * 12},
        "$.agent_id",
        "the owner",
    ),
    "another group": ({"policies": [], "group": "others"}, "$.group", "the owner"),
    "another group's": ({"policies": [GUARD | {"group": "others"}]}, "$.policies[0].group", "the owner"),
    "id": ({"policies": [GUARD | {"id": "x"}]}, "$.policies[0].id", "must be a UUID"),
    "too many": ({"policies": [GUARD] * 501}, "$.policies", "a list of up to 500 items"),
}


@pytest.mark.parametrize(("body", "place", "words"), WRONG.values(), ids=WRONG)
def test_a_wrong_set_is_refused_with_its_place_and_nothing_is_made(tenant, path, body, place, words):
    """Not even the entries before the fault."""
    before = tenant.admin.get(path).content
    status, code, message = refusal(tenant.admin.put(path, json=body))
    assert (status, code) == (400, "VALIDATION_ERROR")
    assert message.startswith(f"{place}: ")
    assert words in message
    assert tenant.admin.get(path).content == before


def test_elsewhere_a_list_of_policies_is_bounded_too(tenant, agent):
    """One too many is refused for its number."""
    asked = {"tool_name": "pay", "agent_id": agent}
    tests = {"agent_id": agent, "tests": [{"name": "t", "call": {"tool": "pay"}, "want": "denied"}]}
    for path, most, body in (("lint", 500, {}), ("test", 50, tests), ("explain", 50, asked), ("replay", 500, {})):
        where = f"/v1/{path}" if path in {"explain", "replay"} else f"/v1/policies/{path}"
        status, code, message = refusal(tenant.admin.post(where, json=body | {"policies": [GUARD] * (most + 1)}))
        assert (status, code) == (400, "VALIDATION_ERROR"), path
        assert message.startswith("$.policies: "), path
        assert f"to {most} items" in message, path


def test_the_workspace_has_guardrails_only(tenant):
    """A grant for every agent could too easily allow everything."""
    answer = tenant.admin.put("/v1/workspace/policies", json={"policies": [{"name": "p", "rules": [LIST]}]})
    status, _, message = refusal(answer)
    assert status == 400
    assert message.startswith("$.policies[0].kind: a policy for the whole workspace is a guardrail")


def test_an_id_of_another_owner_is_404(tenant, agent):
    """The error says which entry it is."""
    other = tenant.new_policy(tenant.new_agent()["id"])["id"]
    answer = tenant.admin.put(f"/v1/agents/{agent}/policies", json={"policies": [GUARD, GUARD | {"id": other}]})
    assert refusal(answer)[:2] == (404, "POLICY_NOT_FOUND")
    assert "policies[1].id" in refusal(answer)[2]


@pytest.mark.parametrize("name", ["", "%E2%80%AE", "x" * 65])
def test_an_invalid_group_name_is_refused(tenant, name):
    """400, or 404 where the path has no name at all."""
    assert tenant.admin.get(f"/v1/groups/{name}/policies").status_code in {400, 404}


def test_a_groups_name_may_be_any_that_a_path_can_hold(tenant):
    """Escaped, as in every path."""
    answer = tenant.admin.put("/v1/groups/n%C3%A4chste%20Schicht/policies", json={"policies": [GUARD]})
    assert answer.json()["group"] == "nächste Schicht"
    [listed] = tenant.admin.get("/v1/policies", params={"group": "nächste Schicht"}).json()
    assert listed == answer.json()["policies"][0]


def test_groups_of_the_same_name_in_two_workspaces_are_separate(tenant, stranger, path):
    """A name always refers to the caller's workspace."""
    tenant.admin.put("/v1/groups/crew/policies", json={"policies": [GUARD]})
    assert stranger.admin.get("/v1/groups/crew/policies").json()["policies"] == []
    assert stranger.admin.get("/v1/workspace/policies").json()["policies"] == []


def test_prune_is_true_or_false_and_given_once(tenant):
    """An unknown value must not be read as false."""
    for query in ("prune=1", "prune=true&prune=true", "purge=true"):
        assert tenant.admin.put(f"/v1/workspace/policies?{query}", json={"policies": []}).status_code == 400


def test_a_group_with_a_slash_in_its_name_has_a_path(tenant, store):
    """Directly and behind an ASGI server; the policies govern this group's agents, and no other group's."""
    agent = tenant.new_agent(groups=["support/night"])["id"]
    allowed = {"policies": [{"name": "p", "rules": [LIST]}]}
    put = tenant.admin.put("/v1/groups/support%2fnight/policies", json=allowed)
    assert (put.status_code, put.json()["group"]) == (200, "support/night")
    assert tenant.authorize(agent)["allowed"]
    shown = tenant.reader.get("/v1/groups/support%2Fnight/policies")
    assert [each["group"] for each in shown.json()["policies"]] == ["support/night"]
    assert tenant.reader.get("/v1/groups/support/night/policies").status_code == 404
    assert tenant.reader.get("/v1/groups/support%252Fnight/policies").status_code == 404

    async def behind_a_server():
        app = create_app(Settings(redis_url=store.url, store_timeout_ms=10_000))
        async with app.lifespan():
            headers = {"Authorization": f"Bearer {tenant.admin_key}"}
            transport = httpx.ASGITransport(app)
            async with httpx.AsyncClient(transport=transport, base_url="http://remit", headers=headers) as client:
                path = "/v1/groups/support%2Fnight/policies"
                assert (await client.get(path)).json() == shown.json()
                assert (await client.put(f"{path}?prune=true", json={"policies": []})).status_code == 200

    asyncio.run(behind_a_server())
    assert not tenant.authorize(agent)["allowed"]


def test_a_set_may_be_as_large_as_what_an_agent_may_have(tenant, agent):
    """1 MiB of rules in 500 policies is put, read, sent back and linted; more is refused."""
    path = f"/v1/agents/{agent}/policies"
    rules = [{"type": "tool_denylist", "tools": [f"files.{'x' * 40}.{number}"]} for number in range(20)]
    body = {"policies": [{"name": f"p{number}", "rules": rules} for number in range(500)]}
    text = json.dumps(body).encode()
    assert 900_000 < len(text) < MAX_SET_BYTES
    put = tenant.admin.put(path, content=text)
    assert (put.status_code, len(put.json()["created"])) == (200, 500)
    shown = tenant.reader.get(path).content
    assert tenant.admin.put(path, content=shown).json()["updated"] == []
    body["agent_id"] = agent
    assert tenant.admin.post("/v1/policies/lint", json=body).status_code == 200

    refused = tenant.admin.put(path, content=text + b" " * MAX_SET_BYTES)
    assert refusal(refused)[:2] == (413, "PAYLOAD_TOO_LARGE")
    assert str(MAX_SET_BYTES) in refusal(refused)[2]
    refused = tenant.admin.put(path, content=b'{"policies": [' + b"[]," * MAX_SET_NESTED + b"[]]}")
    assert refusal(refused) == (400, "VALIDATION_ERROR", f"$: contains more than {MAX_SET_NESTED} objects and lists")
    assert tenant.admin.post("/v1/policies", content=b" " * 300_000).status_code == 413


async def test_a_large_set_is_decoded_in_a_thread(tenant, agent, store, monkeypatch):
    """The loop goes on meanwhile."""
    threads = []

    def decode(*args):
        threads.append(threading.current_thread() is threading.main_thread())
        return decode_body(*args)

    monkeypatch.setattr(body_decoding, "decode_body", decode)
    app = create_app(Settings(redis_url=store.url, store_timeout_ms=10_000))
    async with app.lifespan():
        headers = {"Authorization": f"Bearer {tenant.admin_key}"}
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://remit", headers=headers) as client:
            for size in (1, 400_000):
                put = {"policies": [{"name": "p", "rules": [LIST]}], "version": "0"}
                text = json.dumps(put).encode() + b" " * size
                assert (await client.put(f"/v1/agents/{agent}/policies", content=text)).status_code == 412
    assert threads == [True, False]
