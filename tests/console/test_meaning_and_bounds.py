"""What a change means stands beside its diff before it is saved, and what an agent can ever do on its page."""

import pytest

pytestmark = pytest.mark.slow


def test_a_newly_allowed_call_is_the_headline_before_a_policy_is_saved(visit, scene):
    """With both reasons; an edit that changes no answer says so."""
    page = visit("policies").open(f"/console/policies/{scene.ids['policy']}", "Small refunds")
    page.get_by_text("Not JSON").wait_for(state="hidden")
    tops = page.get_by_label("Max", exact=True)
    tops.nth(0).fill("900")
    tops.nth(1).fill("900")
    page.get_by_role("button", name="Save…").click()
    meaning = page.get_by_role("dialog").get_by_label("In meaning")
    meaning.get_by_text("Nothing else changes.").wait_for()
    headline = meaning.locator(".alert")
    assert headline.locator("b").first.inner_text() in ("Newly allowed", "No longer asked")
    assert "refund.create" in headline.inner_text()
    page.keyboard.press("Escape")
    tops.nth(0).fill("500")
    tops.nth(1).fill("100")
    page.get_by_label("Agent message").fill("Ask the desk.")
    page.get_by_role("button", name="Save…").click()
    page.get_by_role("dialog").get_by_text("No call is answered otherwise.").wait_for()


def test_what_a_guardrail_means_for_every_agent_stands_there_too(visit, scene):
    """Of a group and of the workspace, whose agents may have any other policies."""
    [stored] = scene.tenant.admin.get("/v1/policies", params={"group": "platform"}).json()
    page = visit("policies").open(f"/console/policies/{stored['id']}", "Never delete")
    page.get_by_label("Tools").first.fill("file.write")
    page.get_by_role("button", name="Save…").click()
    meaning = page.get_by_role("dialog").get_by_label("In meaning")
    meaning.get_by_text("For the group's agents, whatever other policies they have.").wait_for()
    headline = meaning.locator(".alert")
    headline.wait_for()
    assert headline.locator("b").first.inner_text() == "Newly allowed"
    assert "file.delete" in headline.inner_text()
    assert "file.write" in meaning.inner_text()


def test_an_agents_bounds_are_on_its_page(visit, scene):
    """For each tool a word, the rules that bound it, and a call for each result."""
    page = visit("view").open("/console/agents/refund-bot?tab=bounds", "Refund bot")
    refund = page.locator(".item", has=page.get_by_text("refund.create", exact=True)).first
    refund.get_by_text("within bounds").wait_for()
    assert refund.get_by_text("else asks a person").count() >= 1
    assert page.get_by_text("Complete: no call gets another result.").count() == 1
