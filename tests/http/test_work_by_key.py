"""Work that takes long counts for the key that asked, whatever it is, so the keys of a workspace take turns."""

import httpx
import pytest
from tenants import tenant_on

from app.main import create_app
from app.runtime.fairness import thread_pool
from app.runtime.fairness.loop_turns import WorkspaceSlots
from app.settings import Settings

tenant = tenant_on()
RULES = [{"type": "tool_allowlist", "tools": ["*"]}]
SEARCHES = [
    {"type": "parameter_constraint", "tools": ["*"], "parameters": {f"p{number}": {"regex": f".{{1{number:02}}}$"}}}
    for number in range(10)
]
TEXT = "x" * 20_000


@pytest.fixture
def counted(monkeypatch):
    """The keys for which work was done."""
    keys, slot = [], WorkspaceSlots.slot

    class Noted(thread_pool._Work):
        def __init__(self, workspace_id, key, *more):
            keys.append(key)
            super().__init__(workspace_id, key, *more)

    def noted(self, workspace_id):
        keys.append(thread_pool.asking_key.get())
        return slot(self, workspace_id)

    monkeypatch.setattr(thread_pool, "_Work", Noted)
    monkeypatch.setattr(WorkspaceSlots, "slot", noted)
    return keys


async def test_all_of_it_counts_for_the_key_that_asked(store, tenant, counted):
    """Otherwise one key could have the work of its workspace's other keys refused."""
    agent = tenant.new_agent()["id"]
    tenant.new_policy(agent, *RULES, *SEARCHES)
    entry = tenant.authorize(agent)["id"]
    call = {"agent_id": agent, "tool_name": "t", "parameters": {"p1": TEXT}}
    asked = [
        ("POST", "/v1/authorize", call),
        ("POST", "/v1/authorize/batch", {"calls": [call]}),
        ("POST", "/v1/explain", call),
        ("GET", f"/v1/audit-logs/{entry}", None),
        ("GET", f"/v1/audit-logs/{entry}/explanation", None),
        ("GET", "/v1/audit-logs", None),
        ("GET", "/v1/audit-logs/counts?by=tool", None),
        ("GET", "/v1/audit-logs/verify", None),
        ("GET", f"/v1/agents/{agent}/tools", None),
        ("GET", "/v1/policies", None),
        (
            "POST",
            "/v1/policies/lint",
            {"agent_id": agent, "policies": [{"name": TEXT[:99], "rules": RULES + SEARCHES}]},
        ),
    ]
    app, of_keys = create_app(Settings(redis_url=store.url, store_timeout_ms=10_000)), []
    async with app.lifespan(), httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://remit") as client:
        for key in (tenant.admin_key, tenant.new_key(["admin"])["key"]):
            counted.clear()
            for method, path, body in asked:
                before = len(counted)
                answer = await client.request(method, path, json=body, headers={"Authorization": f"Bearer {key}"})
                assert answer.status_code == 200, (path, answer.text)
                assert len(counted) > before, f"nothing was counted for {path}"
            of_keys.append(set(counted))
    assert [len(each) for each in of_keys] == [1, 1], of_keys
    assert of_keys[0].isdisjoint(of_keys[1])
    assert "" not in of_keys[0] | of_keys[1]


@pytest.mark.parametrize("semantics", ["execute_all", "all_or_nothing"])
def test_a_batch_does_not_crowd_itself_out(tenant, semantics):
    """Each of its calls takes a thread; more of them than may wait for one."""
    agent = tenant.new_agent()["id"]
    tenant.new_policy(agent, *RULES, *SEARCHES)
    calls = [{"agent_id": agent, "tool_name": "t", "parameters": {"p1": TEXT[:500]}}] * 40
    answer = tenant.reader.post("/v1/authorize/batch", json={"calls": calls, "semantics": semantics})
    assert answer.status_code == 200, answer.text
    assert {each["decision"]["result"] for each in answer.json()["results"]} == {"denied"}
