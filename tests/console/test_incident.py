"""From a refusal to its cause: since when, by whom, and back again."""

import pytest

from tests.console.browsing import settle

pytestmark = pytest.mark.slow

READS = [{"type": "tool_grant", "tools": ["order.read"]}]


@pytest.fixture
def bot(scene):
    """An agent of this test's own, with a policy."""
    tenant = scene.tenant
    agent = tenant.new_agent(name="Shop bot", groups=["shop"])["id"]
    policy = tenant.new_policy(agent, *READS, name="Orders")["id"]
    return agent, policy


def changed(scene, path, reason, **fields):
    answer = scene.tenant.admin.patch(f"/v1/{path}", json=fields, headers={"Change-Reason": reason})
    assert answer.status_code == 200, answer.text


def test_an_agents_changes_are_those_of_all_that_governs_it_with_what_was_answered(visit, scene, bot):
    """One list; beside it, how often its calls got which result, and why."""
    agent, policy = bot
    rules = [{"type": "tool_denylist", "tools": ["order.read"]}]
    body = {"name": "Shop is closed", "kind": "guardrail", "group": "shop", "rules": rules}
    assert scene.tenant.admin.post("/v1/policies", json=body).status_code == 201
    changed(scene, f"policies/{policy}", "cleanup before audit", priority=7)
    scene.tenant.authorize(agent, "order.read")
    visitor = visit("admin")
    page = visitor.open(f"/console/agents/{agent}?tab=changes", "Shop bot")
    page.get_by_text("cleanup before audit").wait_for()
    listed = [" ".join(each.split()) for each in page.locator(".timeline > li").all_inner_texts()]
    assert ["Shop is closed" in each for each in listed] == [False, True, False, False]
    page.get_by_role("link", name="denied 1").wait_for()
    page.get_by_text("tool_denied 1").wait_for()
    assert visitor.violations() == []
    page.get_by_role("button", name="24 h").click()
    page.get_by_text("cleanup before audit").wait_for()
    page.goto(f"{page.url}&to=2020-01-01T00:00:00Z")
    page.get_by_role("heading", name="Nothing that concerns Shop bot was changed").wait_for()
    page.get_by_text("No call was answered").wait_for()
    settle(page)
